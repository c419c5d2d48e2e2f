"""Exported rows are what trainers read, and what the student will be asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import dspy
import pytest
from distil_parts import colour_row, tiny_llama
from model_stand_ins import scripted_model
from optimize_parts import GOOD, TAUGHT
from program_parts import kerag

from triplecheck.evals.configuration import describe
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import RolePredict, Roles, language_model, session
from triplecheck.lms.engines import messages_of
from triplecheck.lms.local.form import as_numbers, fields_of, shown
from triplecheck.optimize.traces import collect, examples, export, read_traces
from triplecheck.optimize.traces.export import rendered, step_of_row
from triplecheck.optimize.traces.reading import read_manifest
from triplecheck.optimize.traces.records import row_messages
from triplecheck.programs import KERAG
from triplecheck.signatures import AnswerFromFacts, without_reasoning


@pytest.fixture(scope="module")
def collected(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("collected") / "out"
    with scripted_model(GOOD) as engine:
        collect(kerag(world), [TAUGHT], out, roles=engine.name, passes=["verified"], dev_share=0.0)
    return out


def test_the_example_in_the_repository_is_what_a_new_run_writes(bundled: KnowledgeBase) -> None:
    folder = Path(__file__).parents[2] / "examples" / "traces" / "bundled"
    now = describe(KERAG(bundled), Roles("extractive"), bundled, None)
    for run in read_manifest(folder)["passes"].values():
        parts = ("program", "switches", "prompts", "language")
        assert [part for part in parts if run["configuration"][part] != now[part]] == [], "run `make traces`"
    for row in read_traces(folder):
        assert row.messages == row_messages(step_of_row(row), row.inputs, row.outputs), "run `make traces`"


def test_chats_are_whole_for_openai_and_trl_is_told_what_is_to_be_learnt(collected: Path, tmp_path: Path) -> None:
    def roles(form: str) -> list[dict[str, list[str]]]:
        (path,) = export(read_traces(collected), form, tmp_path / form)
        assert path.name == "train.jsonl"
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        return [{part: [message["role"] for message in chat] for part, chat in row.items()} for row in rows]

    assert roles("chat") == [{"messages": ["system", "user", "assistant"]}] * 4
    assert roles("trl") == [{"prompt": ["system", "user"], "completion": ["assistant"]}] * 4


def test_examples_are_demonstrations_of_their_step(collected: Path, tmp_path: Path) -> None:
    rows = read_traces(collected)
    written = export(rows, "examples", tmp_path / "examples")
    assert {path.stem for path in written} == {"NameTopics", "SelectPaths", "AnswerFromFacts"}
    (made,) = examples(rows, "AnswerFromFacts")
    assert set(made.inputs().keys()) == set(AnswerFromFacts.input_fields)
    (path,) = (path for path in written if path.stem == "AnswerFromFacts")
    assert json.loads(path.read_text("utf-8")) == [made.toDict()]
    step = dspy.LabeledFewShot(k=1).compile(RolePredict(AnswerFromFacts), trainset=[made])
    assert step.predictors()[0].demos[-1].answers == ["Paul Hindemith"]


def test_a_datasets_directory_can_be_loaded(collected: Path, tmp_path: Path) -> None:
    from datasets import load_from_disk

    (path,) = export(read_traces(collected), "datasets", tmp_path / "datasets")
    loaded = load_from_disk(str(path))
    assert loaded["train"].num_rows == 4
    assert loaded["train"][0]["completion"][0]["role"] == "assistant"
    assert set(loaded["train"].column_names) >= {"prompt", "completion", "source", "signature"}


# --- the form of the student ---------------------------------------------------------------------
def test_a_general_student_is_asked_the_prompts_that_it_learnt_and_its_replies_are_read_back(collected: Path) -> None:
    for row in read_traces(collected):
        *prompt, reply = rendered(row, "general")
        with scripted_model([reply["content"]]) as engine, session(engine.name):
            step, model = RolePredict(step_of_row(row), role="answer"), language_model(engine.name).copy()
            step.demos, step.lm, model.general = [], model, True
            assert dict(step(**row.inputs).items()) == dict(row.outputs)
            assert messages_of(engine.requests[0]) == prompt
    assert "Cited:\n- Bernhard Heiden → student of" in reply["content"] and "[[" not in reply["content"]


def test_an_embedded_student_learns_what_its_engine_reads_and_writes(collected: Path) -> None:
    for row in read_traces(collected):
        asked = [(message["role"], message["content"]) for message in row.messages[:-1]]
        chat = [(message["role"], message["content"]) for message in rendered(row, "embedded")]
        assert tuple(chat[:-1]) == shown(asked)
        assert as_numbers(fields_of(asked), chat[-1][1]) == row.messages[-1]["content"]
    assert "[[ ## cited ## ]]\nBernhard\n" in chat[-1][1], "the beginning of the fact, not its number"


def test_the_base_prompt_has_no_reasoning_for_either(collected: Path) -> None:
    row = read_traces(collected)[-1]
    outputs = {name: row.outputs[name] for name in without_reasoning(AnswerFromFacts).output_fields}
    for student in ("general", "embedded"):
        text = " ".join(message["content"] for message in rendered(replace(row, outputs=outputs), "general"))
        assert "reason" not in text.casefold(), student


def test_rare_rows_are_repeated(collected: Path, tmp_path: Path) -> None:
    rows = [replace(row, times=3 if row.signature == "NameTopics" else 1) for row in read_traces(collected)]
    (path,) = export(rows, "trl", tmp_path / "trl", "embedded")
    assert len(path.read_text("utf-8").splitlines()) == 6


def test_a_step_of_a_user_is_for_embedded_students_alone() -> None:
    assert [m["role"] for m in rendered(colour_row(1), "embedded")] == ["system", "user", "assistant"]
    with pytest.raises(UserError, match="NameColour of question q1 is none of this project"):
        rendered(colour_row(1), "general")
    with pytest.raises(UserError, match="no student 'both'; there are: general, embedded"):
        rendered(colour_row(1), "both")  # type: ignore[arg-type]


# --- a trainer -----------------------------------------------------------------------------------
def test_trl_trains_on_the_exported_rows_and_masks_the_prompts(collected: Path, tmp_path: Path) -> None:
    trl, transformers = pytest.importorskip("trl"), pytest.importorskip("transformers")
    from datasets import load_dataset

    rows = read_traces(collected)
    (path,) = export(rows, "trl", tmp_path / "trl")
    chats = [rendered(row, "general") for row in rows]
    base = tiny_llama(tmp_path / "llama", [message["content"] for chat in chats for message in chat], 4096)
    told = trl.SFTConfig(
        output_dir=str(tmp_path / "out"),
        max_steps=12,
        per_device_train_batch_size=2,
        learning_rate=1e-2,
        max_length=4096,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        disable_tqdm=True,
        seed=0,
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    trainer = trl.SFTTrainer(
        model=transformers.AutoModelForCausalLM.from_pretrained(base),
        args=told,
        train_dataset=load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")),
        processing_class=tokenizer,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    learnt = [
        tokenizer.decode(ids[labels >= 0]) for ids, labels in zip(batch["input_ids"], batch["labels"], strict=True)
    ]
    replies = [chat[-1]["content"] for chat in chats]
    assert all(any(reply.strip() in text for reply in replies) for text in learnt), "the loss is on the replies alone"
    assert not any("Who taught" in text for text in learnt)
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < losses[0] / 2
