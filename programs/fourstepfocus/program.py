"""4StepFocus: triplets, substitution, vector similarity search, reranking.

Source: "Harnessing the Power of Semi-Structured Knowledge and LLMs with Triplet-Based Prefiltering for
Question Answering" (4StepFocus). The four lines of its Algorithm 1 are the four methods that `run` calls.
What the paper does not have is in `programs.assists`, by the names in the table there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from triplecheck.kg import Candidate, IntArray
from triplecheck.kg.patterns import ALL_HOMONYMS
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.skb import NodeSearch, NodeSearches, described, documented_types
from triplecheck.lms import RolePredict
from triplecheck.programs.assists.doubts import unknown_missing
from triplecheck.programs.assists.fourstepfocus import likely_answers
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.fourstepfocus.candidates import RankedNode, candidate_texts
from triplecheck.programs.fourstepfocus.options import PAPER, FourStepFocusOptions
from triplecheck.programs.fourstepfocus.rerank import Reranker, with_places
from triplecheck.programs.fourstepfocus.substitution import Substituted, substitute, supporting
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Checked, Stopped, Trace
from triplecheck.programs.subgraph import RelationNames
from triplecheck.programs.topics import TopicLinker
from triplecheck.programs.triplets import Triplets, read_triplets
from triplecheck.signatures import TripletsFromQuery
from triplecheck.signatures.notation import WrittenRelation, clean, write_relation

_AS_COMMON = 0.9  # of the edges of the commonest type: then a type is about as common


class FourStepFocus(Program):
    """Retrieval over a semi-structured knowledge base, with triplets as a prefilter.

    The prediction's `ranking` holds at most `limit` nodes, the first `k_max` of them reranked. Its `answers` are those
    at the head of the ranking (`assists.likely_answers`); `evidence` is their supporting triples. They are grounded if
    these prove every pattern that the model wrote: not if a pattern was loosened, dropped or could not be used. With
    `grounded_only` it abstains if patterns lead to no node or their triples do not prove it. It has
    `FourStepFocusOptions` and the presets `default` and `paper` (`PAPER`).
    """

    name: ClassVar[str] = "4stepfocus"
    Options: ClassVar[type[ProgramOptions]] = FourStepFocusOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    options: FourStepFocusOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.write_triplets = RolePredict(TripletsFromQuery, role="query", check=unknown_missing(self.assists))
        self.reranker = Reranker(self.options.rerank)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Algorithm 1."""
        sources = self.sources
        linker = TopicLinker(
            self.graph, sources.linker, question, sources.language, self.assists, trace, limit=ALL_HOMONYMS
        )
        inputs = {
            "question": question,
            "types": linker.types(self.options.limits.types),
            "relations": self._relations(question, trace),
            "known_names": linker.known_names(),
        }
        triplets = self.ask_for_triplets(inputs, trace)
        found = self.substitute(triplets, linker, trace)
        candidates = self.search(question, found, trace)
        if not candidates:
            return abstention("no_candidates", "neither patterns nor search led to a node", trace)
        k_max = self.options.k_max
        further = [candidate.node for candidate in candidates[k_max:]]
        return self.conclude(found, self.rerank(question, candidates[:k_max], trace), further, trace)

    # --- 1 triplets (Algorithm 1, line 1) --------------------------------------------------------
    def ask_for_triplets(self, inputs: Mapping[str, Any], trace: Trace) -> Triplets:
        """ASK_LLM_FOR_TRIPLETS: the question as triple patterns, and the variable that it asks for."""
        reply = self.ask(trace, self.write_triplets, **inputs)
        return read_triplets(reply.triplets, reply.answer, self.sources.schema_names, self._candidate_types)

    def _relations(self, question: str, trace: Trace) -> list[str]:
        """E.types: relations of the graph for the prompt, the most similar to the question first if they are many."""
        graph, vectors, limit = self.graph, self.sources.relations, self.options.limits.offered
        numbers = list(range(graph.num_relations))
        trace.note_cut("relations in the prompt", limit, len(numbers))
        if len(numbers) > limit and vectors is not None:
            scores = vectors.against(question)
            numbers.sort(key=lambda relation: -float(scores[relation]))
        names = RelationNames(graph, vectors, question)
        return [self._relation(number, names[number]) for number in numbers[:limit]]

    def _relation(self, number: int, label: str) -> str:
        """A relation on one line, with the type at each end if the graph has types.

        The type is the commonest there. Of several that are about as common, such as a class and its superclasses, it
        is the one that is rarest in the graph.
        """
        schema, places = self.graph.schema(number) if self.graph.has_types else None, self._places_of_types

        def end(side: Sequence[tuple[str, int]]) -> str:
            common = [kind for kind, edges in side if edges >= _AS_COMMON * side[0][1]]
            return clean(self.graph.type_label(max(common, key=lambda kind: places.get(kind, len(places)))))

        ends = [end(side) for side in (schema.domain, schema.range) if side] if schema else []
        return write_relation(WrittenRelation(label, *ends)) if len(ends) == 2 else label

    # --- 2 substitution (Algorithm 1, line 2) ----------------------------------------------------
    def substitute(self, triplets: Triplets, linker: TopicLinker, trace: Trace) -> Substituted:
        """SUBSTITUTE: C_filtered, the nodes that satisfy the patterns (Algorithms 2 and 3)."""

        def known(name: str) -> Sequence[Candidate]:
            found = linker.recognised(name)
            return found[1] if found else ()

        how = self.options.matching
        return substitute(self.assists, self.sources, triplets, known, self._candidates, how, trace)

    @cached_property
    def _places_of_types(self) -> Mapping[str, int]:
        """The place of each type among those of the graph, most frequent first."""
        return {kind: place for place, kind in enumerate(self.graph.type_ids)}

    @cached_property
    def _candidate_types(self) -> tuple[str, ...]:
        """Ids of the types of C; none: any."""
        base = self.sources.knowledge_base
        if named := self.options.candidate_types:
            return tuple(self.sources.schema_names.type_id(kind) or kind for kind in named)
        if base is None or base.documents is None:
            return ()
        return documented_types(base.columnar, base.node_search.documents.nodes)

    @cached_property
    def _candidates(self) -> IntArray | None:
        """C of the paper; None: any node."""
        base = self.sources.knowledge_base
        if self.options.candidate_types:
            return np.unique(np.concatenate([self.graph.nodes_of_type(kind) for kind in self._candidate_types]))
        if base is None or base.documents is None:
            return None
        return described(base.columnar, base.node_search.documents.nodes)

    # --- 3 vector similarity search (Algorithm 1, line 3) ----------------------------------------
    def search(self, question: str, found: Substituted, trace: Trace) -> list[RankedNode]:
        """VSS: C_filtered, then C_additional from all candidates. The first `k_max` are those of the paper."""
        k_max, limit = self.options.k_max, self._ranked
        satisfying = np.empty(0, np.int64) if found.nodes is None else found.nodes
        trace.note_cut("nodes that satisfy the patterns", k_max, len(satisfying))
        nodes = []
        for place, (node, score) in enumerate(self._rank(question, satisfying, trace)):
            reranked = place < k_max
            triples = supporting(self.sources, found, node, self.options.limits.per_pattern) if reranked else ()
            nodes.append(RankedNode(node, score, tuple(triples), satisfies=True))
        if len(nodes) < limit:
            # The best of all are enough, whichever of them satisfy the patterns.
            known = set(satisfying.tolist())
            others = self._rank(question, self._candidates, trace)
            additional = [RankedNode(node, score) for node, score in others if node not in known]
            nodes += additional[: limit - len(nodes)]
        return nodes

    @property
    def _ranked(self) -> int:
        return max(self.options.k_max, self.options.limit)

    def _rank(self, question: str, nodes: IntArray | None, trace: Trace) -> list[tuple[int, float | None]]:
        """The best of some nodes by their documents, ties by node id; nodes without a document last."""
        searcher = self._searcher
        if searcher is None:
            kept = [] if nodes is None else nodes[: self._ranked].tolist()
            return [(node, None) for node in kept]
        ranking = searcher.rank(question, nodes, self._ranked)
        trace.note_cut("candidates compared with the question", ranking.compared, ranking.total)
        pairs = zip(ranking.nodes.tolist(), ranking.scores.tolist(), strict=True)
        return [(node, score if np.isfinite(score) else None) for node, score in pairs]

    @property
    def _searches(self) -> NodeSearches | None:
        return None if self.sources.knowledge_base is None else self.sources.knowledge_base.node_search

    @property
    def _searcher(self) -> NodeSearch | None:
        """What ranks nodes."""
        base, kind = self.sources.knowledge_base, self.options.search
        if base is None or kind == "none":
            return None
        if kind == "auto":
            kind = "fused" if base.encoder is not None and base.node_search.documents.has_texts else "bm25"
        found: NodeSearch = getattr(base.node_search, kind)
        return found

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Make the vectors of nodes, if the search uses them and they are not too many; of names, if they are used."""
        if self.options.matching.by_vector:
            self.sources.dense_linker(progress)
        if self._searcher is not None:
            self._searcher.prepare(progress)

    # --- 4 rerank (Algorithm 1, line 4) ----------------------------------------------------------
    def rerank(self, question: str, candidates: Sequence[RankedNode], trace: Trace) -> list[RankedNode]:
        """LLM_RERANKER: by rerank score and place in the search; C_filtered stays ahead of C_additional.

        A list takes two prompts. An unreadable reply is requested again, so that a question takes at most 6 calls.
        """
        texts = candidate_texts(self.graph, self._searches, candidates, self.options.limits.characters, trace)
        scores = self.reranker(question=question, candidates=texts, trace=trace, ask=self.ask)
        final = with_places(scores, self.options.rank_weight)
        scored = [(replace(c, score=score), f) for c, score, f in zip(candidates, scores, final, strict=True)]
        scored.sort(key=lambda pair: (not pair[0].satisfies, -pair[1], pair[0].node))
        for place, (candidate, _) in enumerate(scored, 1):
            trace.add(candidate.place(self.graph, place))
        return [candidate for candidate, _ in scored]

    # --- the answer ----------------------------------------------------------------------------
    def conclude(
        self, found: Substituted, ranked: Sequence[RankedNode], further: Sequence[int], trace: Trace
    ) -> Outcome:
        """The answers: the head of the ranking. It ends with further nodes in the order of the search."""
        nodes = tuple(candidate.node for candidate in ranked)
        ranking = (*nodes, *further)
        retrieved = frozenset(node for c in ranked for h, _, t in c.triples for node in (h, t)) | frozenset(nodes)
        how, scores = self.options, {c.node: c.score.value for c in ranked}
        satisfying = {c.node for c in ranked if c.satisfies}
        named = set() if found.match is None else {n for nodes in found.match.query.given.values() for n in nodes}
        least = None if self.reranker.mode == "none" else how.least
        answers = likely_answers(self.assists, self.graph, scores, satisfying, named, how.share, least, trace)
        evidence = tuple(dict.fromkeys(edge for c in ranked if c.node in answers for edge in c.triples))
        if evidence and found.unproved:
            trace.add(Checked("answer", False, f"its triples do not prove it: {'; '.join(found.unproved)}"))
        grounded = bool(evidence) and not found.unproved
        reason = "not_grounded" if how.grounded_only and not grounded else "" if answers else "nothing_fits"
        if reason:
            trace.add(Stopped(reason, "no candidate satisfies the patterns, or they hold only in part"))
            return Outcome(abstained=reason, ranking=ranking, retrieved=retrieved)
        answer, doubts = ", ".join(self.graph.labels(answers)), found.unproved if evidence else ()
        return Outcome(answer, tuple(answers), evidence, grounded, retrieved=retrieved, ranking=ranking, doubts=doubts)
