"""Usage: what calls to language models took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Usage:
    """What a set of calls took.

    `calls` counts every call that was started, answered from the cache or not, so that a run counts
    the same with a cold and with a warm cache; tokens and dollars count only what was newly made.
    """

    calls: int = 0
    """Calls started; a repetition after an unreadable reply is a call of its own."""
    cached_calls: int = 0
    """Those of `calls` that DSPy's cache answered: no tokens, no money."""
    failed_calls: int = 0
    """Those of `calls` that ended in an error."""
    unpriced_calls: int = 0
    """Those of `calls` that cost an unknown amount: their price is in no table."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Sum of the calls' durations; calls side by side add up to more than the clock shows."""
    dollars: float = 0.0
    """Sum of the known prices (estimates from the price table of LiteLLM and DSPy)."""
    by_role: Mapping[str, Usage] = field(default_factory=dict, hash=False)
    by_model: Mapping[str, Usage] = field(default_factory=dict, hash=False)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, with one level of `by_role` and `by_model` where there is any."""
        row: dict[str, Any] = {
            "calls": self.calls,
            "cached_calls": self.cached_calls,
            "failed_calls": self.failed_calls,
            "unpriced_calls": self.unpriced_calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "seconds": round(self.seconds, 6),
            "dollars": self.dollars,
        }
        for name, parts in (("by_role", self.by_role), ("by_model", self.by_model)):
            if parts:
                row[name] = {key: part.to_json() for key, part in sorted(parts.items())}
        return row


def total(parts: Mapping[str, Usage] | list[Usage]) -> Usage:
    """The sum of some usages, without their parts."""
    rows = list(parts.values()) if isinstance(parts, Mapping) else parts
    return Usage(
        calls=sum(row.calls for row in rows),
        cached_calls=sum(row.cached_calls for row in rows),
        failed_calls=sum(row.failed_calls for row in rows),
        unpriced_calls=sum(row.unpriced_calls for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        seconds=sum(row.seconds for row in rows),
        dollars=sum(row.dollars for row in rows),
    )
