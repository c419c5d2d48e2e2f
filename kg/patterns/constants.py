"""The nodes that a constant of a pattern names: over the whole graph, homonyms all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.linking import Candidate, Linker, spelling_fit
from triplecheck.kg.names import normalize
from triplecheck.kg.types import Name

CUTOFF = 0.8
"""How alike a misspelt name must be (1 - edit distance / length)."""

_EXACT = ("label", "alias", "value")
_HOMONYMS = 1_000
_EQUAL = 0.05  # names that fit this much worse than the best are not meant


@dataclass(frozen=True)
class Constant:
    """What a constant means.

    Attributes:
        nodes: all that bear the name, shape (n,), ascending; none where nothing does.
        candidates: the same with names and scores, best first.
        source: how they were found: id, label, alias, value, typo or dense; empty where none was.
    """

    nodes: IntArray
    candidates: tuple[Candidate, ...] = ()
    source: str = ""


class Constants:
    """Looks up the constants of one query, each once (4StepFocus, Algorithm 3).

    Args:
        graph: the graph.
        linker: finds names in it; None: constants are ids.
        cutoff: for names that nothing bears exactly.
        by_vector: where no name is alike either, take the nearest by name vectors.
        recognised: candidates that are known beforehand, by normalised name; those that fit best are taken.
    """

    def __init__(
        self,
        graph: Graph,
        linker: Linker | None,
        *,
        cutoff: float = CUTOFF,
        by_vector: bool = False,
        recognised: Mapping[str, Sequence[Candidate]] | None = None,
    ) -> None:
        self._graph, self._linker = graph, linker
        self._cutoff, self._by_vector = cutoff, by_vector
        self._recognised = recognised or {}
        self._known: dict[Name, Constant] = {}

    def look_up(self, name: Name, type_id: str | None) -> Constant:
        """The nodes of a name.

        Args:
            name: as written.
            type_id: only nodes of this type, where given.
        """
        if name not in self._known:
            self._known[name] = self._look_up(name.text, type_id)
        return self._known[name]

    @property
    def looked_up(self) -> Mapping[Name, Constant]:
        """Every name that was looked up so far."""
        return self._known

    def _look_up(self, text: str, type_id: str | None) -> Constant:
        recognised = self._of_type(self._recognised.get(normalize(text), ()), type_id)
        if recognised:
            best = max(c.lexical for c in recognised)
            return _constant([c for c in recognised if c.lexical >= best - _EQUAL])
        named = self._of_type(() if self._linker is None else self._linker.candidates(text, limit=_HOMONYMS), type_id)
        for sources, least in ((_EXACT, 0.0), (("typo",), spelling_fit(self._cutoff)), (("dense",), 0.0)):
            if sources == ("dense",) and not self._by_vector:
                continue
            found = [c for c in named if c.source in sources and c.lexical >= least]
            if sources != _EXACT:  # only those that are as near as the nearest
                found = [c for c in found if c.lexical == max(other.lexical for other in found)]
            if found:
                return _constant(found)
            if sources == _EXACT and (node := self._graph.find(text)) is not None:
                return Constant(np.array([node], np.int64), (), "id")
        return Constant(np.empty(0, np.int64))

    def _of_type(self, candidates: Sequence[Candidate], type_id: str | None) -> list[Candidate]:
        return [c for c in candidates if type_id is None or type_id in self._graph.types(c.node)]


def _constant(found: Sequence[Candidate]) -> Constant:
    return Constant(np.unique(np.array([c.node for c in found], np.int64)), tuple(found), found[0].source)
