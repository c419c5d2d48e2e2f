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
        seconds: time from the making of this object on.
    """

    seconds: float
    rows: int = ROWS_AT_A_TIME
    started: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Stop a run that takes too long.

        Raises:
            PlanError: the time is over.
        """
        if time.monotonic() - self.started > self.seconds:
            raise PlanError(
                f"the query takes longer than {self.seconds:g} s; narrow it by a class or a name, or allow more seconds"
            )

    def too_many(self) -> PlanError:
        """The error for too many rows."""
        return PlanError(
            f"the query needs more than {self.rows:,} rows at a time; narrow it by a class or a name, or join its parts"
        )
