"""Which metric scores which step."""

from __future__ import annotations

import dspy

from triplecheck import signatures as steps
from triplecheck.optimize.metrics.answering import answers_from_facts, answers_in
from triplecheck.optimize.metrics.linking import names_topics
from triplecheck.optimize.metrics.pruning import keeps_facts, keeps_paths
from triplecheck.optimize.metrics.queries import asks_further
from triplecheck.optimize.metrics.relevance import (
    judges_passage,
    judges_sufficiency,
    scores_candidate,
    scores_candidates,
    selects_passages,
)
from triplecheck.optimize.metrics.scored import StepMetric
from triplecheck.optimize.metrics.triples import extracts_triples, writes_patterns
from triplecheck.signatures import Step, step_of

_METRICS: dict[type[Step], StepMetric] = {
    steps.NameTopics: names_topics("topics"),
    steps.ExtractKeywords: names_topics("keywords"),
    steps.SelectPaths: keeps_paths("keep"),
    steps.ScoreRelations: keeps_paths("relations"),
    steps.Reflect: keeps_paths("revisit"),
    steps.JudgeAndGoOn: keeps_paths("follow"),
    steps.FilterTriples: keeps_facts("relevant"),
    steps.JudgeSufficiency: judges_sufficiency,
    steps.SelectPassages: selects_passages("useful"),
    steps.CheckPassages: selects_passages("useful"),
    steps.JudgePassage: judges_passage,
    steps.ScoreCandidate: scores_candidate,
    steps.ScoreCandidates: scores_candidates,
    steps.ExtractTriples: extracts_triples("triples", "texts"),
    steps.TripletsFromQuery: writes_patterns("triplets"),
    steps.ReviseTriplets: writes_patterns("revised"),
    steps.NextQuestion: asks_further("next_question"),
    steps.AnswerFromFacts: answers_from_facts,
    steps.AnswerFromMemory: answers_in("answers"),
    steps.AnswerDirectly: answers_in("answers"),
    steps.AnswerFromReferences: answers_in("answer"),
    steps.AnswerWithReferences: answers_in("answer"),
    steps.AnswerWithTriples: answers_in("answer"),
}


def step_metric(signature: type[dspy.Signature]) -> StepMetric | None:
    """The metric of a step; None where a step alone cannot be scored."""
    step = step_of(signature)
    return None if step is None else _METRICS.get(step)
