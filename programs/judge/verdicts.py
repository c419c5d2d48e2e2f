"""Verdicts: what each answer rests on, how sure it is, and whether it is sure enough to be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from triplecheck.kg import Direction, Graph
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.types import Edge
from triplecheck.language.pipeline import ENGLISH
from triplecheck.lms.kinds import kind_of
from triplecheck.programs.judge.confidence import packaged_models
from triplecheck.programs.judge.features import features_of, says_what_is_asked, uncovered_parts
from triplecheck.programs.judge.joined import mixed, namesakes, unjoined, unlisted
from triplecheck.programs.judge.left_out import answers_another, other_names, unnamed
from triplecheck.programs.judge.proof import LEAST_COVERAGE, Proof
from triplecheck.programs.options import Bar
from triplecheck.programs.outcome import Outcome, Verdict
from triplecheck.programs.steps import TraceEvent, Wrote
from triplecheck.programs.subgraph import Hop

UNSURE = "low_confidence"
"""The reason for abstaining if the confidence is below `Program.abstain_below`."""

NOT_IN_GRAPH = "not_in_graph"
"""The reason for abstaining if the verdict of the answer is below the bar."""

_MOST_RELATIONS = 200
_NEAREST, _VALUES = 3, 3  # relations, and values of each


class Judge:
    """Gives one outcome its verdict and confidence.

    Args:
        ranker: file of the ranker of paths; the general one in its place if it was trained with another encoder.
        relations: their vectors; None: relations that are nowhere around the topics are not compared.
    """

    def __init__(
        self, graph: Graph, ranker: Path = GENERAL, relations: RelationVectors | None = None, language: str = ENGLISH
    ) -> None:
        self._language = language
        self._graph = graph
        self._relations = relations
        # The confidence model was fitted with the default encoder, whatever vectors a knowledge base has.
        encoder = load_encoder()
        self._encode = encoder.encode
        found = load_ranker(ranker)
        self._ranker = found if found.encoder == encoder.fingerprint else load_ranker()

    def judge(self, question: str, found: Outcome, steps: Sequence[TraceEvent]) -> Outcome:
        """The outcome with its verdict, its confidence, and the parts of the question that its proof leaves out.

        A confidence that the program gave itself stays.
        """
        if found.abstained is not None:
            return replace(found, verdict="unknown")
        if not (found.evidence or found.query):
            return replace(found, verdict="unsupported")
        proof = Proof(self._graph, self._encode, question, found, steps, self._language, self._relations)
        if answers_another(proof):
            return replace(found, verdict="unsupported")
        features = features_of(proof, self._ranker, self._relations)
        same = [f"another {name!r} has such triples, too" for name in namesakes(proof)]
        left_out = [] if found.query else _left_out(proof)  # the words of a query were compared before
        doubts = tuple(dict.fromkeys((*found.doubts, *left_out, *same)))
        model = packaged_models().of(kind_of(step.model for step in steps if isinstance(step, Wrote)), features)
        confidence = model(features)
        says = not doubts and says_what_is_asked(features)
        verdict: Verdict = "proved" if says and found.grounded and confidence >= model.proved else "supported"
        own = confidence if found.confidence is None else found.confidence
        return replace(found, verdict=verdict, confidence=own, doubts=doubts, features=features)

    def passes(self, found: Outcome, bar: Bar) -> bool:
        """Whether an answer is given at a bar."""
        if bar == "any" or found.verdict == "proved":
            return True
        if found.verdict != "supported" or bar == "proved":
            return False
        return bar == "supported" or packaged_models().gives(found.confidence, found.features)

    def withheld(self, question: str, found: Outcome, reason: str, steps: Sequence[TraceEvent]) -> Outcome:
        """The abstention in place of an answer."""
        abstained = Outcome(
            abstained=reason,
            retrieved=found.retrieved,
            ranking=found.ranking,
            confidence=found.confidence,
            features=found.features,
        )
        return self.with_nearest(question, abstained, steps)

    def with_nearest(self, question: str, abstained: Outcome, steps: Sequence[TraceEvent]) -> Outcome:
        """An abstention with the facts that are nearest to the question."""
        missing, nearest = nearest_facts(Proof(self._graph, self._encode, question, Outcome(), steps, self._language))
        return replace(abstained, missing=missing, nearest=nearest)


def _left_out(proof: Proof) -> list[str]:
    """The parts of a question that a proof leaves out, in sentences."""
    found = [f"the proof does not cover {part!r}" for part in (*uncovered_parts(proof), *unnamed(proof))]
    found += [f"the proof does not join the answer with {mention!r}" for mention in unjoined(proof)]
    found += [f"{name!r} may be another than the question names" for name in other_names(proof)]
    found += [f"the same triples hold of {name!r}" for name in unlisted(proof)]
    if joined_otherwise := mixed(proof):
        found.append(f"other relations join the answer with {' than with '.join(map(repr, joined_otherwise))}")
    return found


def nearest_facts(proof: Proof) -> tuple[str, tuple[Edge, ...]]:
    """The part of the question that the graph says least of, if there is one, and the facts around the topics whose
    relations are nearest to the question."""
    topics = list(proof.topics)
    counts = proof.graph.relation_counts(topics)[:_MOST_RELATIONS] if topics else []
    if not counts:
        return "", ()
    hops = [Hop(count.relation, count.direction) for count in counts]
    written = [proof.write(hop) for hop in hops]
    similar = proof.relevance.similarity([hop.label for hop in written])
    best = similar.max(axis=0)
    weakest = int(best.argmin())
    missing = proof.relevance.segments[weakest].text if best[weakest] < 2 * LEAST_COVERAGE else ""
    triples: list[Edge] = []
    for at in np.argsort(-similar.max(axis=1), kind="stable")[:_NEAREST]:
        hop = hops[at]
        for topic in topics:
            for value in proof.graph.neighbors(topic, hop.relation, hop.direction, limit=_VALUES).tolist():
                ends = (topic, value) if hop.direction is Direction.OUT else (value, topic)
                triples.append((ends[0], hop.relation, ends[1]))
    return missing, tuple(dict.fromkeys(triples))[: _NEAREST * _VALUES]
