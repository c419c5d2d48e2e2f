"""What additions, removals and updates make of a graph, as a `RawGraph` for the builder."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.classes import named_memberships, told_memberships
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.export import to_raw
from triplecheck.kg.inference import inferred_rows
from triplecheck.kg.numbering import FORMS, all_unknown, ancestors, concat
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, UNKNOWN, RawGraph
from triplecheck.kg.types import Direction, Edge, Literal
from triplecheck.kg.values import quantity
from triplecheck.kg.values.units import own_unit
from triplecheck.kg.vocabulary import RDFS

_BLANK = "_:b"
_SUBCLASS = RDFS + "subClassOf"


def first_blank(graph: ColumnarGraph) -> int:
    """A number above those of all blank nodes of a graph."""
    ids = graph.node_columns().ids
    numbers = (id.removeprefix(_BLANK) for id in ids.filter(pc.starts_with(ids, _BLANK)).to_pylist())
    return max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)


def with_other_blanks(raw: RawGraph, first: int) -> RawGraph:
    """A graph whose blank nodes have higher numbers, so that they are none of another graph's."""

    def renamed(id: str) -> str:
        number = id.removeprefix(_BLANK)
        return f"{_BLANK}{int(number) + first}" if number != id and number.isdecimal() else id

    def texts(column: pa.Array) -> pa.Array:
        return pa.array([None if id is None else renamed(id) for id in column.to_pylist()], pa.string())

    if not first:
        return raw
    heads, tails = (
        pa.DictionaryArray.from_arrays(column.indices, texts(column.dictionary)) for column in (raw.heads, raw.tails)
    )
    rows = [row | {"id": renamed(row["id"])} for row in raw.entities.to_pylist()]
    return replace(raw, heads=heads, tails=tails, entities=pa.Table.from_pylist(rows, raw.entities.schema))


def with_known_datatypes(raw: RawGraph, graph: ColumnarGraph) -> RawGraph:
    """A graph to be added to another one, whose unknown tails are what the tails of their relations already are.

    The same text as a tail of the relation decides; else the majority of its tails. A text that has not the form of the
    values of its relation is an entity. Tails of new relations stay unknown.
    """
    given = all_unknown(len(raw)) if raw.datatypes is None else raw.datatypes
    if UNKNOWN not in given.dictionary.to_pylist():
        return raw
    known = _Kinds(graph)
    kinds: dict[tuple[str, str], str | None] = {}
    datatypes: list[str | None] = given.to_pylist()
    rows = zip(raw.relations.to_pylist(), raw.tails.to_pylist(), strict=True)
    for row, (relation, tail) in enumerate(rows):
        if datatypes[row] == UNKNOWN:
            if (relation, tail) not in kinds:
                kinds[relation, tail] = known.datatype(relation, tail)
            datatypes[row] = kinds[relation, tail]
    return replace(raw, datatypes=pa.array(datatypes, pa.string()).dictionary_encode())


class _Kinds:
    """What the tails of each relation are."""

    def __init__(self, graph: ColumnarGraph) -> None:
        self._graph = graph
        nodes = graph.node_columns()
        _, relations, tails = graph.rows(Direction.OUT)
        is_value = tails >= graph.num_entities
        self._edges = np.bincount(relations, minlength=graph.num_relations)
        size = max(len(nodes.datatypes), 1)
        codes = nodes.literal_datatypes[tails[is_value] - graph.num_entities]
        pairs = relations[is_value].astype(np.int64) * size + codes
        self._counts = np.bincount(pairs, minlength=graph.num_relations * size).reshape(-1, size)
        self._datatypes = nodes.datatypes

    def datatype(self, relation: str, tail: str) -> str | None:
        """Datatype of a tail, None for an entity, `UNKNOWN` if the graph does not have the relation."""
        graph, number = self._graph, self._graph.find_relation(relation)
        if number is None:
            return UNKNOWN
        for node in graph.nodes_of_text(tail):
            if len(graph.neighbors(node, number, Direction.IN, 1)):
                literal = graph.literal(node)
                return None if literal is None else literal.datatype
        counts = self._counts[number]
        if 2 * counts.sum() <= self._edges[number]:
            return None
        for code in np.argsort(-counts, kind="stable").tolist():
            datatype: str = self._datatypes[code]
            if counts[code] and _may_have(tail, datatype):
                return datatype
        return None


def _may_have(text: str, datatype: str) -> bool:
    """Whether a text may have a datatype that is decided by its form; True of other datatypes."""
    if (own := own_unit(datatype)) is not None:
        found = quantity(Literal(text, datatype))
        return found is not None and found.kind == own.kind
    return datatype not in FORMS or re.match(FORMS[datatype], text) is not None


@dataclass(frozen=True)
class Edit:
    """What a graph becomes.

    Attributes:
        given: rows of triples that were added.
        edges_removed, entities_removed: numbers of what is no longer there, without edges that were inferred.
        not_found: triples to remove that were not there.
    """

    graph: RawGraph
    given: int = 0
    edges_removed: int = 0
    entities_removed: int = 0
    not_found: int = 0


class GraphChange:
    """Changes of one graph.

    Args:
        documented: ids of entities that stay without any triple, because there are documents about them.
    """

    def __init__(self, graph: ColumnarGraph, documented: Iterable[str] = ()) -> None:
        self._graph = graph
        self._documented = documented

    def added(self, new: RawGraph) -> Edit:
        """Adds triples and descriptions; what is there wins."""
        old = self._untold()
        whole = concat([old, new])
        whole.type_labels = new.type_labels | old.type_labels
        return Edit(whole, given=len(new))

    def removed(self, triples: RawGraph, entities: Sequence[int] = ()) -> Edit:
        """Removes some triples, and some entities with all their triples."""
        found: set[Edge] = set()
        missing: set[tuple[str, str, str, str | None]] = set()
        for row in _rows(triples):
            edges = set(self._edges(*row))
            found |= edges
            if not edges:
                missing.add(row)
        return replace(self._without(found, entities), not_found=len(missing))

    def updated(self, new: RawGraph) -> Edit:
        """Replaces the tails of the given heads and relations, and the given descriptions."""
        graph = self._graph
        replaced: set[Edge] = set()
        kept: set[Edge] = set()
        for row in _rows(new):
            head, relation = graph.find(row[0]), graph.find_relation(row[1])
            if head is not None and relation is not None:
                replaced |= {(head, relation, tail) for tail in graph.neighbors(head, relation).tolist()}
            kept |= set(self._edges(*row))
        # Of an edge that stays, only what is said about it now is kept.
        edit = self._without(replaced - kept, rewritten=kept, keep=new)
        old = edit.graph
        old.entities = _blanked(old.entities, new.entities)
        old.relation_rows = _blanked(old.relation_rows, new.relation_rows)
        named = set(new.entities.filter(pc.is_valid(new.entities["label"]))["id"].to_pylist())
        old.type_labels = {id: label for id, label in old.type_labels.items() if id not in named}
        return replace(edit, graph=concat([old, new]), given=len(new))

    # --- parts ---------------------------------------------------------------------------------
    def _edges(self, head: str, relation: str, tail: str, datatype: str | None) -> Iterator[Edge]:
        """The edges that a row means: a literal of this form with any datatype, or an entity."""
        graph = self._graph
        number, near = graph.find_relation(relation), graph.find(head)
        if number is None or near is None or near >= graph.num_entities:
            return
        for node in graph.nodes_of_text(tail):
            is_entity = node < graph.num_entities
            meant = datatype == UNKNOWN or is_entity == (datatype is None)
            if meant and graph.contains(near, number, node):
                yield near, number, node

    def _without(
        self, edges: set[Edge], gone: Sequence[int] = (), rewritten: Iterable[Edge] = (), keep: RawGraph | None = None
    ) -> Edit:
        """Without edges, entities and what is left over of them.

        Args:
            gone: entities to be removed, with their edges.
            keep: what is added afterwards; its entities stay.
        """
        graph = self._graph
        heads, relations, tails = graph.all_edges()
        is_gone = np.zeros(graph.num_nodes, bool)
        is_gone[list(gone)] = True
        leaving = is_gone[heads] | is_gone[tails]
        leaving[[at for edge in edges if (at := graph.place(*edge)) is not None]] = True
        raw = self._untold(edges.union(rewritten), gone)
        leaves = heads[leaving], relations[leaving], tails[leaving]
        given = leaving.copy()
        given[inferred_rows(graph)] = False
        raw.entities = self._with_types_left(raw.entities, *leaves)
        self._remove_superclasses(raw, *leaves)

        degree = np.bincount(heads[~leaving], minlength=graph.num_nodes)
        degree += np.bincount(tails[~leaving], minlength=graph.num_nodes)
        touched = np.unique(np.concatenate([heads[leaving], tails[leaving]]))
        touched = touched[(touched < graph.num_entities) & ~is_gone[touched]]
        bare = [graph.node_id(node) for node in touched[degree[touched] == 0].tolist()]
        rows = raw.entities.filter(_has(raw.entities, bare)).to_pylist()
        known = {*self._documented, *(() if keep is None else _ids(keep))}
        orphans = [
            row["id"]
            for row in rows
            if not (row["label"] or row["description"] or row["aliases"] or row["types"] or row["id"] in known)
        ]
        raw.entities = raw.entities.filter(pc.invert(_has(raw.entities, orphans)))
        return Edit(raw, edges_removed=int(given.sum()), entities_removed=len(gone) + len(orphans))

    @functools.cached_property
    def _named_memberships(self) -> list[int]:
        return named_memberships([self._graph.relation(number) for number in range(self._graph.num_relations)])

    def _untold(self, *left_out: Collection[Any]) -> RawGraph:
        """The rows of the graph, without the types that a relation tells: what is written tells them anew."""
        graph, raw = self._graph, to_raw(self._graph, *left_out)
        if not graph.type_ids or self._named_memberships:
            return raw
        heads, numbers, ends = graph.all_edges()
        members = told_memberships(heads, numbers, ends, graph.num_entities)
        classes = {graph.node_id(node) for node in np.unique(ends[np.isin(numbers, members)]).tolist()}
        above = {parent for kind in classes for parent in ancestors(kind, graph.superclasses)}
        if classes and set(graph.type_ids) <= classes | above:
            types = ENTITY_SCHEMA.field("types")
            none = pa.array([[]] * raw.entities.num_rows, types.type)
            raw.entities = raw.entities.set_column(ENTITY_SCHEMA.get_field_index(types.name), types, none)
        return raw

    def _with_types_left(
        self, entities: pa.Table, heads: npt.NDArray[Any], relations: npt.NDArray[Any], tails: npt.NDArray[Any]
    ) -> pa.Table:
        """Entities without the types that they have from these edges."""
        graph = self._graph
        in_class = np.isin(relations, self._named_memberships) & (tails < graph.num_entities)
        lost: dict[str, set[str]] = {}
        for head, tail in zip(heads[in_class].tolist(), tails[in_class].tolist(), strict=True):
            kind = graph.node_id(tail)
            lost.setdefault(graph.node_id(head), set()).update([kind, *ancestors(kind, graph.superclasses)])
        affected = _has(entities, lost)
        rows = entities.filter(affected).to_pylist()
        for row in rows:
            row["types"] = [kind for kind in row["types"] if kind not in lost[row["id"]]]
        return pa.concat_tables([entities.filter(pc.invert(affected)), pa.Table.from_pylist(rows, entities.schema)])

    def _remove_superclasses(
        self, raw: RawGraph, heads: npt.NDArray[Any], relations: npt.NDArray[Any], tails: npt.NDArray[Any]
    ) -> None:
        """Without the superclasses that are among these edges, and the types that entities have by them."""
        graph, above = self._graph, raw.superclasses
        subclass = graph.find_relation(_SUBCLASS)
        of_class = relations == (-1 if subclass is None else subclass)
        if not of_class.any():
            return
        affected = pc.greater(pc.fill_null(pc.list_value_length(raw.entities["types"]), 0), 1)
        rows = raw.entities.filter(affected).to_pylist()
        for row in rows:
            inherited = {kind for one in row["types"] for kind in ancestors(one, above)}
            row["types"] = [kind for kind in row["types"] if kind not in inherited]
        parts = [raw.entities.filter(pc.invert(affected)), pa.Table.from_pylist(rows, raw.entities.schema)]
        raw.entities = pa.concat_tables(parts)
        for head, tail in zip(heads[of_class].tolist(), tails[of_class].tolist(), strict=True):
            kind, parent = graph.node_id(head), graph.node_id(tail)
            above[kind] = [one for one in above.get(kind, ()) if one != parent]
        raw.superclasses = {kind: parents for kind, parents in above.items() if parents}


def _rows(raw: RawGraph) -> Iterator[tuple[str, str, str, str | None]]:
    """(head, relation, tail, datatype) of each row."""
    datatypes = all_unknown(len(raw)) if raw.datatypes is None else raw.datatypes
    columns = (column.to_pylist() for column in (raw.heads, raw.relations, raw.tails, datatypes))
    return zip(*columns, strict=True)


def _ids(raw: RawGraph) -> set[str]:
    """All that may be an entity of a graph."""
    return {*raw.heads.dictionary.to_pylist(), *raw.tails.dictionary.to_pylist(), *raw.entities["id"].to_pylist()}


def _has(table: pa.Table, ids: Iterable[str]) -> pa.ChunkedArray:
    """Which rows are about one of these ids."""
    return pc.is_in(table["id"], value_set=pa.array(list(ids), pa.string()))


def _blanked(old: pa.Table, new: pa.Table) -> pa.Table:
    """Descriptions without the cells that new descriptions of the same ids replace."""
    given: dict[str, set[str]] = {}
    for row in new.to_pylist():
        given.setdefault(row["id"], set()).update(name for name, cell in row.items() if name != "id" and cell)
    affected = _has(old, given)
    rows = [row | dict.fromkeys(given[row["id"]]) for row in old.filter(affected).to_pylist()]
    return pa.concat_tables([old.filter(pc.invert(affected)), pa.Table.from_pylist(rows, old.schema)])
