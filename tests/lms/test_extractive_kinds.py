"""When asks for a date, who and where for a thing."""

from __future__ import annotations

import pytest

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG


@pytest.mark.parametrize(
    ("question", "answer"),
    [("When was Rosalind Franklin born?", "1920-07-25"), ("Where was Rosalind Franklin born?", "London")],
)
def test_the_kind_of_the_question_word_decides(bundled: KnowledgeBase, question: str, answer: str) -> None:
    assert KERAG(bundled)(question=question).answer == answer
