"""The collector of fine-tuning data: kept and rejected questions, and the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from model_stand_ins import ScriptedReply, scripted_model
from optimize_parts import GOOD, TAUGHT, WHY
from program_parts import EX, conclude_with, fields, keep, kerag, topics

from triplecheck.evals import Question
from triplecheck.kg import KnowledgeBase, ReadError, UserError
from triplecheck.lms import Budget, RolePredict, Roles, TolerantAdapter, language_model, session
from triplecheck.optimize.traces import (
    FORMS,
    GOLD,
    VERIFIED,
    TraceManifest,
    TraceRow,
    collect,
    export,
    read_traces,
)
from triplecheck.optimize.traces.kinds import BALANCED
from triplecheck.optimize.traces.reading import read_manifest
from triplecheck.optimize.traces.recorder import recording
from triplecheck.optimize.traces.records import split_of
from triplecheck.programs import Sources
from triplecheck.programs.baselines.closed_book import IO
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.steps import Trace
from triplecheck.signatures import AnswerFromFacts, without_reasoning

PLAYS = Question("plays", "What does Paul Hindemith play?", (EX + "viola", EX + "piano"), topic=(EX + "hindemith",))


@pytest.fixture(scope="module")
def collected(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("collected") / "out"
    manifest = gather(world, out, TAUGHT, replies=GOOD)
    assert (manifest.rows, manifest.passes["verified"]["kept"]) == (4, 1)
    return out


def gather(
    world: KnowledgeBase, out: Path, *questions: Question, replies: list[ScriptedReply], **options: Any
) -> TraceManifest:
    with scripted_model(replies) as engine:
        manifest = collect(kerag(world), questions, out, roles=engine.name, passes=["verified"], **options)
        assert engine.left == 0
    return manifest


def rejected(manifest: TraceManifest, name: str = "verified") -> dict[str, int]:
    return dict(manifest.passes[name]["rejected"])


def reply_of(row: TraceRow) -> str:
    return str(row.messages[-1]["content"])


# --- what is kept --------------------------------------------------------------------------------
def test_every_step_of_a_proved_answer_becomes_a_row_with_its_prompt_and_reply(collected: Path) -> None:
    rows = read_traces(collected)
    assert [row.signature for row in rows] == ["NameTopics", "SelectPaths", "SelectPaths", "AnswerFromFacts"]
    assert [row.role for row in rows] == ["extract", "prune", "prune", "answer"]
    assert {(row.source, row.model, row.id, row.program) for row in rows} == {
        ("verified", "scripted", "taught", "kerag")
    }
    assert [message["role"] for message in rows[0].messages] == ["system", "user", "assistant"]
    assert "Bernhard Heiden → student of" in rows[-1].messages[1]["content"]
    assert TolerantAdapter().parse(AnswerFromFacts, reply_of(rows[-1])) == {
        "reasoning": WHY,
        "cited": [1],
        "operation": "none",
        "answers": ["Paul Hindemith"],
    }


def test_a_repaired_reply_gives_a_row_with_the_well_formed_reply(world: KnowledgeBase, tmp_path: Path) -> None:
    gather(world, tmp_path / "out", TAUGHT, replies=["I do not keep to formats.", *GOOD])
    rows = read_traces(tmp_path / "out")
    assert len(rows) == 4
    assert "Bernhard Heiden" in reply_of(rows[0])
    assert not any("cannot be read" in message["content"] for row in rows for message in row.messages)


def test_abstaining_is_kept_if_there_is_no_answer(world: KnowledgeBase, tmp_path: Path) -> None:
    unanswerable = Question("none", "Who taught Silent Hermit?", (), topic=(EX + "hermit",))
    manifest = gather(world, tmp_path / "out", unanswerable, replies=[topics("Silent Hermit")])
    assert manifest.by_signature == {"NameTopics": 1}
    assert rejected(manifest) == {}


# --- what is rejected ----------------------------------------------------------------------------
def test_a_wrong_answer_falls_back_to_the_right_one_without_reasoning(world: KnowledgeBase, tmp_path: Path) -> None:
    wrong = [*GOOD[:3], conclude_with("Heiden", cite=["student of"])]
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=wrong)
    assert rejected(manifest) == {"wrong": 1}
    *before, row = read_traces(tmp_path / "out")
    assert [other.source for other in before] == ["verified"] * 3, "the steps before it were right"
    assert (row.source, row.model, row.signature) == ("base", "gold", "AnswerFromFacts")
    assert "reason" not in " ".join(message["content"] for message in row.messages).casefold()
    read = TolerantAdapter().parse(without_reasoning(AnswerFromFacts), reply_of(row))
    assert read == {"cited": [1], "operation": "none", "answers": ["Paul Hindemith"]}
    assert row.outputs == read


def test_no_gold_reply_is_used_if_the_facts_do_not_contain_the_answer(world: KnowledgeBase, tmp_path: Path) -> None:
    astray = [topics("Bernhard Heiden"), keep("born in"), keep(), conclude_with("Frankfurt", cite=["born in"])]
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=astray)
    assert rejected(manifest) == {"wrong": 1}
    assert manifest.by_source == {"verified": 2}
    assert manifest.by_signature == {"NameTopics": 1, "SelectPaths": 1}, "the topic, and that it went no further"
    assert manifest.left_out == {"below_metric": 2}


CUT = Response(
    id=None,
    model="m",
    message=Message.assistant([TextPart(topics("Bernhard Heiden"))]),
    finish_reason="length",
    usage=Usage(input_tokens=1, output_tokens=1),
)


@pytest.mark.parametrize(
    ("asked", "replies", "reason"),
    [
        (
            PLAYS,
            [topics("Paul Hindemith"), keep("instrument"), keep(), conclude_with("viola", cite=["instrument"])],
            "incomplete",
        ),
        (
            TAUGHT,
            [topics("Bernhard Heiden"), keep("born in"), keep(), conclude_with("Paul Hindemith")],
            "nothing_cited",
        ),
        (TAUGHT, ["no", "no again"], "unreadable"),
        (TAUGHT, [CUT, *GOOD[1:]], "cut"),
    ],
)
def test_what_is_half_right_unproved_unreadable_or_cut_is_rejected(
    world: KnowledgeBase, tmp_path: Path, asked: Question, replies: list[ScriptedReply], reason: str
) -> None:
    assert rejected(gather(world, tmp_path, asked, replies=replies)) == {reason: 1}


def test_a_crash_is_rejected_and_tried_again(world: KnowledgeBase, tmp_path: Path) -> None:
    with scripted_model([ValueError("the model broke"), *GOOD]) as engine:
        program = kerag(world)
        first = collect(program, [TAUGHT], tmp_path / "out", roles=engine.name, passes=["verified"])
        second = collect(program, [TAUGHT], tmp_path / "out", roles=engine.name, passes=["verified"])
    assert rejected(first) == {"error": 1}
    assert (rejected(second), second.rows) == ({}, 4)


# --- reasoning -----------------------------------------------------------------------------------
def vacuous() -> list[ScriptedReply]:
    return [*GOOD[:3], conclude_with("Paul Hindemith", cite=["student of"], reasoning="I look at the facts.")]


def test_a_right_answer_with_vacuous_reasoning_falls_back_to_the_one_without(
    world: KnowledgeBase, tmp_path: Path
) -> None:
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=vacuous())
    rows = read_traces(tmp_path / "out")
    assert [row.source for row in rows] == ["verified", "verified", "verified", "base"]
    assert manifest.left_out == {"fact_not_named": 1}


def test_a_reply_that_the_program_corrected_is_not_taught(world: KnowledgeBase, tmp_path: Path) -> None:
    said = conclude_with("Paul Hindemith", "Nobody At All", cite=["student of"], reasoning=WHY)
    counted = conclude_with("Paul Hindemith", cite=["student of"], operation="sum", reasoning=WHY)
    for name, reply, reason in (("a", said, "below_metric"), ("b", counted, "below_metric")):
        manifest = gather(world, tmp_path / name, TAUGHT, replies=[*GOOD[:3], reply])
        assert rejected(manifest) == {}
        assert manifest.by_source == {"base": 1, "verified": 3}
        assert manifest.left_out == {reason: 1}


def test_with_a_language_model_no_template_is_written(world: KnowledgeBase, tmp_path: Path) -> None:
    with scripted_model(GOOD) as engine:
        manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles=engine.name)
        mixed = [VERIFIED, GOLD]
        with pytest.raises(UserError, match="a directory of its own"):
            collect(kerag(world), [TAUGHT], tmp_path / "mixed", roles=engine.name, passes=mixed)
    assert list(manifest.passes) == ["verified"]
    assert manifest.by_source == {"verified": 4}


def test_replies_of_the_baseline_beside_a_language_model_are_left_out(world: KnowledgeBase, tmp_path: Path) -> None:
    with scripted_model(GOOD[3:]) as engine:
        manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles=Roles("extractive", answer=engine.name))
    assert manifest.by_signature == {"AnswerFromFacts": 1}
    assert manifest.left_out["template"] >= 2


def test_only_the_named_steps_are_written(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=GOOD, steps=["AnswerFromFacts"])
    assert manifest.by_signature == {"AnswerFromFacts": 1}
    assert manifest.left_out == {"other_step": 3}


# --- several samples -----------------------------------------------------------------------------
def sample(*answers: str, cite: str = "student of", reasoning: str = WHY) -> list[ScriptedReply]:
    return [*GOOD[:3], conclude_with(*answers, cite=[cite], reasoning=reasoning)]


def test_of_several_samples_the_correct_ones_with_different_reasonings_are_kept(
    world: KnowledgeBase, tmp_path: Path
) -> None:
    other = "Heiden's teacher: the facts name Paul Hindemith, whose student he is."
    replies = [
        *sample("Paul Hindemith"),
        *sample("Paul Hindemith"),
        *sample("Heiden"),
        *sample("Paul Hindemith", reasoning=other),
    ]
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=replies, samples=4)
    rows = [row for row in read_traces(tmp_path / "out") if row.signature == "AnswerFromFacts"]
    assert [row.outputs["reasoning"] for row in rows] == [WHY, other]
    assert {row.source for row in rows} == {"verified"}
    assert rejected(manifest, "sample 3") == {"wrong": 1}
    assert manifest.agreement == {"asked": 1, "kept": 1, "known": 1, "right": 1}


def test_samples_are_asked_with_their_temperature_and_resumed_one_by_one(world: KnowledgeBase, tmp_path: Path) -> None:
    with scripted_model([*sample("Paul Hindemith"), *sample("Paul Hindemith")]) as engine:
        program = kerag(world)
        collect(program, [TAUGHT], tmp_path / "out", roles=engine.name, temperature=0.5)
        both = collect(program, [TAUGHT], tmp_path / "out", roles=engine.name, samples=2, temperature=0.5)
        assert engine.left == 0
    assert {request.config.temperature for request in engine.requests} == {0.5}
    assert [about["asked"] for about in both.passes.values()] == [1, 1]


def test_agreement_keeps_what_most_samples_and_the_graph_say(world: KnowledgeBase, tmp_path: Path) -> None:
    unlabelled = Question("taught", TAUGHT.question, (), answers_known=False)
    astray = [topics("Bernhard Heiden"), keep("born in"), keep(), conclude_with("Frankfurt", cite=["born in"])]
    replies = [*sample("Paul Hindemith"), *astray, *sample("Paul Hindemith")]
    manifest = gather(world, tmp_path / "out", unlabelled, replies=replies, samples=3, verify="agreement")
    assert {row.source for row in read_traces(tmp_path / "out")} == {"verified"}
    assert rejected(manifest, "sample 2") == {"not_proved": 1}
    assert manifest.agreement == {"asked": 1, "kept": 1, "known": 0, "right": 0}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["Paul Hindemith", "Heiden", "nobody"], "disagreed"),
        (["Nikolaus Harnoncourt"] * 3, "ungrounded"),
    ],
)
def test_agreement_drops_what_only_one_of_them_says(
    world: KnowledgeBase, tmp_path: Path, answers: list[str], reason: str
) -> None:
    replies = [reply for answer in answers for reply in sample(answer)]
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=replies, samples=3, verify="agreement")
    assert manifest.rows == 0
    assert reason in rejected(manifest, "sample 1")


def test_agreement_needs_the_samples_that_a_budget_did_not_allow(world: KnowledgeBase, tmp_path: Path) -> None:
    replies = sample("Paul Hindemith")
    how: dict[str, Any] = {"samples": 3, "verify": "agreement", "budget": Budget(calls=len(replies))}
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=replies, **how)
    assert manifest.rows == 0


# --- rationalization -----------------------------------------------------------------------------
def test_a_model_explains_the_known_answer_of_a_question_that_it_answers_wrongly(
    world: KnowledgeBase, tmp_path: Path
) -> None:
    replies = [*sample("Heiden"), conclude_with("Paul Hindemith", cite=["born in"], reasoning=WHY)]
    with scripted_model(replies) as engine:
        for _ in range(2):  # the second time nothing is asked
            manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles=engine.name, rationalize=True)
        shown = engine.requests[-1].messages[-1].parts[0].text
    *_, row = read_traces(tmp_path / "out")
    assert (row.source, row.model, row.outputs["reasoning"]) == ("rationalized", "scripted", WHY)
    assert row.outputs["cited"] == [1], "the fact that proves it, whatever the model cites"
    assert "The answer is Paul Hindemith" in shown
    assert not any("The answer is" in message["content"] for message in row.messages)
    assert manifest.passes["rationalized"]["kept"] == 1


def test_vacuous_reasoning_is_replaced_by_an_explanation(world: KnowledgeBase, tmp_path: Path) -> None:
    with scripted_model([*vacuous(), GOOD[3]]) as engine:
        manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles=engine.name, rationalize=True)
        assert engine.left == 0
    assert manifest.by_source == {"rationalized": 1, "verified": 3}


@pytest.mark.parametrize(
    ("explained", "reason"),
    [
        (
            conclude_with("Paul Hindemith", cite=["student of"], reasoning="The correct answer is given."),
            "names_the_hint",
        ),
        (conclude_with("Paul Hindemith", cite=["student of"], reasoning="So it is."), "fact_not_named"),
        (conclude_with("Heiden", cite=["student of"], reasoning=WHY), "wrong"),
    ],
)
def test_an_explanation_that_proves_nothing_is_rejected(
    world: KnowledgeBase, tmp_path: Path, explained: ScriptedReply, reason: str
) -> None:
    replies = [*sample("Heiden"), explained, explained]
    with scripted_model(replies) as engine:
        manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles=engine.name, rationalize=True)
    assert rejected(manifest, "rationalized") == {reason: 1}
    assert manifest.by_source == {"base": 1, "verified": 3}


def test_the_shipped_rows_are_verified_by_step_and_of_all_kinds() -> None:
    folder = Path(__file__).parents[2] / "examples" / "traces" / "bundled"
    rows, manifest = read_traces(folder), read_manifest(folder)
    assert {row.source for row in rows} == {"template", "gold"}
    assert manifest["left_out"].keys() >= {"below_metric", "duplicate"}
    left_out = [json.loads(line) for line in (folder / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert len(left_out) == sum(manifest["left_out"].values())
    for step, kinds in manifest["kinds"].items():
        assert {kind for kind in BALANCED if kind in kinds and kinds[kind]["share"] < 0.1} == set(), step
    for step, scores in manifest["scores"].items():
        assert f"| {step} | {scores['calls']} | {scores['scored']} |" in (folder / "README.md").read_text("utf-8")


# --- runs ----------------------------------------------------------------------------------------
def test_finished_questions_are_not_asked_again_not_even_after_an_incomplete_line(
    world: KnowledgeBase, tmp_path: Path
) -> None:
    with scripted_model(GOOD) as engine:
        program = kerag(world)
        first = collect(program, [TAUGHT], tmp_path, roles=engine.name, passes=["verified"])
        with (tmp_path / "verified" / "records.jsonl").open("a") as file:
            file.write('{"id": "plays", "key')
        again = collect(program, [TAUGHT], tmp_path, roles=engine.name, passes=["verified"])
    assert again == first and again.rows == 4


def test_several_workers_collect_the_same(bundled: KnowledgeBase, tmp_path: Path) -> None:
    from triplecheck.evals import bundled_questions, read_questions

    asked = read_questions(bundled_questions("train"), 12)
    program = kerag(bundled)
    alone = collect(program, asked, tmp_path / "alone", roles="extractive")
    together = collect(program, asked, tmp_path / "together", roles="extractive", workers=3)
    assert together.sha256 == alone.sha256
    assert alone.by_source.keys() == {"template", "gold"}


def test_a_step_that_is_taken_on_another_thread_belongs_to_its_question(world: KnowledgeBase) -> None:
    step = RolePredict("question -> answer", role="answer")
    tasks = [lambda _, n=n: step(question=f"number {n}") for n in range(4)]
    with (
        scripted_model([fields(answer="yes")] * 5) as engine,
        session(engine.name),
        recording() as outer,
    ):
        with recording() as inner:
            concurrently(tasks, Trace())
        step(question="later")
    assert sorted(call.inputs["question"] for call in inner.calls) == [f"number {n}" for n in range(4)]
    assert len(outer.calls) == 5
    assert {(call.role, call.model, call.cut) for call in outer.calls} == {("answer", "scripted", False)}


def test_other_callbacks_stay_active(world: KnowledgeBase) -> None:
    class Listener(dspy.utils.callback.BaseCallback):
        heard = 0

        def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            self.heard += 1

    listener = Listener()
    step = RolePredict("question -> answer", role="answer")
    with scripted_model([fields(answer="yes")]) as engine, session(engine.name), dspy.context(callbacks=[listener]):
        with recording() as recorder:
            step(question="?")
        assert dspy.settings.callbacks == [listener]
    assert (listener.heard, len(recorder.calls)) == (1, 1)


# --- what is written -----------------------------------------------------------------------------
def test_one_reply_is_kept_for_a_prompt(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = collect(kerag(world), [TAUGHT], tmp_path / "out", roles="extractive")
    rows = read_traces(tmp_path / "out")
    assert len({row.prompt for row in rows}) == len(rows) == manifest.rows
    assert manifest.left_out["duplicate"] >= 2
    assert all(row.source == "template" for row in rows if row.signature == "NameTopics")


def test_of_too_many_rows_the_first_and_the_answer_are_kept(world: KnowledgeBase, tmp_path: Path) -> None:
    manifest = gather(world, tmp_path / "out", TAUGHT, replies=GOOD, cap=2)
    assert [row.signature for row in read_traces(tmp_path / "out")] == ["NameTopics", "AnswerFromFacts"]
    assert manifest.left_out == {"over_cap": 2}


def test_a_group_of_questions_is_held_out_as_a_whole() -> None:
    asked = [Question(f"q{n}", "?", extra={"group": f"g{n // 3}"}) for n in range(300)]
    splits = [split_of(question, 0.3) for question in asked]
    assert all(len(set(splits[n : n + 3])) == 1 for n in range(0, 300, 3))
    assert 60 < splits.count("dev") < 120
    assert {split_of(question, 0.0) for question in asked} == {"train"}
    assert {split_of(question, 1.0) for question in asked} == {"dev"}


def test_rows_that_were_changed_behind_the_manifest_are_refused(collected: Path, tmp_path: Path) -> None:
    for name in ("traces.jsonl", "manifest.json"):
        (tmp_path / name).write_bytes((collected / name).read_bytes())
    with (tmp_path / "traces.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(ReadError, match="collect again"):
        read_traces(tmp_path)


def test_invalid_arguments_are_refused(world: KnowledgeBase, collected: Path, tmp_path: Path) -> None:
    rows = read_traces(collected)
    with pytest.raises(UserError, match=", ".join(FORMS)):
        export(rows, "parquet", tmp_path / "x")
    with pytest.raises(UserError, match="no rows"):
        export([], "chat", tmp_path / "x")
    with pytest.raises(UserError, match="holds no collected traces"):
        read_traces(tmp_path)
    with pytest.raises(UserError, match="there are: verified, gold"):
        collect(kerag(world), [TAUGHT], tmp_path / "x", passes=["silver"])
    with pytest.raises(UserError, match="AnswerDirectly"):
        collect(IO(Sources.of(world)), [TAUGHT], tmp_path / "x", passes=["gold"])
    for wrong, message in (
        ({"samples": 2}, "always replies the same"),
        ({"rationalize": True, "passes": ["verified"]}, "must explain"),
        ({"verify": "agreement"}, "at least 2 samples"),
        ({"steps": ["Guess"]}, "no step Guess; there are: AnswerFromFacts"),
        ({"samples": 2, "temperature": 0}, "all samples are the same"),
        ({"samples": 2, "agree": 3}, "3 of 2 samples cannot agree"),
    ):
        with pytest.raises(UserError, match=message):
            collect(kerag(world), [TAUGHT], tmp_path / "x", roles="extractive", **wrong)
    with scripted_model([]) as engine, pytest.raises(UserError, match="has a model of its own"):
        alone = kerag(world)
        alone.set_lm(language_model(engine.name))
        collect(alone, [TAUGHT], tmp_path / "x", samples=2)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("dear reader")
    with pytest.raises(UserError, match="is not empty"):
        collect(kerag(world), [TAUGHT], tmp_path / "foreign")
