"""The metric of each step, and textual feedback for optimizers that rewrite instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import dspy

from triplecheck import signatures as steps
from triplecheck.evals.questions import Question, as_question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.optimize.metrics.answering import answers_from_facts, answers_in, judges_proof, proved, whole
from triplecheck.optimize.metrics.case import Case, StepCall, StepMetric, StepScore, TracedCall, mean_of
from triplecheck.optimize.metrics.queries import extracts_triples, writes_patterns, writes_query
from triplecheck.optimize.metrics.retrieval import (
    asks_further,
    judges_passage,
    judges_sufficiency,
    keeps_facts,
    keeps_paths,
    names_topics,
    scores_candidate,
    scores_candidates,
    selects_passages,
)
from triplecheck.programs import Sources
from triplecheck.programs.steps import Checked, Stopped
from triplecheck.signatures import Step, step_of

_METRICS: dict[type[Step], StepMetric] = {
    steps.NameTopics: names_topics("topics"),
    steps.ExtractKeywords: names_topics("keywords"),
    steps.SelectPaths: keeps_paths("keep"),
    steps.ScoreRelations: keeps_paths("relations"),
    steps.Reflect: keeps_paths("revisit"),
    steps.JudgeAndGoOn: mean_of(keeps_facts, judges_sufficiency, keeps_paths("follow")),
    steps.FilterTriples: keeps_facts,
    steps.JudgeSufficiency: judges_sufficiency,
    steps.SelectPassages: selects_passages,
    steps.CheckPassages: selects_passages,
    steps.JudgePassage: judges_passage,
    steps.ScoreCandidate: scores_candidate,
    steps.ScoreCandidates: scores_candidates,
    steps.ExtractTriples: extracts_triples,
    steps.WriteQuery: writes_query,
    steps.TripletsFromQuery: writes_patterns,
    steps.NextQuestion: asks_further("next_question"),
    steps.RewriteFollowUp: asks_further("rewritten"),
    steps.JudgeProof: judges_proof,
    steps.AnswerFromFacts: answers_from_facts,
    steps.AnswerFromMemory: answers_in("answers"),
    steps.AnswerDirectly: answers_in("answers"),
    steps.AnswerFromReferences: answers_in("answer"),
    steps.AnswerWithReferences: answers_in("answer"),
    steps.AnswerWithTriples: answers_in("answer"),
}


def step_metric(signature: type[dspy.Signature]) -> StepMetric | None:
    """The metric of a step; None if the step alone cannot be scored."""
    step = step_of(signature)
    return None if step is None else _METRICS.get(step)


def score_call(row: TracedCall, case: Case) -> StepScore | None:
    """The score of one call by its step's metric; None if it cannot be scored."""
    predictor, inputs, outputs = row
    if not isinstance(outputs, dspy.Prediction):
        return StepScore(0.0, "The reply could not be parsed. ")
    metric = step_metric(predictor.signature)
    return None if metric is None else metric(StepCall(inputs, dict(outputs.items())), case)


def feedback(case: Case, found: StepScore, prediction: Any, calls: Iterable[TracedCall] = ()) -> str:
    """The feedback for an optimizer that rewrites a step, with the score of the whole and the calls of this step."""
    parts = [scored.feedback for row in calls if (scored := score_call(row, case)) is not None]
    parts.append(found.feedback)
    for step in getattr(prediction, "steps", None) or ():
        if isinstance(step, Stopped) and step.detail:
            parts.append(f"Stopped: {step.detail}. ")
        elif isinstance(step, Checked) and not step.passed:
            parts.append(f"Check of {step.what} failed: {step.reason}. ")
    return "".join(dict.fromkeys(parts)).strip()


def feedback_metric(
    knowledge_base: KnowledgeBase, questions: Iterable[Question | Mapping[str, Any] | dspy.Example]
) -> Callable[..., Any]:
    """A strict metric for any DSPy optimizer, with textual feedback for optimizers that use it.

    `BootstrapFewShot`, `MIPROv2`, `SIMBA` and `dspy.Evaluate` get a score from 0 to 1: the F1 of the answers. While
    demonstrations are collected (`trace` is given) they get True for a correct answer whose evidence is in the graph
    and whose reasoning names the cited facts and the answer. `GEPA`, which passes `pred_name` by position or by name,
    gets `dspy.Prediction(score, feedback)`. The feedback describes the errors of the answer and of the step
    `pred_name`.

    Args:
        knowledge_base: the graph that answers are checked against.
        questions: questions with answers; see `as_question`. An example is matched by the text of its field `question`.

    Returns:
        `metric(example, prediction, trace=None, pred_name=None, pred_trace=None)`, as DSPy's optimizers call it. It
        raises `UserError` for an example whose question is not among them.

    Raises:
        UserError: a mapping is not a valid question.
    """
    sources = Sources.of(knowledge_base)
    cases = {question.question: Case(question, sources) for question in map(as_question, questions)}

    def metric(
        example: Any,
        prediction: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Sequence[TracedCall] | None = None,
    ) -> Any:
        case = cases.get(example["question"])
        if case is None:
            raise UserError(f"the metric was not given the question {example['question']!r}; pass it with its answers")
        scored = StepScore(0.0, "The program failed. ") if prediction is None else whole(case, prediction)
        if pred_name is not None or pred_trace is not None:
            text = feedback(case, scored, prediction, pred_trace or ())
            return dspy.Prediction(score=scored.score, feedback=text)
        if trace is not None:
            return prediction is not None and proved(case, prediction, trace)
        return scored.score

    return metric
