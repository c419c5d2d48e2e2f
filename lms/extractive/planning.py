"""Planning: the topics of a question, the things that it describes by their class, and the relations to follow."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from triplecheck.kg.ranker import PathRanker
from triplecheck.kg.words import common_words
from triplecheck.language.parse import stop_words
from triplecheck.language.relevance import Encode, PathRelevance, phrases
from triplecheck.language.text import TOPIC, find_span, plain
from triplecheck.lms.prompt import Prompt, known_names
from triplecheck.signatures.notation import KnownName, WrittenPath, read_path

_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*|'s\b", re.UNICODE)
# Least clarity of a further topic, relative to the first.
_SHARE_OF_BEST = 0.55

_SURELY_NAME = 3
"""Ordinary words that are a name of the graph together are that name, also without capitals."""
_MOST_FIRST, _MARGIN_FIRST = 7, 0.4
_MOST_LATER, _MARGIN_LATER = 8, 0.45


# --- topics --------------------------------------------------------------------------------------
def name_topics(prompt: Prompt) -> dict[str, object]:
    """The known names that the question mentions, most clearly named first, without overlaps."""
    words = _WORD.findall(prompt.text("question").replace("’", "'"))
    folded = [plain(word) for word in words]
    cased = any(w[0].isupper() for w in words[1:]) and not all(w[0].isupper() for w in words)
    stops, found = stop_words(prompt.language), []
    for order, known in enumerate(known_names(prompt)):
        name = [plain(w) for w in _WORD.findall(known.spelling) if w != "'s"]
        span = find_span(folded, name, stops)
        if span is not None:
            found.append((_clarity(words[slice(*span)], known.name, cased, stops), order, name, known))
    found.sort(key=lambda f: (-f[0], f[1]))
    topics: list[KnownName] = []
    for clarity, _, name, known in found:
        # Outside of the names before: "Heron" beside "Heron Suite".
        span = find_span(folded, name, stops) if clarity >= _SHARE_OF_BEST * found[0][0] else None
        if span is not None:
            folded[slice(*span)] = [TOPIC] * (span[1] - span[0])
            topics.append(known)
    domain = topics[0].types[0] if topics and topics[0].types else "unknown"
    return {"topics": [topic.name for topic in topics], "domain": domain}


def _clarity(words: list[str], name: str, cased: bool, stops: Collection[str]) -> float:
    """How clearly words name an entity: by their number and capitals. Several that are no ordinary words name it
    without capitals, too."""
    content = [w for w in words if w.lower() not in stops and w != "'s"] or words
    length = 1 - 0.5 ** len(content)
    are_words = len(content) < _SURELY_NAME and {w.lower() for w in content} <= common_words()
    if cased and (len(content) == 1 or name.islower() or are_words):
        capital = sum(w[0].isupper() or w[0].isdigit() for w in content) / len(content)
        return length * (0.25 + 0.75 * capital)
    # If the question has no capitals, the graph's spelling distinguishes names from words.
    return length * (1.0 if any(c.isupper() or c.isdigit() for c in name) or len(content) > 1 else 0.5)


# --- paths ---------------------------------------------------------------------------------------
def rank_paths(
    prompt: Prompt, encode: Encode, ranker: PathRanker | None = None
) -> tuple[list[WrittenPath], list[tuple[int, float]], PathRelevance | None]:
    """The paths of a prompt; (index, score) of those that follow a relation, best first; and what scored them."""
    paths = [read_path(line) for line in prompt.items("paths")]
    question = prompt.question(phrases(hop for path in paths for hop in path.hops))
    usable = [i for i, path in enumerate(paths) if path.hops]
    if not usable:
        return [], [], None
    relevance = PathRelevance(question, encode, ranker)
    hops, topics = [paths[i].hops for i in usable], [paths[i].topic for i in usable]
    scores = relevance.paths(hops, [paths[i].types_at_end for i in usable], topics)
    if all(len(path) == 1 for path in hops):
        # A first hop need not be what the question asks for, only on the way to it.
        first = relevance.first_hops([path[0] for path in hops], topics)
        scores = np.maximum(scores - scores.max(), first - first.max())
    elif (ahead := relevance.ahead(hops, topics)) is not None:
        scores = np.maximum(scores - scores.max(), ahead - ahead.max())
    order = np.argsort(-scores, kind="stable")
    return paths, [(usable[i], float(scores[i])) for i in order], relevance


def select_paths(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The paths that fit the question best, within a margin of the best one."""
    paths, ranked, relevance = rank_paths(prompt, encode, ranker)
    if relevance is None:
        return {"keep": []}
    first = all(len(paths[i].hops) == 1 for i, _ in ranked)
    most, margin = (_MOST_FIRST, _MARGIN_FIRST) if first else (_MOST_LATER, _MARGIN_LATER)
    margin = relevance.margin(margin)
    keep: list[tuple[float, int]] = []
    for topic in dict.fromkeys(paths[i].topic for i, _ in ranked):
        own = [(score, i) for i, score in ranked if paths[i].topic == topic]
        keep += [(score, i) for score, i in own[:most] if score >= own[0][0] - margin]
    keep.sort(key=lambda found: (-found[0], found[1]))
    return {"keep": [i + 1 for _, i in keep]}
