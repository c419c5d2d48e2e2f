"""Readers: files of triples, entities and relations in common formats, read as `RawGraph`s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.raw import BadLine, RawGraph
from triplecheck.kg.readers.tables import (
    TABLE_SUFFIXES,
    parse_mapping,
    read_entities,
    read_relations,
    read_triples,
    suffix,
)

RDF_SUFFIXES = (".nt", ".ttl", ".nq", ".trig", ".rdf", ".xml", ".owl", ".jsonld")


def read_graph(
    triples: Sequence[Path],
    entities: Path | None = None,
    relations: Path | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    skip_bad: bool = False,
    fetch_contexts: bool = False,
    progress: ProgressCallback = no_progress,
) -> list[RawGraph]:
    """Read all files of one graph, each by its extension (also with `.gz`). See `rdf.read_rdf` for `fetch_contexts`.

    Raises:
        UserError: an unknown extension.
        ReadError: a file that cannot be read.
    """
    graphs = []
    rdf = []
    for path in triples:
        if suffix(path) in TABLE_SUFFIXES:
            graphs.append(read_triples(path, mapping, skip_bad=skip_bad, progress=progress))
        elif suffix(path) in RDF_SUFFIXES:
            rdf.append(path)
        else:
            known = " ".join((*TABLE_SUFFIXES, *RDF_SUFFIXES))
            raise UserError(f"{path}: no reader for {suffix(path) or 'a file without extension'!r}; known: {known}")
    if rdf:
        from triplecheck.kg.readers.rdf import read_rdf

        graphs.append(read_rdf(rdf, skip_bad=skip_bad, fetch_contexts=fetch_contexts, progress=progress))
    if not graphs:
        raise UserError("no file of triples was given")
    if entities is not None:
        rows, skipped = read_entities(entities, mapping, skip_bad=skip_bad)
        graphs[0].entities = pa.concat_tables([graphs[0].entities, rows])
        graphs[0].skipped += skipped
    if relations is not None:
        rows, skipped = read_relations(relations, mapping, skip_bad=skip_bad)
        graphs[0].relation_rows = pa.concat_tables([graphs[0].relation_rows, rows])
        graphs[0].skipped += skipped
    return graphs


__all__ = [
    "BadLine",
    "RawGraph",
    "parse_mapping",
    "read_entities",
    "read_graph",
    "read_relations",
    "read_triples",
]
