"""The ledger: one row per role and model, written by every call, read by budgets and reports."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

from triplecheck.lms.budget import Budget
from triplecheck.lms.usage import Usage, total


@dataclass(frozen=True)
class Spent:
    """What one finished call took."""

    seconds: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = 0.0
    """None: the price is unknown."""
    cached: bool = False
    failed: bool = False


class Ledger:
    """Counts calls per role and model, and holds them to a budget. Safe to use from many threads.

    A ledger with a `parent` counts there too, and is held to the parent's budget as well as its own.
    """

    def __init__(self, budget: Budget | None = None, parent: Ledger | None = None) -> None:
        self.budget = budget or Budget()
        self._parent = parent
        self._rows: dict[tuple[str, str], Usage] = {}
        self._total = Usage()
        # One lock for a whole family: a call is checked and counted in all of its ledgers at once.
        self._lock: threading.Lock = parent._lock if parent is not None else threading.Lock()

    def begin(self, role: str, model: str) -> None:
        """Count a call that is about to start.

        Raises:
            BudgetExceededError: a budget, here or further out, is used up; nothing is counted.
        """
        with self._lock:
            for ledger in self._family():
                ledger._check(role, model)
            for ledger in self._family():
                ledger._add(role, model, Usage(calls=1))

    def end(self, role: str, model: str, spent: Spent) -> None:
        """Add what a call took that `begin` has counted."""
        row = Usage(
            cached_calls=int(spent.cached),
            failed_calls=int(spent.failed),
            unpriced_calls=int(spent.dollars is None),
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            seconds=spent.seconds,
            dollars=spent.dollars or 0.0,
        )
        with self._lock:
            for ledger in self._family():
                ledger._add(role, model, row)

    def take(self, role: str, model: str, usage: Usage) -> None:
        """Add what was spent where this ledger could not see it, as in another process. Nothing is checked."""
        with self._lock:
            for ledger in self._family():
                ledger._add(role, model, usage)

    def limits(self) -> list[tuple[Budget, Usage]]:
        """The budgets that hold here, each with what is spent of it, the innermost first."""
        with self._lock:
            return [(ledger.budget, ledger._total) for ledger in self._family()]

    def limits_dollars(self) -> bool:
        """Whether a budget in dollars applies, here or further out."""
        return any(ledger.budget.dollars is not None for ledger in self._family())

    def usage(self) -> Usage:
        """Everything counted so far, with its parts by role and by model."""
        with self._lock:
            rows = dict(self._rows)
        roles = sorted({role for role, _ in rows})
        models = sorted({model for _, model in rows})
        return replace(
            total(list(rows.values())),
            by_role={name: total([row for (role, _), row in rows.items() if role == name]) for name in roles},
            by_model={name: total([row for (_, model), row in rows.items() if model == name]) for name in models},
        )

    def rows(self) -> dict[tuple[str, str], Usage]:
        """What was counted, by (role, model)."""
        with self._lock:
            return dict(self._rows)

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """A ledger is one account: copies of settings or programs go on writing into it."""
        return self

    def _family(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger._parent

    def _check(self, role: str, model: str) -> None:
        self.budget.check(self._total)

    def _add(self, role: str, model: str, more: Usage) -> None:
        key = (role, model)
        self._rows[key] = total([self._rows.get(key, Usage()), more])
        self._total = total([self._total, more])
