"""What runs an embedded model: the seam between the engine and a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from triplecheck.lms.local.form import Field

TAIL = 24
"""Tokens at the end of a reply in which a stop text is looked for after each step."""


@dataclass(frozen=True)
class Prompt:
    """One request, as a backend needs it."""

    messages: tuple[tuple[str, str], ...]
    """(role, content) in order."""
    max_new_tokens: int
    temperature: float
    """0 takes the likeliest token each time."""
    top_p: float
    seed: int | None
    """What samples are drawn from; None draws anew each time. Without effect at temperature 0."""
    stop: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    """What the reply is held to while it is written; none for a reply of any form."""

    @property
    def goes_with(self) -> tuple[object, ...]:
        """Prompts for which this is equal may be generated side by side; a sampled one goes alone."""
        return ("greedy", self.stop) if self.temperature == 0 else ("sampled", id(self))


@dataclass(frozen=True)
class Generated:
    """What a backend wrote for one prompt."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: Literal["stop", "length"]


class Backend(Protocol):
    """A loaded model. Called from one thread at a time."""

    def generate(self, prompts: Sequence[Prompt]) -> list[Generated | Exception]:
        """Write replies to prompts that go together; one result each, in order.

        A prompt that cannot be answered yields its own error (`dspy.lm15.ContextLengthError` where it
        is too long) and does not disturb the others.
        """
        ...


def until_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """The text before the first of the stop texts, and whether there was one."""
    ends = [end for end in (text.find(mark) for mark in stop) if end >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def room_for_reply(prompt_tokens: int, wanted: int, context_length: int) -> int:
    """How many tokens a reply may have.

    Raises:
        dspy.lm15.ContextLengthError: the prompt leaves no room for any.
    """
    from dspy.lm15 import ContextLengthError

    room = context_length - prompt_tokens
    if room < 1:
        raise ContextLengthError(f"the prompt has {prompt_tokens} tokens and the model takes {context_length}")
    return min(wanted, room)
