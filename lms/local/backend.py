"""Backends: the interface between the engine and the library that runs a model, and its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from dspy.lm15 import ContextLengthError

from triplecheck.lms.local.form import Field
from triplecheck.lms.prompt import COMPLETED

BackendName = Literal["transformers", "llama.cpp"]


@dataclass(frozen=True)
class LocalConfig:
    """Settings of the engine. DSPy rejects most of them as call settings.

    Everything that can change a reply is part of the model id (see `LocalEngine.model_id`).
    """

    backend: BackendName = "transformers"
    """The library that runs the model. `llama.cpp` needs llama-cpp-python (extra `llama-cpp`)."""
    max_new_tokens: int = 256
    """Maximum tokens of a reply if the call sets no `max_tokens`."""
    guided: bool = True
    """Whether decoding is constrained to the reply format (`lms.local.guide`)."""
    longest_field: int = 128
    """Maximum tokens of one field in a guided reply."""
    context_length: int | None = 8192
    """Maximum tokens of prompt and reply together; the model's own limit also applies. None: the model's own limit,
    or less where its key-value cache would take more than an eighth of the memory."""
    prefix_memory: int = 1024
    """MiB that llama.cpp keeps of evaluated prompt beginnings (instructions and demonstrations), so that each is
    evaluated once; 0: none."""
    stop: tuple[str, ...] = (COMPLETED,)
    """Stop texts; they are not part of the reply."""
    batch_size: int = 8
    """Maximum batch size. With 1, a reply does not depend on the other requests: padding changes the last bits of
    the scores, which can break a tie differently."""
    batch_wait: float = 0.01
    """Seconds to wait for more requests before a batch starts."""
    device: str = "auto"
    """`cpu`, `cuda` ...; `auto` uses a GPU if there is one."""
    threads: int | None = None
    """CPU threads; None: the library's default (one per core)."""

    def reply_settings(self) -> dict[str, object]:
        """The settings that determine a reply."""
        settings = asdict(self)
        for name in ("batch_size", "batch_wait", "threads", "prefix_memory"):
            del settings[name]
        return settings


TAIL = 24
"""Number of last tokens that are searched for a stop text after each step."""


@dataclass(frozen=True)
class GenerationRequest:
    """One request to a backend."""

    messages: tuple[tuple[str, str], ...]
    """(role, content) in order."""
    max_new_tokens: int
    temperature: float
    """0 is greedy decoding."""
    top_p: float
    seed: int | None
    """Random seed; None: a new one each time. No effect at temperature 0."""
    stop: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    """The fields that constrain decoding; empty: unconstrained."""

    @property
    def goes_with(self) -> tuple[object, ...]:
        """Prompts with equal keys may share a batch; a sampled prompt is generated alone."""
        return ("greedy", self.stop) if self.temperature == 0 else ("sampled", id(self))


@dataclass(frozen=True)
class Generated:
    """The completion of one prompt."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: Literal["stop", "length"]
    reused_tokens: int = 0
    """Prompt tokens that were evaluated by an earlier call."""


class Backend(Protocol):
    """A loaded model. Called from one thread at a time."""

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """Complete a batch of prompts; one result each, in order.

        A failing prompt gets its own error (`dspy.lm15.ContextLengthError` if too long); the others are not affected.
        """
        ...


def until_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """The text before the first of the stop texts, and whether there was one."""
    ends = [end for end in (text.find(mark) for mark in stop) if end >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def room_for_reply(prompt_tokens: int, wanted: int, context_length: int) -> int:
    """Maximum tokens of a reply.

    Raises:
        dspy.lm15.ContextLengthError: the prompt leaves no room for a reply.
    """
    room = context_length - prompt_tokens
    if room < 1:
        raise ContextLengthError(f"the prompt has {prompt_tokens} tokens and the model takes {context_length}")
    return min(wanted, room)
