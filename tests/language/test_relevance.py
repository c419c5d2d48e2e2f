"""Which direction of a relation a question asks for, and what is at the end of a path."""

from __future__ import annotations

import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import load_ranker
from triplecheck.language.question import read_question
from triplecheck.language.relevance import PathRelevance
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


@pytest.mark.parametrize("with_ranker", [False, True])
@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Which rivers are in Norway?", ("located in", BACKWARD, "river"), ("shares border with", FORWARD, "country")),
        (
            "What money is used in Norway?",
            ("legal tender", FORWARD, "currency"),
            ("official language", FORWARD, "language"),
        ),
        ("Which city is Norway from?", ("home", FORWARD, "city"), ("nationality", FORWARD, "country")),
    ],
)
def test_the_type_at_the_end_of_a_path_speaks_for_it(
    question: str, right: tuple[str, str, str], wrong: tuple[str, str, str], with_ranker: bool
) -> None:
    ranker = load_ranker() if with_ranker else None
    paths = [(WrittenHop(label, arrow),) for label, arrow, _ in (right, wrong)]

    def lead(ends: list[str] | None) -> float:
        read = PathRelevance(read_question(question, ["Norway"]), load_encoder().encode, ranker)
        one, other = read.paths(paths, ends, ["Norway"] * 2)
        return float(one - other)

    assert lead([right[2], wrong[2]]) > lead(None) + 0.05
