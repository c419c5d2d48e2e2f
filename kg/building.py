"""Writes the parts of a knowledge base into a folder: graph, names, vectors, documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from triplecheck.kg import columnar_build, numbering, relation_vectors
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.encode import Encoder
from triplecheck.kg.names import build_names, build_trigrams
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers import RawGraph
from triplecheck.kg.skb import node_documents
from triplecheck.kg.vectors import VectorIndex


def write(
    folder: Path,
    whole: RawGraph,
    documents: Iterable[Document] | None,
    encoder: Encoder | None,
    name_vectors: bool,
    progress: ProgressCallback,
) -> dict[str, int]:
    """Write the parts of a knowledge base into an empty folder.

    Args:
        folder: the folder.
        whole: the graph.
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
    whole: RawGraph,
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
    progress("numbering nodes", 0, None)
    numbered = numbering.number(whole)
    progress("sorting edges", 0, None)
    columnar_build.write_graph(numbered, folder / "graph")
    graph = ColumnarGraph(folder / "graph")
    progress("indexing names", 0, None)
    names = kept_names(graph)
    if names is None:
        (folder / "names").mkdir()
        forms = build_names(graph, folder / "names")
        build_trigrams(forms, folder / "names")
        names = len(forms)
    if encoder is not None:
        (folder / "vectors").mkdir()
        progress("encoding relations", 0, graph.num_relations)
        relation_vectors.build(numbered.relation_table, encoder, folder / "vectors")
        if name_vectors:
            labels = numbered.labels.slice(0, graph.num_entities).to_pylist()
            VectorIndex(encoder.encode(labels, progress=progress)).save(folder / "name_vectors", float16=True)
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


def report(whole: RawGraph, triples: int) -> dict[str, Any]:
    """What became of the statements that were read, for the manifest.

    Args:
        whole: what was read.
        triples: triples of the graph that was written.
    """
    left_out = dict(whole.left_out)
    read = len(whole) if whole.read is None else whole.read
    parts = read - len(whole) - whole.described - sum(left_out.values())
    if parts > 0:
        left_out["parts of class expressions and of statements about statements"] = parts
    found = {"read": read, "descriptions": whole.described, "duplicates": len(whole) - triples, "left_out": left_out}
    return found | {"notes": whole.notes}
