"""Budget: how much a session may spend on language models."""

from __future__ import annotations

import math
from dataclasses import dataclass

from triplecheck.kg.errors import UserError
from triplecheck.lms.errors import BudgetExceededError
from triplecheck.lms.usage import Usage

LIMITS = ("calls", "tokens", "seconds", "dollars")


@dataclass(frozen=True)
class Budget:
    """Hard limits on what a session spends; None is no limit.

    A limit is looked at before each call: the call that would start when a limit is used up is not
    made. Calls already under way are finished, so tokens, seconds and dollars may end above the limit
    by what those calls take; the number of calls never does.

    Raises:
        UserError: a limit is negative or not a number.
    """

    calls: int | None = None
    """Calls started, answered from the cache or not."""
    tokens: int | None = None
    """Prompt and completion tokens newly made."""
    seconds: float | None = None
    """Sum of the calls' durations."""
    dollars: float | None = None
    """Money newly spent. Only models whose price is known are called under such a limit."""

    def __post_init__(self) -> None:
        for name in LIMITS:
            allowed = getattr(self, name)
            if allowed is not None and (isinstance(allowed, bool) or not math.isfinite(allowed) or allowed < 0):
                raise UserError(f"a budget of {allowed!r} {name} makes no sense: give a number from 0, or leave it out")

    def check(self, usage: Usage) -> None:
        """Raise `BudgetExceededError` if after `usage` no further call may start."""
        for name in LIMITS:
            allowed = getattr(self, name)
            used = getattr(usage, name)
            if allowed is not None and used >= allowed:
                raise BudgetExceededError(
                    f"the budget of {allowed:g} {name} is used up ({_spent(usage)}): no further call to a language "
                    f"model is made; raise the limit on {name} or ask for less",
                    limit=name,
                    allowed=allowed,
                    used=used,
                )


def _spent(usage: Usage) -> str:
    return f"{usage.calls} calls, {usage.tokens} tokens, {usage.seconds:.1f} s, ${usage.dollars:.4f} so far"
