"""Readers: files of triples, entities and relations in common formats, read as `RawGraph`s."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.frames import is_frame, is_network, is_rdflib, read_memory, table_of
from triplecheck.kg.readers.property_graphs import (
    JSON_SUFFIXES,
    NETWORK_SUFFIXES,
    is_neo4j_csv,
    read_property_graph,
)
from triplecheck.kg.readers.raw import BadLine, RawGraph
from triplecheck.kg.readers.sheets import SHEET_SUFFIXES
from triplecheck.kg.readers.table_files import (
    SHOWN,
    first_triples,
    is_wide_file,
    read_table_files,
    read_tables,
    recognised,
)
from triplecheck.kg.readers.tables import (
    TABLE_SUFFIXES,
    entity_rows,
    parse_mapping,
    read_entities,
    read_relations,
    read_triples,
    relation_rows,
    suffix,
    triple_parts,
)
from triplecheck.kg.readers.wide import TableOptions, WideTable, table_options
from triplecheck.kg.readers.wikidata import is_wikidata, read_wikidata

if TYPE_CHECKING:
    from triplecheck.kg.readers.rdf import TripleStore

RDF_SUFFIXES = (".nt", ".ttl", ".nq", ".trig", ".rdf", ".xml", ".owl", ".jsonld")


SUFFIXES = (*TABLE_SUFFIXES, *SHEET_SUFFIXES, *RDF_SUFFIXES, *NETWORK_SUFFIXES, *JSON_SUFFIXES)
"""Extensions of files that `read_graph` reads."""


def read_graph(
    triples: Path | str | Sequence[Path | str],
    entities: Path | str | None = None,
    relations: Path | str | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    tables: TableOptions | None = None,
    more: Sequence[WideTable] = (),
    header: bool | None = None,
    edge_properties: Sequence[str] = (),
    skip_bad: bool = False,
    fetch_contexts: bool = False,
    axioms: bool | None = None,
    language: str = "en",
    strict: bool = False,
    first_blank: int = 0,
    progress: ProgressCallback = no_progress,
) -> list[RawGraph]:
    """Read all files of one graph, each by its extension (also with `.gz`).

    See `table_files.read_table_files` for `tables` (its `options`), `more`, `header` and `edge_properties`,
    `rdf.read_rdf` for `fetch_contexts`, `axioms`, `language`, `strict` and `first_blank`.

    Raises:
        UserError: an unknown extension.
        ReadError: a file that cannot be read.
    """
    graphs = []
    edge_properties = _listed(edge_properties)
    rdf, networks, files = [], [], []
    for path in paths_of(triples, "triples"):
        kind = suffix(path)
        if kind in JSON_SUFFIXES and is_wikidata(path):
            graphs.append(read_wikidata(path, language=language, skip_bad=skip_bad, progress=progress))
        elif kind in (*NETWORK_SUFFIXES, *JSON_SUFFIXES) or (path.is_file() and _is_neo4j(path)):
            networks.append(path)
        elif kind in (*TABLE_SUFFIXES, *SHEET_SUFFIXES):
            files.append(path)
        elif kind in RDF_SUFFIXES:
            rdf.append(path)
        else:
            known = " ".join(SUFFIXES)
            raise UserError(f"{path}: no reader for {kind or 'a file without extension'!r}; known: {known}")
    if files or more:
        graphs += read_table_files(
            files,
            mapping,
            options=tables,
            more=more,
            header=header,
            edge_properties=edge_properties,
            skip_bad=skip_bad,
            progress=progress,
        )
    if networks:
        graphs.append(read_property_graph(networks, skip_bad=skip_bad))
    if rdf:
        from triplecheck.kg.readers.rdf import read_rdf

        graphs.append(
            read_rdf(
                rdf,
                skip_bad=skip_bad,
                fetch_contexts=fetch_contexts,
                axioms=axioms,
                language=language,
                strict=strict,
                first_blank=first_blank,
                progress=progress,
            )
        )
    if not graphs:
        raise UserError("no file of triples was given")
    if entities is not None:
        rows, skipped = read_entities(paths_of(entities, "entities")[0], mapping, skip_bad=skip_bad)
        graphs[0].entities = pa.concat_tables([graphs[0].entities, rows])
        graphs[0].skipped += skipped
    if relations is not None:
        rows, skipped = read_relations(paths_of(relations, "relations")[0], mapping, skip_bad=skip_bad)
        graphs[0].relation_rows = pa.concat_tables([graphs[0].relation_rows, rows])
        graphs[0].skipped += skipped
    return graphs


class TripleFiles:
    """Files of one graph that are read part by part: tables, N-Triples and N-Quads; the others are one part each.

    Args:
        triples, entities, relations, mapping, header, skip_bad, axioms, language: see `graphs_of`.
        tables: how wide tables are read; they are one part.

    Attributes:
        skipped: lines that were skipped under `skip_bad`, known when all is read.

    Raises:
        UserError: `triples` names no files.
    """

    def __init__(
        self,
        triples: object,
        entities: object = None,
        relations: object = None,
        mapping: Mapping[str, str] | None = None,
        *,
        tables: TableOptions | None = None,
        header: bool | None = None,
        skip_bad: bool = False,
        axioms: bool | None = None,
        language: str = "en",
        strict: bool = False,
    ) -> None:
        self.tables = tables or TableOptions()
        self.paths = paths_of(triples, "triples")
        self.skipped: list[BadLine] = []
        self._described: dict[str, Any] = {"entities": entities, "relations": relations}
        self._mapping, self._header, self._skip_bad = mapping, header, skip_bad
        self._rdf: dict[str, Any] = {"axioms": axioms, "language": language, "strict": strict}

    @property
    def size(self) -> int:
        """Bytes of the files, about; compressed ones are counted as eight times as large."""
        sizes = ((path, path.stat().st_size) for path in self.paths if path.is_file())
        return sum(size * (8 if path.suffix.lower() in (".gz", ".bz2", ".xz") else 1) for path, size in sizes)

    def read_into(self, store: TripleStore, progress: ProgressCallback = no_progress) -> None:
        """Read all files.

        Raises:
            UserError: an unknown extension, or edge properties.
            ReadError: a file that cannot be read.
        """
        rdf = [path for path in self.paths if suffix(path) in RDF_SUFFIXES]
        tables = [p for p in self.paths if suffix(p) in TABLE_SUFFIXES and not (p.is_file() and _is_neo4j(p))]
        wide = [path for path in tables if is_wide_file(path, self._mapping, self.tables, header=self._header)]
        tables = [path for path in tables if path not in wide]
        others = [path for path in self.paths if path not in (*rdf, *tables)]
        for path in tables:
            some: list[tuple[str, str, str]] = []
            for part in triple_parts(
                path, self._mapping, header=self._header, skip_bad=self._skip_bad, progress=progress
            ):
                some += first_triples(part) if len(some) < SHOWN else []
                self._pass_on(part, store)
            self._pass_on(replace(_nothing(), recognised=[recognised(path, some)]), store)
        if others:
            read = read_graph(
                others,
                mapping=self._mapping,
                tables=self.tables,
                header=self._header,
                skip_bad=self._skip_bad,
                **self._rdf,
                progress=progress,
            )
            for part in read:
                self._pass_on(part, store)
        if rdf:
            from triplecheck.kg.readers.rdf import read_rdf

            self._pass_on(read_rdf(rdf, skip_bad=self._skip_bad, **self._rdf, progress=progress, store=store), store)
        for part in graphs_of(_nothing(), **self._described, mapping=self._mapping, skip_bad=self._skip_bad)[1:]:
            self._pass_on(part, store)

    def _pass_on(self, part: RawGraph, store: TripleStore) -> None:
        self.skipped += part.skipped
        store.add(part)


def _listed(names: Sequence[str]) -> Sequence[str]:
    """Names of columns, of which one may be given alone."""
    return [names] if isinstance(names, str) else names


def _is_neo4j(path: Path) -> bool:
    return suffix(path) == ".csv" and is_neo4j_csv(path)


def _nothing() -> RawGraph:
    return RawGraph(*(pa.array([], pa.string()).dictionary_encode() for _ in range(3)))


def paths_of(given: object, what: str) -> list[Path]:
    """One path or several, given as text or as `Path`s.

    Raises:
        UserError: something else, such as a data frame.
    """
    whole = isinstance(given, str) or is_frame(given) or is_network(given) or not isinstance(given, Iterable)
    several: list[object] = [given] if whole else list(given)  # type: ignore[call-overload]
    paths = [Path(one) for one in several if isinstance(one, str | Path)]
    if len(paths) < len(several):
        raise UserError(
            f"{what} must be the path of a file, or several, not {type(given).__name__}; triples in memory are for "
            "KnowledgeBase.from_triples, or build(TRIPLES, OUT)"
        )
    return paths


def graphs_of(
    triples: object,
    *,
    entities: object = None,
    relations: object = None,
    mapping: Mapping[str, str] | None = None,
    header: bool | None = None,
    edge_properties: Sequence[str] = (),
    skip_bad: bool = False,
    axioms: bool | None = None,
    language: str = "en",
    first_blank: int = 0,
    progress: ProgressCallback = no_progress,
) -> list[RawGraph]:
    """Graphs from whatever holds triples: `RawGraph`s, paths, lists, data frames, networkx and rdflib graphs.

    Args:
        triples: see `frames.read_memory`; a string is a path.
        entities, relations: paths of tables, or data frames with the same columns (`read_entities`,
            `read_relations`).
        mapping: columns of tables and data frames, such as `{"head": "customer"}`.
        edge_properties: further columns to keep as properties of the edges; `*` for all.
        header, skip_bad, axioms, language, first_blank: of files, see `read_graph`.
        progress: called while files are read.

    Raises:
        UserError: something else, or no triples in it.
        ReadError: a file that cannot be read.
    """
    files_of = functools.partial(
        read_graph,
        mapping=mapping,
        header=header,
        edge_properties=edge_properties,
        skip_bad=skip_bad,
        axioms=axioms,
        language=language,
        first_blank=first_blank,
        progress=progress,
    )
    edge_properties = _listed(edge_properties)
    if isinstance(triples, RawGraph):
        graphs = [triples]
    elif is_rdflib(triples):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.nt"
            triples.serialize(path, format="nt", encoding="utf-8")  # type: ignore[attr-defined]
            graphs = files_of(path)
    elif isinstance(triples, str | Path):
        graphs = files_of(triples)
    else:
        held = triples
        if isinstance(triples, Iterable) and not (isinstance(triples, Mapping) or is_frame(held) or is_network(held)):
            held = list(triples)
        if isinstance(held, list) and held and all(isinstance(one, RawGraph) for one in held):
            graphs = held
        elif isinstance(held, list) and held and all(isinstance(one, str | Path) for one in held):
            graphs = files_of(held)
        else:
            graphs = [read_memory(held, mapping, edge_properties)]
    described = _nothing()
    if isinstance(entities, str | Path):
        described.entities, described.skipped = read_entities(Path(entities), mapping, skip_bad=skip_bad)
    elif entities is not None:
        described.entities = entity_rows(table_of(entities, "entities"))
    if isinstance(relations, str | Path):
        described.relation_rows, skipped = read_relations(Path(relations), mapping, skip_bad=skip_bad)
        described.skipped += skipped
    elif relations is not None:
        described.relation_rows = relation_rows(table_of(relations, "relations"))
    return [*graphs, described] if described.entities.num_rows or described.relation_rows.num_rows else graphs


__all__ = [
    "BadLine",
    "RawGraph",
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
