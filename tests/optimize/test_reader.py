"""The reader: a student of the answering step, trained on right replies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from distil_parts import traces

from triplecheck.kg import UserError
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.lms.prompt import Prompt
from triplecheck.lms.reader import Reading, load_reader, readings
from triplecheck.lms.reader.engine import reply_of
from triplecheck.lms.reader.model import FILE, for_reading
from triplecheck.optimize.distil.reader import DistilledReader, distil_reader, read_tasks
from triplecheck.optimize.distil.reader.examples import NOTHING, right_readings, without_answers
from triplecheck.optimize.distil.reader.tasks import ReaderTask
from triplecheck.optimize.distil.trace_ranker import answered
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import messages_key, row_messages
from triplecheck.signatures import AnswerFromFacts
from triplecheck.signatures.notation import read_facts


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
    messages = row_messages(AnswerFromFacts, inputs, outputs)
    return TraceRow(
        messages_key(messages),
        messages_key(messages[:-1]),
        f"q{number}",
        "kerag",
        "AnswerFromFacts",
        "answer",
        "gold",
        "gold",
        messages,
        split=split,  # type: ignore[arg-type]
        inputs=inputs,
        outputs=outputs,
    )


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


def ferries(graph: str = "sea") -> ReaderTask:
    return ReaderTask(
        graph, graph, tuple(map(ferry, range(150))), tuple(ferry(number, "dev") for number in range(200, 230))
    )


def prompt_of(one: TraceRow) -> Prompt:
    return answered(one).prompt


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
def sea(tmp_path_factory: pytest.TempPathFactory) -> DistilledReader:
    return distil_reader([ferries()], tmp_path_factory.mktemp("readers") / "sea")


def test_a_reader_learns_words_that_no_rule_knows(sea: DistilledReader) -> None:
    (about,) = sea.about["measured"]
    assert about["questions"] == 30
    assert about["read_by"]["reader"]["hits_at_1"] >= 0.9 > about["read_by"]["rules"]["hits_at_1"]


def test_a_reader_is_a_file_and_a_card(sea: DistilledReader) -> None:
    reader, one = load_reader(sea.path), ferry(301)
    reply = reply_of(reader, prompt_of(one), load_encoder())
    assert (reply["cited"], reply["answers"]) == ([1, 2], ["Town 301", "Port 301"])
    assert reader.about == sea.about
    text = (sea.path / "README.md").read_text("utf-8")
    assert "gold (150)" in text
    assert sea.table in text


def test_a_reader_is_trained_in_the_same_way_again(sea: DistilledReader, tmp_path: Path) -> None:
    again = distil_reader([ferries()], tmp_path / "again")
    one, other = load_reader(sea.path), load_reader(again.path)
    assert all(np.array_equal(one.weights[name], other.weights[name]) for name in one.weights)


def test_of_several_graphs_each_is_left_out(tmp_path: Path) -> None:
    made = distil_reader([ferries("sea"), ferries("lake")], tmp_path / "both")
    assert [set(one["read_by"]) for one in made.about["measured"]] == [
        {"rules", "reader", "reader, graph left out"}
    ] * 2
    assert (made.path / FILE).stat().st_size < 50_000


def test_a_folder_with_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no reader"):
        distil_reader([ferries()], tmp_path)


def test_traces_without_the_answering_step_are_refused(tmp_path: Path) -> None:
    few = traces(tmp_path / "few", [ferry(1), ferry(2)])
    with pytest.raises(UserError, match="right replies of the step AnswerFromFacts are too few"):
        read_tasks([few])
    other = traces(tmp_path / "other", [TraceRow.from_json(ferry(1).to_json() | {"signature": "SelectPaths"})])
    with pytest.raises(UserError, match=r"all that a reader does \(steps there: SelectPaths\)"):
        read_tasks([other])


@pytest.mark.parametrize("change", [b"", b"triplecheck"])
def test_a_damaged_reader_is_refused(sea: DistilledReader, tmp_path: Path, change: bytes) -> None:
    content = (sea.path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[: len(content) // 2] + change)
    with pytest.raises(UserError, match="holds no reader"):
        load_reader(tmp_path)
