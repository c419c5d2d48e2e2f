"""Where triplets mislead: each question by the search alone and with patterns before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from skb_parts import debian

from triplecheck.evals import Question, evaluate
from triplecheck.evals.experiments.config import read_experiment
from triplecheck.evals.experiments.report import write_report
from triplecheck.evals.experiments.run import Selection, SetOpener, run_experiment
from triplecheck.evals.prefilter import DEPTH, Prefiltered, prefiltered, relations_at_fault
from triplecheck.evals.questions import write_questions
from triplecheck.evals.run_directory import read_rows
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles
from triplecheck.programs import FourStepFocus, Program, Sources
from triplecheck.programs.baselines.ranking import BM25

# Of these terminal multiplexers tmux is in section admin, screen in misc.
QUESTIONS = [
    Question(
        "misled", "I need a package that is in section admin and mentions VT100/ANSI terminal emulation.", ("screen",)
    ),
    Question("path", "Find a package that suggests a package that depends on python3.", ("screen",)),
    Question("alike", "Find a package that mentions VT100.", ("screen",)),
]
EXPERIMENT = """
title = "Small"
[data.small]
kb = "{kb}"
questions = "{questions}"
[data.not-made]
kb = "{kb}"
questions = "nowhere.jsonl"
[[tables]]
name = "misled"
title = "Where triplets mislead"
layout = "misled"
data = ["small", "not-made"]
rows = [{{ label = "BM25", program = "bm25" }}, {{ label = "4StepFocus", program = "4stepfocus" }}]
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return debian(tmp_path_factory.mktemp("debian"))


@pytest.fixture(scope="module")
def found(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prefiltered]:
    def rows(program: Program) -> list[dict[str, Any]]:
        out = tmp_path_factory.mktemp(program.name)
        evaluate(program, QUESTIONS, out, roles=Roles("extractive"), knowledge_base=kb)
        return list(read_rows(out))

    alone, with_patterns = rows(BM25(Sources.of(kb))), rows(FourStepFocus(Sources.of(kb), search="bm25"))
    return {one.id: one for one in prefiltered(alone, with_patterns, kb)}


def test_a_pattern_that_leaves_out_every_right_answer_is_at_fault(found: dict[str, Prefiltered]) -> None:
    one = found["misled"]
    assert one.at_fault == ("?x a <package> ; <in section> <admin>",)
    assert (one.left, one.alone, one.effect) == (1, 1, "hurt")
    assert one.place is not None and one.place > 1
    assert relations_at_fault(found.values()) == {"in section": 1}


def test_patterns_that_let_a_right_answer_through_are_not(found: dict[str, Prefiltered]) -> None:
    assert (found["path"].left, found["path"].place, found["path"].at_fault) == (1, 1, ())


def test_where_patterns_are_no_filter_none_is_at_fault(found: dict[str, Prefiltered]) -> None:
    assert (found["alike"].left, found["alike"].at_fault, found["alike"].effect) == (None, (), "same")


@pytest.mark.parametrize(
    ("alone", "place", "effect"),
    [
        (1, 2, "hurt"),
        (1, None, "hurt"),
        (3, 1, "helped"),
        (None, DEPTH, "helped"),
        (2, 2, "same"),
        (None, None, "same"),
    ],
)
def test_a_question_is_helped_if_its_first_correct_answer_ranks_higher(
    alone: int | None, place: int | None, effect: str
) -> None:
    assert Prefiltered("id", "question", (), alone, place, None).effect == effect


def test_the_report_shows_shares_faults_and_examples(kb: KnowledgeBase, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    write_questions(QUESTIONS, questions)
    path = tmp_path / "small.toml"
    path.write_text(EXPERIMENT.format(kb=kb.path, questions=questions), "utf-8")
    experiment, missing = read_experiment(path), list[str]()
    opener = SetOpener(None, tmp_path, missing.append)
    cells = run_experiment(experiment, opener, tmp_path / "runs")
    report = write_report(experiment, cells, tmp_path / "report").read_text("utf-8")
    assert "| 4StepFocus | 3 |" in report
    assert "At fault: in section (1)." in report
    assert "`?x a <package> ; <in section> <admin>`; nodes that satisfy all patterns: 1" in report
    assert missing == ["not-made: no questions nowhere.jsonl; `triplecheck data generate` or `synthesize` makes some"]

    cells = run_experiment(experiment, opener, tmp_path / "runs", Selection(only=["4StepFocus"]))
    report = write_report(experiment, cells, tmp_path / "part").read_text("utf-8")
    assert "run 'BM25' and another row to compare them" in report
