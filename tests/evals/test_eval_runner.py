from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import dspy
import eval_parts
import pytest
from eval_parts import Asking, OneHop, run, sources

from triplecheck.evals import Progress, Question, evaluate
from triplecheck.evals.run_directory import EvaluationDirectory
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.ranker import GENERAL
from triplecheck.lms import Budget, ModelUnavailableError, session
from triplecheck.programs import Sources
from triplecheck.programs.steps import Expanded, Trace

ASKED = [
    Question("capital", "capital of Q142", ("Paris",), ("France",), hops=1, kind="one"),
    Question("borders", "borders of Q142", ("Q183", "Q39"), ("Q142",), hops=1, kind="many"),
    Question("counted", "count borders of Q142", ("2",), ("Q142",), hops=1, kind="count"),
    Question("wrong", "wrong capital of Q142", ("Q90",), ("Q142",), hops=1, kind="one"),
    Question("unfiltered", "wrong unretrieved capital of Q142", ("Q90",), ("Q142",), hops=1),
    Question("unreached", "wrong unretrieved capital of Q142", ("Lamar",), ("Q142",), hops=2),
    Question("unlinked", "wrong unlinked unretrieved capital of Q142", ("Q90",), ("Q142",), hops=1),
    Question("abstained", "abstain capital of Q142", ("Q90",), ("Q142",), hops=1),
    Question("unreadable", "unreadable capital of Q142", ("Q90",), ("Q142",)),
    Question("crashed", "crash capital of Q142", ("Q90",), ("Q142",)),
    Question("no answer 1", "mayor of Q142"),
    Question("no answer 2", "capital of Q183"),
]
RIGHT = [Question(f"q{i}", "capital of Q142" if i % 2 else "borders of Q142", ("Q90",)) for i in range(40)]
TIMES = ("seconds", "seconds_outside_lm", "usage")


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_bytes().splitlines()]
    assert len({row["id"] for row in rows}) == len(rows), "no question has two rows"
    return {row["id"]: row for row in rows}


def timeless(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {id: {k: v for k, v in row.items() if k not in TIMES} for id, row in rows.items()}


def test_each_question_gets_its_row(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, ASKED, tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert {id: (row["status"], row["crag"], row["lost"]) for id, row in rows.items()} == {
        "capital": ("ok", "accurate", None),
        "borders": ("ok", "accurate", None),
        "counted": ("ok", "accurate", None),
        "wrong": ("ok", "hallucinated", "summarization"),
        "unfiltered": ("ok", "hallucinated", "filtering"),
        "unreached": ("ok", "hallucinated", "retrieval"),
        "unlinked": ("ok", "hallucinated", "linking"),
        "abstained": ("abstained", "missing", "abstained"),
        "unreadable": ("parse_error", "missing", "unreadable_reply"),
        "crashed": ("error", None, None),
        "no answer 1": ("abstained", "accurate", None),
        "no answer 2": ("ok", "hallucinated", "answered_unanswerable"),
    }
    assert {id: row["hits_at_1"] for id, row in rows.items() if row["hits_at_1"] != 0} == {
        "capital": 1,
        "borders": 1,
        "counted": 1,
        "crashed": None,
        "no answer 1": None,
        "no answer 2": None,
    }
    assert rows["crashed"]["error"] == {"kind": "ZeroDivisionError", "message": "it broke"}
    assert [step["kind"] for step in rows["crashed"]["steps"]] == ["linked"]
    assert rows["borders"]["answers"] == [{"id": "Q183", "label": "Germany"}, {"id": "Q39", "label": "Switzerland"}]
    assert rows["unlinked"]["link_recall"] == 0
    assert rows["capital"]["retrieval_recall"] == 1


def test_the_summary_separates_coverage_and_score(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    summary = run(knowledge_base, ASKED, tmp_path / "out")
    scores = summary.scores
    assert scores.n == 12
    assert scores.coverage == pytest.approx(11 / 12)
    assert scores.status == {"abstained": 2, "error": 1, "ok": 8, "parse_error": 1}
    assert scores.errors == {"ZeroDivisionError": 1}
    assert scores.answerable == 9
    assert scores.hits_at_1 == pytest.approx(3 / 9)
    assert scores.accuracy == pytest.approx(4 / 11)
    assert scores.hallucination == pytest.approx(5 / 11)
    assert scores.missing == pytest.approx(2 / 11)
    assert scores.truthfulness == pytest.approx(-1 / 11)
    assert sum(scores.lost.values()) == 7
    assert summary.by_kind["one"].hits_at_1 == 0.5
    assert {name: group.n for name, group in summary.by_hops.items()} == {"1": 7, "2": 1}
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert written == json.loads(json.dumps(summary.to_json()))
    assert written["by_kind"]["many"]["f1"] == 1
    assert written["configuration"]["switches"] == {
        "abstain_below": None,
        "assist": "all",
        "closed_world": False,
        "demos": "worked",
        "grounded_only": False,
        "judge_proof": False,
        "order": "first",
        "prompts": "written",
        "verdict": "any",
    }
    assert written["configuration"]["knowledge_base"] == {"content_hash": knowledge_base.manifest.content_hash}


def test_more_workers_give_the_same_rows(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    for workers in (1, 4):
        run(knowledge_base, ASKED + RIGHT, tmp_path / f"{workers}", workers=workers)
    assert timeless(rows_of(tmp_path / "1")) == timeless(rows_of(tmp_path / "4"))


def test_workers_run_side_by_side_within_the_session(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    barrier = threading.Barrier(4, timeout=10)

    class Meeting(Asking):
        name = "meeting"

        def run(self, question: str, trace: Trace) -> Any:
            barrier.wait()
            return super().run(question, trace)

    asked = [Question(f"q{i}", f"w{i} capital of Q142", ("Q90",)) for i in range(8)]
    with session(eval_parts.SILENT) as ledger:
        summary = evaluate(Meeting(sources(knowledge_base)), asked, tmp_path / "out", workers=4)
    assert summary.scores.status == {"ok": 8}
    assert ledger.usage().calls == 8
    assert summary.scores.calls == 1
    assert summary.scores.tokens == 7


def test_progress_tells_score_and_time_to_go(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(knowledge_base, ASKED, tmp_path / "out", progress=seen.append)
    assert [p.done for p in seen] == list(range(1, 13))
    assert (seen[0].hits_at_1, seen[3].hits_at_1) == (1, 0.75)
    assert seen[-1].errors == 1
    assert seen[0].eta is not None and seen[0].eta > 0
    assert seen[-1].eta == 0
    again: list[Progress] = []
    run(knowledge_base, ASKED, tmp_path / "out", progress=again.append)
    assert [(p.done, p.kept) for p in again] == [(12, 11)]


# --- resume ----------------------------------------------------------------------------------------
def test_a_torn_last_line_is_redone(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, RIGHT[:5], tmp_path)
    before = rows_of(tmp_path)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    program = OneHop(sources(knowledge_base))
    run(knowledge_base, RIGHT[:5], tmp_path, program)
    assert program.asked == [RIGHT[4].question]
    assert timeless(rows_of(tmp_path)) == timeless(before)


def test_errors_are_tried_again_and_everything_else_is_kept(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, ASKED, tmp_path)
    program = OneHop(sources(knowledge_base))
    summary = run(knowledge_base, ASKED, tmp_path, program)
    assert program.asked == ["crash capital of Q142"]
    assert summary.scores.n == len(rows_of(tmp_path)) == 12


def test_an_error_that_another_try_ends_in_too_is_kept(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    asked = [Question("lasting", "uncomputable capital of Q142", ("Q90",)), *RIGHT[:2]]
    run(knowledge_base, asked, tmp_path)
    assert rows_of(tmp_path)["lasting"]["error"] == {
        "kind": "LastingError",
        "message": "nothing can be computed",
        "lasting": True,
    }
    program = OneHop(sources(knowledge_base))
    summary = run(knowledge_base, asked, tmp_path, program)
    assert (program.asked, summary.scores.status) == ([], {"error": 1, "ok": 2})


def test_a_changed_gold_answer_redoes_its_question_alone(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, RIGHT[:5], tmp_path)
    changed = [Question(RIGHT[0].id, RIGHT[0].question, ("Q183",)), *RIGHT[1:5]]
    program = OneHop(sources(knowledge_base))
    summary = run(knowledge_base, changed, tmp_path, program)
    assert program.asked == [RIGHT[0].question]
    assert summary.scores.hits_at_1 == pytest.approx(3 / 5)


def test_a_smaller_sample_costs_the_larger_one_nothing(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, RIGHT[:10], tmp_path)
    program = OneHop(sources(knowledge_base))
    assert run(knowledge_base, RIGHT[:3], tmp_path, program).scores.n == 3
    assert run(knowledge_base, RIGHT[:12], tmp_path, program).scores.n == 12
    assert len(program.asked) == 2


def test_an_option_that_is_nothing_is_as_one_that_was_not_there(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    run(knowledge_base, RIGHT[:3], tmp_path)
    program = OneHop(sources(knowledge_base))
    assert run(knowledge_base, RIGHT[:3], tmp_path, program, settings={"sample": None}).scores.n == 3
    assert program.asked == []


@pytest.mark.parametrize(
    ("switches", "options", "names"),
    [
        ({"order": "last"}, {}, 'switches.order was "first" and is now "last"'),
        ({"grounded_only": True}, {}, "switches.grounded_only"),
        ({}, {"settings": {"data": "other"}}, "settings.data"),
        ({}, {"knowledge_base": None}, "knowledge_base.content_hash"),
    ],
)
def test_rows_of_another_configuration_are_not_mixed_in(
    knowledge_base: KnowledgeBase, tmp_path: Path, switches: dict[str, Any], options: dict[str, Any], names: str
) -> None:
    run(knowledge_base, RIGHT[:2], tmp_path)
    before = (tmp_path / "rows.jsonl").read_bytes()
    program = OneHop(sources(knowledge_base), **switches)
    usual = {"roles": eval_parts.SILENT, "knowledge_base": knowledge_base}
    with pytest.raises(UserError, match=names):
        evaluate(program, RIGHT[:4], tmp_path, **{**usual, **options})
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_other_prompts_are_another_configuration(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    program = Asking(sources(knowledge_base))
    run(knowledge_base, RIGHT[:2], tmp_path, program)
    program.step.demos = [dspy.Example(question="a?", answer="b")]
    with pytest.raises(UserError, match="prompts was"):
        run(knowledge_base, RIGHT[:2], tmp_path, program)


def test_another_ranker_is_another_configuration(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    given = sources(knowledge_base)
    run(knowledge_base, RIGHT[:2], tmp_path, OneHop(given))
    with pytest.raises(UserError, match="rankers was null"):
        run(knowledge_base, RIGHT[:2], tmp_path, OneHop(given.with_ranker(GENERAL)))


def test_functions_are_part_of_the_configuration(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    def rainfall(city: str) -> float:
        """Millimetres of rain in a city."""
        return 3.5

    given = Sources.of(knowledge_base)
    run(knowledge_base, RIGHT[:2], tmp_path, OneHop(given))
    with pytest.raises(UserError, match="functions was null"):
        run(knowledge_base, RIGHT[:2], tmp_path, OneHop(given.with_functions([rainfall])))


def test_foreign_places_are_refused(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="holds no evaluation"):
        run(knowledge_base, RIGHT[:1], tmp_path / "mine")
    with pytest.raises(UserError, match="is a file"):
        run(knowledge_base, RIGHT[:1], tmp_path / "mine" / "thesis.txt")
    with (
        EvaluationDirectory(tmp_path / "busy", {}, {}),
        pytest.raises(UserError, match="another process is writing an evaluation"),
    ):
        run(knowledge_base, RIGHT[:1], tmp_path / "busy")


# --- limits ----------------------------------------------------------------------------------------
def test_a_question_over_time_is_an_error_and_is_stopped(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    hanging = Question("slow", "hang capital of Q142", ("Q90",))
    summary = run(knowledge_base, [hanging, *RIGHT[:4]], tmp_path, timeout=0.3)
    rows = rows_of(tmp_path)
    assert rows["slow"]["status"] == "error"
    assert rows["slow"]["error"]["kind"] == "QuestionTimeoutError"
    assert 0.3 <= rows["slow"]["seconds"] < 30
    assert Expanded.kind in {step["kind"] for step in rows["slow"]["steps"]}
    assert summary.scores.status == {"error": 1, "ok": 4}
    deadline = time.monotonic() + 30
    while any(thread.name.startswith("question") for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the program goes on although nobody waits for it"
        time.sleep(0.02)


def test_a_spent_budget_stops_the_run_and_keeps_its_rows(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    asked = [Question(f"q{i}", f"w{i} capital of Q142", ("Q90",)) for i in range(10)]
    program = Asking(sources(knowledge_base))
    summary = run(knowledge_base, asked, tmp_path, program, budget=Budget(calls=4))
    assert summary.stopped is not None and "budget of 4 calls" in summary.stopped
    assert summary.scores.status == {"not_run": 6, "ok": 4}
    assert summary.scores.coverage == 0.4
    assert summary.scores.hits_at_1 == 1
    summary = run(knowledge_base, asked, tmp_path, program, budget=Budget(calls=6), workers=3)
    assert (summary.stopped, summary.scores.coverage) == (None, 1)
    assert len(rows_of(tmp_path)) == 10


def test_usage_up_to_a_crash_is_counted(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    program = Asking(sources(knowledge_base), fails=frozenset(["capital of Q142"]))
    summary = run(knowledge_base, ASKED[:1], tmp_path, program)
    assert rows_of(tmp_path)["capital"]["usage"]["calls"] == 1
    assert summary.scores.totals["calls"] == 1
    assert summary.scores.calls is None


def test_a_run_stops_when_everything_is_out_of_reach(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    asked = [Question(f"q{i}", f"unavailable w{i} capital of Q142", ("Q90",)) for i in range(300)]
    summary = run(knowledge_base, asked, tmp_path)
    assert summary.stopped is not None and "the graph does not answer" in summary.stopped
    assert 10 <= summary.scores.status["error"] < len(asked)


def test_an_unavailable_model_is_rejected_before_anything_is_written(
    knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    with pytest.raises((ModelUnavailableError, UserError)):
        evaluate(OneHop(sources(knowledge_base)), RIGHT[:1], tmp_path / "out", roles="local/none")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bad", [{"workers": 0}, {"timeout": 0}, {"timeout": float("nan")}])
def test_bad_arguments_are_refused(knowledge_base: KnowledgeBase, tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        run(knowledge_base, RIGHT[:1], tmp_path / "out", **bad)
    with pytest.raises(UserError, match="two questions"):
        run(knowledge_base, [RIGHT[0], RIGHT[0]], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_a_model_wrote_is_kept_whatever_it_is(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    odd = Question("odd \u2028 id", "odd borders of Q142", ("2",))
    run(knowledge_base, [odd], tmp_path)
    program = OneHop(sources(knowledge_base))
    assert run(knowledge_base, [odd], tmp_path, program).scores.status == {"ok": 1}
    assert program.asked == []
    (row,) = (tmp_path / "rows.jsonl").read_bytes().strip().split(b"\n")
    assert json.loads(row)["answer"] == "half a pair: \ud83d \u2028 \x00"
