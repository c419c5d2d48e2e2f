"""Writes the parts of a knowledge base into a folder: graph, names, vectors, documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from triplecheck.kg import columnar_build, manifest, numbering, readers, relation_vectors
from triplecheck.kg.bulk import MEMORY, Triples
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.manifest import Manifest
from triplecheck.kg.names import build_names
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers import RawGraph
from triplecheck.kg.readers.raw import warn_of
from triplecheck.kg.skb import node_documents
from triplecheck.kg.vectors import VectorIndex


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        counts: for the manifest.
        whole: what was read, without its triples if they were sorted on disk.
        rows: number of edges that were read.
    """

    counts: dict[str, int]
    whole: RawGraph
    rows: int


def read_and_write(
    folder: Path, triples: object, tables: Mapping[str, Any], memory: float | None, *rest: Any
) -> Written:
    """Read a graph and write the parts of a knowledge base into an empty folder.

    Args:
        folder: the folder.
        triples, memory: see `knowledge_base.build`.
        tables: options of `readers.graphs_of`.
        *rest: of `write`.

    Raises:
        UserError: as `readers.graphs_of`, or edge properties together with `memory`.
    """
    files = triples if isinstance(triples, readers.TripleFiles) else None
    if files is None and memory is None:
        whole = numbering.concat(readers.graphs_of(triples, **tables, progress=rest[-1]))
        warn_of(whole)
        return Written(write(folder, whole, *rest), whole, len(whole))
    if files is None:
        options = dict(tables)
        if options.pop("edge_properties"):
            raise UserError("edge properties are kept in memory: give edge_properties or memory, not both")
        files = readers.TripleFiles(triples, **options)
    with Triples(folder / "scratch", MEMORY if memory is None else memory) as store:
        files.read_into(store, rest[-1])
        warn_of(store.about)
        return Written(write(folder, store, *rest), store.about, store.kept)


def write(
    folder: Path,
    whole: RawGraph | Triples,
    documents: Iterable[Document] | None,
    encoder: Encoder | None,
    name_vectors: bool,
    progress: ProgressCallback,
) -> dict[str, int]:
    """Write the parts of a knowledge base into an empty folder.

    Args:
        folder: the folder.
        whole: the graph, or its triples on disk.
        documents: texts to search.
        encoder: makes the vectors; None makes none.
        name_vectors: also encode every entity label.
        progress: called at each step.

    Returns:
        The counts for the manifest.
    """
    counts = write_graph(folder, whole, encoder, name_vectors, progress)
    if documents is not None:
        progress("indexing documents", 0, None)
        counts["documents"] = len(DocumentStore.build(documents, folder / "documents"))
        write_node_documents(folder, progress)
    progress("writing the manifest", 0, None)
    return counts


def write_graph(
    folder: Path,
    whole: RawGraph | Triples,
    encoder: Encoder | None,
    name_vectors: bool,
    progress: ProgressCallback,
    kept_names: Callable[[ColumnarGraph], int | None] = lambda _: None,
) -> dict[str, int]:
    """Write the graph, its names and their vectors; see `write`.

    Args:
        kept_names: called with the graph; if it writes the index of the names itself, it returns their number.
    """
    (folder / "graph").mkdir()
    if isinstance(whole, Triples):
        numbered = whole.write_graph(folder / "graph", progress)
    else:
        progress("numbering nodes", 0, None)
        numbered = numbering.number(whole)
        progress("sorting edges", 0, None)
        columnar_build.write_graph(numbered, folder / "graph")
    relations = numbered.relation_table
    del numbered  # as large as the graph
    graph = ColumnarGraph(folder / "graph")
    progress("indexing names", 0, None)
    names = kept_names(graph)
    if names is None:
        (folder / "names").mkdir()
        names = build_names(graph, folder / "names")
    if encoder is not None:
        (folder / "vectors").mkdir()
        progress("encoding relations", 0, graph.num_relations)
        relation_vectors.build(relations, encoder, folder / "vectors", relation_vectors.type_texts(graph))
        if name_vectors:
            labels = [label for _, label in islice(graph.all_labels(), graph.num_entities)]
            VectorIndex(encoder.encode(labels, progress=progress)).save(folder / "name_vectors")
    counts = {
        "entities": graph.num_entities,
        "values": graph.num_nodes - graph.num_entities,
        "relations": graph.num_relations,
        "triples": graph.num_triples,
        "types": len(graph.type_ids),
        "names": names,
        "documents": 0,
    }
    graph.close()
    return counts


def write_node_documents(folder: Path, progress: ProgressCallback) -> None:
    """Write the documents of nodes, of the graph and the documents in a folder."""
    graph, store = ColumnarGraph(folder / "graph"), DocumentStore.open(folder / "documents")
    node_documents.build(graph, store, folder / "node_documents", progress)
    graph.close()


def describe(folder: Path, written: Written, encoder: Encoder | None, *, skipped: int, **about: Any) -> Manifest:
    """Write the manifest of a folder.

    Args:
        folder: the folder.
        written: what was written into it.
        encoder: made the vectors.
        skipped: number of bad documents that were skipped.
        **about: other fields of `Manifest`.
    """
    model = None if encoder is None else {"name": encoder.name, "fingerprint": encoder.fingerprint}
    skipped += len(written.whole.skipped)
    return manifest.write(folder, written.counts, encoder=model, report=_report(written), skipped=skipped, **about)


def _report(written: Written) -> dict[str, Any]:
    """What became of the statements that were read."""
    whole, rows = written.whole, written.rows
    read = rows if whole.read is None else whole.read
    found = {
        "read": read,
        "inferred": whole.inferred,
        "descriptions": whole.described,
        "duplicates": rows - written.counts["triples"],
        "left_out": left_out(whole, rows),
    }
    found |= {"properties": whole.edge_properties.num_rows - whole.inferred, "notes": whole.notes}
    found |= {"recognised": whole.recognised} if whole.recognised else {}
    return found | ({"reading": whole.reading} if whole.reading else {})


def left_out(whole: RawGraph, rows: int | None = None) -> dict[str, int]:
    """Number of statements that were read and are neither edges, descriptions nor edge properties, by the reason.

    Args:
        whole: what was read.
        rows: number of edges that were read; None: `len(whole)`.
    """
    found = dict(whole.left_out)
    edges = len(whole) if rows is None else rows
    read = edges if whole.read is None else whole.read
    about = whole.edge_properties.num_rows - whole.inferred
    if (parts := read - (edges - whole.inferred) - whole.described - about - sum(found.values())) > 0:
        found["parts of class expressions and of statements about statements"] = parts
    return found
