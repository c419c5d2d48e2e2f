"""Exploration: scores relations, entities and facts, and judges whether facts suffice and are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz.fuzz import ratio

from triplecheck.kg.ranker import PathRanker
from triplecheck.language.names import find_names
from triplecheck.language.parse import stop_words
from triplecheck.language.question import read_question
from triplecheck.language.relevance import LEAST_SUPPORT, Encode, PathRelevance, phrases
from triplecheck.language.text import plain
from triplecheck.lms.extractive.answers import answer_from_facts
from triplecheck.lms.extractive.planning import name_topics, rank_paths
from triplecheck.lms.fact_paths import FactPath, follow
from triplecheck.lms.prompt import Prompt, known_names
from triplecheck.signatures.notation import (
    FORWARD,
    WrittenHop,
    read_facts,
    read_path,
    read_reached,
    read_topic,
    read_triples,
)

_MARGIN = 0.45  # of the scores, below the best path
_TEMPERATURE = 0.15  # of the softmax over scores
_LEAST_LIKENESS = 0.2  # support of the best path; below, no fact is relevant
_COVERED = 0.42  # cosine at which a part of the question counts as answered
_CLEARLY_COVERED = 0.6
_LEAST_FINDING = 0.35
_MOST_REVISITED, _REVISIT_MARGIN = 2, 0.1
_MISSPELT = 70.0  # least similarity, in percent, of a misspelt name; aliases are less similar


def extract_keywords(prompt: Prompt) -> dict[str, object]:
    """The known names that the question mentions; if there are none, what looks like a name in it."""
    question = prompt.text("question")
    topics = name_topics(prompt)["topics"]
    assert isinstance(topics, list)
    proofread = question
    for known in known_names(prompt):
        if known.name in topics and ratio(plain(known.spelling), plain(known.name)) >= _MISSPELT:
            proofread = proofread.replace(known.spelling, known.name)
    if not topics:
        topics = [name.text for name in find_names(question, prompt.language)]
    return {"proofread": proofread, "keywords": topics}


def score_relations(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The paths that fit the question best, within a margin of the best one."""
    return {"relations": _scored_paths(prompt, encode, ranker)}


def _scored_paths(prompt: Prompt, encode: Encode, ranker: PathRanker | None) -> dict[int, float]:
    _, ranked, relevance = rank_paths(prompt, encode, ranker)
    if relevance is None:
        return {}
    least = ranked[0][1] - relevance.margin(_MARGIN)
    chosen = [(i, score) for i, score in ranked[: _most(prompt)] if score >= least]
    return _shares({i + 1: score for i, score in chosen})


def score_entities(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The entities of each path that the question names, or whose names are most similar to it."""
    question = prompt.text("question")
    items = [read_reached(item) for item in prompt.items("reached")]
    if not items:
        return {"entities": {}}
    words = set(re.findall(r"\w+", plain(question))) - stop_words(prompt.language)
    vectors = encode([question, *(entity for _, entity in items)])
    scores = vectors[1:] @ vectors[0]
    for i, (_, entity) in enumerate(items):
        scores[i] += len(words & set(re.findall(r"\w+", plain(entity))))
    order = np.argsort(-scores, kind="stable").tolist()
    most = _most(prompt)
    taken: dict[str, int] = {}
    chosen = []
    for i in order:
        taken[items[i][0]] = taken.get(items[i][0], 0) + 1
        if taken[items[i][0]] <= most:
            chosen.append(i)
    return {"entities": _shares({i + 1: float(scores[i]) for i in chosen})}


def filter_triples(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The facts of the paths that fit the question within a margin of the best one, and the facts that lead to them."""
    paths = _paths(prompt)
    if not paths:
        return {"relevant": []}
    relevance = _relevance(prompt, paths, encode, ranker)
    topics = [path.topic for path in paths]
    scores = relevance.paths([path.hops for path in paths], topics=topics)
    first = relevance.first_hops([path.hops[0] for path in paths], topics)
    if max(relevance.support(path.hops) for path in paths) < _LEAST_LIKENESS:
        return {"relevant": []}
    whole, start = scores - scores.max(), first - first.max()
    longest = max(len(path.hops) for path in paths)
    # If all paths have one hop, each may be the start of a longer path.
    fits = whole if longest > 1 else np.maximum(whole, start)
    near = (path for path, fit in zip(paths, fits, strict=True) if fit >= -relevance.margin(_MARGIN))
    return {"relevant": sorted({number for path in near for number in path.numbers()})}


def judge_sufficiency(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """Whether the facts give an answer, and their relations cover every part of the question.

    By a ranker that was trained on the graph, they suffice when the path to the answer has been walked to its end.
    """
    cited = answer_from_facts(prompt, encode, ranker)["cited"]
    assert isinstance(cited, list)
    facts = [fact for fact in read_facts(prompt.items("facts")) if fact.number in cited]
    if not facts:
        return {"sufficient": False}
    paths = _paths(prompt)
    relevance = _relevance(prompt, paths, encode, ranker)
    among = [path.hops for path in paths]
    walked = [relevance.walked(path.hops, path.topic, among) for path in paths if path.numbers() == cited]
    if walked and walked[0] is not None:
        return {"sufficient": any(walked)}
    covered = relevance.similarity([fact.hop.label for fact in facts]).max(axis=0)
    # With more parts than hops, each part must be covered clearly.
    asked_of_hops = sum(segment.kind != "asked" for segment in relevance.segments)
    hops = max(len(path.hops) for path in paths if set(cited) & {fact.number for fact in path.facts})
    least = _COVERED if asked_of_hops <= hops else _CLEARLY_COVERED
    return {"sufficient": bool((covered >= least).all())}


def judge_and_go_on(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The relevant facts, whether they suffice, and the paths to follow if not."""
    verdict = filter_triples(prompt, encode, ranker) | judge_sufficiency(prompt, encode, ranker)
    follow = [] if verdict["sufficient"] else list(_scored_paths(prompt, encode, ranker))
    return verdict | {"follow": follow}


def judge_proof(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Whether the question asks for every relation of the facts, as far as their names are similar to it."""
    question = prompt.text("question")
    triples = [line.triple for line in read_triples(prompt.items("triples")) if line.triple is not None]
    named = dict.fromkeys(end for head, _, tail in triples for end in (head, tail))
    topics = [name for name in named if plain(name) in plain(question)]
    relations = list(dict.fromkeys(relation for _, relation, _ in triples))
    if not relations:
        return {"reasoning": "There are no facts.", "entails": False}
    relevance = PathRelevance(read_question(question, topics, relations, prompt.language), encode)
    unlike = [name for name in relations if relevance.support((WrittenHop(name, FORWARD),)) < LEAST_SUPPORT]
    if unlike:
        return {"reasoning": f"The question does not ask for {unlike[0]!r}.", "entails": False}
    return {"reasoning": "The question asks for what the facts say.", "entails": True}


def name_sub_goals(prompt: Prompt) -> dict[str, object]:
    """The parts of the question that may name relations, nearest to the topic first."""
    text = prompt.text("question")
    segments = sorted(prompt.question().segments, key=lambda segment: segment.distance)
    return {"goals": [segment.text for segment in segments] or [text]}


def update_memory(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """For each goal the values of the fact whose relation is most similar to it."""
    goals = prompt.items("goals")
    facts = read_facts(prompt.items("facts"))
    if not goals or not facts:
        return {"findings": ["unknown"] * len(goals)}
    cosines = encode(goals) @ encode([fact.hop.label for fact in facts]).T
    best = [(facts[int(row.argmax())], row.max()) for row in cosines]
    return {"findings": [", ".join(fact.values[:3]) if fit >= _LEAST_FINDING else "unknown" for fact, fit in best]}


def reflect(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The set-aside paths that fit the question within a margin of the best followed path."""
    offered = prompt.items("paths")
    followed = prompt.items("followed")
    written = [read_path(line) for line in [*offered, *followed]]
    parsed = [path.hops for path in written]
    question = prompt.question(phrases(hop for hops in parsed for hop in hops))
    usable = [i for i, hops in enumerate(parsed) if hops]
    if not any(i < len(offered) for i in usable):
        return {"revisit": []}
    relevance = PathRelevance(question, encode, ranker)
    found = relevance.paths([parsed[i] for i in usable], topics=[written[i].topic for i in usable])
    scores = dict(zip(usable, found.tolist(), strict=True))
    bar = max((scores[i] for i in usable if i >= len(offered)), default=-np.inf) - _REVISIT_MARGIN
    better = sorted((i for i in usable if i < len(offered) and scores[i] >= bar), key=lambda i: (-scores[i], i))
    return {"revisit": [i + 1 for i in better[:_MOST_REVISITED]]}


def _paths(prompt: Prompt) -> list[FactPath]:
    return follow(read_facts(prompt.items("facts")), [read_topic(topic).name for topic in prompt.items("topics")])


def _relevance(
    prompt: Prompt, paths: Sequence[FactPath], encode: Encode, ranker: PathRanker | None = None
) -> PathRelevance:
    return PathRelevance(prompt.question(phrases(hop for path in paths for hop in path.hops)), encode, ranker)


def _most(prompt: Prompt) -> int:
    text = prompt.text("most")
    return int(text) if text.isdigit() else 1


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores that sum to 1."""
    if not scores:
        return {}
    powers = np.exp((np.array(list(scores.values())) - max(scores.values())) / _TEMPERATURE)
    return dict(zip(scores, (powers / powers.sum()).round(3).tolist(), strict=True))
