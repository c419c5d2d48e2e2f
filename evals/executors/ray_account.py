"""One budget over many processes: an account that every call to a model asks first.

A process that counted for itself could only be given a share of what is left, and would stop with money unspent
or go on with money that is gone. So the ledgers live in one actor, and each call costs a message to it (below a
millisecond). The number of calls is thereby as exact as in one process; tokens, seconds and dollars may end above
their limit by what the calls take that are under way at that moment, one per question under way and step beside
it, as `lms.Budget` says. Where there is no budget there is no account.
"""

from __future__ import annotations

from typing import Any

from triplecheck.lms import Budget, BudgetExceededError, Ledger, Usage


class Account:
    """The actor: ledgers with the budgets of the run, and what was spent of each before."""

    def __init__(self, limits: list[tuple[Budget, Usage]]) -> None:
        ledger: Ledger | None = None
        for budget, spent in reversed(limits):
            ledger = Ledger(budget, parent=ledger)
            # Its own spending alone: `take` would count it in those around it, which have it in theirs.
            ledger._add("before", "before", spent)
        self._ledger = ledger or Ledger()

    def begin(self, role: str, model: str) -> dict[str, Any] | None:
        """Count a call; where a budget forbids it, what `BudgetExceededError` is made of."""
        try:
            self._ledger.begin(role, model)
        except BudgetExceededError as error:
            return {"message": str(error), "limit": error.limit, "allowed": error.allowed, "used": error.used}
        return None

    def take(self, role: str, model: str, usage: Usage) -> None:
        """Add what a call took that was counted."""
        self._ledger.take(role, model, usage)


class SharedLedger(Ledger):
    """A process's outermost ledger: the account is asked before a call, and told after it.

    Args:
        account: handle of the actor.
        limits: the budgets that the account keeps.
    """

    def __init__(self, account: Any, limits: list[tuple[Budget, Usage]]) -> None:
        dollars = [budget.dollars for budget, _ in limits if budget.dollars is not None]
        super().__init__(Budget(dollars=min(dollars, default=None)))
        self._account = account

    def _check(self, role: str, model: str) -> None:
        import ray

        refused = ray.get(self._account.begin.remote(role, model))
        if refused is not None:
            message = refused.pop("message")
            raise BudgetExceededError(message, **refused)

    def _add(self, role: str, model: str, more: Usage) -> None:
        if not more.calls:  # the call itself is counted by `begin`
            self._account.take.remote(role, model, more)
