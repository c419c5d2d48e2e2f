"""`CypherLinker`: entity linking by queries for equal names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.queried_linker import QueriedLinker


class CypherLinker(QueriedLinker):
    """A linker by the properties that are names and aliases."""

    def __init__(self, graph: CypherGraph) -> None:
        super().__init__(graph)
        self._nodes_named = graph.nodes_named

    def _named(self, texts: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        return self._nodes_named(texts)
