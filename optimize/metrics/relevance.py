"""Relevance: which passages were taken to help, against the gold documents, or else those that name an answer."""

from __future__ import annotations

from triplecheck.kg import normalize
from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric, listed, overlap
from triplecheck.programs.fourstepfocus.rerank import read_verdicts

_LEAST = 0.5
"""A score from which on a candidate is taken to be an answer."""


def helps(case: Case, passage: str) -> bool:
    """Whether a passage is one of the gold documents, or names an answer where those are not known."""
    titles = [normalize(title) for title in case.question.documents]
    if titles:
        words = f" {normalize(passage)} "
        return any(f" {title} " in words for title in titles if title)
    return case.names_answer(passage)


def selects_passages(output: str, offered: str = "passages") -> StepMetric:
    """F1 of the numbers in a field against the passages that help."""

    def score(call: StepCall, case: Case) -> Scored | None:
        if not case.gold.answers:
            return None
        passages = [str(passage) for passage in call.inputs.get(offered) or ()]
        wanted = {number for number, passage in enumerate(passages, 1) if helps(case, passage)}
        chosen = {int(number) for number in call.outputs.get(output) or ()}
        return Scored(
            overlap(chosen, wanted),
            listed("Left out, though it helps", [passages[number - 1][:200] for number in sorted(wanted - chosen)])
            + listed("Taken, though it does not help", [str(number) for number in sorted(chosen - wanted)])
            or "The right passages were selected. ",
        )

    return score


def judges_passage(call: StepCall, case: Case) -> Scored | None:
    """1 where the judgement of one passage is right."""
    if not case.gold.answers:
        return None
    right = helps(case, str(call.inputs.get("passage", "")))
    said = bool(call.outputs.get("helps"))
    return Scored(float(said is right), f"The passage {'helps' if right else 'does not help'}. ")


def judges_sufficiency(call: StepCall, case: Case) -> Scored | None:
    """1 where facts were said to suffice that name an answer, or not to where none does."""
    if not case.gold.answers or case.question.computed:
        return None
    right = any(case.names_answer(str(fact)) for fact in call.inputs.get("facts") or ())
    said = bool(call.outputs.get("sufficient"))
    return Scored(float(said is right), f"The facts {'hold' if right else 'do not hold'} the answer. ")


def scores_candidate(call: StepCall, case: Case) -> Scored | None:
    """How near the score of a candidate is to 1 for a right answer and to 0 for another."""
    if not case.gold.answers:
        return None
    right = case.names_answer(_name(str(call.inputs.get("candidate") or "")))
    given = min(1.0, max(0.0, float(call.outputs.get("score") or 0.0)))
    return Scored(1 - abs(float(right) - given), f"The candidate is {'' if right else 'not '}a right answer. ")


def scores_candidates(call: StepCall, case: Case) -> Scored | None:
    """F1 of the candidates that were given at least 0.5 against those that are right answers."""
    candidates = [str(text) for text in call.inputs.get("candidates") or ()]
    wanted = {n for n, text in enumerate(candidates, 1) if case.names_answer(_name(text))}
    if not wanted:
        return None
    verdicts = read_verdicts(call.outputs.get("verdicts") or (), len(candidates))
    chosen = {number for number, score in verdicts.items() if score.value is not None and score.value >= _LEAST}
    return Scored(
        overlap(chosen, wanted),
        listed("A right answer was scored low", [_name(candidates[n - 1]) for n in sorted(wanted - chosen)])
        + listed("A wrong one was scored high", [_name(candidates[n - 1]) for n in sorted(chosen - wanted)])
        or "The candidates were told apart. ",
    )


def _name(candidate: str) -> str:
    """The first line of a candidate is its name."""
    return candidate.partition("\n")[0]
