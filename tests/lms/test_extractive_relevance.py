"""Which direction of a relation a question asks for."""

from __future__ import annotations

import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.lms.extractive.question import read_question
from triplecheck.lms.extractive.relevance import PathRelevance
from triplecheck.signatures.notation import BACKWARD, FORWARD, WrittenHop


def relevance(question: str, topic: str) -> PathRelevance:
    return PathRelevance(read_question(question, [topic]), load_encoder().encode)


@pytest.mark.parametrize(
    ("question", "topic", "label", "arrow"),
    [
        ("What are the parts of a car?", "car", "part of", BACKWARD),
        ("What are the members of a jury?", "jury", "member of", BACKWARD),
        ("What is a finger part of?", "finger", "part of", FORWARD),
        ("What is the antonym of happy?", "happy", "antonym", FORWARD),
    ],
)
def test_parts_of_something_are_the_heads_of_part_of(question: str, topic: str, label: str, arrow: str) -> None:
    forward, backward = relevance(question, topic).paths(
        [(WrittenHop(label, FORWARD),), (WrittenHop(label, BACKWARD),)]
    )
    assert (BACKWARD if backward > forward else FORWARD) == arrow
