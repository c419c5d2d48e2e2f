"""Stopping an optimizer for good.

DSPy's optimizers count an exception as a wrong answer and go on: a spent budget or a dead server would
become a score of nought, and the program a worse one. What is raised here is no `Exception`, so that nobody
on the way takes it for one; `optimize.compile` turns it back into the error that it carries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from triplecheck.kg import UnavailableError
from triplecheck.lms import Budget, BudgetExceededError, Usage


class Halted(BaseException):
    """Compiling must stop.

    Attributes:
        error: why.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class ErrorWatch:
    """What goes wrong while an optimizer runs."""

    failures: dict[str, int] = field(default_factory=dict)
    """Runs of a program that ended in an error, by its type: they count as wrong answers."""
    halted: Exception | None = None

    def ran(self, error: BaseException | None) -> None:
        """Take note of how a run of the program ended.

        Raises:
            Halted: a model or the graph is out of reach. One call is enough: what was asked before it is not
                asked again when the run is taken up, and its score would be wrong for good.
        """
        if error is None or isinstance(error, Halted):
            return
        if isinstance(error, UnavailableError):
            self.halted = error
            raise Halted(error)
        name = type(error).__name__
        self.failures[name] = self.failures.get(name, 0) + 1

    def check(self) -> None:
        """Raise `Halted` where there is no point in going on."""
        if self.halted is not None:
            raise Halted(self.halted)


@dataclass(frozen=True)
class HaltingBudget(Budget):
    """A budget that, once it is used up, stops the optimizer and not only the call."""

    watch: ErrorWatch | None = None

    def check(self, usage: Usage) -> None:
        """Raise `Halted` if no further call may start."""
        if self.watch is not None:
            self.watch.check()
        try:
            super().check(usage)
        except BudgetExceededError as error:
            raise Halted(error) from error


def remaining(budget: Budget, spent: Usage, watch: ErrorWatch) -> HaltingBudget:
    """What is left of a budget, as one that halts."""

    def left(limit: float | None, used: float) -> float | None:
        return None if limit is None else max(0, limit - used)

    calls, tokens = left(budget.calls, spent.calls), left(budget.tokens, spent.tokens)
    return HaltingBudget(
        calls=None if calls is None else int(calls),
        tokens=None if tokens is None else int(tokens),
        seconds=left(budget.seconds, spent.seconds),
        dollars=left(budget.dollars, spent.dollars),
        watch=watch,
    )
