"""Distractors: what gold replies select besides the right items, so that later steps see what they do not need."""

from __future__ import annotations

import random
from collections.abc import Mapping

from triplecheck import signatures as steps
from triplecheck.evals.configuration import digest
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.known import GoldReply
from triplecheck.signatures import Step
from triplecheck.signatures.step import Numbers, hint_of

_DISTRACTED: Mapping[type[Step], tuple[str, ...]] = {
    steps.SelectPaths: ("keep",),
    steps.ScoreRelations: ("relations",),
    steps.FilterTriples: ("relevant",),
    steps.JudgeAndGoOn: ("relevant", "follow"),
}
"""The fields of numbers that distractors are added to."""
_SCORE = 0.05  # of a distractor


def with_distractors(step: type[Step], right: GoldReply, prompt: Prompt, count: int) -> GoldReply:
    """The right reply with distractors: random items of each list, so that later steps see what they do not need.

    With right replies only, every step would see only the facts that answer the question, and a student would learn
    to copy everything. Distractors are followed but never labelled: training rows hold the right reply. If the facts
    suffice, no paths are added.

    Args:
        count: maximum number of distractors per list.
    """
    outputs = dict(right.outputs)
    for field in _DISTRACTED.get(step, ()):
        if field == "follow" and outputs["sufficient"]:
            continue
        numbers = hint_of(step, field)
        assert isinstance(numbers, Numbers)
        others = [n for n in range(1, len(prompt.items(numbers.of)) + 1) if n not in outputs[field]]
        most = int(prompt.text("most") or len(others)) - len(outputs[field]) if numbers.of == "paths" else len(others)
        rng = random.Random(digest([prompt.inputs, field]))
        more = rng.sample(others, max(0, min(count, len(others), most)))
        right_ones = outputs[field]
        scored = isinstance(right_ones, dict)
        outputs[field] = right_ones | dict.fromkeys(more, _SCORE) if scored else [*right_ones, *more]
    return GoldReply(outputs, right.taught)
