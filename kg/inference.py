"""Edges that follow from an ontology: those of symmetric relations, and those of the inverses of relations.

They are edges like others, so that every look-up, pattern and query finds them, with a property that says what they
follow from (OWL 2 RL, rules prp-symp and prp-inv1/2, https://www.w3.org/TR/owl2-profiles/).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.numbering import concat
from triplecheck.kg.readable import relation_label
from triplecheck.kg.readers.raw import RawGraph, StringColumns, filtered, property_table
from triplecheck.kg.types import XSD
from triplecheck.kg.vocabulary import OWL

INFERRED = "inferred"
"""The name of the property of an inferred edge. Its value is what the edge follows from."""
_SYMMETRIC, _INVERSE = OWL + "SymmetricProperty", OWL + "inverseOf"

_INVERSE_OF = "inverse of {}"

Inverses = Mapping[str, Sequence[str]]
"""The ids of the inverses of a relation; a symmetric relation is its own."""


def inverses_of(axioms: Iterable[Sequence[str | None]], but: Collection[str] = ()) -> dict[str, list[str]]:
    """The inverses that an ontology says.

    Args:
        axioms: its statements (subject, predicate, object, ...).
        but: relations whose edges have no inverse.
    """
    found: dict[str, list[str]] = {}
    for subject, predicate, target, *_ in axioms:
        if subject is None or target is None or subject.startswith("_:") or target.startswith("_:"):
            continue
        pairs = [(subject, target), (target, subject)] if predicate == _INVERSE else []
        pairs += [(subject, subject)] if target == _SYMMETRIC else []
        for one, other in pairs:
            found.setdefault(one, [])
            found[one] += [other] if other not in found[one] else []
    return {one: others for one, others in found.items() if one not in but}


def with_inferred(raw: RawGraph, inverses: Inverses) -> RawGraph:
    """A graph with the edges that follow from its others, each once, and none that is given.

    Args:
        raw: whose datatypes are known; only edges between entities have an inverse. Edges that were inferred before are
            left out first: what they followed from may be gone.
    """
    if not inverses:
        return raw
    raw = without_inferred(raw)
    labels = {row["id"]: row["label"] for row in raw.relation_rows.to_pylist()}
    known, open_ = set[tuple[str, str, str]](), list(_entity_edges(raw, inverses))
    known.update(open_)
    found: dict[tuple[str, str, str], str] = {}
    while open_:
        head, relation, tail = open_.pop()
        for other in inverses.get(relation, ()):
            edge = tail, other, head
            if edge not in known:
                known.add(edge)
                open_.append(edge)
                found[edge] = (
                    "symmetric"
                    if other == relation
                    else _INVERSE_OF.format(labels.get(relation) or relation_label(relation))
                )
    if not found:
        return raw
    edges, columns = sorted(found), StringColumns(4)
    columns.add([(*edge, None) for edge in edges])
    about = property_table([(at, INFERRED, found[edge], XSD + "string") for at, edge in enumerate(edges)])
    more = replace(RawGraph(*columns.arrays()), edge_properties=about, read=0, inferred=len(found))
    return concat([raw, more])


def without_inferred(raw: RawGraph) -> RawGraph:
    """A graph without the edges that were inferred."""
    about = raw.edge_properties
    marked = about.filter(pc.equal(about["name"], INFERRED))["edge"].unique().to_numpy()
    if not len(marked):
        return raw
    kept = np.ones(len(raw), bool)
    kept[marked] = False
    return replace(filtered(raw, kept), inferred=0)


def inferred_rows(graph: ColumnarGraph) -> list[int]:
    """The rows of the edges of a graph that were inferred."""
    about = graph.all_edge_properties()
    return [row for row, statements in about if any(name == INFERRED for one in statements for name, _ in one)]


def _entity_edges(raw: RawGraph, inverses: Inverses) -> Iterator[tuple[str, str, str]]:
    """The edges between entities whose relation has an inverse or is one."""
    assert raw.datatypes is not None
    named = pa.array([id in inverses for id in raw.relations.dictionary.to_pylist()], pa.bool_())
    rows = pc.and_(named.take(raw.relations.indices), raw.datatypes.indices.is_null())
    columns = (column.filter(rows).to_pylist() for column in (raw.heads, raw.relations, raw.tails))
    return zip(*columns, strict=True)
