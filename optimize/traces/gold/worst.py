"""The worst reply: the opposite of the right one, in the right format. It shows how much depends on a step."""

from __future__ import annotations

from typing import Any

from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.known import GoldReply
from triplecheck.signatures import Step
from triplecheck.signatures.step import Numbers, hint_of

_NOTHING = "none"


def worst_reply(step: type[Step], right: GoldReply, prompt: Prompt) -> GoldReply:
    """The opposite of a right reply, field by field."""
    outputs = {name: _opposite(step, name, value, prompt) for name, value in right.outputs.items()}
    return GoldReply(outputs, taught=False)


def _opposite(step: type[Step], name: str, value: Any, prompt: Prompt) -> Any:
    """Of numbers, the last item that is not right; no texts; the other truth; `none` for a text."""
    hint = hint_of(step, name)
    if isinstance(hint, Numbers):
        wrong = [number for number in range(1, len(prompt.items(hint.of)) + 1) if number not in value][-1:]
        return dict.fromkeys(wrong, 1.0) if isinstance(value, dict) else wrong
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return 1 - value
    return [] if isinstance(value, list) else _NOTHING
