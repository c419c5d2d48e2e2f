"""What is common to the clients of query languages: solutions, limits and errors."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.sparql.terms import Term

Binding = Mapping[str, Term]
"""One solution: a term per variable; unbound variables are absent."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query. Exceeding them is a `GraphUnavailableError`, never a silently truncated result.

    Attributes:
        seconds: from the request to the last row. An embedded engine is checked between rows only.
        bytes: size of one HTTP reply.
    """

    seconds: float = 60.0
    rows: int = 1_000_000
    bytes: int = 512 << 20


class QueryRefusedError(GraphUnavailableError):
    """The engine rejects the text of a query."""


class PartialResultsError(GraphUnavailableError):
    """The server gives a part of the results only."""


def bound(rows: Iterable[Binding], *names: str) -> list[Binding]:
    """The solutions that bind some variables: a quoted triple, or what a server leaves out, binds none."""
    return [row for row in rows if all(name in row for name in names)]


class Meter:
    """Enforces the limits of one query to a store of some name."""

    def __init__(self, name: str, limits: QueryLimits) -> None:
        self._name, self._limits = name, limits
        self._end = time.monotonic() + limits.seconds

    @property
    def left(self) -> float:
        """Seconds until the time is over; at least 0."""
        return max(0.0, self._end - time.monotonic())

    def too_slow(self) -> GraphUnavailableError:
        """The error for a store that takes too long."""
        return GraphUnavailableError(
            f"{self._name}: no answer within {self._limits.seconds:g} s; use a limit, or increase QueryLimits.seconds"
        )

    def check_time(self) -> None:
        """Raise if the time is over."""
        if not self.left:
            raise self.too_slow()

    def check_rows(self, rows: int) -> None:
        """Raise if there are too many solutions."""
        if rows > self._limits.rows:
            raise GraphUnavailableError(
                f"{self._name}: more than {self._limits.rows:,} solutions to one query; "
                "use a limit, or increase QueryLimits.rows"
            )
        if rows % 256 == 0:
            self.check_time()
