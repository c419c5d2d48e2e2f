"""Detours: what is kept beside the right paths and facts, so that later steps see what they do not need.

Right replies alone would lead every step to facts that answer the question and to no others: who learnt from
that would copy whatever is put before it. A detour is taken, not taught: rows hold the right reply.
"""

from __future__ import annotations

import random

from triplecheck.evals.configuration import digest
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.reply import Reply

_CHOOSES_FROM = {"keep": "paths", "relations": "paths", "follow": "paths", "relevant": "facts"}
"""The input list that the numbers in an output field are from."""
_SCORE = 0.05  # beside those of the right ones


def with_detours(right: Reply, prompt: Prompt, count: int) -> Reply:
    """A reply that keeps up to so many more of what is offered, drawn by the prompt; a verdict goes with nothing more.

    Args:
        right: the right reply.
        prompt: to which.
        count: how many more of each list.
    """
    outputs = dict(right.outputs)
    for field, offered in _CHOOSES_FROM.items():
        if field not in outputs or (field == "follow" and outputs["sufficient"]):
            continue
        others = [n for n in range(1, len(prompt.items(offered)) + 1) if n not in outputs[field]]
        lot = random.Random(digest([prompt.inputs, field]))
        most = int(prompt.text("most") or len(others)) - len(outputs[field]) if field != "relevant" else len(others)
        more = lot.sample(others, max(0, min(count, len(others), most)))
        outputs[field] = [*outputs[field], *more]
        if "scores" in outputs:
            outputs["scores"] = [*outputs["scores"], *[_SCORE] * len(more)]
    return Reply(outputs, right.taught)
