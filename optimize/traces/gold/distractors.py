"""Distractors: what is kept beside the right paths and facts, so that later steps see what they do not need.

Right replies alone would lead every step to facts that answer the question and to no others: a student would learn
to copy everything. Distractors are followed but never labelled: rows hold the right reply.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from triplecheck.evals.configuration import digest
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.reply import GoldReply
from triplecheck.signatures import FilterTriples, JudgeAndGoOn, ScoreRelations, SelectPaths, Step
from triplecheck.signatures.step import Numbers, hint_of

_DISTRACTED: Mapping[type[Step], tuple[str, ...]] = {
    SelectPaths: ("keep",),
    ScoreRelations: ("relations",),
    FilterTriples: ("relevant",),
    JudgeAndGoOn: ("relevant", "follow"),
}
"""The fields of numbers that distractors are added to."""
_SCORE = 0.05  # beside those of the right ones


def with_distractors(step: type[Step], right: GoldReply, prompt: Prompt, count: int) -> GoldReply:
    """A reply that also keeps some items of each list at random; where the facts suffice, no further paths.

    Args:
        step: what was asked.
        right: the right reply.
        prompt: to which.
        count: how many more of each list, at most.
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
        outputs[field] = [*outputs[field], *more]
        if "scores" in outputs:
            outputs["scores"] = [*outputs["scores"], *[_SCORE] * len(more)]
    return GoldReply(outputs, right.taught)
