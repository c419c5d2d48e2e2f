"""Selecting paths: which relations to follow."""

from __future__ import annotations

import re

import numpy as np

from triplecheck.lms.extractive.question import read_question
from triplecheck.lms.extractive.relevance import Encode, Hop, Hops, PathRelevance, phrases
from triplecheck.lms.prompt import Prompt

_STEP = re.compile(r" (→|←) ")
_NOTE = re.compile(r" \((?:\d+(?: × (?P<ends>.*))?)\)$")

_MOST_FIRST, _MARGIN_FIRST = 7, 0.4
_MOST_LATER, _MARGIN_LATER = 8, 0.45


def parse_path(line: str) -> tuple[str, Hops, str]:
    """Topic, hops and the types at the end, of a line such as "A → directed by → genre (3 × Genre)"."""
    note = _NOTE.search(line)
    ends = (note["ends"] or "") if note else ""
    parts = _STEP.split(line[: note.start()] if note else line)
    hops = tuple(Hop(label.strip(), arrow) for arrow, label in zip(parts[1::2], parts[2::2], strict=True))
    return parts[0].strip(), hops, "" if ends.startswith("e.g. ") else ends


def rank_paths(prompt: Prompt, encode: Encode) -> tuple[list[tuple[str, Hops]], list[tuple[int, float]]]:
    """The paths of a prompt, and (index, score) of those that follow a relation, best first."""
    topics = prompt.items("topics")
    parsed = [parse_path(line) for line in prompt.items("paths")]
    question = read_question(prompt.text("question"), topics, phrases(hop for _, hops, _ in parsed for hop in hops))
    usable = [i for i, (_, hops, _) in enumerate(parsed) if hops]
    if not usable:
        return [], []
    relevance = PathRelevance(question, encode)
    paths = [parsed[i][1] for i in usable]
    scores = relevance.paths(paths, [parsed[i][2] for i in usable])
    if all(len(path) == 1 for path in paths):
        # A first hop need not be what the question asks for, only on the way to it.
        scores = np.maximum(scores - scores.max(), (hop := relevance.first_hops([p[0] for p in paths])) - hop.max())
    order = np.argsort(-scores, kind="stable")
    return [(topic, hops) for topic, hops, _ in parsed], [(usable[i], float(scores[i])) for i in order]


def select_paths(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The paths that fit the question best, within a margin of the best one."""
    paths, ranked = rank_paths(prompt, encode)
    first = all(len(paths[i][1]) == 1 for i, _ in ranked)
    most, margin = (_MOST_FIRST, _MARGIN_FIRST) if first else (_MOST_LATER, _MARGIN_LATER)
    keep: list[tuple[float, int]] = []
    for topic in dict.fromkeys(paths[i][0] for i, _ in ranked):
        own = [(score, i) for i, score in ranked if paths[i][0] == topic]
        keep += [(score, i) for score, i in own[:most] if score >= own[0][0] - margin]
    keep.sort(key=lambda found: (-found[0], found[1]))
    return {"keep": [i + 1 for _, i in keep]}
