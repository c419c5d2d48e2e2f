"""From a graph on disk back to a `RawGraph`, to be changed and built again, or to a pandas frame or networkx graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import EdgeProperties, IntArray
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph
from triplecheck.kg.types import Direction, Entity, Literal, Triple


def to_raw(graph: ColumnarGraph, without: Iterable[tuple[int, int, int]] = ()) -> RawGraph:
    """A whole graph as a `RawGraph`. Building it gives the same graph again.

    Args:
        graph: the graph.
        without: (head, relation, tail) of edges to leave out.
    """
    offsets, relations, tails = graph.rows(Direction.OUT)
    heads = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
    kept = np.ones(len(heads), bool)
    for head, relation, tail in without:
        run = slice(int(offsets[head]), int(offsets[head + 1]))
        kept[run] &= (relations[run] != relation) | (tails[run] != tail)
    heads, relations, tails = heads[kept], relations[kept], tails[kept]
    entities = [graph.entity(node) for node in range(graph.num_entities)]
    ids = pa.array([entity.id for entity in entities], pa.string())
    values = [graph.literal(node) for node in range(graph.num_entities, graph.num_nodes)]
    lexical = pa.array([value.lexical for value in values if value], pa.string())
    datatypes = sorted({value.datatype for value in values if value})
    code = {datatype: number for number, datatype in enumerate(datatypes)}
    datatype_of = np.array([code[value.datatype] for value in values if value], np.int32)
    is_value = tails >= graph.num_entities
    codes = np.zeros(len(tails), np.int32)
    codes[is_value] = datatype_of[tails[is_value] - graph.num_entities]
    about = [graph.relation(number) for number in range(graph.num_relations)]
    return RawGraph(
        heads=_column(heads, ids),
        relations=_column(relations, pa.array([relation.id for relation in about], pa.string())),
        tails=_column(tails, pa.concat_arrays([ids, lexical])),
        datatypes=pa.DictionaryArray.from_arrays(pa.array(codes, mask=~is_value), pa.array(datatypes, pa.string())),
        entities=_entities(entities),
        relation_rows=pa.Table.from_pylist(
            [
                {"id": r.id, "label": r.label, "description": r.description, "aliases": list(r.aliases)}
                | {"domain": r.domain, "range": r.range}
                for r in about
            ],
            RELATION_SCHEMA,
        ),
        type_labels={id: graph.type_label(id) for id in graph.type_ids},
    )


def to_pandas(graph: ColumnarGraph) -> Any:
    """All triples as a pandas frame, one row each.

    Columns: `head`, `relation` and `tail` (ids; the lexical form of a literal), `datatype` (of a literal tail, else
    None), `head_label`, `relation_label`, `tail_label`; and `properties`, a list of dicts, if edges have any.
    `build` makes the same edges of it.
    """
    import pandas as pd

    offsets, relations, tails = graph.rows(Direction.OUT)
    heads = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
    ids = np.array([graph.node_id(node) for node in range(graph.num_nodes)], object)
    labels = np.array(graph.labels(np.arange(graph.num_nodes)), object)
    values = [graph.literal(node) for node in range(graph.num_nodes)]
    datatypes = np.array([value and value.datatype for value in values], object)
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
    offsets, relations, tails = graph.rows(Direction.OUT)
    heads = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
    for head, number, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
        relation = graph.relation(number)
        properties: dict[str, str] = {}
        for statement in graph.edge_properties(head, number, tail):
            properties |= plain_properties(statement)
        found.add_edge(
            keys[head], keys[tail], key=relation.id, **properties | {"relation": relation.id, "label": relation.label}
        )
    return found


def plain_properties(statement: EdgeProperties) -> dict[str, str]:
    """The properties of one statement as text."""
    return {name: value.lexical if isinstance(value, Literal) else value for name, value in statement}


def raw_of(triples: Sequence[Triple], entities: Iterable[Entity] = ()) -> RawGraph:
    """A few triples, and descriptions of some entities, as a `RawGraph`."""
    tails = [t.tail.lexical if isinstance(t.tail, Literal) else t.tail for t in triples]
    datatypes = [t.tail.datatype if isinstance(t.tail, Literal) else None for t in triples]
    heads, relations = [t.head for t in triples], [t.relation for t in triples]
    head, relation, tail, datatype = (
        pa.array(column, pa.string()).dictionary_encode() for column in (heads, relations, tails, datatypes)
    )
    return RawGraph(head, relation, tail, datatype, entities=_entities(entities))


def _column(codes: IntArray, dictionary: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), dictionary)


def _entities(entities: Iterable[Entity]) -> pa.Table:
    rows = [
        {"id": e.id, "label": e.label, "description": e.description, "aliases": list(e.aliases), "types": list(e.types)}
        for e in entities
    ]
    return pa.Table.from_pylist(rows, ENTITY_SCHEMA)
