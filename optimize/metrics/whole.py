"""The whole answer of a program, strictly."""

from __future__ import annotations

import dspy

from triplecheck.evals.gold import resolve_predicted
from triplecheck.evals.metrics import set_scores
from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.scored import Scored, listed
from triplecheck.programs import replay


def whole(case: Case, prediction: dspy.Prediction) -> Scored:
    """F1 of a program's answers against the right ones; 1 for an abstention where there is nothing to answer."""
    if not case.gold.answers:
        told = "There is no answer in the graph: abstaining is right. "
        return Scored(float(prediction.abstained), told if prediction.abstained else f"{told}It answered. ")
    given = resolve_predicted(prediction, case.graph)
    f1 = set_scores(given, case.gold.answers).f1
    if f1 == 1:
        return Scored(1.0, "The question was answered rightly. ")
    right = [case.graph.label(node) for node in sorted(case.answers)] or list(case.gold.texts)
    if not given:
        return Scored(f1, f"No answer was given ({prediction.reason}). " + listed("The right answer is", right))
    return Scored(f1, f"The answer given was {prediction.answer!r}. " + listed("The right answer is", right))


def proved(case: Case, prediction: dspy.Prediction) -> bool:
    """Whether an answer is wholly right and everything that it cites is in the graph: fit to be shown as an example."""
    return whole(case, prediction).score == 1 and not replay(case.graph, prediction.evidence)
