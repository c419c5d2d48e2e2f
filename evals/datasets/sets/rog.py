"""WebQSP and CWQ as RoG gives them on the hub (Luo et al. 2024, arXiv 2310.01061): names in place of ids."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import question, required, texts
from triplecheck.evals.datasets.spec import Row
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question with the names of its topics and answers; an empty list of answers: there are none."""
    return question(
        id=required(row, "id"),
        question=required(row, "question"),
        answers=texts(row.get("answer")),
        topic=texts(row.get("q_entity")),
    )
