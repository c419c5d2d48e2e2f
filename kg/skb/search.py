"""Ranking nodes by how well their documents fit a query: by words (BM25), by one vector or by several.

A knowledge base hands out all three as `knowledge_base.node_search`:

    searches = knowledge_base.node_search          # NodeSearches, None where there are no documents
    ranking = searches.dense.rank("a terminal multiplexer", candidates, limit=20)
    ranking.nodes, ranking.scores

Source of the kinds: STaRK (arXiv 2404.13207), where VSS compares one vector of a node's textual and
relational information, and Multi-VSS vectors of both apart.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg._ranges import distinct
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.skb.lazy_vectors import LazyVectors
from triplecheck.kg.skb.node_documents import NodeDocuments

FloatArray = npt.NDArray[np.float32]

ENCODED_AT_ONCE = 64
"""Candidates whose vectors one query may make, where they are not there yet: some 5 seconds on one core."""


@dataclass(frozen=True)
class Ranking:
    """Nodes in the order of their fit.

    Attributes:
        nodes: best first, equal scores by node number; shape (n,), int64.
        scores: of each; -inf where there was nothing to compare. Shape (n,), float32.
        compared: candidates that were given a score.
        total: candidates there were.
    """

    nodes: npt.NDArray[np.int64]
    scores: FloatArray
    compared: int
    total: int

    def __len__(self) -> int:
        return len(self.nodes)


class NodeSearch(Protocol):
    """Ranks nodes for a query. Safe to use from several threads."""

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """The nodes that can be found: those with a document, ascending."""

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        """The best of some nodes; only they are looked at.

        Args:
            query: any text.
            candidates: nodes, in any order; None: all that can be found. One without a document or
                without a vector ranks behind all others.
            limit: nodes wanted. Exactly min(limit, number of candidates) are returned.
        """


class BM25Search:
    """By the words of a node's document (title, text and relations). Nodes that share no word score 0."""

    def __init__(self, documents: NodeDocuments) -> None:
        self._documents = documents

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """See `NodeSearch`."""
        return self._documents.nodes

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        """See `NodeSearch`."""
        nodes, rows = _looked_at(self._documents, candidates)
        known = rows[rows >= 0]
        scores = np.where(rows >= 0, np.float32(0), np.float32(-np.inf))
        found, values = self._documents.store.best_rows(query, limit, None if candidates is None else known)
        scores[np.searchsorted(nodes, self.nodes[found])] = values
        return _ranked(nodes, scores, limit, len(known))


class VectorSearch:
    """By cosine with one vector per node, or with the mean of several (of its text and of its relations).

    Vectors are made as they are needed (`LazyVectors`). As long as not all are there, a query is compared
    with at most `at_once` candidates: those whose words fit best. So the same query has the same answer
    whatever was asked before, and after `encode_all` every candidate is compared.

    Args:
        documents: of the nodes.
        fields: the vectors, one or several sets, rows as in `documents`.
        at_once: candidates whose vectors one query may make.
    """

    def __init__(self, documents: NodeDocuments, fields: Sequence[LazyVectors], at_once: int = ENCODED_AT_ONCE) -> None:
        self._documents = documents
        self._fields = tuple(fields)
        self._words = BM25Search(documents)
        self._at_once = at_once
        self._complete = False

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """See `NodeSearch`."""
        return self._documents.nodes

    @property
    def complete(self) -> bool:
        """Whether every node has its vectors."""
        if not self._complete:
            rows = np.arange(len(self._documents))
            self._complete = all(not len(field.missing(rows)) for field in self._fields)
        return self._complete

    def encode_all(self, progress: ProgressCallback | None = None) -> None:
        """Make every vector. After a kill, the next call goes on where this one was."""
        for field in self._fields:
            field.fill(np.arange(len(self._documents)), progress)

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        """See `NodeSearch`."""
        nodes, rows = _looked_at(self._documents, candidates)
        known = rows[rows >= 0]
        if len(known) > self._at_once and not self.complete:
            best = self._words.rank(query, self.nodes[known], self._at_once).nodes
            known = np.sort(self._documents.rows_of(best))
        vector = self._fields[0].encoder.encode([query])[0]
        total = np.zeros(len(known), np.float32)
        for field in self._fields:
            field.fill(known)
            total += field.cosines(vector, known)
        scores = np.full(len(nodes), -np.inf, np.float32)
        scores[np.searchsorted(nodes, self.nodes[known])] = total / len(self._fields)
        return _ranked(nodes, scores, limit, len(known))


class NodeSearches:
    """The searches of one knowledge base; shared, not copied, by copies of the programs that use it.

    Args:
        documents: of its nodes.
        folder: where vectors are kept.
        encoder: makes them; without one only BM25 is there.
    """

    def __init__(self, documents: NodeDocuments, folder: Path, encoder: Encoder | None) -> None:
        self.documents = documents
        self.bm25 = BM25Search(documents)
        self._folder = folder
        self._encoder = encoder
        self._opened: dict[str, VectorSearch] = {}
        self._lock = threading.Lock()

    @property
    def dense(self) -> VectorSearch:
        """One vector per node, of its text and relations together (VSS)."""
        return self._vectors("whole")

    @property
    def multi(self) -> VectorSearch:
        """Two vectors per node, of its text and of its relations (Multi-VSS)."""
        return self._vectors("text", "relations")

    def _vectors(self, *fields: str) -> VectorSearch:
        if self._encoder is None:
            raise KnowledgeBaseError(
                f"{self._folder.parent}: built without vectors, so that it can be searched by words only; "
                "build it again without --no-vectors"
            )
        with self._lock:
            name = "+".join(fields)
            if name not in self._opened:
                encoder, size = self._encoder, len(self.documents)
                folders = [self._folder / f"{field}-{encoder.fingerprint[:12]}" for field in fields]
                texts = [getattr(self.documents, field) for field in fields]
                sets = [LazyVectors(at, size, text, encoder) for at, text in zip(folders, texts, strict=True)]
                self._opened[name] = VectorSearch(self.documents, sets)
            return self._opened[name]

    def __copy__(self) -> NodeSearches:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> NodeSearches:
        return self


def _looked_at(
    documents: NodeDocuments, candidates: IntArray | Sequence[int] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The candidates, ascending and each once, and the row of each."""
    if candidates is None:
        return documents.nodes, np.arange(len(documents))
    nodes = distinct(np.asarray(candidates, np.int64))
    return nodes, documents.rows_of(nodes)


def _ranked(nodes: npt.NDArray[np.int64], scores: FloatArray, limit: int, compared: int) -> Ranking:
    """The best by score, then by node number (`nodes` ascend)."""
    order = np.argsort(-scores, kind="stable")[: max(limit, 0)]
    return Ranking(nodes[order], scores[order], compared, len(nodes))
