"""`extractive` rewrites follow-up questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triplecheck.kg import normalize
from triplecheck.lms import RolePredict, session
from triplecheck.signatures import RewriteFollowUp
from triplecheck.signatures.conversation import write_turn

FOLDER = Path(__file__).parent
TURN = "Who directed Vertigo? Answer: Alfred Hitchcock"


def rewritten(conversation: list[str], question: str) -> str:
    with session("extractive"):
        return str(RolePredict(RewriteFollowUp, role="query")(conversation=conversation, question=question).rewritten)


@pytest.mark.parametrize(
    ("file", "least"),
    # The rules were written with the first file in sight. Of the second, 12 were right before anybody had looked.
    [("follow_ups.jsonl", 20), ("follow_ups_unseen.jsonl", 14)],
)
def test_most_follow_ups_over_the_bundled_graph_are_rewritten_rightly(file: str, least: int) -> None:
    cases = [json.loads(line) for line in (FOLDER / file).read_text("utf-8").splitlines()]
    found = [rewritten([write_turn(*turn) for turn in case["conversation"]], case["follow_up"]) for case in cases]
    right = [normalize(one) in map(normalize, case["right"]) for one, case in zip(found, cases, strict=True)]
    assert len(cases) == 20
    assert sum(right) >= least, [one for one, is_right in zip(found, right, strict=True) if not is_right]


def test_a_question_that_can_be_understood_alone_stays() -> None:
    assert rewritten([TURN], "Where was Marie Curie born?") == "Where was Marie Curie born?"
    assert rewritten([], "and her brother?") == "and her brother?"


def test_the_latest_turn_comes_first() -> None:
    assert rewritten([TURN, "Who wrote Dune? Answer: Frank Herbert"], "When did he die?") == (
        "When did Frank Herbert die?"
    )
    assert rewritten([TURN, "How high is Mount Kenya? Answer: 5199"], "When did he die?") == (
        "When did Alfred Hitchcock die?"
    )


@pytest.mark.parametrize("question", ["?", "...", "and", "it", "her", "\\1", "(", "What about"])
def test_whatever_is_typed_is_no_failure(question: str) -> None:
    assert isinstance(rewritten([TURN, "x Answer: none", "Answer: "], question), str)


@pytest.mark.parametrize(
    ("turn", "question", "whole"),
    [
        ("Wer gründete Nordby? Answer: Liv Berg", "Wo wurde sie geboren?", "Wo wurde Liv Berg geboren?"),
        ("Wer gründete Nordby? Answer: Liv Berg", "Was ist ihr Geburtsort?", "Was ist Liv Bergs Geburtsort?"),
        ("Was ist die Hauptstadt von Norland? Answer: Nordby", "Wer lebt dort heute?", "Wer lebt in Nordby heute?"),
        ("Wie groß ist Aro? Answer: 12", "Und Bry?", "Wie groß ist Bry?"),
        ("Was ist die Hauptstadt von Norland? Answer: Nordby", "Und von Aro?", "Was ist die Hauptstadt von Aro?"),
        ("Wie groß ist Aro? Answer: 12", "Wer gründete Nordby?", "Wer gründete Nordby?"),
    ],
)
def test_german_follow_ups_are_rewritten_by_the_words_of_german(turn: str, question: str, whole: str) -> None:
    with session("extractive", language="de"):
        assert rewritten([turn], question) == whole
