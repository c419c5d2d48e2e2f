"""Selecting paths: which relations to follow."""

from __future__ import annotations

import re

import numpy as np

from lms.extractive.prompt import Prompt
from lms.extractive.question import read_question
from lms.extractive.relevance import Encode, Hop, Hops, PathRelevance, phrases

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


def select_paths(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The paths that fit the question best, within a margin of the best one."""
    topics = prompt.items("topics")
    parsed = [parse_path(line) for line in prompt.items("paths")]
    question = read_question(prompt.text("question"), topics, phrases(hop for _, hops, _ in parsed for hop in hops))
    usable = [i for i, (_, hops, _) in enumerate(parsed) if hops]
    if not usable:
        return {"keep": []}
    relevance = PathRelevance(question, encode)
    paths = [parsed[i][1] for i in usable]
    scores = relevance.paths(paths, [parsed[i][2] for i in usable])
    first = all(len(path) == 1 for path in paths)
    if first:
        # A first hop need not be what the question asks for, only on the way to it.
        scores = np.maximum(scores - scores.max(), (hop := relevance.first_hops([p[0] for p in paths])) - hop.max())
    most, margin = (_MOST_FIRST, _MARGIN_FIRST) if first else (_MOST_LATER, _MARGIN_LATER)
    order = np.argsort(-scores, kind="stable")
    keep: list[int] = []
    for topic in dict.fromkeys(parsed[usable[i]][0] for i in order):
        own = [i for i in order if parsed[usable[i]][0] == topic]
        keep += [i for i in own[:most] if scores[i] >= scores[own[0]] - margin]
    keep.sort(key=lambda i: (-scores[i], i))
    return {"keep": [usable[i] + 1 for i in keep]}
