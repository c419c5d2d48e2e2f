"""A model learns from its own verified chains of thought."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distil_parts import gold_row, reply, tiny_llama, traces
from typer.testing import CliRunner

from triplecheck.kg import UserError
from triplecheck.lms.local.weights import find_weights
from triplecheck.optimize.distil import DistilOptions, tasks
from triplecheck.optimize.distil.lesson import Lesson, LoraOptions
from triplecheck.optimize.distil.lora import distil_lora
from triplecheck.optimize.distil.lora.forms import BASE, CHAIN, TUNED, KeptBackend, replies
from triplecheck.optimize.distil.lora.verify import first_is_right, problem_of_answer, problem_of_reply
from triplecheck.optimize.traces import TraceRow

FACTS = [
    "Alien → directed by → Ridley Scott",
    "Alien → starring → Sigourney Weaver | John Hurt",
    "Ridley Scott → born in → South Shields",
    "Aliens → release year → 1986",
    "Alien → release year → 1979",
]


def asked(question: str, right: dict[str, Any], facts: list[str] = FACTS) -> TraceRow:
    return replace(gold_row(0), inputs={"question": question, "topics": ["Alien"], "facts": facts}, outputs=right)


DIRECTED = "Alien was directed by Ridley Scott."
BORN = f"{DIRECTED} Ridley Scott was born in South Shields."


@pytest.mark.parametrize(
    ("given", "right", "problem"),
    [
        (reply([1], answers=("Ridley Scott",), reasoning=DIRECTED), reply([1], answers=("Ridley Scott",)), None),
        (
            reply([1], answers=("ridley scott",), reasoning="I look."),
            reply([1], answers=("Ridley Scott",)),
            "fact_not_named",
        ),
        (reply([2], answers=("Ridley Scott",)), reply([1], answers=("Ridley Scott",)), "not_cited"),
        (reply([1, 3], answers=("South Shields",), reasoning=BORN), reply([1, 3], answers=("South Shields",)), None),
        (reply([1], answers=("Ridley Scott",)), reply([1, 3], answers=("South Shields",)), "wrong"),
        (reply([2], answers=("John Hurt",)), reply([2], answers=("Sigourney Weaver", "John Hurt")), "incomplete"),
        (
            reply([2], "count", reasoning="Alien has Sigourney Weaver and John Hurt starring."),
            reply([2], "count"),
            None,
        ),
        (reply([2], answers=("2",)), reply([2], "count"), "not_computed"),
        (reply([1], "count"), reply([2], "count"), "wrong"),
        (
            reply([4, 5], "max", reasoning="Aliens: release year 1986. Alien: release year 1979."),
            reply([4, 5], "max"),
            None,
        ),
        (reply([4, 5], "min"), reply([4, 5], "max"), "wrong"),
        (reply([4], "max"), reply([4, 5], "max"), "wrong"),
        (reply([], reasoning="No fact tells who wrote the music."), reply([]), None),
        (reply([1]), reply([]), "not_cited"),
        (reply([1], answers=("Ridley Scott",)), reply([]), "wrong"),
    ],
)
def test_a_reply_is_verified_by_its_prompt(given: dict[str, Any], right: dict[str, Any], problem: str | None) -> None:
    assert problem_of_reply(asked("Who wrote the music of Alien?", right), given) == problem


def test_the_note_that_tells_namesakes_apart_may_be_left_out() -> None:
    facts = ["Tchaikovsky → composed → Onegin (Opera)", "Pushkin → wrote → Onegin (Novel)"]
    row = asked("What did Tchaikovsky compose?", reply([1], answers=("Onegin (Opera)",)), facts)
    assert problem_of_answer(row, reply([1], answers=("Onegin",))) is None
    assert problem_of_answer(row, reply([2], answers=("Onegin",))) == "wrong"
    assert first_is_right(row, reply([1], answers=("Onegin", "Pushkin")))


def test_a_shared_value_is_computed_or_written() -> None:
    facts = ["Jane Roe ← plays for ← Ann | Bea", "Lund ← lives in ← Bea | Cid", "Ann → lives in → Holm"]
    row = asked("Who plays for Jane Roe and lives in Lund?", reply([1, 2], "common", ("Bea",)), facts)
    assert problem_of_answer(row, reply([1, 2], "common")) is None
    assert problem_of_reply(row, reply([1], answers=("Bea",))) == "not_computed"
    assert problem_of_answer(row, reply([1, 3], "common")) == "wrong"


def test_what_leads_to_the_compared_things_is_not_compared() -> None:
    facts = ["Ek → owns → Gannet | Star", "Gannet → launched → 1897", "Star → launched → 1902"]
    row = asked("Which is the oldest?", reply([2, 3], "min"), facts)
    assert problem_of_answer(row, reply([1, 2, 3], "min")) is None


def test_the_first_answer_counts_alone() -> None:
    row = asked("Who is in Alien?", reply([2], answers=("Sigourney Weaver", "John Hurt")))
    assert first_is_right(row, reply([2], answers=("John Hurt", "Ridley Scott")))
    assert not first_is_right(row, reply([2], answers=("Ridley Scott", "John Hurt")))
    assert not first_is_right(row, reply([]))
    for right in (reply([2], "count"), reply([])):
        assert first_is_right(replace(row, outputs=right), right)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("trl")
    texts = [message["content"] for number in range(3) for message in gold_row(number).messages]
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "llama", texts, 8192)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single row is enough."""
    monkeypatch.setattr(tasks, "LEAST_ROWS", 1)


STEPS = DistilOptions(rank=2, alpha=4, batch=4, max_steps=1, precision="float32", dev_rows=0)


@pytest.mark.usefixtures("few")
def test_chains_are_written_learnt_and_measured(base: Path, tmp_path: Path) -> None:
    rows = {
        Path("films"): [gold_row(0), gold_row(1), gold_row(2, "dev")],
        Path("towns"): [gold_row(3), gold_row(4, "dev")],
    }
    how = LoraOptions(samples=1, left_out=("towns",), bare=True)
    report = distil_lora(Lesson(rows, tmp_path, "mine", str(base), STEPS, how, "cpu"))
    about: Any = report.details
    assert about["chains"]["rows"] == 3 == about["chains"]["chains"] + about["chains"]["base"]
    assert sum(about["chains"]["greedy"].values()) == 3
    assert about["adapters"]["all"]["data"]["train"] == 3 and about["adapters"]["towns"]["data"]["train"] == 2
    forms = {(one["graph"], one["form"]) for one in about["answered"]}
    assert ("towns", "fine-tuned without this graph") in forms and (
        "films",
        "fine-tuned without this graph",
    ) not in forms
    assert {form for graph, form in forms if graph == "films"} >= {"base prompt", "chain of thought", "fine-tuned"}
    assert (report.student, report.model, report.learnt.rows) == ("lora", f"local/{tmp_path / 'mine'}", 3)
    compared = {(one.on, one.before_is, one.after_is, one.rows) for one in report.scores}
    assert ("films", "chain of thought", "fine-tuned", 1) in compared
    assert ("towns", "base prompt", "fine-tuned without this graph, base prompt", 1) in compared and len(compared) == 6
    written = json.loads((tmp_path / "mine.report.json").read_text("utf-8"))
    assert written["scores"] == json.loads(json.dumps(report.to_json()))["scores"]
    assert "| towns: 1 | all answers right | chain of thought 0" in (tmp_path / "mine.report.md").read_text("utf-8")
    assert (tmp_path / "mine" / "adapter_model.safetensors").is_file()
    lines = [json.loads(line) for line in (tmp_path / "mine.replies.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 2 * 3 + 2 * 6 + 2
    # The same call again writes nothing twice.
    kept = (tmp_path / "completions.jsonl").read_bytes()
    again: Any = distil_lora(Lesson(rows, tmp_path, "mine", str(base), STEPS, how, "cpu")).details
    assert (again["chains"], again["answered"]) == (about["chains"], about["answered"])
    assert (tmp_path / "completions.jsonl").read_bytes() == kept
    assert len((tmp_path / "mine.replies.jsonl").read_text("utf-8").splitlines()) == len(lines)


class Told:
    """Replies with the right text to each prompt."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def generate(self, prompts: Any) -> list[Any]:
        from triplecheck.lms.local.backend import Generated

        self.asked += prompts
        texts = [self.text(one) for one in prompts]
        return [Generated(text, 10, 5, "stop") for text in texts]

    def text(self, prompt: Any) -> str:
        names = [field.name for field in prompt.fields]
        values = {"reasoning": "It is told.", "cited": "Film", "operation": "none", "answers": "none"}
        return "\n\n".join(f"[[ ## {name} ## ]]\n{values[name]}" for name in names)


def test_forms_differ_in_reasoning_and_examples() -> None:
    told = Told()
    rows = [gold_row(0), gold_row(1)]
    for form, fields, messages in ((BASE, 3, 14), (CHAIN, 4, 14), (TUNED, 4, 2)):
        found = replies(told, form, rows, batch=1)
        assert [one is not None and one.outputs is not None for one in found] == [True, True]
        assert len(told.asked[-1].fields) == fields and len(told.asked[-1].messages) == messages
    assert replies(told, CHAIN, rows, 1, until=0.0) == [None, None]


def test_an_interrupted_model_is_asked_only_for_what_is_missing(tmp_path: Path) -> None:
    rows, file = [gold_row(0), gold_row(1), gold_row(2)], tmp_path / "completions.jsonl"
    for asked_rows, model, asked_for in ((rows[:2], "a", 2), (rows, "a", 1), (rows, "a", 0), (rows, "b", 3)):
        told = Told()
        with KeptBackend(told, file, model) as kept:
            found = replies(kept, BASE, asked_rows, batch=2)
        assert len(told.asked) == asked_for
        assert [one is not None and one.finished for one in found] == [True] * len(asked_rows)
        assert kept.seconds >= 0
    # A line that was being written when the process was killed is written again.
    file.write_bytes(file.read_bytes()[:-9])
    told = Told()
    with KeptBackend(told, file, "b") as kept:
        replies(kept, BASE, rows, batch=2)
    assert len(told.asked) == 1


def test_too_few_rows_are_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    rows = {Path("films"): [*map(gold_row, range(49)), *(replace(gold_row(n), source="verified") for n in range(9))]}
    with pytest.raises(UserError, match=r"49 right replies .* are too few to train a lora: .*--pass gold"):
        distil_lora(Lesson(rows, tmp_path, base="no such model"))


@pytest.mark.usefixtures("few")
def test_wrong_input_says_what_would_do(base: Path, tmp_path: Path) -> None:
    row = gold_row(0)
    with pytest.raises(UserError, match="no test rows of towns"):
        distil_lora(Lesson({Path("films"): [row]}, tmp_path, how=LoraOptions(left_out=("towns",))))
    with pytest.raises(UserError, match="no device 'abacus'"):
        distil_lora(Lesson({Path("films"): [row]}, tmp_path, device="abacus", base=str(base)))
    with pytest.raises(UserError, match="samples"):
        LoraOptions(samples=-1)


@pytest.mark.usefixtures("few")
def test_the_command_reports(base: Path, tmp_path: Path) -> None:
    from triplecheck.app.main import app

    folder = traces(tmp_path / "films", [gold_row(0), gold_row(1), gold_row(2, "dev")])
    words = ["distill", folder, "--student", "lora", "--out", tmp_path / "out", "--base", base, "--name", "mine"]
    more = ["--samples", "0", "--max-steps", "1", "--rank", "2", "--dev-rows", "0", "--device", "cpu"]
    more += ["--merge", tmp_path / "whole"]
    done = CliRunner().invoke(app, [str(word) for word in (*words, *more)])
    assert done.exit_code == 0, done.output
    assert "films, 1 held-out rows, all answers right: chain of thought 0" in done.output
    assert "1 held-out questions are too few to tell whether it helps" in done.output
    assert "rows by step: AnswerFromFacts 2" in done.output and f"local/{tmp_path / 'out' / 'mine'}" in done.output
    assert find_weights(f"local/{tmp_path / 'whole'}").adapter is None
