"""Stopping an optimizer.

DSPy's optimizers catch every `Exception`, score it 0 and continue. A used-up budget or a dead server would then
count as wrong answers and make the compiled program worse. `Halted` is therefore a `BaseException`, which they do
not catch; `optimize.compile` turns it back into the original error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from triplecheck.kg import UnavailableError
from triplecheck.lms import Budget, BudgetExceededError, Usage
from triplecheck.lms.ledger import LIMITS


class Halted(BaseException):
    """Stops the optimizer."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class ErrorWatch:
    """Errors while an optimizer runs."""

    failures: dict[str, int] = field(default_factory=dict)
    """Number of runs that ended in an error, by type of the error; they count as wrong answers."""
    halted: Exception | None = None

    def ran(self, error: BaseException | None) -> None:
        """Record how a run of the program ended.

        Raises:
            Halted: a model or the graph is not available. The first such error stops the optimizer, since a wrong
                score would stay when the run is resumed.
        """
        if error is None or isinstance(error, Halted):
            return
        if isinstance(error, UnavailableError):
            self.halted = error
            raise Halted(error)
        name = type(error).__name__
        self.failures[name] = self.failures.get(name, 0) + 1

    def check(self) -> None:
        """Raise `Halted` if the optimizer must stop."""
        if self.halted is not None:
            raise Halted(self.halted)


@dataclass(frozen=True)
class HaltingBudget(Budget):
    """A budget that stops the whole optimizer when it is used up, not only the call."""

    watch: ErrorWatch = field(default_factory=ErrorWatch)

    def check(self, usage: Usage) -> None:
        """Raise `Halted` if no further call may start."""
        self.watch.check()
        try:
            super().check(usage)
        except BudgetExceededError as error:
            raise Halted(error) from error


def remaining(budget: Budget, spent: Usage, watch: ErrorWatch) -> HaltingBudget:
    """The rest of a budget, as one that stops the optimizer."""
    limited = [name for name in LIMITS if getattr(budget, name) is not None]
    left = {name: max(0, getattr(budget, name) - getattr(spent, name)) for name in limited}
    return HaltingBudget(**left, watch=watch)
