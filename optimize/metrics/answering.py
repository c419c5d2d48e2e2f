"""Answering: the answers strictly, and whether what was cited proves them."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.evals.gold import comparable
from triplecheck.evals.metrics import Predicted, set_scores
from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric, listed
from triplecheck.signatures.notation import read_facts

_UNPROVED = 0.5
"""What a right answer is worth whose cited facts do not hold it."""


def answers_in(output: str) -> StepMetric:
    """F1 of the answers in a field, one text or a list, against the right ones; 1 for none where there is none."""

    def score(call: StepCall, case: Case) -> Scored | None:
        value = call.outputs.get(output)
        return judged(case, [value] if isinstance(value, str) else list(value or ()))

    return score


def answers_from_facts(call: StepCall, case: Case) -> Scored | None:
    """F1 of the answers, halved where no cited fact holds one; none is right where no fact holds an answer.

    Where an operation is to compute the answer, the cited facts must hold it, or count up to it.
    """
    facts = [str(fact) for fact in call.inputs.get("facts") or ()]
    cited = [facts[number - 1] for number in call.outputs.get("cited") or () if 0 < number <= len(facts)]
    answers = [str(answer) for answer in call.outputs.get("answers") or ()]
    operation = call.outputs.get("operation", "none")
    if operation != "none":
        return _computed(case, str(operation), cited)
    if case.question.computed:
        return judged(case, answers)
    holding = [fact for fact in facts if case.names_answer(fact)]
    if not holding:
        told = "No fact holds the answer: leaving it empty is right. "
        return Scored(float(not answers), told if not answers else f"{told}{', '.join(answers)} is wrong. ")
    found = judged(case, answers)
    if found is None:
        return None
    proved = any(case.names_answer(fact) for fact in cited)
    missing = "" if proved else listed("No cited fact holds the answer; these do", holding)
    return Scored(found.score * (1.0 if proved else _UNPROVED), found.feedback + missing)


def judged(case: Case, answers: Sequence[str]) -> Scored | None:
    """Answers as texts against the right ones."""
    if not case.question.answers_known:
        return None
    given = [text for text in answers if text.strip() and text.strip().casefold() != "none"]
    if not case.gold.answers:
        return Scored(float(not given), "There is no answer to find. ")
    right = set_scores([Predicted(None, frozenset([comparable(text)])) for text in given], case.gold.answers)
    wanted = sorted(set(case.gold.texts))
    if right.f1 == 1:
        return Scored(1.0, "The answer is right. ")
    return Scored(right.f1, listed("The right answer is", wanted) + listed("Answered instead", given))


def _computed(case: Case, operation: str, cited: Sequence[str]) -> Scored:
    if case.question.computed and operation == "count":
        values = {value for fact in read_facts(cited) for value in fact.values}
        return judged(case, [str(len(values))]) or Scored(0.0)
    if case.question.computed:
        return Scored(float(bool(cited)), "" if cited else "No facts were cited to compute the answer from. ")
    held = any(case.names_answer(fact) for fact in cited)
    return Scored(float(held), "" if held else "The facts cited for the operation do not hold the answer. ")
