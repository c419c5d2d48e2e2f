"""Labels that a table of triples gives by a relation: `P1`, `name`, `Anna Lindqvist`.

Questions name things by their names, not by their codes. So where the heads of a relation called "name" are codes, its
tails are the labels of its heads, as those of `rdfs:label` and `schema:name` are in RDF, and no things of their own.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa

from triplecheck.kg.names import normalize
from triplecheck.kg.readable import relation_label
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RawGraph, filtered

_NAMES = ("label", "name", "full name", "title")
"""Names of such relations, the surest first."""
_CODE = re.compile(r"(?=\S*[\d_#:/])\S+")
_CODES = 0.9
"""Least share of codes among the heads."""
_DISTINCT = 0.8
"""Least share of distinct tails."""


def labelled(raw: RawGraph) -> RawGraph:
    """The graph with such triples as labels; edges with properties stay as they are."""
    if raw.edge_properties.num_rows:
        return raw
    spelt = {normalize(relation_label(id.as_py())): at for at, id in enumerate(raw.relations.dictionary)}
    numbers = raw.relations.indices.to_numpy(zero_copy_only=False)
    for name in _NAMES:
        own = numbers == spelt.get(name, -1)
        heads, tails = (column.filter(pa.array(own)).to_pylist() for column in (raw.heads, raw.tails))
        codes = sum(_CODE.fullmatch(head) is not None for head in heads)
        if not heads or codes < _CODES * len(heads) or len(set(tails)) < _DISTINCT * len(tails):
            continue
        if len(set(heads)) < len(heads):
            continue  # a thing with several names
        rows = pa.Table.from_pylist(
            [{"id": id, "label": label} for id, label in zip(heads, tails, strict=True)], ENTITY_SCHEMA
        )
        return replace(
            filtered(raw, ~own),
            entities=pa.concat_tables([raw.entities, rows]),
            read=raw.statements,
            described=raw.described + int(np.count_nonzero(own)),
        )
    return raw
