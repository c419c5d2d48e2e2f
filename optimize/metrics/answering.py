"""Metrics of answers, of a step or of a whole program, and whether the cited facts prove them."""

from __future__ import annotations

from collections.abc import Sequence

import dspy

from triplecheck.evals.gold import comparable, resolve_predicted
from triplecheck.evals.metrics.answers import Predicted, set_scores
from triplecheck.lms import RolePredict
from triplecheck.optimize.metrics.case import Case, StepCall, StepMetric, StepScore, TracedCall, listed
from triplecheck.optimize.traces.derivations import Derivation
from triplecheck.optimize.traces.gold.engine import is_template
from triplecheck.optimize.traces.reasoning import reasoning_gap
from triplecheck.optimize.traces.verification import as_in_facts, corrected
from triplecheck.programs import replay
from triplecheck.signatures.notation import read_facts

_UNPROVED = 0.5
"""Factor for a correct answer that no cited fact contains."""


def answers_in(output: str) -> StepMetric:
    """F1 of the answers in a field, one text or a list; 1 for no answer if there is none."""

    def score(call: StepCall, case: Case) -> StepScore | None:
        value = call.outputs.get(output)
        return judged(case, [value] if isinstance(value, str) else list(value or ()))

    return score


def answers_from_facts(call: StepCall, case: Case) -> StepScore | None:
    """F1 of the answers, halved if no cited fact contains one. If no fact contains an answer, the list must be empty.

    If an operation computes the answer, it must be the right one, and the cited facts must contain the answer, or their
    count must equal it.
    """
    facts = [str(fact) for fact in call.inputs.get("facts") or ()]
    cited = [facts[number - 1] for number in call.outputs.get("cited") or () if 0 < number <= len(facts)]
    answers = as_in_facts(map(str, call.outputs.get("answers") or ()), read_facts(cited), read_facts(facts))
    operation = call.outputs.get("operation", "none")
    if operation != "none":
        return _computed(case, str(operation), cited)
    if case.question.computed:
        return judged(case, answers)
    holding = [fact for fact in facts if case.holds_answer(fact)]
    if not holding:
        feedback = "No fact contains the answer, so the list of answers must be empty. "
        return StepScore(float(not answers), feedback + (f"{', '.join(answers)} is wrong. " if answers else ""))
    found = judged(case, answers)
    if found is None:
        return None
    proved = any(case.holds_answer(fact) for fact in cited)
    missing = "" if proved else listed("No cited fact contains the answer; these do", holding)
    return StepScore(found.score * (1.0 if proved else _UNPROVED), found.feedback + missing)


def judged(case: Case, answers: Sequence[str]) -> StepScore | None:
    """The score of answers as texts."""
    if not case.question.answers_known:
        return None
    given = [text for text in answers if text.strip() and text.strip().casefold() != "none"]
    if not case.gold.answers:
        return StepScore(float(not given), "The question has no answer. ")
    right = set_scores([_predicted(case, text) for text in given], case.gold.answers)
    if right.f1 == 1:
        return StepScore(1.0, "The answer is correct. ")
    return StepScore(right.f1, listed("The correct answer is", case.answer_labels) + listed("The reply was", given))


def _predicted(case: Case, text: str) -> Predicted:
    node = case.answer_called(text)
    return Predicted(node, frozenset()) if node is not None else Predicted(None, frozenset([comparable(text)]))


def judges_proof(call: StepCall, case: Case) -> StepScore | None:
    """1 if the judgement of a proof is correct, where the whole answer is right or wrong."""
    answer = judged(case, str(call.inputs.get("answer", "")).split(", "))
    if answer is None or answer.score not in (0, 1):
        return None
    right = answer.score == 1
    reply = bool(call.outputs.get("entails"))
    return StepScore(float(reply is right), f"The answer is {'right' if right else 'wrong'}. ")


def _computed(case: Case, operation: str, cited: Sequence[str]) -> StepScore:
    if case.derivation is not None and operation not in (wanted := _operations(case.derivation)):
        return StepScore(0.0, f"The operation is {operation}, and should be {wanted[0]}. ")
    if case.question.computed and operation == "count":
        values = {value for fact in read_facts(cited) for value in fact.values}
        return judged(case, [str(len(values))]) or StepScore(0.0)
    if case.question.computed:
        return StepScore(float(bool(cited)), "" if cited else "No facts were cited to compute the answer from. ")
    held = any(case.holds_answer(fact) for fact in cited)
    return StepScore(float(held), "" if held else "The facts cited for the operation do not contain the answer. ")


def _operations(derivation: Derivation) -> tuple[str, ...]:
    """The operations that give the answers, the plainest first; what several paths share is a look-up, too."""
    several = derivation.operation == "none" and len(derivation.topics) > 1
    return (derivation.operation, "common") if several else (derivation.operation,)


def whole(case: Case, prediction: dspy.Prediction) -> StepScore:
    """F1 of a program's answers against the gold answers; 1 for an abstention if there is no answer."""
    if not case.gold.answers:
        feedback = "The graph has no answer, so abstaining is correct. "
        if not prediction.abstained:
            feedback += "The program gave an answer. "
        return StepScore(float(prediction.abstained), feedback)
    given = resolve_predicted(prediction, case.graph)
    f1 = set_scores(given, case.gold.answers).f1
    if f1 == 1:
        return StepScore(1.0, "The answer is correct. ")
    if not given:
        return StepScore(
            f1, f"No answer was given ({prediction.reason}). " + listed("The correct answer is", case.answer_labels)
        )
    return StepScore(
        f1, f"The answer given was {prediction.answer!r}. " + listed("The correct answer is", case.answer_labels)
    )


def proved(case: Case, prediction: dspy.Prediction, trace: Sequence[TracedCall] = ()) -> bool:
    """Whether a run can be a demonstration: the answer is correct and was not corrected by the program, all of its
    evidence is in the graph, and the reasoning names the cited facts and the answer.

    Args:
        prediction: what the program returned.
        trace: its calls, made with the models of the current context. The templates of the rule-based baseline and of
            gold replies are not checked.
    """
    right = whole(case, prediction).score == 1 and not replay(case.graph, prediction.evidence)
    return right and not corrected(prediction) and all(map(_is_reasoned, trace))


def _is_reasoned(call: TracedCall) -> bool:
    step, inputs, outputs = call
    if not isinstance(step, RolePredict) or is_template(step.model):
        return True
    return reasoning_gap(inputs, dict(outputs.items())) is None
