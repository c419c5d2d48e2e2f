"""What questions are drawn from: nodes with a name of their own, and the edges around them."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence

import numpy as np

from triplecheck.kg import Direction, IntArray, KnowledgeBase, normalize
from triplecheck.kg.types import XSD
from triplecheck.optimize.synth.wordings import Wording, wordings_of
from triplecheck.optimize.traces.gold_paths import follow
from triplecheck.programs.subgraph import Hop

_NAME_LENGTH = 60  # characters
_BARE_ID = re.compile(r"[/#:]|^[a-zA-Z]?\d+$")
_MEASURED = {
    XSD + kind for kind in ("integer", "decimal", "double", "float", "int", "gYear", "date", "nonNegativeInteger")
}


class Surroundings:
    """Draws nodes and edges of one knowledge base.

    Args:
        kb: the knowledge base.
        lot: what is drawn depends on it alone.
    """

    def __init__(self, kb: KnowledgeBase, lot: random.Random) -> None:
        self.kb, self.graph, self.lot = kb, kb.graph, lot
        self._wordings = functools.cache(lambda relation: wordings_of(self.graph, relation))
        self._is_named = functools.lru_cache(100_000)(self._named)

    def entity(self) -> int | None:
        """A node that is drawn, where it has a name of its own."""
        node = self.lot.randrange(self.graph.num_entities)
        return node if self._is_named(node) else None

    def name(self, node: int) -> str:
        """How a question names a node."""
        return " ".join(self.graph.label(node).split())

    def is_named(self, node: int) -> bool:
        """Whether a node has a name that people would use, and that no other node has."""
        return self._is_named(node)

    def can_be_told(self, nodes: Sequence[int] | IntArray) -> bool:
        """Whether all of them have a label that is no bare id."""
        labels = self.graph.labels([int(node) for node in nodes if self.graph.literal(int(node)) is None])
        return all(label.strip() and not _BARE_ID.search(label) for label in labels)

    def wordings(self, relation: int) -> Sequence[Wording]:
        """All wordings of a relation, in an order that is drawn."""
        found = list(self._wordings(relation))
        self.lot.shuffle(found)
        return found

    def hops(self, nodes: Sequence[int] | IntArray, *, to_entities: bool = False) -> list[Hop]:
        """The relations around some nodes, in an order that is drawn."""
        found = [
            Hop(count.relation, count.direction)
            for count in self.graph.relation_counts(nodes)
            if self._wordings(count.relation)
            and not (to_entities and count.direction is Direction.OUT and count.relation in self.measures)
        ]
        self.lot.shuffle(found)
        return found

    def ends(self, nodes: Sequence[int] | IntArray, hop: Hop) -> IntArray:
        """Nodes at the other end of a relation, ascending, each once."""
        return follow(self.graph, np.asarray(nodes, np.int64), hop)

    def are_entities(self, nodes: Sequence[int] | IntArray) -> bool:
        """Whether none of them is a value."""
        return all(self.graph.literal(int(node)) is None for node in nodes)

    @functools.cached_property
    def measures(self) -> frozenset[int]:
        """Relations most of whose values are numbers or dates."""
        return frozenset(
            relation
            for relation in range(self.graph.num_relations)
            if (range_ := self.graph.schema(relation).range) and range_[0][0] in _MEASURED
        )

    def _named(self, node: int) -> bool:
        label = self.name(node)
        if not 2 <= len(label) <= _NAME_LENGTH or self.graph.literal(node) is not None or _BARE_ID.search(label):
            return False
        return len({named.node for named in self.kb.names.nodes(normalize(label))}) == 1
