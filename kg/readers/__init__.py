"""Readers: files of triples, entities and relations in common formats, read as `RawGraph`s."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers.frames import is_frame, is_network, is_rdflib, read_memory
from triplecheck.kg.readers.options import DEFAULTS, ReadOptions, TableOptions, table_options
from triplecheck.kg.readers.property_graphs import (
    JSON_SUFFIXES,
    NETWORK_SUFFIXES,
    is_neo4j_csv,
    read_property_graph,
)
from triplecheck.kg.readers.raw import BadLine, RawGraph, nothing
from triplecheck.kg.readers.sheets import SHEET_SUFFIXES
from triplecheck.kg.readers.table_files import read_table_files, read_tables
from triplecheck.kg.readers.tables import (
    TABLE_SUFFIXES,
    parse_mapping,
    read_entities,
    read_relations,
    read_triples,
    suffix,
)
from triplecheck.kg.readers.wide import WideTable
from triplecheck.kg.readers.wikidata import is_wikidata, read_wikidata

if TYPE_CHECKING:
    from triplecheck.kg.bulk import Triples

RDF_SUFFIXES = (".nt", ".ttl", ".nq", ".trig", ".rdf", ".xml", ".owl", ".jsonld")

SUFFIXES = (*TABLE_SUFFIXES, *SHEET_SUFFIXES, *RDF_SUFFIXES, *NETWORK_SUFFIXES, *JSON_SUFFIXES)
"""Extensions of files that `read_graph` reads."""


def read_graph(
    triples: object, entities: object = None, relations: object = None, how: ReadOptions = DEFAULTS
) -> list[RawGraph]:
    """Graphs from whatever holds triples.

    Args:
        triples: the path of a file, read by its extension (also with `.gz`), a `RawGraph`, a wide table, or several of
            these; an rdflib graph; or what `frames.read_memory` reads.
        entities, relations: paths of tables, or data frames with the same columns (`read_entities`,
            `read_relations`).
        how: how they are read.

    Raises:
        UserError: something else, nothing at all, or an unknown extension.
        ReadError: a file that cannot be read.
    """
    if is_rdflib(triples):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.nt"
            triples.serialize(path, format="nt", encoding="utf-8")  # type: ignore[attr-defined]
            return read_graph(path, entities, relations, how)
    given = _several(triples)
    if isinstance(triples, list | tuple) and not given:
        raise UserError("no file of triples was given")
    if given and all(isinstance(one, str | Path | RawGraph | WideTable) for one in given):
        wide = [one for one in given if isinstance(one, WideTable)]
        graphs = [one for one in given if isinstance(one, RawGraph)]
        graphs += _parts([Path(one) for one in given if isinstance(one, str | Path)], how, wide)
    else:
        graphs = [read_memory(triples if given and given[0] is triples else given, how)]
    return [*graphs, *_described(entities, relations, how)]


class TripleFiles:
    """Files of one graph that are read part by part: tables, N-Triples and N-Quads; the others are one part each.

    Args:
        triples, entities, relations, how: see `read_graph`.

    Attributes:
        skipped: lines that were skipped under `skip_bad`, known when all is read.

    Raises:
        UserError: `triples` names no files.
    """

    def __init__(
        self, triples: object, entities: object = None, relations: object = None, how: ReadOptions = DEFAULTS
    ) -> None:
        given = _several(triples)
        self.paths = [Path(one) for one in given if isinstance(one, str | Path)]
        if len(self.paths) < len(given):
            raise UserError(
                f"triples are sorted on disk from the path of a file, or several, not from {type(triples).__name__}; "
                "leave out memory (--memory)"
            )
        self.skipped: list[BadLine] = []
        self._entities, self._relations, self._how = entities, relations, how

    @property
    def size(self) -> int:
        """Bytes of the files, about; compressed ones are counted as eight times as large."""
        sizes = ((path, path.stat().st_size) for path in self.paths if path.is_file())
        return sum(size * (8 if path.suffix.lower() in (".gz", ".bz2", ".xz") else 1) for path, size in sizes)

    def read_into(self, store: Triples, progress: ProgressCallback) -> None:
        """Read all files.

        Raises:
            UserError: an unknown extension, or edge properties.
            ReadError: a file that cannot be read.
        """
        how = replace(self._how, progress=progress)
        for parts in (_parts(self.paths, how, store=store), _described(self._entities, self._relations, how)):
            for part in parts:
                self.skipped += part.skipped
                store.add(part)


def _several(given: object) -> list[object]:
    whole = isinstance(given, str | Mapping) or is_frame(given) or is_network(given) or not isinstance(given, Iterable)
    return [given] if whole else list(given)  # type: ignore[call-overload]


def _parts(
    paths: Sequence[Path], how: ReadOptions, wide: Sequence[WideTable] = (), store: Triples | None = None
) -> Iterator[RawGraph]:
    """Files as graphs. With a store, files that may be large are several, and it receives the edges of RDF."""
    tables, networks, rdf = [], [], []
    for path in paths:
        kind = suffix(path)
        if kind in JSON_SUFFIXES and is_wikidata(path):
            yield read_wikidata(path, how)
        elif kind in (*NETWORK_SUFFIXES, *JSON_SUFFIXES) or (kind == ".csv" and path.is_file() and is_neo4j_csv(path)):
            networks.append(path)
        elif kind in (*TABLE_SUFFIXES, *SHEET_SUFFIXES):
            tables.append(path)
        elif kind in RDF_SUFFIXES:
            rdf.append(path)
        else:
            known = " ".join(SUFFIXES)
            raise UserError(f"{path}: no reader for {kind or 'a file without extension'!r}; known: {known}")
    if tables or wide:
        yield from read_table_files(tables, how, wide, in_parts=store is not None)
    if networks:
        yield read_property_graph(networks, skip_bad=how.skip_bad)
    if rdf:
        from triplecheck.kg.readers.rdf import read_rdf

        yield read_rdf(rdf, how, store)


def _described(entities: object, relations: object, how: ReadOptions) -> list[RawGraph]:
    """What tables say of entities and relations, as a graph without triples."""
    found = nothing()
    if entities is not None:
        found.entities, found.skipped = read_entities(entities, how)
    if relations is not None:
        found.relation_rows, skipped = read_relations(relations, how)
        found.skipped += skipped
    return [found] if found.entities.num_rows or found.relation_rows.num_rows or found.skipped else []


__all__ = [
    "BadLine",
    "RawGraph",
    "ReadOptions",
    "TableOptions",
    "TripleFiles",
    "WideTable",
    "parse_mapping",
    "read_entities",
    "read_graph",
    "read_relations",
    "read_tables",
    "read_triples",
    "table_options",
]
