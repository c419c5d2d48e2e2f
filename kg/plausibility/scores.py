"""Plausibility scores of triples from embeddings; lower is more plausible.

The score of an embedding model is only meaningful as a ranking. Four scores are derived from it:

- `relative`: Know³-RAG (arXiv 2505.12662, eq. 2): |KGE(h, r, t) - mean KGE of the graph's triples with head h|.
- `raw`: -KGE(h, r, t).
- `per_relation`: (mean - KGE(h, r, t)) / standard deviation, both over the graph's triples of relation r.
- `tail_rank`: the share of all entities that the model prefers to t as the tail of (h, r), the graph's own tails
  left out. Reads all vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.embedding.embeddings import Embeddings
from triplecheck.kg.errors import UserError
from triplecheck.kg.graph import Edges
from triplecheck.kg.knowledge_base import KnowledgeBase
from triplecheck.kg.plausibility.ground import Grounded, Skip
from triplecheck.kg.types import Direction

METHODS = ("relative", "raw", "per_relation", "tail_rank")
AGGREGATES = ("sum", "mean")

_LEAST_VARIANCE = 1e-12

IdTriple = tuple[int | None, int | None, int | None]
"""Head, relation and tail as the graph's numbers; None for each unknown part."""


@dataclass(frozen=True, slots=True)
class TripleScore:
    """The score of a triple, lower is more plausible, or the reason why it has none."""

    score: float | None = None
    skipped: Skip | None = None


@dataclass(frozen=True, slots=True)
class PlausibilityScores:
    """Triples scored together.

    Attributes:
        score: sum or mean of the triples' scores; +inf if none could be scored.
        triples: in the order given.
        reason: why the score is +inf, else empty.
    """

    score: float
    triples: tuple[TripleScore, ...]
    reason: str = ""

    @property
    def skipped(self) -> dict[Skip, int]:
        """Number of skipped triples by reason."""
        reasons = [triple.skipped for triple in self.triples if triple.skipped is not None]
        return {reason: reasons.count(reason) for reason in Skip if reason in reasons}


@dataclass
class Plausibility:
    """Scores triples of one knowledge base. Statistics of heads and relations are cached.

    Attributes:
        aggregate: `sum` as in the paper, which penalises long answers, or `mean`.
        references: maximum number of triples per head or relation for the statistics; of more, a fixed random sample.
        leave_out: compare a triple of the graph only with the others, as if the graph did not contain it.

    Raises:
        UserError: no such method or aggregate.
    """

    graph: ColumnarGraph
    embeddings: Embeddings
    method: str = "relative"
    aggregate: str = "sum"
    references: int = 1000
    leave_out: bool = False
    _of_head: dict[int, tuple[float, int]] = field(default_factory=dict, repr=False)
    _of_relation: dict[int, tuple[int, float, float]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for what, given, known in (("method", self.method, METHODS), ("aggregate", self.aggregate, AGGREGATES)):
            if given not in known:
                raise UserError(f"no {what} {given!r} of plausibility; there are: {', '.join(known)}")

    @classmethod
    def of(cls, kb: KnowledgeBase, method: str = "relative", aggregate: str = "sum") -> Plausibility:
        """The plausibility of a knowledge base.

        Raises:
            UserError: it has no embeddings.
        """
        if kb.embeddings is None:
            raise UserError(f"{kb.path}: has no embeddings; train them with `triplecheck kb embed {kb.path}`")
        return cls(kb.columnar, kb.embeddings, method, aggregate)

    def relative_score(self, triples: Sequence[IdTriple | Grounded]) -> PlausibilityScores:
        """Score triples, in the graph's numbers or as they were grounded, and put their scores together.

        Never NaN and never an exception for what the graph does not know: such a triple is skipped, with its reason.
        """
        given = [t.triple if isinstance(t, Grounded) else t for t in triples]
        found = [TripleScore(skipped=self._skip(triple)) for triple in given]
        open_ = [i for i, one in enumerate(found) if one.skipped is None]
        rows = np.array([given[i] for i in open_], np.int64)
        for i, score in zip(open_, self.triple_scores(rows).tolist() if open_ else (), strict=True):
            found[i] = TripleScore(score) if math.isfinite(score) else TripleScore(skipped=Skip.NO_REFERENCE)
        return self._together(found)

    def _together(self, found: list[TripleScore]) -> PlausibilityScores:
        scores = [triple.score for triple in found if triple.score is not None]
        if scores:
            total = math.fsum(scores)
            return PlausibilityScores(total if self.aggregate == "sum" else total / len(scores), tuple(found))
        together = PlausibilityScores(math.inf, tuple(found))
        reasons = "; ".join(f"{reason} ({count})" for reason, count in together.skipped.items())
        reason = f"none of {len(found)} triples can be scored: {reasons}" if found else "there are no triples"
        return replace(together, reason=reason)

    def _skip(self, triple: IdTriple) -> Skip | None:
        head, relation, tail = triple
        if head is None:
            return Skip.UNKNOWN_HEAD
        if relation is None or not 0 <= relation < self.embeddings.about.num_relations:
            return Skip.UNKNOWN_RELATION
        if tail is None:
            return Skip.UNKNOWN_TAIL
        if not self.embeddings.knows(head):
            return Skip.HEAD_WITHOUT_VECTOR
        return None if self.embeddings.knows(tail) else Skip.TAIL_WITHOUT_VECTOR

    def triple_scores(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Scores of known triples, shape (n, 3) to (n,); NaN if there is no reference to compare with."""
        kge = self.embeddings.score(*rows.T).astype(np.float64)
        if self.method == "raw":
            return -kge
        if self.method == "tail_rank":
            return self._tail_ranks(rows)
        held = self.graph.contains_many(*rows.T) if self.leave_out else np.zeros(len(rows), bool)
        left_out = [value if out else None for value, out in zip(kge.tolist(), held.tolist(), strict=True)]
        if self.method == "per_relation":
            spreads = zip(rows[:, 1].tolist(), left_out, strict=True)
            mean, deviation = np.array([self._spread(relation, value) for relation, value in spreads]).T
            scaled: npt.NDArray[np.float64] = (mean - kge) / deviation
            return scaled
        heads = zip(rows[:, 0].tolist(), left_out, strict=True)
        means = np.array([self._mean_of_head(head, value) for head, value in heads])
        distances: npt.NDArray[np.float64] = np.abs(kge - means)
        return distances

    def _mean_of_head(self, head: int, left_out: float | None) -> float:
        """Mean KGE of the graph's triples with this head, NaN if there are none."""
        if head not in self._of_head:
            edges = self.graph.expand([head], direction=Direction.OUT)
            kge = self._kge(edges, head)
            self._of_head[head] = (float(kge.sum()), len(kge))
        total, count = self._of_head[head]
        if left_out is not None and count < self.references:
            total, count = total - left_out, count - 1
        return total / count if count > 0 else math.nan

    def _spread(self, relation: int, left_out: float | None) -> tuple[float, float]:
        """Mean and standard deviation of KGE over the graph's triples of a relation, NaN for fewer than two."""
        if relation not in self._of_relation:
            offsets, relations, ends = self.graph.rows(Direction.OUT)
            places = np.flatnonzero(relations == relation)
            heads = np.searchsorted(offsets, places, "right") - 1
            edges = Edges(heads, np.full(len(places), relation), np.asarray(ends)[places].astype(np.int64), len(places))
            kge = self._kge(edges, relation)
            self._of_relation[relation] = (len(kge), float(kge.sum()), float((kge**2).sum()))
        count, total, squares = self._of_relation[relation]
        if left_out is not None and count < self.references:
            count, total, squares = count - 1, total - left_out, squares - left_out**2
        variance = squares / count - (total / count) ** 2 if count > 1 else 0.0
        return (total / count, math.sqrt(variance)) if variance > _LEAST_VARIANCE else (math.nan, math.nan)

    def _kge(self, edges: Edges, seed: int) -> npt.NDArray[np.float64]:
        known = np.flatnonzero(edges.tails < self.embeddings.about.num_entities)
        if len(known) > self.references:
            known = np.sort(np.random.default_rng(seed).choice(known, self.references, replace=False))
        heads, relations, tails = (np.asarray(x)[known] for x in (edges.heads, edges.relations, edges.tails))
        return self.embeddings.score(heads, relations, tails).astype(np.float64)

    def _tail_ranks(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        size = max(1, (1 << 24) // self.embeddings.about.num_entities)
        shares = np.empty(len(rows))
        for at in range(0, len(rows), size):
            batch = rows[at : at + size]
            scores = self.embeddings.scorer.all_tails(batch[:, 0], batch[:, 1])
            # Not `kge`: scoring one triple and scoring all tails round differently.
            own = scores[np.arange(len(batch)), batch[:, 2]][:, None]
            for row, (head, relation, _) in enumerate(batch.tolist()):
                known = self.graph.neighbors(head, relation)
                scores[row, known[known < scores.shape[1]]] = -np.inf
            shares[at : at + size] = (scores > own).mean(axis=1)
        return shares
