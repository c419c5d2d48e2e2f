"""Blank nodes that only hold values are left out, and their owners have the values: a place has the street itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.readable import relation_label
from triplecheck.kg.readers.raw import RawGraph, filtered

_FLAT = "blank nodes whose values their owners have now"
_OF_RELATION = frozenset(("value", "unit", "amount", "quantity", "start", "end", "from", "to", "since", "until"))
"""First or last words of relations that describe the relation to a blank node, as the unit of a length does."""


def with_flat_blanks(raw: RawGraph) -> RawGraph:
    """A graph whose things have the values that one blank node alone holds for them.

    A blank node is left out if it has no name or description, nothing but literals, and one edge to it; if its owner
    has no other of its relation and nothing of the relations of these literals; and if all blank nodes of its relation,
    and all things of its types, are so. Several tickets with a price and a currency each stay what they are.
    """
    while flat := _flat(blanks := _Blanks(raw)):
        raw = _without(blanks, flat)
    return raw


class _Blanks:
    """The blank nodes of a graph.

    Attributes:
        edges, values: the edges to each, and those from it.
    """

    def __init__(self, raw: RawGraph) -> None:
        self.raw = raw
        self._is_literal = (
            np.zeros(len(raw), bool) if raw.datatypes is None else pc.is_valid(raw.datatypes).to_numpy(False)
        )
        self.edges = _about(raw.tails, ~self._is_literal)
        self.values = _about(raw.heads, np.ones(len(raw), bool))
        is_blank = pc.starts_with(raw.entities["id"], "_:")
        rows = raw.entities.filter(is_blank).to_pylist()
        self.described = {row["id"] for row in rows if row["label"] or row["description"] or row["aliases"]}
        self.types: dict[str, list[str]] = {row["id"]: row["types"] or [] for row in rows}
        named = raw.entities.filter(pc.invert(is_blank))["types"]
        self.kinds_of_named = set(pc.unique(pc.list_flatten(named)).to_pylist()) if any(self.types.values()) else set()

    def owner(self, id: str) -> tuple[str, str]:
        """The head and the relation of the only edge to a blank node."""
        (edge,) = self.edges[id]
        return self.head_of(edge)

    def head_of(self, edge: int) -> tuple[str, str]:
        """The head of an edge, and its relation."""
        return str(self.raw.heads[edge].as_py()), str(self.raw.relations[edge].as_py())

    def told(self, id: str) -> set[str]:
        """The relations of the edges from a blank node."""
        return {self.head_of(edge)[1] for edge in self.values[id]}

    def kinds_of_others(self, found: Collection[str]) -> set[str]:
        """The types of all things but some blank nodes."""
        return self.kinds_of_named.union(*(kinds for id, kinds in self.types.items() if id not in found))

    def holds_values(self, id: str) -> bool:
        """Whether a node has no name or description, nothing but literals, and one edge to it, and the literals
        describe its owner: a value and its unit describe the relation."""
        is_bare = len(self.edges[id]) == 1 and id not in self.described
        if not is_bare or not all(self._is_literal[self.values[id]]):
            return False
        return all(_OF_RELATION.isdisjoint(_outer_words(relation)) for relation in self.told(id))


def _flat(blanks: _Blanks) -> set[str]:
    """The blank nodes that are left out."""
    raw = blanks.raw
    annotated = {*raw.edge_properties["edge"].to_pylist()}
    found = {id for id in blanks.values if blanks.holds_values(id) and annotated.isdisjoint(blanks.edges[id])}
    siblings = Counter(blanks.head_of(edge) for edges in blanks.edges.values() for edge in edges)
    found = {id for id in found if siblings[blanks.owner(id)] == 1}
    if not found:
        return found
    owners = {id: blanks.owner(id)[0] for id in found}
    own = _relations_of(raw, {*owners.values()})
    uses = Counter((owner, one) for id, owner in owners.items() for one in blanks.told(id))
    found = {
        id for id in found if all(uses[owners[id], one] == 1 and one not in own[owners[id]] for one in blanks.told(id))
    }
    while mixed := _unlike_others(blanks, found):
        found -= mixed
    return found


def _unlike_others(blanks: _Blanks, found: Collection[str]) -> set[str]:
    """Those of some blank nodes that have a relation or a type of one that stays."""
    stay = (edges for id, edges in blanks.edges.items() if id not in found)
    relations = {blanks.head_of(edge)[1] for edges in stay for edge in edges}
    kinds = blanks.kinds_of_others(found)
    return {id for id in found if blanks.owner(id)[1] in relations or not kinds.isdisjoint(blanks.types.get(id, ()))}


def _relations_of(raw: RawGraph, owners: Collection[str]) -> dict[str, set[str]]:
    """The relations that each of some things has as their head."""
    found: dict[str, set[str]] = {owner: set() for owner in owners}
    rows = np.flatnonzero(pc.is_in(raw.heads, value_set=pa.array(sorted(owners), pa.string())).to_numpy(False))
    for head, relation in zip(raw.heads.take(rows).to_pylist(), raw.relations.take(rows).to_pylist(), strict=True):
        found[head].add(relation)
    return found


def _outer_words(relation: str) -> set[str]:
    """The first and the last word of the name of a relation."""
    words = relation_label(relation).casefold().split()
    return {*words[:1], *words[-1:]}


def _without(blanks: _Blanks, flat: Collection[str]) -> RawGraph:
    """A graph without some blank nodes, whose values their owners have."""
    raw = blanks.raw
    codes = raw.heads.indices.to_numpy(False).copy()
    kept = np.ones(len(raw), bool)
    for id in flat:
        codes[blanks.values[id]] = codes[blanks.edges[id][0]]
        kept[blanks.edges[id]] = False
    heads = pa.DictionaryArray.from_arrays(pa.array(codes, raw.heads.indices.type), raw.heads.dictionary)
    entities = raw.entities.filter(~pc.field("id").isin(sorted(flat)))
    left_out = {**raw.left_out, _FLAT: raw.left_out.get(_FLAT, 0) + len(flat)}
    return replace(filtered(replace(raw, heads=heads), kept), entities=entities, left_out=left_out)


def _about(column: pa.DictionaryArray, where: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
    """The edges in `where` whose node in a column is blank, by this node."""
    found: dict[str, list[int]] = defaultdict(list)
    is_blank = pc.starts_with(column.dictionary, "_:").to_numpy(False)
    if is_blank.any():
        rows = np.flatnonzero(where & is_blank[column.indices.to_numpy(False)])
        for edge, id in zip(rows.tolist(), column.take(pa.array(rows)).to_pylist(), strict=True):
            found[id].append(edge)
    return found
