"""What traces tell: the turn at which a loop stopped, and what became of each source's references."""

from __future__ import annotations

from typing import Any

import pytest

from triplecheck.evals.metrics.trace import reference_sources, stopped_at, supervision, theta_0
from triplecheck.programs.know3rag.reliability import threshold
from triplecheck.programs.steps import Checked, Consulted, TraceEvent, Weighed


def row(*steps: TraceEvent) -> dict[str, Any]:
    return {"steps": [step.to_json() for step in steps]}


def weighed(turn: int, decision: str) -> Weighed:
    return Weighed(turn, "an answer", [], None, "", 1.0, decision)


def consulted(origin: str, verdict: str, relevant: bool | None = None, turn: int = 1) -> Consulted:
    return Consulted(turn, origin, "a text", relevant, None, verdict)


def test_a_question_counts_at_the_turn_whose_answer_was_output() -> None:
    rows = [
        row(weighed(0, "sure")),
        row(weighed(0, "go_on"), weighed(1, "go_on"), weighed(2, "last_turn")),
        row(weighed(0, "go_on"), weighed(1, "go_on"), weighed(2, "sure")),
        row(weighed(0, "sure")),
        row(),  # stopped by an error before there was an answer
    ]
    assert stopped_at(rows) == {"t = 0": {"share": 0.5}, "t = 1": {"share": 0.0}, "t = 2": {"share": 0.5}}


def test_without_a_loop_there_are_no_turns() -> None:
    assert stopped_at([row()]) == {} == reference_sources([row()])


def test_theta_0_is_read_from_the_threshold_of_the_first_answer() -> None:
    def judged(turn: int, c: float) -> Weighed:
        return Weighed(turn, "an answer", [], 2.0, "", threshold(0.25, turn, c), "go_on")

    assert theta_0([row(), row(judged(0, 128.0), judged(1, 128.0))]) == pytest.approx(0.25)
    assert theta_0([row(judged(0, 10.0))], c=10.0) == pytest.approx(0.25)
    assert theta_0([row()]) is None


def test_scores_of_answers_and_new_passages_are_counted() -> None:
    scored = Weighed(1, "an answer", [], 2.0, "", 1.0, "last_turn")
    rows = [
        row(weighed(0, "go_on"), consulted("corpus", "kept", True), consulted("corpus", "repeated"), scored),
        row(weighed(0, "go_on"), Consulted(1, "corpus", "a text", False, 0.5, "irrelevant"), weighed(1, "last_turn")),
    ]
    found = supervision(rows)
    assert found is not None and found.scores and not found.missing
    assert str(found) == (
        "an answer to 1 of 2 questions and 1 of 2 passages have a score; 1 of 2 passages are judged relevant"
    )
    nothing = supervision([row(Checked("embeddings", False, "there are none"), weighed(0, "last_turn"))])
    assert nothing is not None and not nothing.scores and nothing.missing == "there are none"
    assert supervision([row()]) is None


def test_declined_and_repeated_passages_are_counted_separately_from_used_ones() -> None:
    rows = [
        row(
            consulted("corpus", "kept", True),
            consulted("corpus", "irrelevant", False),
            consulted("corpus", "surplus", True),
            consulted("corpus", "repeated"),
            consulted("knowledge.1", "empty"),
            consulted("corpus", "kept", True, turn=2),
        ),
        row(consulted("knowledge.1", "kept", True), consulted("corpus", "kept", True)),
        row(),
    ]
    found = reference_sources(rows)
    assert list(found) == ["corpus", "knowledge.1"]
    assert found["corpus"] == pytest.approx(
        {"asked": 5 / 2, "declined": 0.0, "repeated": 1 / 5, "relevant": 3 / 4, "kept": 2 / 4}
    )
    assert found["knowledge.1"] == {"asked": 1.0, "declined": 0.5, "repeated": 0.0, "relevant": 1.0, "kept": 1.0}


def test_a_share_of_nothing_is_none() -> None:
    (found,) = reference_sources([row(consulted("knowledge.1", "empty"))]).values()
    assert found == {"asked": 1.0, "declined": 1.0, "repeated": None, "relevant": None, "kept": None}
    (found,) = reference_sources([row(consulted("corpus", "kept"))]).values()
    assert (found["relevant"], found["kept"]) == (None, 1.0)
