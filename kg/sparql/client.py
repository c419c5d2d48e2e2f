"""`SparqlClient`: the seam between the graph and whatever answers its queries."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.sparql.terms import Term

Row = Mapping[str, Term]
"""One solution: a term per variable; unbound variables are absent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may cost; more is a `GraphUnavailableError`, never a silently shorter answer.

    Attributes:
        seconds: from asking to the last row. An engine in process is checked between rows only.
        rows: solutions of one query.
        bytes: size of one reply over HTTP.
    """

    seconds: float = 60.0
    rows: int = 1_000_000
    bytes: int = 512 << 20


class QueryRefusedError(GraphUnavailableError):
    """The engine does not accept the text of a query."""


class SparqlClient(Protocol):
    """Answers SELECT queries. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """What to call the store in messages."""

    @property
    def keeps_blank_nodes(self) -> bool:
        """Whether the label of a blank node means the same node in the next query."""

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Row]:
        """All solutions of a SELECT query.

        Args:
            query: the text.
            bindings: terms for variables that the query projects; only with `keeps_blank_nodes`.

        Raises:
            GraphUnavailableError: no answer, too late an answer, too long a one, or no SPARQL result.
        """

    def close(self) -> None:
        """Let go of what is held open."""


class Meter:
    """Holds one query to its limits."""

    def __init__(self, name: str, limits: Limits) -> None:
        self._name, self._limits = name, limits
        self._end = time.monotonic() + limits.seconds

    def check_time(self) -> None:
        """Raise when the time is over."""
        if time.monotonic() > self._end:
            raise too_slow(self._name, self._limits)

    def check_rows(self, rows: int) -> None:
        """Raise when there are too many solutions."""
        if rows > self._limits.rows:
            raise GraphUnavailableError(
                f"{self._name}: more than {self._limits.rows:,} solutions to one query; "
                "ask with a limit, or allow more (Limits.rows)"
            )
        if rows % 256 == 0:
            self.check_time()


def too_slow(name: str, limits: Limits) -> GraphUnavailableError:
    """The error for a store that takes too long."""
    return GraphUnavailableError(
        f"{name}: no answer within {limits.seconds:g} s; ask with a limit, or allow more (Limits.seconds)"
    )
