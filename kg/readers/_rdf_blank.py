"""Blank nodes that only hold values: an address with a street and a town is what a place has, and no thing itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.readers.raw import RawGraph, filtered

_FLAT = "edges to blank nodes that only hold values, which their owner has now"


def with_flat_blanks(raw: RawGraph) -> RawGraph:
    """A graph whose things have the values that one blank node alone holds for them.

    A blank node is left out if it has no name or description, nothing but literals, and one edge to it; if its owner
    has no other of its relation and nothing of the relations of these literals; and, where it has types, if all things
    of these types are so. Several tickets with a price and a currency each stay what they are.
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
        self.described = {
            row["id"] for row in raw.entities.to_pylist() if row["label"] or row["description"] or row["aliases"]
        }

    def owner(self, id: str) -> tuple[str, str]:
        """What the only edge to a blank node comes from, and its relation."""
        (edge,) = self.held[id].edges
        return self.end(edge)

    def end(self, edge: int) -> tuple[str, str]:
        """The head of an edge, and its relation."""
        return str(self.raw.heads[edge].as_py()), str(self.raw.relations[edge].as_py())

    def told(self, id: str) -> set[str]:
        """The relations of the edges from a blank node."""
        return {self.end(edge)[1] for edge in self.held[id].values}

    def holds_values(self, id: str) -> bool:
        """Whether a node has no name or description, nothing but literals, and one edge to it."""
        own = self.held[id]
        is_bare = len(own.edges) == 1 and bool(own.values) and id not in self.described
        return is_bare and all(self._is_literal[own.values])


def _flat(blanks: _Blanks) -> dict[str, _Held]:
    """The blank nodes that are left out."""
    raw, held = blanks.raw, blanks.held
    annotated = {*raw.edge_properties["edge"].to_pylist()}
    found = {id for id in held if blanks.holds_values(id) and annotated.isdisjoint(held[id].edges)}
    siblings = Counter(blanks.end(edge) for own in held.values() for edge in own.edges)
    found = {id for id in found if siblings[blanks.owner(id)] == 1}
    owners = {id: blanks.owner(id)[0] for id in found}
    own = _relations_of(raw, {*owners.values()})
    uses = Counter((owner, one) for id, owner in owners.items() for one in blanks.told(id))
    found = {
        id for id in found if all(uses[owners[id], one] == 1 and one not in own[owners[id]] for one in blanks.told(id))
    }
    types = dict(zip(raw.entities["id"].to_pylist(), raw.entities["types"].to_pylist(), strict=True))
    while mixed := {id for id in found if not _kinds_of_others(types, found).isdisjoint(types.get(id) or ())}:
        found -= mixed
    return {id: held[id] for id in found}


def _kinds_of_others(types: Mapping[str, list[str] | None], found: Collection[str]) -> set[str]:
    return {kind for id, kinds in types.items() if id not in found for kind in kinds or ()}


def _relations_of(raw: RawGraph, owners: Collection[str]) -> dict[str, set[str]]:
    """The relations that each of some things has as their head."""
    found: dict[str, set[str]] = {owner: set() for owner in owners}
    rows = np.flatnonzero(pc.is_in(raw.heads, value_set=pa.array(sorted(owners), pa.string())).to_numpy(False))
    for head, relation in zip(raw.heads.take(rows).to_pylist(), raw.relations.take(rows).to_pylist(), strict=True):
        found[head].add(relation)
    return found


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
    """The edges, among some, that have a blank node in a column, and that."""
    is_blank = pc.starts_with(column.dictionary, "_:").to_numpy(False)
    if not is_blank.any():
        return []
    rows = np.flatnonzero(where & is_blank[column.indices.to_numpy(False)])
    return list(zip(rows.tolist(), column.take(pa.array(rows)).to_pylist(), strict=True))
