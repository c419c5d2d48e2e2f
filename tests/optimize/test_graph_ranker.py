"""Training of the ranker of paths on a graph and on traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError, build
from triplecheck.kg.ranker import GENERAL, load_ranker, save_ranker
from triplecheck.lms import session
from triplecheck.optimize.distil import path_ranker
from triplecheck.optimize.distil.graph_ranker import RankerOptions, TrainedRanker, train_into
from triplecheck.optimize.distil.path_ranker import FURTHER
from triplecheck.optimize.distil.trace_ranker import answered_questions, distil_ranker
from triplecheck.optimize.traces import TraceRow, collect, read_traces
from triplecheck.programs import KERAG, Sources

TRIPLES = [
    *((f"Mensch{n:02}", "wohnt in", f"Stadt{n % 20:02}") for n in range(40)),
    *((f"Mensch{n:02}", "gehört zu", f"Verein{n % 7:02}") for n in range(40)),
    *((f"Stadt{n:02}", "liegt in", f"Land{n % 5:02}") for n in range(20)),
]
QUESTIONS = [
    *(Question(f"a{n}", f"Wo wohnt Mensch{n:02}?", (f"Stadt{n % 20:02}",), (f"Mensch{n:02}",)) for n in range(40)),
    *(
        Question(f"b{n}", f"In welchem Staat lebt Mensch{n:02}?", (f"Land{n % 20 % 5:02}",), (f"Mensch{n:02}",))
        for n in range(40)
    ),
]
OPTIONS = RankerOptions(seed=3)


@pytest.fixture(scope="module", autouse=True)
def short_training() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_ranker, "FURTHER", replace(FURTHER, epochs=1, least_steps=60))
        yield


@pytest.fixture
def people(tmp_path: Path) -> KnowledgeBase:
    return build(TRIPLES, tmp_path / "people")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TrainedRanker:
    """A training that nothing interrupts."""
    return train_into(build(TRIPLES, tmp_path_factory.mktemp("whole") / "people"), QUESTIONS, OPTIONS)


def test_an_interrupted_training_is_resumed_and_ends_the_same(
    whole: TrainedRanker, people: KnowledgeBase, tmp_path: Path
) -> None:
    seen: list[tuple[str, int]] = []

    def until(what: str, done: int, total: int) -> None:
        seen.append((what, done))
        if what == "reading paths" and done == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_into(people, QUESTIONS, OPTIONS, until)
    (kept,) = (tmp_path / ".people.ranker").glob("*/paths.jsonl")
    assert len(kept.read_text("utf-8").splitlines()) == 30
    assert KnowledgeBase.open(people.path).ranker_file is None
    with kept.open("a", encoding="utf-8") as cut:
        cut.write('{"id": "half')
    resumed = train_into(people, QUESTIONS, OPTIONS)
    assert whole.stored is not None and resumed.stored is not None
    one, two = load_ranker(whole.stored), load_ranker(resumed.stored)
    assert all(np.array_equal(one.weights[name], two.weights[name]) for name in one.weights)
    assert one.fingerprint == two.fingerprint, "the time that it took is no part of it"
    assert whole.about["held_out"] == resumed.about["held_out"] and whole.about["weight"] == resumed.about["weight"]
    assert not (tmp_path / ".people.ranker").exists()


def test_labels_in_another_language_are_learned(whole: TrainedRanker) -> None:
    assert whole.stored is not None
    assert whole.about["held_out"]["after"] > whole.about["held_out"]["before"]
    assert whole.about["hops"] == 2 and whole.stored.stat().st_size < 5_000_000


def test_a_ranker_that_answers_fewer_questions_is_not_stored(
    people: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, small = people, replace(FURTHER, epochs=1, least_steps=60, rate=0.5)
    monkeypatch.setattr(path_ranker, "FURTHER", small)
    easy = [Question(f"q{n}", f"Mensch{n % 40:02} wohnt in?", (f"Stadt{n % 20:02}",)) for n in range(80)]
    trained = train_into(kb, easy, OPTIONS)
    assert (trained.stored is None) == (trained.gains < 0)
    assert (KnowledgeBase.open(kb.path).ranker_file is None) == (trained.gains < 0)


def test_a_graph_with_one_relation_can_be_trained_on(tmp_path: Path) -> None:
    kb = build([(f"N{n:02}", "glim", f"M{n:02}") for n in range(70)], tmp_path / "one")
    questions = [Question(f"q{n}", f"What is the glim of N{n:02}?", (f"M{n:02}",)) for n in range(70)]
    assert train_into(kb, questions, OPTIONS).about["hops"] == 1


def test_questions_whose_answers_no_path_leads_to_are_counted_and_refused(people: KnowledgeBase) -> None:
    lost = [replace(question, answers=("Atlantis",)) for question in QUESTIONS]
    with pytest.raises(UserError, match="80 questions are too few to train a ranker; only 0 of 64 have a path"):
        train_into(people, lost, OPTIONS)


def test_a_base_that_is_replaced_meanwhile_gets_no_ranker(people: KnowledgeBase) -> None:
    def replacing(what: str, done: int, total: int) -> None:
        if what == "measuring after" and done == 1:
            build(TRIPLES[:50], people.path)

    with pytest.raises(Exception, match="replaced or changed"):
        train_into(people, QUESTIONS, OPTIONS, replacing)
    assert KnowledgeBase.open(people.path).ranker_file is None


def test_a_ranker_of_another_encoder_names_the_way_out(people: KnowledgeBase, tmp_path: Path) -> None:
    foreign, general = tmp_path / "foreign.safetensors", load_ranker(GENERAL)
    save_ranker(general.weights, "other", {"weight": 1, "hops": 2}, foreign)
    program = KERAG(Sources(people.graph, people.linker, people.relation_vectors, people, foreign))
    with pytest.raises(UserError, match="trained with another sentence encoder"):
        program(question="Wo wohnt Mensch01?")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    people = build(TRIPLES, folder / "people")
    collect(KERAG(people), QUESTIONS, folder / "traces", knowledge_base=people, passes=["gold"])
    return folder / "traces"


def test_a_ranker_is_distilled_from_traces(
    traces: Path, people: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_ranker, "FURTHER", replace(FURTHER, least_steps=100))
    out = tmp_path / "adapters+more" / "people.safetensors"
    report = distil_ranker(read_traces(traces), out, traces=[traces])
    about: Any = report.details
    (score,) = report.scores
    assert score.after >= score.before and score.after_interval[0] <= score.after <= score.after_interval[1]
    assert report.learnt.by_step == {"AnswerFromFacts": report.learnt.rows} and report.learnt.by_model.keys() == {
        "gold"
    }
    assert f"ranker: `{report.model}`" in out.with_name("people.report.md").read_text("utf-8")
    assert about["questions"] >= 50 and about["hops"] == 2
    assert load_ranker(out).about == about
    answer = KERAG(people)(question="In welchem Staat lebt Mensch07?").answer
    with session(report.model):
        assert KERAG(people)(question="In welchem Staat lebt Mensch07?").answer == "Land02" != answer


def test_where_no_row_is_held_out_some_questions_are(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_ranker, "FURTHER", replace(FURTHER, least_steps=1))
    rows = [replace(row, split="train") for row in read_traces(traces)]
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        report = distil_ranker(rows, tmp_path / "people.safetensors")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    (score,) = report.scores
    assert score.rows > 0 and report.learnt.rows + 2 * score.rows <= len(rows) + 1


def test_the_answers_of_traces_stand_in_for_known_ones(traces: Path) -> None:
    known = {question.question: question.answers for question in QUESTIONS}
    asked = answered_questions(read_traces(traces))
    assert len(asked) >= 70
    assert all(one.answers == known[one.question] for one in asked)


def test_questions_with_several_or_computed_answers_are_left_out(traces: Path) -> None:
    (first, *_), (row, *_) = (
        [row for row in read_traces(traces) if row.signature == "AnswerFromFacts" and row.id == id]
        for id in ("a1", "a2")
    )

    def replying(**outputs: Any) -> TraceRow:
        return replace(row, outputs={**row.outputs, **outputs})

    assert [one.id for one in answered_questions([first, row])] == ["a1", "a2"]
    assert [one.id for one in answered_questions([first, row, replying(answers=["Stadt03"])])] == ["a1"]
    assert [one.id for one in answered_questions([first, replying(operation="count")])] == ["a1"]
    assert [one.id for one in answered_questions([first, replying(answers=[])])] == ["a1"], "nothing is no answer"


def test_empty_traces_are_refused(traces: Path, tmp_path: Path) -> None:
    rows = [row for row in read_traces(traces) if row.signature != "AnswerFromFacts"]
    with pytest.raises(UserError, match=r"0 answers that cite a path, too few .* collect at least 50"):
        distil_ranker(rows, tmp_path / "r.safetensors")
    assert not (tmp_path / "r.safetensors").exists()
