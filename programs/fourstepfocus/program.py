"""4StepFocus: triplets, substitution, vector similarity search, reranking.

Source: "Harnessing the Power of Semi-Structured Knowledge and LLMs with Triplet-Based Prefiltering for
Question Answering" (4StepFocus). The four steps of its Algorithm 1 are the four methods that `run` calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from triplecheck.kg import IntArray, normalize
from triplecheck.kg.skb import NodeSearch, NodeSearches, described
from triplecheck.kg.types import Edge
from triplecheck.lms import RolePredict
from triplecheck.programs.base import Program, Sources
from triplecheck.programs.fourstepfocus.rerank import Reranker, Reranking, Score
from triplecheck.programs.fourstepfocus.substitution import Matching, Substituted, recognised, substitute, supporting
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Ranked, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import RelationNames, node_names
from triplecheck.programs.topics import TopicLinker
from triplecheck.programs.triplets import Triplets, read_triplets, write_triplet
from triplecheck.signatures import ReviseTriplets, TripletsFromQuery
from triplecheck.signatures.notation import (
    FORWARD,
    WrittenFact,
    WrittenHop,
    WrittenRelation,
    clean,
    with_note,
    wordings,
    write_fact,
    write_relation,
    write_wordings,
)

Searching = Literal["auto", "dense", "multi", "bm25", "none"]

# A step may be asked twice, where its first reply cannot be read: three steps are six calls at most.
_STEPS = 3


@dataclass(frozen=True)
class Shown:
    """How much is put before the model. What a bound cuts off is recorded in the trace.

    Attributes:
        relations: of the graph, the most similar to the question first.
        characters: of a candidate's text.
        per_pattern: supporting triples of one pattern, for one candidate.
    """

    relations: int = 60
    characters: int = 500
    per_pattern: int = 3


@dataclass(frozen=True)
class Candidate:
    """A node that may be an answer.

    Attributes:
        node: the node.
        vector_score: similarity of its document and the question; None where there was nothing to compare.
        triples: what made it a candidate; none for one that was added from the search.
        filtered: whether it satisfies the patterns.
        score: by the reranker.
    """

    node: int
    vector_score: float | None
    triples: tuple[Edge, ...] = ()
    filtered: bool = False
    score: Score = field(default_factory=Score)


class FourStepFocus(Program):
    """Retrieval over a semi-structured knowledge base, with triplets as a prefilter.

    The prediction's `ranking` holds at most `k_max` nodes. Its `answers` are those at the head of the
    ranking that satisfy the patterns and whose rerank score is at least `share` of the best one's
    (without scores: all that satisfy the patterns); `evidence` is their supporting triples. They are
    grounded where these prove every pattern that the model wrote: not where one was relaxed to edges
    of any relation, given up or could not be used. Where none satisfies the patterns, the first that
    they do not name is the answer, without evidence, if its rerank score is at least `least`.

    Args:
        sources: the graph and how to find things in it.
        k_max: candidates that are reranked.
        candidate_types: types, by label or id, of what may be an answer (C of the paper); none: the kinds
            of nodes that have documents (`kg.skb.described`), or any node where documents are the exception.
        matching: how patterns are matched.
        critic: let the model mend patterns once that nothing satisfies or that could not be used.
        search: `dense` (VSS), `multi` (vectors of text and of relations apart), `bm25`, `none`;
            `auto`: dense where all nodes are encoded (`triplecheck kb encode`), else bm25. What is not
            encoded yet, `dense` and `multi` encode as they meet it.
        rerank: `listwise`, `each` candidate in a call of its own as in the paper, or `none`.
        rank_weight: how much the place in the search counts beside the rerank score (STaRK: 0.1).
        share, least: which of the ranked are answers, see above.
        shown: how much is put before the model.
        grounded_only: abstain where patterns led to no candidate, or do not prove it.
    """

    name: ClassVar[str] = "4stepfocus"

    def __init__(
        self,
        sources: Sources,
        *,
        k_max: int = 20,
        candidate_types: tuple[str, ...] = (),
        matching: Matching | None = None,
        critic: bool = False,
        search: Searching = "auto",
        rerank: Reranking = "listwise",
        rank_weight: float = 0.1,
        share: float = 0.5,
        least: float = 0.5,
        shown: Shown | None = None,
        grounded_only: bool = False,
    ) -> None:
        super().__init__(sources, grounded_only=grounded_only)
        self.k_max = k_max
        self.candidate_types = candidate_types
        self.matching = matching or Matching()
        self.critic = critic
        self.searching = search
        self.rank_weight = rank_weight
        self.share = share
        self.least = least
        self.shown = shown or Shown()
        self.write_triplets = RolePredict(TripletsFromQuery, role="query")
        self.revise_triplets = RolePredict(ReviseTriplets, role="query")
        self.reranker = Reranker(rerank)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Algorithm 1."""
        found, steps = self.prefilter(question, trace)
        candidates = self.search(question, found, trace)
        if not candidates:
            trace.add(Stopped("no_candidates", "neither patterns nor search led to a node"))
            return Outcome(abstained="no_candidates")
        ranked = self.rerank(question, candidates, _STEPS - steps, trace)
        return self.conclude(found, ranked, trace)

    # --- 1 triplets, 2 substitution ------------------------------------------------------------
    def prefilter(self, question: str, trace: Trace) -> tuple[Substituted, int]:
        """C_filtered, and how many steps the model was asked for."""
        linker = TopicLinker(self.graph, self.sources.linker, question)
        inputs = {
            "question": question,
            "types": linker.types(),
            "relations": self._relations(question, trace),
            "known_names": linker.known_names(),
        }
        reply = self.write_triplets(**inputs)
        self.wrote(trace, self.write_triplets, reply)
        triplets = self._read(reply.triplets, reply.answer)
        known = recognised(linker)

        def attempt(triplets: Triplets) -> Substituted:
            return substitute(self.sources, triplets, known, self._candidates, self.matching, trace)

        found = attempt(triplets)
        if not self.critic or not found.faults:
            return found, 1
        failed = [write_triplet(p) for p in triplets.patterns] + [dropped.pattern for dropped in triplets.dropped]
        reply = self.revise_triplets(**inputs, failed=failed, reasons=list(found.faults))
        self.wrote(trace, self.revise_triplets, reply)
        revised = attempt(self._read(reply.revised, reply.answer))
        better = revised.found and (len(revised.faults) <= len(found.faults) or not found.found)
        trace.add(Checked("revised triplets", better, "taken" if better else "the first ones are kept"))
        return (revised if better else found), 2

    def _read(self, lines: Sequence[str], answer: str) -> Triplets:
        return read_triplets(lines, answer, self.sources.schema_names, self._type_ids)

    def _relations(self, question: str, trace: Trace) -> list[str]:
        """Relations of the graph for the prompt, with the types at both ends where there are types."""
        graph, vectors = self.graph, self.sources.relations
        numbers = list(range(graph.num_relations))
        if vectors is not None and len(numbers) > self.shown.relations:
            scores = vectors.against(question)
            numbers.sort(key=lambda relation: -float(scores[relation]))
        if len(numbers) > self.shown.relations:
            trace.add(Truncated("relations in the prompt", self.shown.relations, len(numbers)))
        names = RelationNames(graph, vectors, question)
        asked = f" {normalize(question)} "
        lines = []
        for number in numbers[: self.shown.relations]:
            schema = graph.schema(number) if graph.has_types else None
            ends = [graph.type_label(side[0][0]) for side in (schema.domain, schema.range) if side] if schema else []
            head, tail = ends if len(ends) == 2 else ("", "")
            # An alias that the question itself uses says most.
            own = [clean(a) for a in graph.relation(number).aliases if f" {normalize(a)} " in asked]
            label = write_wordings(dict.fromkeys([*wordings(names[number]), *own]))
            lines.append(write_relation(WrittenRelation(label, clean(head), clean(tail))))
        return lines

    @cached_property
    def _type_ids(self) -> tuple[str, ...]:
        return tuple(self.sources.schema_names.type_id(kind) or kind for kind in self.candidate_types)

    @cached_property
    def _candidates(self) -> IntArray | None:
        """C; None: any node."""
        graph, base = self.graph, self.sources.knowledge_base
        if self._type_ids:
            return np.unique(np.concatenate([graph.nodes_of_type(kind) for kind in self._type_ids]))
        if base is None or base.documents is None:
            return None
        return described(base.graph, base.node_search.documents.nodes)

    # --- 3 vector similarity search ------------------------------------------------------------
    def search(self, question: str, found: Substituted, trace: Trace) -> list[Candidate]:
        """The `k_max` nodes to rank: those that satisfy the patterns, filled up from all candidates."""
        filtered = np.empty(0, np.int64) if found.nodes is None else found.nodes
        if len(filtered) > self.k_max:
            trace.add(Truncated("nodes that satisfy the patterns", self.k_max, len(filtered)))
        first = [Candidate(node, score, filtered=True) for node, score in self._rank(question, filtered, trace)]
        if len(first) < self.k_max:
            # So many that enough are left whichever of them satisfy the patterns.
            others = self._rank(question, self._candidates, trace)
            new = [Candidate(node, score) for node, score in others if node not in set(filtered.tolist())]
            first += new[: self.k_max - len(first)]
        return [
            replace(c, triples=tuple(supporting(self.sources, found, c.node, self.shown.per_pattern)))
            if c.filtered
            else c
            for c in first
        ]

    def _rank(self, question: str, nodes: IntArray | None, trace: Trace) -> list[tuple[int, float | None]]:
        """The best `k_max` of some nodes by their documents, ties by node; those without a document last."""
        if self._searcher is None:
            kept = [] if nodes is None else nodes[: self.k_max].tolist()
            return [(node, None) for node in kept]
        ranking = self._searcher.rank(question, nodes, self.k_max)
        if ranking.compared < ranking.total:
            trace.add(Truncated("candidates compared with the question", ranking.compared, ranking.total))
        pairs = zip(ranking.nodes.tolist(), ranking.scores.tolist(), strict=True)
        return [(node, score if np.isfinite(score) else None) for node, score in pairs]

    @property
    def _searches(self) -> NodeSearches | None:
        return None if self.sources.knowledge_base is None else self.sources.knowledge_base.node_search

    @property
    def _searcher(self) -> NodeSearch | None:
        searches = None if self.searching == "none" else self._searches
        if searches is None:
            return None
        kind = self.searching
        if kind == "auto":
            encoded = self.sources.knowledge_base is not None and self.sources.knowledge_base.encoder is not None
            kind = "dense" if encoded and searches.dense.complete else "bm25"
        return searches.bm25 if kind == "bm25" else searches.multi if kind == "multi" else searches.dense

    # --- 4 rerank ------------------------------------------------------------------------------
    def rerank(self, question: str, candidates: Sequence[Candidate], steps: int, trace: Trace) -> list[Candidate]:
        """The candidates by rerank score and place in the search; those that satisfy the patterns stay ahead."""
        texts = self._texts(candidates, trace)
        scores = self.reranker(question=question, candidates=texts, trace=trace, wrote=self.wrote, batches=steps)
        scored = [replace(c, score=score) for c, score in zip(candidates, scores, strict=True)]

        def final(place: int) -> float:
            return (scored[place].score.value or 0.0) + self.rank_weight * (1 - place / len(scored))

        order = sorted(
            range(len(scored)), key=lambda place: (not scored[place].filtered, -final(place), scored[place].node)
        )
        ranked = [scored[place] for place in order]
        for place, candidate in enumerate(ranked, 1):
            trace.add(self._ranked(place, candidate))
        return ranked

    def _texts(self, candidates: Sequence[Candidate], trace: Trace) -> list[str]:
        """Each candidate as it stands in a prompt: its name and types, its text, its supporting triples."""
        names = node_names(self.graph, [c.node for c in candidates])
        cut = 0
        lines = []
        for candidate in candidates:
            node = candidate.node
            kinds = ", ".join(clean(self.graph.type_label(t)) for t in self.graph.types(node)[:2])
            text = clean(self._document(node))
            cut += len(text) > self.shown.characters
            parts = [with_note(names[node], kinds), text[: self.shown.characters]]
            facts = "; ".join(self._edges(candidate.triples))
            lines.append(". ".join(part for part in (*parts, f"Facts: {facts}" if facts else "") if part))
        if cut:
            trace.add(Truncated("texts of candidates shown whole", len(lines) - cut, len(lines)))
        return lines

    def _document(self, node: int) -> str:
        searches = self._searches
        row = -1 if searches is None else int(searches.documents.rows_of([node])[0])
        if searches is None or row < 0:
            return self.graph.entity(node).description
        return searches.documents.text(row).partition("\n")[2]  # its first line is the label

    def _edges(self, triples: Sequence[Edge]) -> list[str]:
        labels = self.graph.labels([end for head, _, tail in triples for end in (head, tail)]) if triples else []
        ends = iter(clean(label) for label in labels)
        hops = (WrittenHop(clean(self.graph.relation(relation).label), FORWARD) for _, relation, _ in triples)
        return [write_fact(WrittenFact(next(ends), hop, (next(ends),))) for hop in hops]

    def _ranked(self, place: int, candidate: Candidate) -> Ranked:
        return Ranked(
            place,
            self.graph.node_id(candidate.node),
            self.graph.label(candidate.node),
            "patterns" if candidate.filtered else "search",
            self._edges(candidate.triples),
            candidate.vector_score,
            candidate.score.value,
            candidate.score.reason,
        )

    # --- the answer ----------------------------------------------------------------------------
    def conclude(self, found: Substituted, ranked: Sequence[Candidate], trace: Trace) -> Outcome:
        """The answers at the head of the ranking."""
        ranking = tuple(candidate.node for candidate in ranked)
        filtered = [candidate for candidate in ranked if candidate.filtered]
        best = max((c.score.value or 0.0 for c in filtered), default=0.0)
        head = [c for c in filtered if (c.score.value or 0.0) >= self.share * best]
        retrieved = frozenset(node for c in ranked for h, _, t in c.triples for node in (h, t)) | frozenset(ranking)
        if head and found.unproved:
            trace.add(Checked("answer", False, f"its triples do not prove it: {'; '.join(found.unproved)}"))
            if self.grounded_only:
                trace.add(Stopped("not_grounded", "the patterns hold only in part"))
                return Outcome(abstained="not_grounded", ranking=ranking, retrieved=retrieved)
        if not head:
            named = set() if found.match is None else {n for nodes in found.match.query.given.values() for n in nodes}
            head = [c for c in ranked if c.node not in named and self._fits(c)][:1]
            reason = "not_grounded" if self.grounded_only else "nothing_fits" if not head else ""
            if reason:
                trace.add(Stopped(reason, "no candidate satisfies patterns over the graph"))
                return Outcome(abstained=reason, ranking=ranking, retrieved=retrieved)
        evidence = tuple(dict.fromkeys(edge for candidate in head for edge in candidate.triples))
        answers = tuple(candidate.node for candidate in head)
        answer = ", ".join(self.graph.labels(answers))
        grounded = bool(evidence) and not found.unproved
        return Outcome(answer, answers, evidence, grounded, retrieved=retrieved, ranking=ranking)

    def _fits(self, candidate: Candidate) -> bool:
        value = candidate.score.value
        return self.reranker.mode == "none" or (value is not None and value >= self.least)
