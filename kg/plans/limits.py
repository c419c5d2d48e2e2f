"""The limits of one run: time, and rows at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from triplecheck.kg.errors import PlanError

ROWS_AT_A_TIME = 10_000_000
"""Maximum number of rows of a table while a plan runs."""


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Attributes:
        seconds: processor time of this thread from the making of this object on. The time on the clock would change
            answers on a busy machine.
    """

    seconds: float
    rows: int = ROWS_AT_A_TIME
    started: float = field(default_factory=time.thread_time)

    def check(self) -> None:
        """Stop a run that takes too long.

        Raises:
            PlanError: the time is over.
        """
        if time.thread_time() - self.started > self.seconds:
            raise PlanError(
                f"the query takes longer than {self.seconds:g} s of processor time; "
                "narrow it by a class or a name, or allow more seconds"
            )

    def too_many(self) -> PlanError:
        """The error for too many rows."""
        return PlanError(
            f"the query needs more than {self.rows:,} rows at a time; narrow it by a class or a name, or join its parts"
        )
