"""Clauses of the extractive engine: which are read by grammar, and which questions are left to similarity."""

from __future__ import annotations

import pytest

from triplecheck.lms.extractive.patterns import Clause, read_clauses

NAMES = [("tmux", "tmux"), ("Jane Roe", "Jane Roe"), ("libs", "libs"), ("c++", "c++"), ("role program", "program")]
RELATIONS = ["depends on / needs", "recommends", "maintained by / maintainer", "in section / section", "role"]
TYPES = ["package", "virtual package", "film", "maintainer"]


def patterns(question: str) -> list[tuple[str, str, str]]:
    found = read_clauses(question, NAMES, [*RELATIONS, "written by"], TYPES)
    return [(one.head, one.relation, one.tail) for one in found.patterns]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which package depends on tmux?", [("?x", "depends on", "tmux")]),
        ("Find a thing that depends on tmux", [("?x", "depends on", "tmux")]),
        ("Find packages that needed tmux", [("?x", "depends on", "tmux")]),
        ("Is there any package that tmux recommends?", [("tmux", "recommends", "?x")]),
        ("Show me a package whose maintainer is Jane Roe.", [("?x", "maintained by", "Jane Roe")]),
        ("Show me a package with the maintainer Jane Roe.", [("?x", "maintained by", "Jane Roe")]),
        ("Show me a package with Jane Roe as maintainer.", [("?x", "maintained by", "Jane Roe")]),
        ("What package is there that is the maintainer of tmux?", [("tmux", "maintained by", "?x")]),
        ("I need a package with the role program", [("?x", "role", "program")]),
        (
            "I need a package that is about video players, that is in section libs and that needs tmux.",
            [("?x", "in section", "libs"), ("?x", "depends on", "tmux")],
        ),
        (
            "Find a package that needs a virtual package that tmux recommends and that is in section libs.",
            [("?x", "depends on", "?y1"), ("tmux", "recommends", "?y1"), ("?x", "in section", "libs")],
        ),
        (
            "What package is there that a package that is maintained by Jane Roe recommends?",
            [("?y1", "maintained by", "Jane Roe"), ("?y1", "recommends", "?x")],
        ),
    ],
)
def test_a_clause_says_what_is_head_and_what_is_tail(question: str, expected: list[tuple[str, str, str]]) -> None:
    assert patterns(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "what genres do the films written by Jane Roe fall under",
        "who wrote the film that is written by Jane Roe",
        "when were the packages that depend on tmux released",
        "the maintainer of the package that needs tmux",
        "Find a package for films that are written by Jane Roe",
        "tmux's maintainer",
        "Which package?",
        "",
    ],
)
def test_what_is_not_said_of_the_type_asked_for_is_left_alone(question: str) -> None:
    assert patterns(question) == []


def test_variables_have_the_types_that_the_question_names() -> None:
    found = read_clauses("Find a package that needs a virtual package that tmux recommends.", NAMES, RELATIONS, TYPES)
    assert found.types == {"?x": "package", "?y1": "virtual package"}
    assert found.patterns[0] == Clause("?x", "depends on", "?y1")
