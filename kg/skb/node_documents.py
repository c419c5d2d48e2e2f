"""`NodeDocuments`: one document per node, its text and what the graph says of it, indexed by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.kg._atomic import replaced_directory
from triplecheck.kg._ranges import distinct
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.graph import IntArray
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.skb.relation_text import relation_texts

Rows = npt.NDArray[np.int64]

_BATCH = 2048  # nodes rendered at a time
_NODES, _LENGTHS, _DOCUMENTS = "nodes.npy", "text_lengths.npy", "documents"


class NodeDocuments:
    """Open it on the folder that `build` wrote. Row r is the document of node `nodes[r]`.

    The nodes are those with documents of their own; in a knowledge base without such, all entities, with
    label and description.

    Attributes:
        nodes: the nodes that have a document, ascending, shape (n,).
        store: the documents; the title is the node's label, the text both halves.
    """

    def __init__(self, folder: Path) -> None:
        self.nodes: Rows = np.load(folder / _NODES, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        self._lengths = np.load(folder / _LENGTHS, mmap_mode="r", allow_pickle=False)
        self.store = DocumentStore.open(folder / _DOCUMENTS)

    def __len__(self) -> int:
        return len(self.nodes)

    def rows_of(self, nodes: IntArray | Sequence[int]) -> Rows:
        """Row of each node, -1 where it has no document; shape as `nodes`."""
        wanted = np.asarray(nodes, np.int64)
        if not len(self.nodes):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(self.nodes, wanted), len(self.nodes) - 1)
        return np.where(self.nodes[at] == wanted, at, -1)

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


def described(graph: ColumnarGraph, documented: Rows) -> Rows | None:
    """The nodes that a search for documented things may mean: those with documents, and all others of their kinds.

    A kind is a type most of whose nodes have one.
    None where documents are the exception in a graph: then any node may be meant.

    Args:
        graph: the graph.
        documented: nodes with a document, ascending.
    """
    kinds = [
        nodes for t in graph.type_ids if 2 * np.isin(nodes := graph.nodes_of_type(t), documented).sum() > len(nodes)
    ]
    if kinds:
        return distinct(np.concatenate([documented, *kinds]).astype(np.int64))
    return documented if 2 * len(documented) > graph.num_entities else None


def build(
    graph: ColumnarGraph, documents: DocumentStore | None, folder: Path, progress: ProgressCallback | None = None
) -> None:
    """Render and index the documents of all nodes that have some.

    Args:
        graph: the graph.
        documents: texts about its nodes; those about none are left alone.
        folder: made, or replaced once the new one is whole.
        progress: called as ("indexing node documents", done, total).
    """
    owners = _owners(graph, documents)
    nodes = distinct(owners[owners >= 0])
    if not len(nodes):
        documents, nodes = None, np.arange(graph.num_entities, dtype=np.int64)
    lengths: list[int] = []
    with replaced_directory(folder) as new:
        DocumentStore.build(_records(graph, documents, nodes, lengths, progress), new / _DOCUMENTS)
        np.save(new / _NODES, nodes)
        np.save(new / _LENGTHS, np.array(lengths, np.int64))


def _owners(graph: ColumnarGraph, documents: DocumentStore | None) -> Rows:
    """The node of each document, -1 for one about no node of this graph."""
    if documents is None:
        return np.empty(0, np.int64)
    known: dict[str, int] = {}
    owners = np.full(len(documents), -1, np.int64)
    for row, id in enumerate(documents.node_ids()):
        if id is None:
            continue
        if id not in known:
            node = graph.find(id)
            known[id] = -1 if node is None or node >= graph.num_entities else node
        owners[row] = known[id]
    return owners


def _records(
    graph: ColumnarGraph,
    documents: DocumentStore | None,
    nodes: Rows,
    lengths: list[int],
    progress: ProgressCallback | None,
) -> Iterator[Document]:
    for start in range(0, len(nodes), _BATCH):
        if progress is not None:
            progress("indexing node documents", start, len(nodes))
        some = nodes[start : start + _BATCH]
        for node, relations in zip(some.tolist(), relation_texts(graph, some), strict=True):
            id = graph.node_id(node)
            label = graph.label(node)
            text = graph.entity(node).description if documents is None else _joined(documents, id, label)
            lengths.append(len(text))
            yield Document(id, id, label, f"{text}\n\n{relations}" if text and relations else text or relations)


def _joined(documents: DocumentStore, node: str, label: str) -> str:
    """The texts about a node, each under its title where that says more than the node's label."""
    return "\n\n".join(
        f"{document.title}\n{document.text}" if document.title not in ("", label) else document.text
        for document in documents.of_node(node)
    )
