"""From a graph on disk back to a `RawGraph`, to be changed and built again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
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
