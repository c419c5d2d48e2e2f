"""The reader: a student of the answering step, trained on right replies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distil_parts import answering_row
from typer.testing import CliRunner

from triplecheck.evals import read_questions
from triplecheck.kg import KnowledgeBase, UserError, build
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.lms import Roles, session
from triplecheck.lms.reader.engine import reply_of
from triplecheck.lms.reader.model import FILE, for_reading, load_reader
from triplecheck.lms.reader.readings import Reading, readings
from triplecheck.optimize.bundle import load_bundle, save_bundle
from triplecheck.optimize.distil import StudentReport, path_ranker
from triplecheck.optimize.distil.path_ranker import FURTHER
from triplecheck.optimize.distil.reader import HITS, distil_reader
from triplecheck.optimize.distil.reader.examples import NOTHING, right_readings, without_answers
from triplecheck.optimize.distil.trace_ranker import prompt_of
from triplecheck.optimize.students import resolve_students, taught
from triplecheck.optimize.traces import TraceRow
from triplecheck.programs import KERAG, Cascade
from triplecheck.signatures.notation import read_facts


@pytest.fixture(scope="module", autouse=True)
def short_training() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_ranker, "FURTHER", replace(FURTHER, epochs=5, least_steps=80))
        yield


def row(
    number: int,
    question: str,
    topics: list[str],
    facts: list[str],
    cited: list[int],
    answers: list[str],
    operation: str = "none",
    split: str = "train",
) -> TraceRow:
    inputs = {"question": question, "topics": topics, "facts": facts}
    outputs = {"reasoning": "The facts tell it.", "cited": cited, "operation": operation, "answers": answers}
    return answering_row(number, inputs, outputs, split)


def ferry(number: int, split: str = "train") -> TraceRow:
    """A question about a ferry, with the facts of its harbour, town and keeper."""
    name, harbour, towns = f"Ferry {number}", f"Harbour {number}", [f"Town {number}", f"Port {number}"]
    facts = [
        f"{name} → zork → {harbour}",
        f"{harbour} → plim → {' | '.join(towns)}",
        f"{name} → quax → Keeper {number}",
    ]
    match number % 3:
        case 0:
            return row(number, f"where does {name} rest", [name], facts, [1], [harbour], split=split)
        case 1:
            return row(number, f"what lies behind where {name} rests", [name], facts, [1, 2], towns, split=split)
        case _:
            return row(number, f"who looks after {name}", [name], facts, [3], [f"Keeper {number}"], split=split)


def ferries(graph: str = "sea", count: int = 150) -> dict[Path, list[TraceRow]]:
    return {Path(graph): [*map(ferry, range(count)), *(ferry(number, "dev") for number in range(200, 230))]}


def read(one: TraceRow) -> list[Reading]:
    return readings(prompt_of(one), load_encoder().encode, for_reading(load_ranker(GENERAL)))


def right(one: TraceRow) -> list[Reading]:
    found = read(one)
    chosen = right_readings(found, read_facts(one.inputs["facts"]), one.outputs)
    return [reading for reading, is_right in zip(found, chosen, strict=True) if is_right]


OWNED = ["Ek → owns → Gannet | Star", "Gannet → launched → 1897", "Star → launched → 1902"]


@pytest.mark.parametrize(
    ("one", "kind", "cited"),
    [
        (ferry(0), "look up", (1,)),
        (ferry(1), "look up", (1, 2)),
        (row(0, "How many ships does Ek own?", ["Ek"], OWNED, [1], [], "count"), "count", (1,)),
        (row(0, "Which ship of Ek is the oldest?", ["Ek"], OWNED, [2, 3], [], "min"), "min", (2, 3)),
        (row(0, "Who captains the ships of Ek?", ["Ek"], OWNED, [], []), "nothing", ()),
        (row(0, "Does Ek own the Star?", ["Ek", "Star"], OWNED, [1], ["yes"]), "yes", (1,)),
    ],
)
def test_the_teachers_reply_is_found_among_the_readings(one: TraceRow, kind: str, cited: tuple[int, ...]) -> None:
    assert {(reading.kind, reading.conclusion.cited) for reading in right(one)} == {(kind, cited)}


def test_two_conditions_are_read_as_what_they_share() -> None:
    facts = ["Holm ← born in ← Ann | Bea", "Lund ← lives in ← Bea | Cid"]
    one = row(0, "Who is born in Holm and lives in Lund?", ["Holm", "Lund"], facts, [1, 2], ["Bea"], "common")
    assert [reading.kind for reading in right(one)] == ["common"]


def test_without_the_facts_that_hold_the_answer_nothing_is_told() -> None:
    one = ferry(1)
    short = without_answers(prompt_of(one), one.outputs)
    assert short is not None
    assert short.items("facts") == [fact for at, fact in enumerate(one.inputs["facts"]) if at != 1]
    found = readings(short, load_encoder().encode, for_reading(load_ranker(GENERAL)))
    chosen = right_readings(found, read_facts(short.items("facts")), NOTHING)
    assert [reading.kind for reading, is_right in zip(found, chosen, strict=True) if is_right] == ["nothing"]


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> StudentReport:
    return distil_reader(ferries(), tmp_path_factory.mktemp("readers") / "sea")


def test_a_reader_learns_words_that_no_rule_knows(sea: StudentReport) -> None:
    scores = {one.what: one for one in sea.scores}
    assert scores[HITS].rows == 30 and scores[HITS].after >= 0.9 > scores[HITS].before
    assert scores["all answers right"].rows == 30 and len(scores) == 3


def test_a_reader_is_a_file_and_a_card(sea: StudentReport) -> None:
    reader, one = load_reader(sea.file), ferry(301)
    reply = reply_of(reader, prompt_of(one), load_encoder())
    assert (reply["cited"], reply["answers"]) == ([1, 2], ["Town 301", "Port 301"])
    assert reader.about == sea.details == json.loads((sea.file / "card.json").read_text("utf-8"))
    text = (sea.file / "README.md").read_text("utf-8")
    assert text == sea.markdown() and "| teacher | gold 150 |" in text


def test_a_reader_is_trained_in_the_same_way_again(sea: StudentReport, tmp_path: Path) -> None:
    again = distil_reader(ferries(), tmp_path / "again")
    one, other = load_reader(sea.file), load_reader(again.file)
    assert all(np.array_equal(one.weights[name], other.weights[name]) for name in one.weights)


def test_a_reader_that_learnt_from_the_same_rows_is_there_already(sea: StudentReport, tmp_path: Path) -> None:
    shutil.copytree(sea.file, tmp_path / "sea")
    before = (tmp_path / "sea" / FILE).stat().st_mtime_ns
    same = distil_reader(ferries(), tmp_path / "sea")
    assert (same.details, same.scores) == (sea.details, sea.scores)
    assert (tmp_path / "sea" / FILE).stat().st_mtime_ns == before
    assert distil_reader(ferries(count=120), tmp_path / "sea").details["replies"] == 120


def test_of_several_graphs_each_is_left_out(tmp_path: Path) -> None:
    made = distil_reader(ferries("sea") | ferries("lake"), tmp_path / "both")
    compared = [(Path(one.on).name, one.before_is, one.after_is) for one in made.scores if one.what == HITS]
    readers = ("reader, graph left out", "reader")
    assert compared == [(graph, "rules", reader) for graph in ("sea", "lake") for reader in readers]
    assert (made.file / FILE).stat().st_size < 50_000


def test_a_folder_with_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no reader"):
        distil_reader(ferries(), tmp_path)


def test_traces_without_the_answering_step_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="right replies of the step AnswerFromFacts are too few"):
        distil_reader({Path("few"): [ferry(1), ferry(2)]}, tmp_path)
    with pytest.raises(UserError, match=r"all that a reader does \(steps there: SelectPaths\)"):
        distil_reader({Path("other"): [replace(ferry(1), signature="SelectPaths")]}, tmp_path)


def test_replies_that_do_not_follow_from_the_facts_teach_nothing(tmp_path: Path) -> None:
    facts = ["Ferry 1 → zork → Quay 1"]
    rows = [row(number, "who built it", ["Ferry 1"], facts, [1], ["Noah"]) for number in range(90)]
    with pytest.raises(UserError, match="in 0 right replies alone"):
        distil_reader({Path("sea"): rows}, tmp_path / "sea")


@pytest.mark.parametrize("change", [b"", b"triplecheck"])
def test_a_damaged_reader_is_refused(sea: StudentReport, tmp_path: Path, change: bytes) -> None:
    content = (sea.file / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[: len(content) // 2] + change)
    with pytest.raises(UserError, match="holds no reader"):
        load_reader(tmp_path)


TRIPLES = [
    *((f"Ferry{n:02}", "zork", f"Quay{n % 20:02}") for n in range(40)),
    *((f"Ferry{n:02}", "quax", f"Keeper{n % 7:02}") for n in range(40)),
    *((f"Quay{n:02}", "plim", f"Town{n % 5:02}") for n in range(20)),
]
QUESTIONS = [
    {"id": f"{kind}{n}", "question": text.format(n), "topic": [f"Ferry{n:02}"], "answers": [end.format(n % 20 % size)]}
    for kind, text, end, size in (
        ("a", "Where does Ferry{:02} rest?", "Quay{:02}", 20),
        ("b", "What lies behind where Ferry{:02} rests?", "Town{:02}", 5),
    )
    for n in range(40)
]


@pytest.fixture(scope="module")
def commanded(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, dict[str, Any], Path]:
    """A graph, and what the command says of the reader that it trained on it."""
    from triplecheck.app.main import app

    folder = tmp_path_factory.mktemp("ferries")
    kb = build(TRIPLES, folder / "ferries")
    asked = folder / "asked.jsonl"
    asked.write_text("".join(f"{json.dumps(one)}\n" for one in QUESTIONS), "utf-8")
    words = ["distill", "--student", "reader", "--kb", kb.path, "--questions", asked, "--out", folder / "out", "--json"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return kb, json.loads(done.stdout), folder


def test_the_command_trains_on_a_graph_and_its_questions(
    commanded: tuple[KnowledgeBase, dict[str, Any], Path],
) -> None:
    _, about, folder = commanded
    assert about["student"] == "reader" and about["details"]["graphs"] == ["ferries"]
    hits = [one for one in about["scores"] if one["what"] == HITS]
    assert [Path(one["on"]).parent.name for one in hits] == ["right", "distracted"]
    assert min(one["after"] for one in hits) >= 0.9
    assert about["model"] == f"student/{folder / 'out' / 'reader'}"
    assert about["learnt"]["by_step"] == {"AnswerFromFacts": about["learnt"]["rows"]}
    written = json.loads((folder / "out" / "reader.report.json").read_text("utf-8"))
    assert written | {"exported": []} == about
    assert "all-MiniLM-L6-v2 (Apache-2.0)" in (folder / "out" / "reader.report.md").read_text("utf-8")


def test_a_reader_takes_the_role_of_answering_or_all_roles(
    commanded: tuple[KnowledgeBase, dict[str, Any], Path],
) -> None:
    kb, about, _ = commanded
    program, asked = KERAG(kb, assist="none"), "What lies behind where Ferry07 rests?"
    with session(Roles(answer=about["model"])) as ledger:
        assert program(question=asked).answer == "Town02"
    assert {model for role, model in ledger.rows() if role == "answer"} == {about["model"]}
    with session(about["model"]):
        assert program(question=asked).answer == "Town02"


def test_compile_trains_a_reader_for_the_role_of_answering(
    commanded: tuple[KnowledgeBase, dict[str, Any], Path], tmp_path: Path
) -> None:
    kb, _, folder = commanded
    (entry,), asked = resolve_students(["reader"]), read_questions(folder / "asked.jsonl")
    found = taught(entry, kb, asked, tmp_path / "reader")
    assert entry.role == "answer" and found.model is not None and " to 1.00 on " in found.note
    with session(Roles(answer=found.model)):
        assert KERAG(kb, assist="none")(question="What lies behind where Ferry07 rests?").answer == "Town02"
    with pytest.raises(UserError, match="are too few to train a reader"):
        taught(entry, kb, asked[:5], tmp_path / "few")


def test_a_bundle_holds_its_reader(commanded: tuple[KnowledgeBase, dict[str, Any], Path], tmp_path: Path) -> None:
    kb, _, folder = commanded
    copied = shutil.copytree(folder / "out" / "reader", tmp_path / "reader")
    bundle = save_bundle(KERAG(kb), tmp_path / "bundle", Roles(answer=f"student/{copied}"))
    shutil.rmtree(copied)
    there = shutil.move(bundle, tmp_path / "elsewhere")
    roles = load_bundle(there).roles
    assert Path(roles.model("answer").removeprefix("student/")).is_relative_to(there)
    with session(roles):
        assert load_bundle(there).program(kb)(question="What lies behind where Ferry07 rests?").answer == "Town02"


def test_a_reader_is_a_member_of_a_cascade(commanded: tuple[KnowledgeBase, dict[str, Any], Path]) -> None:
    kb, about, _ = commanded
    program = KERAG(kb, assist="none")
    cascade = Cascade([(program, about["model"]), (program, "extractive")])
    given = cascade(question="What lies behind where Ferry07 rests?")
    assert given.answer == "Town02"
