"""How the embedded small model generates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from triplecheck.lms.sections import COMPLETED

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
