"""Usage of language models, budgets, and the ledger that counts calls and enforces budgets."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from triplecheck.kg.errors import UserError
from triplecheck.lms.errors import BudgetExceededError
from triplecheck.lms.kinds import is_no_language_model


@dataclass(frozen=True)
class Usage:
    """The usage of a set of calls.

    `calls` counts every started call, cached or not, so a run has the same count with a cold and a warm cache.
    Tokens and dollars count new completions only, unless replies are kept with what they took (`lms.costs`).
    """

    calls: int = 0
    """Started calls; a retry after an unreadable reply counts as a call."""
    cached_calls: int = 0
    """Calls answered from DSPy's cache: no tokens, no cost."""
    failed_calls: int = 0
    """Calls that ended in an error."""
    unpriced_calls: int = 0
    """Calls of unknown cost: the price is in no table."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Sum of the calls' durations; with concurrent calls, more than the wall time."""
    spared_seconds: float = 0.0
    """The part of `seconds` that nobody waited for: replies from a cache took it when they were made (`lms.costs`)."""
    dollars: float = 0.0
    """Sum of the known prices (estimates from the price table of LiteLLM and DSPy)."""
    by_role: Mapping[str, Usage] = field(default_factory=dict, hash=False)
    by_model: Mapping[str, Usage] = field(default_factory=dict, hash=False)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, with `spared_seconds` and one level of `by_role` and `by_model` where there are any."""
        row: dict[str, Any] = {name: getattr(self, name) for name in _COUNTS} | {"seconds": round(self.seconds, 6)}
        if not self.spared_seconds:
            del row["spared_seconds"]
        for name, parts in (("by_role", self.by_role), ("by_model", self.by_model)):
            if parts:
                row[name] = {key: part.to_json() for key, part in sorted(parts.items())}
        return row


_COUNTS = (
    *("calls", "cached_calls", "failed_calls", "unpriced_calls", "prompt_tokens", "completion_tokens"),
    *("seconds", "spared_seconds", "dollars"),
)


def total(rows: Iterable[Usage]) -> Usage:
    """The sum of some usages, without their parts."""
    rows = list(rows)
    sums: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in _COUNTS}
    return Usage(**sums)


LIMITS = ("calls", "tokens", "seconds", "dollars")


@dataclass(frozen=True)
class Budget:
    """Hard limits on the usage of language models in a session; None means no limit.

    What the rule-based baseline and students do counts as usage, and not against a budget.

    Limits are checked before each call: once a limit is used up, no further call starts. Running calls are
    finished, so tokens, seconds and dollars may exceed the limit by what those calls take; the number of calls
    never does.

    Raises:
        UserError: a limit is negative or not a number.
    """

    calls: int | None = None
    """Started calls, cached or not."""
    tokens: int | None = None
    """Prompt and completion tokens, counted as `Usage` does."""
    seconds: float | None = None
    """Sum of the calls' durations."""
    dollars: float | None = None
    """Cost, counted as `Usage` does. Models of unknown price are refused under this limit."""

    def __post_init__(self) -> None:
        for name in LIMITS:
            allowed = getattr(self, name)
            if allowed is not None and (isinstance(allowed, bool) or not math.isfinite(allowed) or allowed < 0):
                raise UserError(f"a budget of {allowed!r} {name} makes no sense: give a number from 0, or leave it out")

    def check(self, usage: Usage) -> None:
        """Raise `BudgetExceededError` if `usage` leaves no room for another call."""
        for name in LIMITS:
            allowed = getattr(self, name)
            if allowed is not None and getattr(usage, name) >= allowed:
                raise BudgetExceededError(
                    f"the budget of {allowed:g} {name} is used up ({_spent(usage)}): no further call to a language "
                    f"model is made; raise the limit on {name} or ask for less"
                )


def _spent(usage: Usage) -> str:
    return f"{usage.calls} calls, {usage.tokens} tokens, {usage.seconds:.1f} s, ${usage.dollars:.4f} so far"


def _summed(rows: Mapping[tuple[str, str], Usage]) -> Usage:
    """The sum of rows by (role, model), with its parts."""
    roles = sorted({role for role, _ in rows})
    models = sorted({model for _, model in rows})
    return replace(
        total(rows.values()),
        by_role={name: total(row for (role, _), row in rows.items() if role == name) for name in roles},
        by_model={name: total(row for (_, model), row in rows.items() if model == name) for name in models},
    )


class Ledger:
    """Counts calls per role and model, and enforces a budget. Thread-safe.

    A ledger with a `parent` also counts there, and obeys the parent's budget as well as its own.
    """

    def __init__(self, budget: Budget | None = None, parent: Ledger | None = None) -> None:
        self.budget = budget or Budget()
        self._parent = parent
        self._rows: dict[tuple[str, str], Usage] = {}
        self._charged = Usage()
        # One lock for nested ledgers: a call is checked and counted in all of them atomically.
        self._lock: threading.Lock = parent._lock if parent is not None else threading.Lock()

    def begin(self, role: str, model: str) -> None:
        """Count a call that is about to start.

        Raises:
            BudgetExceededError: the budget of this ledger or of a parent is used up; nothing is counted.
        """
        with self._lock:
            if not is_no_language_model(model):
                for ledger in self._family():
                    ledger._check(role, model)
            for ledger in self._family():
                ledger._add(role, model, Usage(calls=1))

    def take(self, role: str, model: str, usage: Usage) -> None:
        """Add the usage of a call that `begin` has counted, or from elsewhere, such as another process.

        Budgets are not checked.
        """
        with self._lock:
            for ledger in self._family():
                ledger._add(role, model, usage)

    def limits(self) -> list[tuple[Budget, Usage]]:
        """The budgets in force, innermost first, each with its usage."""
        with self._lock:
            return [(ledger.budget, ledger._charged) for ledger in self._family()]

    def limits_dollars(self) -> bool:
        """Whether this ledger or a parent has a budget in dollars."""
        return any(ledger.budget.dollars is not None for ledger in self._family())

    def usage(self) -> Usage:
        """Everything counted so far, with its parts by role and by model."""
        return _summed(self.rows())

    def charged(self) -> Usage:
        """What counts against the budget: the usage of language models, with its parts by role and by model."""
        return _summed({key: row for key, row in self.rows().items() if not is_no_language_model(key[1])})

    def rows(self) -> dict[tuple[str, str], Usage]:
        """What was counted, by (role, model)."""
        with self._lock:
            return dict(self._rows)

    def __repr__(self) -> str:
        limits = "".join(
            f", at most {limit:g} {name}" for name, limit in vars(self.budget).items() if limit is not None
        )
        return f"<Ledger: {_spent(self.usage())}{limits}>"

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """Copies of settings or programs share the ledger."""
        return self

    def _family(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger._parent

    def _check(self, role: str, model: str) -> None:
        self.budget.check(self._charged)

    def _add(self, role: str, model: str, more: Usage) -> None:
        key = (role, model)
        self._rows[key] = total([self._rows.get(key, Usage()), more])
        if not is_no_language_model(model):
            self._charged = total([self._charged, more])
