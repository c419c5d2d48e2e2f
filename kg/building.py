"""Writes the parts of a knowledge base into a folder: graph, names, vectors, documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from triplecheck.kg import columnar_build, manifest, numbering, ranker, readers, relation_vectors
from triplecheck.kg.bulk import MEMORY, Triples
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.manifest import Manifest
from triplecheck.kg.names import build_names
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers import RawGraph, ReadOptions
from triplecheck.kg.readers.raw import warn_of
from triplecheck.kg.skb import node_documents
from triplecheck.kg.vectors import VectorIndex

_DROPPED = (
    "the ranker of paths that was trained on the replaced knowledge base is dropped; "
    "train it again with `triplecheck kb train`"
)


def write(
    folder: Path,
    out: Path,
    triples: object,
    described: tuple[object, object],
    how: ReadOptions,
    memory: float | None,
    documents: Iterable[Document] | None,
    encoder: Encoder | None,
    name_vectors: bool,
    **others: Any,
) -> Manifest:
    """Read a graph and write the parts of a knowledge base and its manifest into an empty folder.

    Args:
        out: the knowledge base that the folder replaces.
        described: `entities` and `relations` of `knowledge_base.build`, which says what the others are.
        encoder: makes the vectors; None makes none.
        **others: further fields of `Manifest`.

    Raises:
        UserError: as `readers.read_graph`, or edge properties together with `memory`.
    """
    files = triples if isinstance(triples, readers.TripleFiles) else None
    progress = how.progress
    whole: RawGraph | Triples
    with contextlib.ExitStack() as held:
        if files is None and memory is None:
            whole = about = numbering.concat(readers.read_graph(triples, *described, how))
        elif how.properties:
            raise UserError("edge properties are kept in memory: leave out memory (--memory) or edge properties")
        else:
            files = files or readers.TripleFiles(triples, *described, how)
            whole = held.enter_context(Triples(folder / "scratch", MEMORY if memory is None else memory))
            files.read_into(whole, progress)
            about = whole.about
        warn_of(about)
        counts = write_graph(folder, whole, encoder, name_vectors, progress)
        if documents is not None:
            progress("indexing documents", 0, None)
            counts["documents"] = len(DocumentStore.build(documents, folder / "documents", language=others["language"]))
            write_node_documents(folder, others["language"], progress)
        rows = len(whole) if isinstance(whole, RawGraph) else whole.kept
    progress("writing the manifest", 0, None)
    dropped = [_DROPPED] if (out / ranker.PART).is_dir() else []
    report = {
        "read": about.statements,
        "inferred": about.inferred,
        "descriptions": about.described,
        "duplicates": rows - counts["triples"],
        "left_out": left_out(about, rows),
        "properties": about.edge_properties.num_rows - about.inferred,
        "notes": [*about.notes, *dropped],
    }
    report |= {name: told for name in ("recognised", "reading") if (told := getattr(about, name))}
    model = None if encoder is None else {"name": encoder.name, "fingerprint": encoder.fingerprint}
    skipped = len(about.skipped) + len(getattr(documents, "skipped", ()))
    return manifest.write(folder, counts, encoder=model, report=report, skipped=skipped, **others)


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
        whole: the graph, or its triples on disk.
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


def write_node_documents(folder: Path, language: str, progress: ProgressCallback) -> None:
    """Write the documents of nodes, of the graph and the documents in a folder."""
    graph, store = ColumnarGraph(folder / "graph"), DocumentStore.open(folder / "documents")
    node_documents.build(graph, store, folder / "node_documents", progress, language=language)
    graph.close()


def left_out(whole: RawGraph, rows: int) -> dict[str, int]:
    """Number of statements that were read and are neither edges, descriptions nor edge properties, by the reason.

    Args:
        rows: number of edges that were read.
    """
    found = dict(whole.left_out)
    edges = rows - whole.inferred
    about = whole.edge_properties.num_rows - whole.inferred
    if (parts := whole.statements - edges - whole.described - about - sum(found.values())) > 0:
        found["parts of class expressions and of statements about statements"] = parts
    return found
