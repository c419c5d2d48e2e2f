"""4StepFocus: triplets, substitution, vector similarity search, reranking.

Source: "Harnessing the Power of Semi-Structured Knowledge and LLMs with Triplet-Based Prefiltering for
Question Answering" (4StepFocus). The four lines of its Algorithm 1 are the four methods that `run` calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from triplecheck.kg import Candidate, IntArray, Words
from triplecheck.kg.skb import NodeSearch, NodeSearches, described
from triplecheck.kg.types import Edge
from triplecheck.lms import RolePredict
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.fourstepfocus.rerank import CandidateScore, Reranker, Reranking
from triplecheck.programs.fourstepfocus.substitution import Matching, Substituted, substitute, supporting
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Ranked, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import RelationNames, node_names
from triplecheck.programs.topics import TopicLinker
from triplecheck.programs.triplets import Triplets, read_triplets, unknown_missing, write_triplet
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

_AS_COMMON = 0.9  # of the edges of the commonest type: then a type is about as common


@dataclass(frozen=True)
class FourStepFocusLimits:
    """How much 4StepFocus shows to the model. The trace records what a limit cuts off.

    Attributes:
        offered: relations of the graph, the most similar to the question first.
        characters: of a candidate's text.
        per_pattern: supporting triples of one pattern, for one candidate.
    """

    offered: int = 60
    characters: int = 500
    per_pattern: int = 3


@dataclass(frozen=True)
class FourStepFocusOptions(ProgramOptions):
    """Options of `FourStepFocus`.

    Attributes:
        k_max: candidates that are reranked.
        candidate_types: types, by label or id, of nodes that may be an answer (C of the paper); none: the kinds
            of nodes that have documents (`kg.skb.described`), or any node if documents are the exception.
        matching: how patterns are matched.
        critic: let the model revise patterns once if nothing satisfies them or some cannot be used.
        search: `dense` (VSS), `multi` (separate vectors for text and for relations), `bm25`, `none`;
            `auto`: dense if all nodes are encoded (`triplecheck kb encode`), else bm25. `dense` and `multi` encode
            nodes that are not encoded yet when they need them.
        rerank: `listwise`, `each` candidate in a call of its own as in the paper, or `none`.
        rank_weight: weight of the rank in the search, added to the rerank score (STaRK: 0.1).
        share: nodes that satisfy the patterns are answers if their rerank score is at least this share of the best.
        least: rerank score that a node needs to be an answer without satisfying the patterns.
        limits: how much to show to the model.
    """

    k_max: int = 20
    candidate_types: tuple[str, ...] = ()
    matching: Matching = field(default_factory=Matching)
    critic: bool = False
    search: Searching = "auto"
    rerank: Reranking = "listwise"
    rank_weight: float = 0.1
    share: float = 0.5
    least: float = 0.5
    limits: FourStepFocusLimits = FourStepFocusLimits()


PAPER: Mapping[str, Any] = {
    "k_max": 20,  # section 4
    "matching": {
        "enforce_relation": False,  # section 4: the edge type is ignored, because restricting it is error-prone
        "enforce_direction": True,  # Algorithm 2, lines 4 and 7: neighbors(v, e, +) and neighbors(v, e, -)
        "exact": False,  # Algorithm 2: propagation to a fixpoint, no join
        "relax": False,  # Algorithm 2 returns the remaining nodes, even if there are none
        "by_vector": False,  # Algorithm 3, lines 8 and 12: a constant (almost) matches an alias
    },
    "critic": False,  # not in the paper
    "search": "dense",  # Algorithm 1, line 3: VSS
    "rerank": "each",  # section 2: the reranker asks for a score of each candidate
}
"""The preset `paper`."""


@dataclass(frozen=True)
class RankedNode:
    """A node that may be an answer (an element of C_filtered or C_additional).

    Attributes:
        node: the node.
        vector_score: similarity of its document and the question; None if there was nothing to compare.
        triples: what made it a candidate; none for one that the search added.
        satisfies: whether it satisfies the patterns (C_filtered).
        score: by the reranker.
    """

    node: int
    vector_score: float | None
    triples: tuple[Edge, ...] = ()
    satisfies: bool = False
    score: CandidateScore = field(default_factory=CandidateScore)


class FourStepFocus(Program):
    """Retrieval over a semi-structured knowledge base, with triplets as a prefilter.

    The prediction's `ranking` holds at most `k_max` nodes. Its `answers` are those at the head of the
    ranking that satisfy the patterns and whose rerank score is at least `share` of the best one's
    (without scores: all that satisfy the patterns); `evidence` is their supporting triples. They are
    grounded if these prove every pattern that the model wrote: not if a pattern was relaxed to
    things of other types or to edges in either direction or of any relation, dropped or could not be used. If no node
    satisfies the patterns, the answer is the first node that they do not name, without evidence, if its rerank score is
    at least `least`.

    Args:
        sources: a knowledge base, its directory, `bundled`, or `Sources`.
        preset: `default`, or `paper` (`PAPER`).
        options: fields of `FourStepFocusOptions`; with `grounded_only` it abstains if patterns lead to no node or
            their triples do not prove it.
    """

    name: ClassVar[str] = "4stepfocus"
    Options: ClassVar[type[ProgramOptions]] = FourStepFocusOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    renamed: ClassVar[Mapping[str, str]] = {"shown": "limits", "limits.relations": "limits.offered"}
    options: FourStepFocusOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.write_triplets = RolePredict(TripletsFromQuery, role="query", check=unknown_missing("triplets"))
        if self.options.critic:
            self.revise_triplets = RolePredict(ReviseTriplets, role="query", check=unknown_missing("revised"))
        self.reranker = Reranker(self.options.rerank)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Algorithm 1, with a second attempt at its lines 1 and 2 if `critic` is on."""
        linker = TopicLinker(self.graph, self.sources.linker, question, self.sources.language)
        inputs = {
            "question": question,
            "types": linker.types(),
            "relations": self._relations(question, trace),
            "known_names": linker.known_names(),
        }
        triplets = self.ask_for_triplets(inputs, trace)
        found = self.substitute(triplets, linker, trace)
        revises = self.options.critic and bool(found.faults)
        if revises:
            found = self.revise(inputs, triplets, found, linker, trace)
        candidates = self.search(question, found, trace)
        if not candidates:
            trace.add(Stopped("no_candidates", "neither patterns nor search led to a node"))
            return Outcome(abstained="no_candidates")
        # An unreadable reply is requested again: with two or three prompts before, a question takes at most 6 calls.
        ranked = self.rerank(question, candidates, trace, prompts=1 if revises else 2)
        return self.conclude(found, ranked, trace)

    # --- 1 triplets (Algorithm 1, line 1) --------------------------------------------------------
    def ask_for_triplets(self, inputs: Mapping[str, Any], trace: Trace) -> Triplets:
        """ASK_LLM_FOR_TRIPLETS: the question as triple patterns, and the variable that it asks for."""
        reply = self.write_triplets(**inputs)
        self.wrote(trace, self.write_triplets, reply)
        return self._read(reply.triplets, reply.answer)

    def revise(
        self, inputs: Mapping[str, Any], triplets: Triplets, found: Substituted, linker: TopicLinker, trace: Trace
    ) -> Substituted:
        """Not in the paper: the model sees the faults of its patterns and rewrites them; the better ones are used."""
        failed = [write_triplet(p) for p in triplets.patterns] + [dropped.pattern for dropped in triplets.dropped]
        reply = self.revise_triplets(**inputs, failed=failed, reasons=list(found.faults))
        self.wrote(trace, self.revise_triplets, reply)
        revised = self.substitute(self._read(reply.revised, reply.answer), linker, trace)
        better = revised.found and (len(revised.faults) <= len(found.faults) or not found.found)
        trace.add(Checked("revised triplets", better, "taken" if better else "the first ones are kept"))
        return revised if better else found

    def _read(self, lines: Sequence[str], answer: str) -> Triplets:
        return read_triplets(lines, answer, self.sources.schema_names, self._type_ids)

    def _relations(self, question: str, trace: Trace) -> list[str]:
        """Relations of the graph for the prompt (E.types), with the types at both ends if the graph has types."""
        graph, vectors = self.graph, self.sources.relations
        numbers = list(range(graph.num_relations))
        if vectors is not None and len(numbers) > self.options.limits.offered:
            scores = vectors.against(question)
            numbers.sort(key=lambda relation: -float(scores[relation]))
        if len(numbers) > self.options.limits.offered:
            trace.add(Truncated("relations in the prompt", self.options.limits.offered, len(numbers)))
        names = RelationNames(graph, vectors, question)
        asked = Words(question)
        lines = []
        for number in numbers[: self.options.limits.offered]:
            schema = graph.schema(number) if graph.has_types else None
            sides = (schema.domain, schema.range) if schema else ()
            ends = [graph.type_label(self._telling_type(side)) for side in sides if side]
            head, tail = ends if len(ends) == 2 else ("", "")
            # An alias that the question uses is the most telling.
            own = [clean(a) for a in graph.relation(number).aliases if a in asked]
            label = write_wordings(dict.fromkeys([*wordings(names[number]), *own]))
            lines.append(write_relation(WrittenRelation(label, clean(head), clean(tail))))
        return lines

    def _telling_type(self, side: Sequence[tuple[str, int]]) -> str:
        """The commonest type at an end of a relation; of several that are about as common, such as a class and its
        superclasses, the one that is rarest in the graph.

        Args:
            side: types with their edges, most edges first.
        """
        common = [kind for kind, edges in side if edges >= _AS_COMMON * side[0][1]]
        return max(common, key=lambda kind: self._rarity.get(kind, len(self._rarity))) if common[1:] else common[0]

    @cached_property
    def _rarity(self) -> dict[str, int]:
        """The place of each type among the types of the graph, which come most frequent first."""
        return {kind: place for place, kind in enumerate(self.graph.type_ids)}

    # --- 2 substitution (Algorithm 1, line 2) ----------------------------------------------------
    def substitute(self, triplets: Triplets, linker: TopicLinker, trace: Trace) -> Substituted:
        """SUBSTITUTE: C_filtered, the nodes that satisfy the patterns (Algorithms 2 and 3)."""

        def known(name: str) -> Sequence[Candidate]:
            found = linker.recognised(name)
            return found[1] if found else ()

        return substitute(self.sources, triplets, known, self._candidates, self.options.matching, trace)

    @cached_property
    def _type_ids(self) -> tuple[str, ...]:
        return tuple(self.sources.schema_names.type_id(kind) or kind for kind in self.options.candidate_types)

    @cached_property
    def _candidates(self) -> IntArray | None:
        """C of the paper; None: any node."""
        graph, base = self.graph, self.sources.knowledge_base
        if self._type_ids:
            return np.unique(np.concatenate([graph.nodes_of_type(kind) for kind in self._type_ids]))
        if base is None or base.documents is None:
            return None
        return described(base.columnar, base.node_search.documents.nodes)

    # --- 3 vector similarity search (Algorithm 1, line 3) ----------------------------------------
    def search(self, question: str, found: Substituted, trace: Trace) -> list[RankedNode]:
        """VSS: the best `k_max` of C_filtered; if there are fewer, C_additional fills up from all candidates."""
        k_max = self.options.k_max
        satisfying = np.empty(0, np.int64) if found.nodes is None else found.nodes
        if len(satisfying) > k_max:
            trace.add(Truncated("nodes that satisfy the patterns", k_max, len(satisfying)))
        nodes = []
        for node, score in self._rank(question, satisfying, trace):
            triples = tuple(supporting(self.sources, found, node, self.options.limits.per_pattern))
            nodes.append(RankedNode(node, score, triples, satisfies=True))
        if len(nodes) < k_max:
            # The best k_max of all are enough, whichever of them satisfy the patterns.
            known = set(satisfying.tolist())
            others = self._rank(question, self._candidates, trace)
            additional = [RankedNode(node, score) for node, score in others if node not in known]
            nodes += additional[: k_max - len(nodes)]
        return nodes

    def _rank(self, question: str, nodes: IntArray | None, trace: Trace) -> list[tuple[int, float | None]]:
        """The best `k_max` of some nodes by their documents, ties by node id; nodes without a document last."""
        if self._searcher is None:
            kept = [] if nodes is None else nodes[: self.options.k_max].tolist()
            return [(node, None) for node in kept]
        ranking = self._searcher.rank(question, nodes, self.options.k_max)
        if ranking.compared < ranking.total:
            trace.add(Truncated("candidates compared with the question", ranking.compared, ranking.total))
        pairs = zip(ranking.nodes.tolist(), ranking.scores.tolist(), strict=True)
        return [(node, score if np.isfinite(score) else None) for node, score in pairs]

    @property
    def _searches(self) -> NodeSearches | None:
        return None if self.sources.knowledge_base is None else self.sources.knowledge_base.node_search

    @property
    def _searcher(self) -> NodeSearch | None:
        searches = None if self.options.search == "none" else self._searches
        if searches is None:
            return None
        kind = self.options.search
        if kind == "auto":
            encoded = self.sources.knowledge_base is not None and self.sources.knowledge_base.encoder is not None
            kind = "dense" if encoded and searches.dense.complete else "bm25"
        return searches.bm25 if kind == "bm25" else searches.multi if kind == "multi" else searches.dense

    # --- 4 rerank (Algorithm 1, line 4) ----------------------------------------------------------
    def rerank(self, question: str, candidates: Sequence[RankedNode], trace: Trace, prompts: int) -> list[RankedNode]:
        """LLM_RERANKER: by rerank score and place in the search; C_filtered stays ahead of C_additional.

        Args:
            question: the question.
            candidates: in the order of the search.
            trace: records the ranking.
            prompts: prompts that a listwise ranking takes at most.
        """
        texts = self._texts(candidates, trace)
        scores = self.reranker(question=question, candidates=texts, trace=trace, wrote=self.wrote, batches=prompts)
        scored = [replace(c, score=score) for c, score in zip(candidates, scores, strict=True)]

        def final(place: int) -> float:
            return (scored[place].score.value or 0.0) + self.options.rank_weight * (1 - place / len(scored))

        order = sorted(
            range(len(scored)), key=lambda place: (not scored[place].satisfies, -final(place), scored[place].node)
        )
        ranked = [scored[place] for place in order]
        for place, candidate in enumerate(ranked, 1):
            trace.add(self._ranked(place, candidate))
        return ranked

    def _texts(self, candidates: Sequence[RankedNode], trace: Trace) -> list[str]:
        """Each candidate for the prompt: its name and types, its text, its supporting triples."""
        names = node_names(self.graph, [c.node for c in candidates])
        cut = 0
        lines = []
        for candidate in candidates:
            node = candidate.node
            kinds = ", ".join(clean(self.graph.type_label(t)) for t in self.graph.types(node)[:2])
            text = clean(self._document(node))
            cut += len(text) > self.options.limits.characters
            parts = [with_note(names[node], kinds), text[: self.options.limits.characters]]
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

    def _ranked(self, place: int, candidate: RankedNode) -> Ranked:
        return Ranked(
            place,
            self.graph.node_id(candidate.node),
            self.graph.label(candidate.node),
            "patterns" if candidate.satisfies else "search",
            self._edges(candidate.triples),
            candidate.vector_score,
            candidate.score.value,
            candidate.score.reason,
        )

    # --- the answer ----------------------------------------------------------------------------
    def conclude(self, found: Substituted, ranked: Sequence[RankedNode], trace: Trace) -> Outcome:
        """The answers: the head of the ranking."""
        ranking = tuple(candidate.node for candidate in ranked)
        satisfying = [candidate for candidate in ranked if candidate.satisfies]
        best = max((c.score.value or 0.0 for c in satisfying), default=0.0)
        head = [c for c in satisfying if (c.score.value or 0.0) >= self.options.share * best]
        retrieved = frozenset(node for c in ranked for h, _, t in c.triples for node in (h, t)) | frozenset(ranking)
        if head and found.unproved:
            trace.add(Checked("answer", False, f"its triples do not prove it: {'; '.join(found.unproved)}"))
            if self.options.grounded_only:
                trace.add(Stopped("not_grounded", "the patterns hold only in part"))
                return Outcome(abstained="not_grounded", ranking=ranking, retrieved=retrieved)
        if not head:
            named = set() if found.match is None else {n for nodes in found.match.query.given.values() for n in nodes}
            head = [c for c in ranked if c.node not in named and self._fits(c)][:1]
            reason = "not_grounded" if self.options.grounded_only else "nothing_fits" if not head else ""
            if reason:
                trace.add(Stopped(reason, "no candidate satisfies patterns over the graph"))
                return Outcome(abstained=reason, ranking=ranking, retrieved=retrieved)
        evidence = tuple(dict.fromkeys(edge for candidate in head for edge in candidate.triples))
        answers = tuple(candidate.node for candidate in head)
        answer = ", ".join(self.graph.labels(answers))
        grounded = bool(evidence) and not found.unproved
        doubts = found.unproved if evidence else ()
        return Outcome(answer, answers, evidence, grounded, retrieved=retrieved, ranking=ranking, doubts=doubts)

    def _fits(self, candidate: RankedNode) -> bool:
        value = candidate.score.value
        return self.reranker.mode == "none" or (value is not None and value >= self.options.least)
