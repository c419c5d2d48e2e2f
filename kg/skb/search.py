"""Rank nodes by how well their documents fit a query: by words (BM25), by one vector or by several.

A knowledge base offers all three as `knowledge_base.node_search`:

    searches = knowledge_base.node_search
    ranking = searches.dense.rank("a terminal multiplexer", candidates, limit=20)
    ranking.nodes, ranking.scores

Source: STaRK (arXiv 2404.13207), where VSS compares one vector of a node's textual and relational information, and
Multi-VSS separate vectors of both. Vectors are computed at first use and kept on disk: the default encoder embeds
some 13 full-length documents per second and core.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray, distinct
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.manifest import Generation
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.skb.node_documents import NodeDocuments
from triplecheck.kg.vectors import LazyVectors

_FUSED, _RANK_CONSTANT = 1000, 60  # nodes of each search that are fused


# --- searches ------------------------------------------------------------------------------------
NODE_VECTORS = "node_vectors"
"""The folder of the vectors in a knowledge base: one for each of `FIELDS` and encoder."""
FIELDS = ("whole", "text", "relations")
"""What is encoded of a node: everything, its text, its relations."""
ENCODED_AT_ONCE = 64
"""Maximum number of missing vectors that one query computes: about 5 seconds on one core."""
ENCODED_AT_FIRST = 5_000
"""Nodes up to which all vectors are made at first use: some six minutes on one core, and seconds for short texts."""


@dataclass(frozen=True)
class Ranking:
    """Nodes ranked for a query.

    Attributes:
        nodes: best first, equal scores by node number; shape (n,), int64.
        scores: score of each node, -inf if it has no document or vector; shape (n,), float32.
        compared: number of candidates with a score.
        total: number of candidates.
    """

    nodes: npt.NDArray[np.int64]
    scores: FloatArray
    compared: int
    total: int

    def __len__(self) -> int:
        return len(self.nodes)


class NodeSearch(Protocol):
    """Ranks nodes for a query. Thread-safe."""

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Compute the vectors that the first call of `rank` would compute."""

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        """The best of the candidates.

        Args:
            candidates: nodes, in any order; None: all nodes with a document. Candidates without a document or
                vector rank last.
            limit: number of nodes. Exactly min(limit, number of candidates) are returned.
        """


class BM25Search:
    """BM25 on the words of a node's document (title, text and relations). Nodes that share no word score 0."""

    def __init__(self, documents: NodeDocuments) -> None:
        self._documents = documents

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Do nothing: there are no vectors."""

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        nodes, rows = _looked_at(self._documents, candidates)
        known = rows[rows >= 0]
        scores = np.where(rows >= 0, np.float32(0), np.float32(-np.inf))
        found, values = self._documents.store.best_rows(query, limit, None if candidates is None else known)
        scores[np.searchsorted(nodes, self._documents.nodes[found])] = values
        return _ranked(nodes, scores, limit, len(known))


class VectorSearch:
    """Cosine with one vector per node, or the mean over several (of its text and of its relations).

    At first use all vectors are computed, if the nodes are at most `ENCODED_AT_FIRST`. Of more nodes they are computed
    when needed (`LazyVectors`): until all exist, a query is compared with the `ENCODED_AT_ONCE` best candidates by
    BM25. So the result of a query does not depend on earlier queries; after `encode_all` all candidates are compared.

    Args:
        fields: one or several sets of vectors, rows as in `documents`.
    """

    def __init__(self, documents: NodeDocuments, fields: Sequence[LazyVectors]) -> None:
        self._documents = documents
        self._fields = tuple(fields)
        self._words = BM25Search(documents)
        self._lock = threading.Lock()

    @property
    def complete(self) -> bool:
        """Whether every node has its vectors."""
        return all(field.complete for field in self._fields)

    def encode_all(self, progress: ProgressCallback = no_progress) -> None:
        """Compute all vectors. If interrupted, the next call resumes; other threads wait."""
        with self._lock:
            for field in self._fields:
                field.fill(progress=progress)

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Compute all vectors, if the nodes are at most `ENCODED_AT_FIRST`."""
        if len(self._documents) <= ENCODED_AT_FIRST:
            self.encode_all(progress)

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        self.prepare()
        nodes, rows = _looked_at(self._documents, candidates)
        known = rows[rows >= 0]
        if len(known) > ENCODED_AT_ONCE and not self.complete:
            best = self._words.rank(query, self._documents.nodes[known], ENCODED_AT_ONCE).nodes
            known = np.sort(self._documents.rows_of(best))
        vector = self._fields[0].encoder.encode([query])[0]
        total = np.zeros(len(known), np.float32)
        for field in self._fields:
            field.fill(known)
            total += field.cosines(vector, known)
        scores = np.full(len(nodes), -np.inf, np.float32)
        scores[np.searchsorted(nodes, self._documents.nodes[known])] = total / len(self._fields)
        return _ranked(nodes, scores, limit, len(known))


class FusedSearch:
    """Reciprocal rank fusion of searches: a node scores 1 / (60 + rank) in each.

    Source: Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", with their constant.
    """

    def __init__(self, documents: NodeDocuments, *searches: NodeSearch) -> None:
        self._documents, self._searches = documents, searches

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Compute the vectors of each search."""
        for search in self._searches:
            search.prepare(progress)

    def rank(self, query: str, candidates: IntArray | Sequence[int] | None = None, limit: int = 20) -> Ranking:
        nodes = self._documents.nodes if candidates is None else distinct(np.asarray(candidates, np.int64))
        depth = max(limit, _FUSED)
        rankings = [search.rank(query, candidates, depth) for search in self._searches]
        scores = np.full(len(nodes), -np.inf, np.float32)
        for ranking in rankings:
            # A node that shares no word is not ranked by words; one without a vector not by vectors.
            found = np.flatnonzero(np.isfinite(ranking.scores) & (ranking.scores != 0))
            at = np.searchsorted(nodes, ranking.nodes[found])
            scores[at] = np.where(np.isfinite(scores[at]), scores[at], 0) + 1 / (_RANK_CONSTANT + 1 + found)
        return _ranked(nodes, scores, limit, min(ranking.compared for ranking in rankings))


class NodeSearches:
    """The searches of one knowledge base. Copies of a program share it.

    Args:
        base: the knowledge base, which keeps the vectors.
        encoder: makes the vectors; without one only BM25 is available.
    """

    def __init__(self, documents: NodeDocuments, base: Generation, encoder: Encoder | None) -> None:
        self.documents = documents
        self.bm25 = BM25Search(documents)
        self._base = base
        self._encoder = encoder
        self._opened: dict[tuple[str, ...], VectorSearch] = {}
        self._lock = threading.Lock()

    @property
    def dense(self) -> VectorSearch:
        """One vector per node, of its text and relations together (VSS)."""
        return self._vectors("whole")

    @property
    def fused(self) -> FusedSearch:
        """BM25 and one vector per node together."""
        return FusedSearch(self.documents, self.bm25, self.dense)

    @property
    def multi(self) -> VectorSearch:
        """Two vectors per node, of its text and of its relations (Multi-VSS)."""
        return self._vectors("text", "relations")

    def _vectors(self, *fields: str) -> VectorSearch:
        if self._encoder is None:
            raise KnowledgeBaseError(
                f"{self._base.folder}: built without vectors, so only word search is available; "
                "build it again without --no-vectors"
            )
        with self._lock:
            if fields not in self._opened:
                encoder, documents, folder = self._encoder, self.documents, self._base.folder / NODE_VECTORS
                mark = encoder.fingerprint[:12]
                self._base.check("node_documents")
                with self._base.opening("node_documents"):
                    sets = [
                        LazyVectors(folder / f"{field}-{mark}", len(documents), getattr(documents, field), encoder)
                        for field in fields
                    ]
                self._opened[fields] = VectorSearch(documents, sets)
            return self._opened[fields]

    def __copy__(self) -> NodeSearches:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> NodeSearches:
        return self


def _looked_at(
    documents: NodeDocuments, candidates: IntArray | Sequence[int] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct candidates, ascending, and the row of each."""
    if candidates is None:
        return documents.nodes, np.arange(len(documents))
    nodes = distinct(np.asarray(candidates, np.int64))
    return nodes, documents.rows_of(nodes)


def _ranked(nodes: npt.NDArray[np.int64], scores: FloatArray, limit: int, compared: int) -> Ranking:
    """The best by score, then by node number (`nodes` ascend)."""
    order = np.argsort(-scores, kind="stable")[: max(limit, 0)]
    return Ranking(nodes[order], scores[order], compared, len(nodes))
