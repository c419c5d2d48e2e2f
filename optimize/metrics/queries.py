"""Queries that a model writes: a good one is one whose retrieval finds the answer."""

from __future__ import annotations

from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric


def asks_further(output: str) -> StepMetric:
    """1 where looking the text of a field up finds a right answer (`Case.found_by`)."""

    def score(call: StepCall, case: Case) -> Scored | None:
        if not case.gold.answers or case.question.computed:
            return None
        query = str(call.outputs.get(output) or "").strip()
        if not query:
            return Scored(0.0, "Nothing was asked. ")
        if case.found_by(query):
            return Scored(1.0, "What was asked for leads to the answer. ")
        return Scored(0.0, f"Looking up {query!r} does not find the answer. ")

    return score
