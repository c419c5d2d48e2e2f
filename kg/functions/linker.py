"""`FunctionLinker`: names of a graph, and names that only functions may know."""

from __future__ import annotations

from typing import Any

from triplecheck.kg.functions.graph import FunctionGraph
from triplecheck.kg.linking import Candidate, Linker
from triplecheck.kg.mentions import Mention, ReadText


class FunctionLinker:
    """Implements `kg.linking.Linker`.

    Args:
        graph: numbers the names that the graph does not have.
    """

    def __init__(self, linker: Linker, graph: FunctionGraph) -> None:
        self._linker, self._graph = linker, graph

    def mentions(self, question: ReadText) -> list[Mention]:
        """See `kg.Linker`."""
        return self._linker.mentions(question)

    def candidates(
        self, text: str | Mention, question: str | None = None, limit: int = 10, **how: Any
    ) -> list[Candidate]:
        """See `kg.Linker`; a name that the graph does not have is a node, which functions are called with."""
        found = self._linker.candidates(text, question, limit, **how)
        written = (text.text if isinstance(text, Mention) else text).strip()
        if found or not written or isinstance(text, Mention):
            return found
        node = self._graph.named(written)
        return [Candidate(node, written, written, "name", 1.0, score=1.0)]
