"""Blank nodes that only hold values are left out, and their owners have the values: a place has the street itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

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
    while flat := _flat(_Blanks(raw)):
        raw = _without(raw, flat)
    return raw


@dataclass(frozen=True)
class _Held:
    """The edges of a blank node.

    Attributes:
        edges: those to it.
        values: those from it.
    """

    edges: list[int]
    values: list[int]


class _Blanks:
    """The blank nodes of a graph, with their edges."""

    def __init__(self, raw: RawGraph) -> None:
        self.raw = raw
        self._is_literal = (
            np.zeros(len(raw), bool) if raw.datatypes is None else pc.is_valid(raw.datatypes).to_numpy(False)
        )
        self.held: dict[str, _Held] = defaultdict(lambda: _Held([], []))
        for edge, id in _about(raw.tails, ~self._is_literal):
            self.held[id].edges.append(edge)
        for edge, id in _about(raw.heads, np.ones(len(raw), bool)):
            self.held[id].values.append(edge)
        is_blank = pc.starts_with(raw.entities["id"], "_:")
        rows = raw.entities.filter(is_blank).to_pylist()
        self.described = {row["id"] for row in rows if row["label"] or row["description"] or row["aliases"]}
        self.types: dict[str, list[str]] = {row["id"]: row["types"] or [] for row in rows}
        named = raw.entities.filter(pc.invert(is_blank))["types"]
        self.kinds_of_named = set(pc.unique(pc.list_flatten(named)).to_pylist()) if any(self.types.values()) else set()

    def owner(self, id: str) -> tuple[str, str]:
        """The head and the relation of the only edge to a blank node."""
        (edge,) = self.held[id].edges
        return self.head_of(edge)

    def head_of(self, edge: int) -> tuple[str, str]:
        """The head of an edge, and its relation."""
        return str(self.raw.heads[edge].as_py()), str(self.raw.relations[edge].as_py())

    def told(self, id: str) -> set[str]:
        """The relations of the edges from a blank node."""
        return {self.head_of(edge)[1] for edge in self.held[id].values}

    def kinds_of_others(self, found: Collection[str]) -> set[str]:
        """The types of all things but some blank nodes."""
        return self.kinds_of_named.union(*(kinds for id, kinds in self.types.items() if id not in found))

    def holds_values(self, id: str) -> bool:
        """Whether a node has no name or description, nothing but literals, and one edge to it, and the literals
        describe its owner: a value and its unit describe the relation."""
        own = self.held[id]
        is_bare = len(own.edges) == 1 and bool(own.values) and id not in self.described
        if not is_bare or not all(self._is_literal[own.values]):
            return False
        return all(_OF_RELATION.isdisjoint(_outer_words(relation)) for relation in self.told(id))


def _flat(blanks: _Blanks) -> dict[str, _Held]:
    """The blank nodes that are left out."""
    raw, held = blanks.raw, blanks.held
    annotated = {*raw.edge_properties["edge"].to_pylist()}
    found = {id for id in held if blanks.holds_values(id) and annotated.isdisjoint(held[id].edges)}
    siblings = Counter(blanks.head_of(edge) for own in held.values() for edge in own.edges)
    found = {id for id in found if siblings[blanks.owner(id)] == 1}
    if not found:
        return {}
    owners = {id: blanks.owner(id)[0] for id in found}
    own = _relations_of(raw, {*owners.values()})
    uses = Counter((owner, one) for id, owner in owners.items() for one in blanks.told(id))
    found = {
        id for id in found if all(uses[owners[id], one] == 1 and one not in own[owners[id]] for one in blanks.told(id))
    }
    while mixed := _unlike_others(blanks, found):
        found -= mixed
    return {id: held[id] for id in found}


def _unlike_others(blanks: _Blanks, found: Collection[str]) -> set[str]:
    """Those of some blank nodes that have a relation or a type of one that stays."""
    stay = [own for id, own in blanks.held.items() if id not in found]
    relations = {blanks.head_of(edge)[1] for own in stay for edge in own.edges}
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


def _without(raw: RawGraph, flat: Mapping[str, _Held]) -> RawGraph:
    """A graph without some blank nodes, whose values their owners have."""
    codes = raw.heads.indices.to_numpy(False).copy()
    kept = np.ones(len(raw), bool)
    for held in flat.values():
        codes[held.values] = codes[held.edges[0]]
        kept[held.edges] = False
    heads = pa.DictionaryArray.from_arrays(pa.array(codes, raw.heads.indices.type), raw.heads.dictionary)
    entities = raw.entities.filter(~pc.field("id").isin(sorted(flat)))
    left_out = {**raw.left_out, _FLAT: raw.left_out.get(_FLAT, 0) + len(flat)}
    return replace(filtered(replace(raw, heads=heads), kept), entities=entities, left_out=left_out)


def _about(column: pa.DictionaryArray, where: npt.NDArray[np.bool_]) -> list[tuple[int, str]]:
    """The edges in `where` whose node in a column is blank, each with this node."""
    is_blank = pc.starts_with(column.dictionary, "_:").to_numpy(False)
    if not is_blank.any():
        return []
    rows = np.flatnonzero(where & is_blank[column.indices.to_numpy(False)])
    return list(zip(rows.tolist(), column.take(pa.array(rows)).to_pylist(), strict=True))
