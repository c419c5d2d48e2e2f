"""From a graph on disk back to a `RawGraph`, to be changed and built again, or to a pandas frame or networkx graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.columnar import ColumnarGraph, NodeColumns
from triplecheck.kg.errors import extra
from triplecheck.kg.graph import IntArray, plain_properties
from triplecheck.kg.numbering import default_labels
from triplecheck.kg.readable import STANDARD, class_label, relation_alias, relation_label, split_name
from triplecheck.kg.readers.raw import (
    ENTITY_SCHEMA,
    RELATION_SCHEMA,
    RawGraph,
    StringColumns,
    property_table,
)
from triplecheck.kg.types import Edge, Entity, Literal, Relation, Triple


def to_raw(graph: ColumnarGraph, without: Iterable[Edge] = (), without_nodes: Iterable[int] = ()) -> RawGraph:
    """A whole graph as a `RawGraph`. Building it gives the same graph again.

    An edge with several statements about it is a row per statement. Labels that the builder would derive from the ids
    are left open, so that a label that is given later is taken.

    Args:
        without: (head, relation, tail) of edges to leave out.
        without_nodes: nodes to leave out, with all their edges.
    """
    heads, relations, tails = graph.all_edges()
    kept = np.ones(len(heads), bool)
    kept[[at for edge in without if (at := graph.place(*edge)) is not None]] = False
    gone = np.zeros(graph.num_nodes, bool)
    gone[np.fromiter(without_nodes, np.int64)] = True
    kept &= ~gone[heads] & ~gone[tails]
    rows, properties = _statement_rows(graph, kept)
    heads, relations, tails = heads[rows], relations[rows], tails[rows]
    nodes = graph.node_columns()
    entities = graph.num_entities
    is_value = tails >= entities
    codes = np.zeros(len(tails), np.int32)
    codes[is_value] = nodes.literal_datatypes[tails[is_value] - entities]
    about = [graph.relation(number) for number in range(graph.num_relations)]
    return RawGraph(
        heads=_column(heads, nodes.ids.slice(0, entities)),
        relations=_column(relations, pa.array([relation.id for relation in about], pa.string())),
        tails=_column(tails, nodes.ids),
        datatypes=pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=~is_value), pa.array(nodes.datatypes, pa.string())
        ),
        entities=_entity_table(graph, nodes).filter(pa.array(~gone[:entities])),
        relation_rows=pa.Table.from_pylist([_relation_row(r) for r in about], RELATION_SCHEMA),
        edge_properties=properties,
        type_labels={id: label for id in graph.type_ids if (label := graph.type_label(id)) != class_label(id)},
        superclasses={kind: list(above) for kind, above in graph.superclasses.items()},
    )


def _statement_rows(graph: ColumnarGraph, kept: npt.NDArray[np.bool_]) -> tuple[IntArray, pa.Table]:
    """Rows of the edges to keep, repeated for every statement about them, and the properties."""
    times = kept.astype(np.int64)
    about = [(edge, statements) for edge, statements in graph.all_edge_properties() if kept[edge]]
    for edge, statements in about:
        times[edge] = len(statements)
    first = np.cumsum(times) - times
    found: list[tuple[Any, ...]] = []
    for edge, statements in about:
        for row, statement in enumerate(statements, int(first[edge])):
            for name, value in statement:
                found.append((row, name, *_cells(value)))
    return np.repeat(np.arange(len(kept)), times), property_table(found)


def _entity_table(graph: ColumnarGraph, nodes: NodeColumns) -> pa.Table:
    """All entities as rows of `ENTITY_SCHEMA`."""
    entities = graph.num_entities
    ids, labels, aliases = nodes.ids.slice(0, entities), nodes.labels.slice(0, entities), nodes.aliases
    type_ids = pa.array(graph.type_ids, pa.string()).take(pa.array(nodes.type_codes))
    types = pa.ListArray.from_arrays(pa.array(nodes.type_offsets, pa.int32()), type_ids)
    derived = pc.equal(labels, default_labels(ids))
    some = pc.indices_nonzero(pc.match_substring(ids, "://"))
    changed: dict[int, list[str]] = {}
    described = (column.take(some).to_pylist() for column in (ids, labels, aliases))
    for at, id, label, names in zip(some.to_pylist(), *described, strict=True):
        words = split_name(id, label)
        if words is not None and names and names[-1] == words:
            changed[at] = names[:-1]
    if changed:
        listed = aliases.to_pylist()
        for at, names in changed.items():
            listed[at] = names
        aliases = pa.array(listed, aliases.type)
    columns = [ids, pc.if_else(derived, None, labels), nodes.descriptions, aliases, types]
    return pa.table(columns, schema=ENTITY_SCHEMA)


def _relation_row(relation: Relation) -> dict[str, Any]:
    path, aliases = relation_alias(relation.id), list(relation.aliases)
    default = next(iter(STANDARD.get(relation.id, ())), None) or relation_label(relation.id)
    derived = relation.label == default and (path is None or path in aliases)
    if derived:
        aliases = [alias for alias in aliases if alias != path and alias not in STANDARD.get(relation.id, ())]
    row = {"id": relation.id, "label": None if derived else relation.label, "description": relation.description}
    return row | {"aliases": aliases, "domain": relation.domain, "range": relation.range}


def to_pandas(graph: ColumnarGraph) -> Any:
    """All triples as a pandas frame, one row each.

    Columns: `head`, `relation` and `tail` (ids; the lexical form of a literal), `datatype` (of a literal tail, else
    None), `head_label`, `relation_label`, `tail_label`; and `properties`, a list of dicts, if edges have any.
    `build` makes the same edges of it.
    """
    with extra("frames", "A data frame"):
        import pandas as pd

    heads, relations, tails = graph.all_edges()
    nodes, kinds = graph.node_columns(), graph.datatypes(np.arange(graph.num_nodes))
    ids, labels, datatypes = (np.array(column.to_pylist(), object) for column in (nodes.ids, nodes.labels, kinds))
    about = [graph.relation(number) for number in range(graph.num_relations)]
    columns: dict[str, Any] = {
        "head": ids[heads],
        "relation": np.array([relation.id for relation in about], object)[relations],
        "tail": ids[tails],
        "datatype": datatypes[tails],
        "head_label": labels[heads],
        "relation_label": np.array([relation.label for relation in about], object)[relations],
        "tail_label": labels[tails],
    }
    if graph.has_edge_properties:
        edges = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
        columns["properties"] = [
            [plain_properties(statement) for statement in graph.edge_properties(*e)] for e in edges
        ]
    return pd.DataFrame(columns)


def to_networkx(graph: ColumnarGraph) -> Any:
    """The graph as a `networkx.MultiDiGraph`.

    A node is an entity id, with `label`, `types`, `description` and `aliases`, or a `Literal`. The key of an edge
    and its attribute `relation` are the relation's id, `label` is its label, the other attributes are its properties.
    """
    with extra("frames", "A networkx graph"):
        import networkx as nx

    found = nx.MultiDiGraph()
    keys: list[str | Literal] = []
    for node in range(graph.num_nodes):
        value = graph.literal(node)
        keys.append(value or graph.node_id(node))
        if value is None:
            about = graph.entity(node)
            given = {"types": list(about.types), "description": about.description, "aliases": list(about.aliases)}
            found.add_node(about.id, label=about.label, **{name: given[name] for name in given if given[name]})
        else:
            found.add_node(value, label=value.lexical)
    heads, relations, tails = graph.all_edges()
    for head, number, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
        relation = graph.relation(number)
        properties: dict[str, str] = {}
        for statement in graph.edge_properties(head, number, tail):
            properties |= plain_properties(statement)
        found.add_edge(
            keys[head], keys[tail], key=relation.id, **properties | {"relation": relation.id, "label": relation.label}
        )
    return found


def raw_of(triples: Iterable[Triple], entities: Iterable[Entity] = ()) -> RawGraph:
    """A few triples, and descriptions of some entities, as a `RawGraph`."""
    columns = StringColumns(4)
    columns.add([(t.head, t.relation, *_cells(t.tail)) for t in triples])
    rows = pa.Table.from_pylist([asdict(entity) for entity in entities], ENTITY_SCHEMA)
    return replace(RawGraph(*columns.arrays()), entities=rows)


def _cells(value: str | Literal) -> tuple[str, str | None]:
    return (value.lexical, value.datatype) if isinstance(value, Literal) else (value, None)


def _column(codes: IntArray, dictionary: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), dictionary)
