"""Each step is verified by itself, and what is left out is listed with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_stand_ins import ScriptedReply, scripted_model
from optimize_parts import GOOD, TAUGHT
from program_parts import conclude_with, keep, kerag, topics

from triplecheck.evals import Question
from triplecheck.kg import Direction, KnowledgeBase, UserError
from triplecheck.optimize.traces import TraceManifest, TraceRow, collect, read_traces
from triplecheck.optimize.traces.collector import refusal
from triplecheck.optimize.traces.derivations import Derivation
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.optimize.traces.kinds import MOST_TIMES, balanced, by_kind, kinds_of, row_kinds, selecting
from triplecheck.optimize.traces.reading import graph_of
from triplecheck.optimize.traces.records import JudgedStep
from triplecheck.programs.subgraph import Hop

ANSWER = GOOD[-1]


def gather(world: KnowledgeBase, out: Path, *replies: ScriptedReply, asked: Question = TAUGHT) -> TraceManifest:
    with scripted_model(list(replies)) as engine:
        manifest = collect(
            kerag(world), [asked], out, roles=engine.name, passes=["verified"], rejected=out / "no.jsonl"
        )
        assert engine.left == 0
    return manifest


def listed(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "no.jsonl").read_text("utf-8").splitlines()]


def test_a_step_below_its_metric_is_left_out_although_the_answer_is_right(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = gather(world, tmp_path, topics("Bernhard Heiden"), keep("student of", "born in"), keep(), ANSWER)
    assert manifest.passes["verified"]["kept"] == 1
    assert manifest.by_signature == {"AnswerFromFacts": 1, "NameTopics": 1, "SelectPaths": 1}
    assert manifest.left_out == {"below_metric": 1}
    (one,) = listed(tmp_path)
    assert (one["id"], one["run"], one["step"], one["reason"]) == ("taught", "verified", "SelectPaths", "below_metric")
    assert 0 < one["score"] < 1 and "Kept a relation that does not lead to the answer" in one["told"]
    assert len(one["outputs"]["keep"]) == 2


def test_stopping_is_taught(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = gather(world, tmp_path, topics("Bernhard Heiden"), keep("student of"), keep(), ANSWER)
    first, last = (row for row in read_traces(tmp_path) if row.signature == "SelectPaths")
    assert (first.kinds, last.kinds) == (("look-up",), ("look-up", "nothing selected"))
    assert last.outputs["keep"] == []
    assert manifest.kinds["SelectPaths"]["nothing selected"] == {"rows": 1, "share": 0.5}
    assert listed(tmp_path) == []


def test_a_step_after_a_wrong_one_is_judged_by_its_own_inputs(world: KnowledgeBase, tmp_path: Path) -> None:
    nothing = conclude_with(reasoning="No fact tells who taught Heiden.")
    manifest = gather(world, tmp_path, topics("Bernhard Heiden"), keep("born in"), keep(), nothing)
    assert manifest.passes["verified"]["rejected"] == {"abstained": 1}
    *_, answer = read_traces(tmp_path)
    assert answer.signature == "AnswerFromFacts" and answer.outputs["answers"] == [], "these facts do not tell it"
    assert [one["step"] for one in listed(tmp_path)] == ["SelectPaths"]


# --- the rule ------------------------------------------------------------------------------------
def judged(score: float | None, problem: str | None = None, kinds: tuple[str, ...] = (), **outputs: Any) -> JudgedStep:
    return JudgedStep("Step", "model", outputs, row("q", kinds), problem, score, "")


def row(id: str, kinds: tuple[str, ...] = (), split: str = "train", step: str = "Step") -> TraceRow:
    return TraceRow.from_json(
        {"key": id, "prompt": id, "id": id, "program": "p", "signature": step, "role": "answer", "source": "verified"}
        | {"model": "m", "messages": [], "split": split, "kinds": list(kinds)}
    )


FACTS = {"cited": [1], "operation": "none"}


@pytest.mark.parametrize(
    ("step", "whole", "assisted", "reason"),
    [
        (judged(1.0, keep=[1]), None, False, None),
        (judged(1.0, keep=[1]), "wrong", True, None),
        (judged(0.9, keep=[1]), None, False, "below_metric"),
        (judged(1.0, "cut", keep=[1]), None, False, "cut"),
        (judged(None, keep=[1]), None, False, None),
        (judged(None, keep=[1]), None, True, "assisted"),
        (judged(None, keep=[1]), "wrong", False, "wrong"),
        (judged(None, None, ("unanswerable",), keep=[1]), None, False, "unproved"),
        (judged(None, None, ("unanswerable",), keep=[]), None, False, None),
        (judged(1.0, answers=["a"], **FACTS), "cited_not_retrieved", False, "cited_not_retrieved"),
        (judged(1.0, answers=[], **FACTS), "abstained", False, None),
        (judged(1.0, answers=[], cited=[1], operation="count"), "wrong", False, "wrong"),
    ],
)
def test_a_step_is_learnt_if_its_metric_or_what_followed_proves_it(
    step: JudgedStep, whole: str | None, assisted: bool, reason: str | None
) -> None:
    assert refusal(step, whole, assisted=assisted) == reason


def test_without_known_answers_only_what_followed_counts() -> None:
    assert refusal(judged(0.0, keep=[1]), None, assisted=False, by_metric=False) is None
    assert refusal(judged(1.0, keep=[1]), "disagreed", assisted=False, by_metric=False) == "disagreed"


# --- kinds ---------------------------------------------------------------------------------------
def paths(*topics: int, hops: int = 1) -> tuple[GoldPath, ...]:
    return tuple(GoldPath(topic, (Hop(0, Direction.OUT),) * hops) for topic in topics)


@pytest.mark.parametrize(
    ("derivation", "kinds"),
    [
        (Derivation(paths(1)), ("look-up",)),
        (Derivation(paths(1, hops=2)), ("2 hops",)),
        (Derivation(paths(1), "count"), ("count",)),
        (Derivation(paths(1), "max", beyond=True), ("extreme",)),
        (Derivation(paths(1, 2), "max", beyond=True), ("two topics", "extreme")),
        (Derivation(paths(1, 2), said="yes"), ("two topics", "comparison")),
        (Derivation(paths(1, 2)), ("two topics", "conjunction")),
        (Derivation(paths(1), beyond=True), ("bound",)),
        (None, ("not derived",)),
    ],
)
def test_kinds_tell_how_the_answers_follow(derivation: Derivation | None, kinds: tuple[str, ...]) -> None:
    assert kinds_of(derivation, answerable=True, topics=1) == kinds


def test_a_question_without_answer_is_unanswerable() -> None:
    assert kinds_of(None, answerable=False, topics=2) == ("two topics", "unanswerable")
    assert row_kinds(("look-up",), {"reasoning": "x", "keep": []}) == ("look-up", "nothing selected")
    assert row_kinds(("look-up",), {"reasoning": "x"}) == ("look-up",)


def test_rows_of_rare_kinds_count_more_than_once() -> None:
    rows = [row(f"a{n}", ("look-up",)) for n in range(27)] + [row(f"b{n}", ("count",)) for n in range(2)]
    rows += [row("c", ("extreme",)), row("d", ("count",), "dev"), *(row(f"e{n}", step="Other") for n in range(3))]
    found = {one.id: one.times for one in balanced(rows, 0.1)}
    assert {found[f"a{n}"] for n in range(27)} == {1}
    assert found["b0"] == found["b1"] == 2
    assert (found["c"], found["d"], found["e0"]) == (MOST_TIMES, 1, 1)
    shares = by_kind(balanced(rows, 0.1))["Step"]
    assert shares["count"] == {"rows": 2, "share": pytest.approx(4 / 35, abs=1e-4)}
    assert shares["extreme"]["share"] < 0.12
    assert balanced(rows, 0.0) == rows


def test_a_fifth_of_the_rows_of_a_step_select_nothing() -> None:
    def nothing(id: str, split: str = "train") -> TraceRow:
        return replace(row(id, ("nothing selected",), split), key=f"{ord(id[-1]) * 7 % 10}{id}")

    rows = [nothing(f"n{n}") for n in range(9)] + [row(f"a{n}") for n in range(12)] + [nothing("d", "dev")]
    kept, over = selecting(rows)
    assert len(over) == 6 and kept == [one for one in rows if one not in over]
    assert selecting(rows[:9])[0] == [min(rows[:9], key=lambda one: one.key)], "one at least teaches to stop"
    assert selecting(rows[8:]) == (rows[8:], [])
    assert by_kind(balanced(kept, 0.1))["Step"]["nothing selected"]["share"] == pytest.approx(0.2)


def test_a_frequent_kind_is_not_repeated() -> None:
    rows = [row(f"b{n}", ("count",)) for n in range(5)]
    assert balanced(rows, 0.1) == rows == [replace(one, times=1) for one in rows]


# --- what is refused -----------------------------------------------------------------------------
def test_traces_of_another_version_or_graph_are_refused(
    world: KnowledgeBase, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    gather(world, tmp_path, topics("Bernhard Heiden"), keep("student of"), keep(), ANSWER)
    assert len(read_traces(tmp_path, graph_of(world))) == 4
    with pytest.raises(UserError, match=r"are of another graph .* collect on this knowledge base"):
        read_traces(tmp_path, graph_of(bundled))
    manifest = tmp_path / "manifest.json"
    for changes, said in (({"version": 2}, "version 2"), ({"format": "letters"}, "are of letters")):
        manifest.write_text(json.dumps(json.loads(manifest.read_text("utf-8")) | changes))
        with pytest.raises(UserError, match=f"{said}.* is read; collect them again"):
            read_traces(tmp_path)


def test_a_card_tells_the_scores_of_each_step(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = gather(world, tmp_path, topics("Bernhard Heiden"), keep("student of", "born in"), keep(), ANSWER)
    scores = manifest.scores["SelectPaths"]
    assert (scores["calls"], scores["scored"], scores["full"], scores["learnt"]) == (2, 2, 0.5, 1)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "| SelectPaths | 2 | 2 |" in card and "| 1 below_metric | the step's own metric gives less" in card
