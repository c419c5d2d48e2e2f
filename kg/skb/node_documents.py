"""`NodeDocuments`: one document per node, its text followed by its relations in the graph, indexed by words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import RowArray, distinct, load_array, positions_in_runs
from triplecheck.kg._atomic import replaced_directory
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.types import Direction

NAMES_PER_RELATION = 30
"""Maximum number of neighbours named per node, relation and direction; the rest is counted."""


def relation_texts(graph: Graph, nodes: Sequence[int] | npt.NDArray[np.int64]) -> list[str]:
    """One text per node: a line per relation and direction, with the names of the neighbours.

    An outgoing relation reads "depends: libc6, zlib1g", an incoming one "inverse depends: bash". If there are more
    than `NAMES_PER_RELATION` neighbours, the first by node number are named and the rest counted: "(+ 812)".
    """
    at = np.asarray(nodes, np.int64)
    lines: dict[int, list[str]] = {int(node): [] for node in at}
    for direction in Direction:
        edges = graph.expand(at, None, direction)
        near, far = (edges.heads, edges.tails) if direction is Direction.OUT else (edges.tails, edges.heads)
        order = np.lexsort((far, edges.relations, near))
        near, relations, far = near[order], edges.relations[order], far[order]
        keys = near * max(graph.num_relations, 1) + relations
        named = positions_in_runs(keys) < NAMES_PER_RELATION
        names = graph.labels(far[named])
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        sizes = np.diff(np.append(starts, len(keys)))
        taken = 0
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            count = min(size, NAMES_PER_RELATION)
            listed = ", ".join(names[taken : taken + count])
            taken += count
            label = graph.relation(int(relations[start])).label
            head = label if direction is Direction.OUT else f"inverse {label}"
            rest = f" (+ {size - count})" if size > count else ""
            lines[int(near[start])].append(f"{head}: {listed}{rest}")
    return ["\n".join(lines[int(node)]) for node in at]


_BATCH = 2048  # nodes rendered per batch
_NODES, _LENGTHS, _DOCUMENTS = "nodes.npy", "text_lengths.npy", "documents"
_CONTENT = "content.txt"


class NodeDocuments:
    """The documents of nodes, in a folder that `build` wrote. Row r is the document of node `nodes[r]`.

    The nodes are those with their own documents; if no node has one, all entities with label and description.

    Attributes:
        nodes: the nodes with a document, ascending, shape (n,).
        store: the documents; the title is the node's label, the text contains text and relations.
    """

    def __init__(self, folder: Path) -> None:
        self.nodes: RowArray = load_array(folder / _NODES, mmap_mode="r").view(np.ndarray)
        self._lengths = load_array(folder / _LENGTHS, mmap_mode="r")
        self.store = DocumentStore.open(folder / _DOCUMENTS)

    def __len__(self) -> int:
        return len(self.nodes)

    def rows_of(self, nodes: IntArray | Sequence[int]) -> RowArray:
        """Row of each node, -1 if it has no document; shape as `nodes`."""
        wanted = np.asarray(nodes, np.int64)
        if not len(self.nodes):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(self.nodes, wanted), len(self.nodes) - 1)
        return np.where(self.nodes[at] == wanted, at, -1)

    @functools.cached_property
    def has_texts(self) -> bool:
        """Whether any node has a text of its own: a document or a description."""
        return bool((self._lengths > 0).any())

    def whole(self, row: int) -> str:
        """Label, text and relations."""
        document = self.store.document(row)
        return f"{document.title}\n{document.text}"

    def text(self, row: int) -> str:
        """Label and text, without the relations."""
        document = self.store.document(row)
        return f"{document.title}\n{document.text[: int(self._lengths[row])]}".rstrip("\n")

    def relations(self, row: int) -> str:
        """Label and relations, without the text."""
        document = self.store.document(row)
        return f"{document.title}\n{document.text[int(self._lengths[row]) :].lstrip()}"


def documented_types(graph: ColumnarGraph, documented: RowArray) -> tuple[str, ...]:
    """The types of which most nodes have a document, the most frequent first.

    Args:
        documented: nodes with documents.
    """
    kinds = ((kind, np.isin(graph.nodes_of_type(kind), documented)) for kind in graph.type_ids)
    return tuple(kind for kind, has_document in kinds if 2 * has_document.sum() > len(has_document))


def described(graph: ColumnarGraph, documented: RowArray) -> RowArray | None:
    """Candidates for a search by documents: nodes with documents (ascending), and all of `documented_types`.

    None if documents are the exception in the graph: then any node is a candidate.
    """
    kinds = [graph.nodes_of_type(kind) for kind in documented_types(graph, documented)]
    if kinds:
        return distinct(np.concatenate([documented, *kinds]).astype(np.int64))
    return documented if 2 * len(documented) > graph.num_entities else None


def is_of(folder: Path, content: str) -> bool:
    """Whether a folder has the documents of nodes, made from this content if it says from which."""
    try:
        return (folder / _CONTENT).read_text("utf-8") == content
    except FileNotFoundError:
        return folder.is_dir()


def build(
    graph: ColumnarGraph,
    documents: DocumentStore | None,
    folder: Path,
    progress: ProgressCallback = no_progress,
    *,
    content: str | None = None,
    check: Callable[[str], None] | None = None,
    language: str = "en",
) -> None:
    """Render and index the documents of all nodes with documents.

    Args:
        documents: texts about its nodes; texts about no node are ignored.
        folder: created, or replaced when the new one is complete.
        progress: called as ("indexing node documents", done, total).
        content: hash of what they are made from, for `is_of`.
        language: of the graph.
        check: called with the name of the folder before anything is written; raises if the graph was replaced.
    """
    nodes = np.empty(0, np.int64) if documents is None else _documented(graph, documents)
    if not len(nodes):
        documents, nodes = None, np.arange(graph.num_entities, dtype=np.int64)
    lengths: list[int] = []
    with replaced_directory(folder) as new:
        if check is not None:
            check(folder.name)
        records = _records(graph, documents, nodes, lengths, progress)
        DocumentStore.build(records, new / _DOCUMENTS, language=language)
        np.save(new / _NODES, nodes)
        np.save(new / _LENGTHS, np.array(lengths, np.int64))
        if content is not None:
            (new / _CONTENT).write_text(content, "utf-8")


def _documented(graph: ColumnarGraph, documents: DocumentStore) -> RowArray:
    """The entities of the graph that some document is about, ascending."""
    found = {graph.find(id) for id in set(documents.node_ids()) if id is not None}
    return np.array(sorted(node for node in found if node is not None and node < graph.num_entities), np.int64)


def _records(
    graph: ColumnarGraph,
    documents: DocumentStore | None,
    nodes: RowArray,
    lengths: list[int],
    progress: ProgressCallback,
) -> Iterator[Document]:
    for start in range(0, len(nodes), _BATCH):
        progress("indexing node documents", start, len(nodes))
        some = nodes[start : start + _BATCH]
        for node, relations in zip(some.tolist(), relation_texts(graph, some), strict=True):
            id = graph.node_id(node)
            label = graph.label(node)
            text = graph.entity(node).description if documents is None else _joined(documents, id, label)
            lengths.append(len(text))
            yield Document(id, id, label, f"{text}\n\n{relations}" if text and relations else text or relations)


def _joined(documents: DocumentStore, node: str, label: str) -> str:
    """The texts about a node, each under its title unless that is the node's label."""
    return "\n\n".join(
        f"{document.title}\n{document.text}" if document.title not in ("", label) else document.text
        for document in documents.of_node(node)
    )
