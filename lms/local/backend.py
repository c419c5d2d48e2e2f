"""What runs an embedded model: the seam between the engine and a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from triplecheck.lms.local.form import Field
from triplecheck.lms.prompt import COMPLETED

BackendName = Literal["transformers", "llama.cpp"]


@dataclass(frozen=True)
class LocalConfig:
    """Settings of the engine. DSPy refuses most of them as call settings, so they live here.

    Everything that can change a reply is part of the model id (see `LocalEngine.model_id`).
    """

    backend: BackendName = "transformers"
    """What runs the model. `llama.cpp` needs llama-cpp-python (extra `llama-cpp`)."""
    max_new_tokens: int = 256
    """Length limit of a reply where a call sets no `max_tokens`."""
    guided: bool = True
    """Whether a reply is held to its form while it is written (`lms.local.guide`)."""
    longest_field: int = 128
    """Tokens that one field of a guided reply may have."""
    context_length: int = 8192
    """Prompt and reply together, at most; the model's own limit holds as well."""
    repetition_penalty: float = 1.0
    """Above 1, words that were used already are less likely."""
    stop: tuple[str, ...] = (COMPLETED,)
    """Texts that end a reply; they are left out of it."""
    batch_size: int = 8
    """Most requests answered side by side. With 1, replies do not depend on what else is asked: padding
    changes the last bits of the scores, which can tip a tie."""
    batch_wait: float = 0.01
    """Seconds to wait for more requests before a batch starts."""
    device: str = "auto"
    """`cpu`, `cuda` ...; `auto` takes a GPU where there is one."""
    threads: int | None = None
    """Processor threads; None leaves the choice to the library (one a core)."""

    def reply_settings(self) -> dict[str, object]:
        """What decides a reply."""
        settings = asdict(self)
        for name in ("batch_size", "batch_wait", "threads"):
            del settings[name]
        return settings


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
