"""Distilling: the training data, the packs, the deterministic training, and the manifest."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distil_parts import NameColour, PickNumbers, chat, chat_row, colour_row, number_row, rows, tiny_llama
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from triplecheck.kg import UserError
from triplecheck.kg.progress import no_progress
from triplecheck.lms import RolePredict, Roles, language_model, session
from triplecheck.lms.local.form import as_numbers, fields_of, shown
from triplecheck.lms.local.weights import find_weights
from triplecheck.optimize.distil import DistilOptions, distil_rows
from triplecheck.optimize.distil.data import (
    ChatEncoder,
    Encoded,
    Precision,
    prepare,
    shared_length,
)
from triplecheck.optimize.distil.prefix_packing import epoch_order, packs

pytest.importorskip("trl")
QUICK = DistilOptions(
    rank=4,
    alpha=8,
    batch=4,
    learning_rate=1e-2,
    epochs=2,
    evaluations=2,
    precision="float32",
    max_length=800,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [message["content"] for row in rows() for message in row.messages]
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "llama", texts)


@pytest.fixture(scope="module")
def tokenizer(base: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(base)


@pytest.fixture(scope="module")
def encoder(tokenizer: Any) -> ChatEncoder:
    return ChatEncoder(tokenizer)


# What is learnt is what is read and written.


def test_training_tokens_equal_those_that_the_engine_reads_and_writes(tokenizer: Any, encoder: ChatEncoder) -> None:
    for row in rows():
        tokens = encoder.encode(row.messages)
        assert tokens is not None
        asked = [(message["role"], message["content"]) for message in row.messages[:-1]]
        read = [{"role": role, "content": content} for role, content in shown(asked)]
        prompt = tokenizer.apply_chat_template(read, add_generation_prompt=True, tokenize=False)
        assert list(tokens.ids[: tokens.prompt]) == tokenizer(prompt, add_special_tokens=False)["input_ids"]
        reply = row.messages[-1]["content"].rstrip("\n")
        assert reply.endswith("[[ ## completed ## ]]")
        written = tokenizer.decode(tokens.ids[tokens.prompt :])
        assert written.endswith("<|im_end|>")
        fields = fields_of(asked)
        assert as_numbers(fields, written.removesuffix("<|im_end|>")) == reply
        assert any(field.kind == "numbers" for field in fields) == (row.signature == "PickNumbers")


@pytest.mark.parametrize(
    "reply",
    [
        "[[ ## keep ## ]]\nall of them\n\n[[ ## bright ## ]]\nTrue\n\n[[ ## completed ## ]]\n",
        "[[ ## keep ## ]]\n1\n\n[[ ## bright ## ]]\nsurely\n\n[[ ## completed ## ]]\n",
        "[[ ## keep ## ]]\n1\n\n[[ ## completed ## ]]\n",
        f"[[ ## keep ## ]]\n{', '.join(map(str, range(99)))}\n\n[[ ## bright ## ]]\nTrue\n\n[[ ## completed ## ]]\n",
    ],
    ids=["no numbers", "no option", "a field is missing", "too long"],
)
def test_a_reply_that_guided_generation_cannot_produce_is_left_out(encoder: ChatEncoder, reply: str) -> None:
    messages = list(number_row(1).messages[:-1])
    assert fields_of([(message["role"], message["content"]) for message in messages]), "the guide knows the form"
    assert encoder.encode([*messages, {"role": "assistant", "content": reply}]) is None


def test_a_chat_without_fields_is_encoded_unchanged(tokenizer: Any, encoder: ChatEncoder) -> None:
    tokens = encoder.encode([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day\n"}])
    assert tokens is not None
    assert tokenizer.decode(tokens.ids[tokens.prompt :]) == "good day<|im_end|>"


# Packs.

ROWS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=6,
).map(lambda found: [Encoded((7, *prompt, *reply), len(prompt) + 1, str(len(prompt) % 2)) for prompt, reply in found])


@given(ROWS, st.integers(16, 64))
def test_packs_hold_every_row_once_with_a_loss_on_every_reply_token(given_rows: list[Encoded], longest: int) -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for one in packs(given_rows, longest):
        for piece in one.pieces:
            assert sum(map(len, piece.rests)) <= longest or len(piece.rests) == 1
            assert len({len(line) for line in (*piece.rests, *piece.targets)}) == 1
        lines = [line for piece in one.pieces for line in zip(piece.rests, piece.targets, strict=True)]
        for rest, targets in lines:
            learnt = [at for at, target in enumerate(targets) if target >= 0]
            assert learnt == list(range(learnt[0], learnt[-1] + 1)), "a reply in one piece"
            assert [targets[at] for at in learnt] == rest[learnt[0] + 1 : learnt[-1] + 2], "what comes next"
            assert not any(rest[learnt[-1] + 2 :]), "nothing but fill behind it"
            seen[(*one.shared, *rest[: learnt[-1] + 2])] += 1
    assert seen == Counter(row.ids for row in given_rows)
    assert sum(one.learnt for one in packs(given_rows, longest)) == sum(len(row.ids) - row.prompt for row in given_rows)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 5), st.integers(0, 3))
def test_each_epoch_has_every_row_once_in_its_own_order(families: list[str], side: int, epoch: int) -> None:
    order = epoch_order(families, side, 1, epoch)
    assert sorted(order) == list(range(len(families)))
    assert order == epoch_order(families, side, 1, epoch)


def test_epochs_differ() -> None:
    assert epoch_order("a" * 30, 4, 0, 0) != epoch_order("a" * 30, 4, 0, 1)


def test_packed_rows_have_the_same_losses_and_gradients_as_single_rows(base: Path, encoder: ChatEncoder) -> None:
    import torch
    import transformers

    from triplecheck.optimize.distil.pack_trainer import token_losses

    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    encoded = [encoder.encode(row.messages) for row in rows(8, 0)[1::2]]
    together = [row for row in encoded if row is not None]
    assert shared_length(together) > 50

    def run(groups: list[list[Encoded]], longest: int) -> tuple[Counter[str], list[Any]]:
        model.zero_grad()
        losses: Counter[str] = Counter()
        for group in groups:
            (one,) = packs(group, longest)
            for found, right, row in token_losses(model, one, torch.float32):
                assert len(found) == len(right) == len(row)
                losses.update(f"{loss:.3f}" for loss in found.tolist())
                found.sum().backward()
        return losses, [part.grad.clone() for part in model.parameters()]

    alone, those = run([[row] for row in together], 4096)
    for longest in (4096, 256, 16):
        losses, gradients = run([together], longest)
        assert losses == alone
        for one, other in zip(gradients, those, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


# What goes in.


def test_left_out_rows_are_counted(encoder: ChatEncoder) -> None:
    messages = [*number_row(2).messages[:-1], {"role": "assistant", "content": "no form"}]
    long = chat_row(chat(NameColour, {"thing": "very " * 900 + "long"}, {"answer": "red"}))
    odd = chat_row(messages)
    data = prepare([colour_row(2), colour_row(2), number_row(2), long, odd, colour_row(4, "dev")], encoder, QUICK)
    assert data.left_out == {"duplicate": 1, "not_in_form": 1, "too_long": 1}
    data = prepare([colour_row(2), odd, colour_row(4, "dev")], encoder, QUICK)
    assert data.left_out == {"not_in_form": 1}
    assert (len(data.train), len(data.dev)) == (1, 1)
    assert data.to_json()["by_step"] == {"NameColour": 2}


def test_different_replies_to_a_prompt_are_all_kept(encoder: ChatEncoder) -> None:
    other = chat_row(chat(NameColour, {"thing": "thing 2"}, {"answer": "grey"}), "NameColour")
    data = prepare([other, colour_row(2), colour_row(2), colour_row(4, "dev")], encoder, QUICK)
    assert len(data.train) == 2
    assert data.left_out == {"duplicate": 1}


def test_rows_of_rare_kinds_are_read_more_than_once(encoder: ChatEncoder) -> None:
    data = prepare([colour_row(1, times=3), colour_row(2), colour_row(4, "dev", times=3)], encoder, QUICK)
    assert [one.row.id for one in data.train] == ["q1", "q1", "q1", "q2"]
    assert len(data.dev) == 1 and data.left_out == {}


def test_a_prompt_held_out_in_one_directory_is_held_out_in_all(encoder: ChatEncoder) -> None:
    data = prepare([colour_row(1), colour_row(2), colour_row(2, "dev")], encoder, QUICK)
    assert [one.row.id for one in data.dev] == ["q2"]
    assert [one.row.id for one in data.train] == ["q1"]


def test_without_held_out_rows_whole_questions_are_held_out(encoder: ChatEncoder) -> None:
    given_rows = [make(number) for number in range(40) for make in (colour_row, number_row)]
    data = prepare(given_rows, encoder, DistilOptions(dev_share=0.3))
    train, dev = ({one.row.id for one in part} for part in (data.train, data.dev))
    assert 4 <= len(dev) <= 20 and not train & dev
    data = prepare(given_rows, encoder, DistilOptions(dev_share=0.3, dev_rows=3))
    assert (len(data.dev), data.left_out) == (3, {"not_measured": 2 * len(dev) - 3})


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([{"role": "user", "content": "q"}], "the chat must end in a request and its reply"),
        ([{"role": "user", "content": "q"}, {"role": "user", "content": "q"}], "the chat must end in a request"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": None}], "a message is not text"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": " "}], "the reply is empty"),
    ],
)
def test_rows_that_are_not_chats_are_refused(encoder: ChatEncoder, messages: list[Any], problem: str) -> None:
    with pytest.raises(UserError, match=rf"row 2 .*{problem}"):
        prepare([colour_row(1), chat_row(messages)], encoder, QUICK)


def test_an_empty_training_set_is_an_error_with_the_reasons(base: Path, tmp_path: Path, encoder: ChatEncoder) -> None:
    with pytest.raises(UserError, match="of 0 rows none is left"):
        distil_rows([], tmp_path / "out", base=str(base))
    with pytest.raises(UserError, match=r"of 2 rows none is left to train on \(too_long 2\)"):
        prepare([colour_row(1), number_row(2)], encoder, DistilOptions(max_length=20))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given_option", "problem"),
    [
        ({"rank": 0}, "rank is 0: give 1 or more"),
        ({"learning_rate": 2.0}, "the learning rate is 2.0"),
        ({"warmup": 1.0}, "warmup is 1.0: give a share"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"precision": "float8"}, "no precision 'float8'; there are: auto, float32, bfloat16"),
    ],
)
def test_options_out_of_range_are_refused(given_option: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        DistilOptions(**given_option)


# What comes out.


def test_a_distilled_model_says_what_it_was_made_from_and_is_not_made_twice(base: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    made = distil_rows(
        rows(), tmp_path / "out", base=str(base), options=QUICK, name="toy", progress=lambda *a: told.append(a)
    )
    assert sorted(path.name for path in made.path.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "manifest.json",
    ]
    about = made.manifest
    assert about["base"] == {"model": str(base), "sha256": find_weights(f"local/{base}").fingerprint}
    assert about["data"]["by_step"] == {"NameColour": 10, "PickNumbers": 10}
    assert (about["data"]["train"], about["data"]["dev"], about["options"]) == (16, 4, QUICK.to_json())
    assert set(about["versions"]) == {"torch", "transformers", "peft", "trl"}
    course = about["training"]
    assert (course["steps"], course["stopped_early"]) == (8, False)
    losses = [point["dev_loss"] for point in course["curve"] if "dev_loss" in point]
    assert course["dev_loss"] == min(losses) < losses[0]
    assert course["dev_exact"] in (0, 0.25, 0.5, 0.75, 1), "four rows are held out"
    assert told[-1][1:] == (8, 8) and "left" in told[-1][0] and "held out" in told[-1][0]
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []
    written = (made.path / "adapter_model.safetensors").stat().st_mtime_ns
    again = distil_rows(rows(), tmp_path / "out", base=str(base), options=QUICK)
    assert (again.path, again.manifest) == (made.path, made.manifest)
    assert (made.path / "adapter_model.safetensors").stat().st_mtime_ns == written
    weights = find_weights(f"local/{tmp_path / 'out' / 'toy'}")
    assert (weights.directory, weights.adapter) == (base, tmp_path / "out" / "toy")
    assert weights.fingerprint == find_weights(made.model).fingerprint


def test_bfloat16_comes_to_what_float32_does(base: Path, tmp_path: Path) -> None:
    def course(precision: Precision) -> list[float]:
        options = replace(QUICK, precision=precision)
        about = distil_rows(rows(), tmp_path / precision, base=str(base), options=options).manifest["training"]
        assert about["precision"] == precision
        return [point["dev_loss"] for point in about["curve"] if "dev_loss" in point]

    exact = course("float32")
    assert course("bfloat16") == pytest.approx(exact, rel=0.05)
    assert exact[-1] < exact[0]


class KilledError(Exception):
    pass


def test_a_training_that_was_killed_goes_on_and_comes_to_the_same(base: Path, tmp_path: Path) -> None:
    def killer(what: str, done: int, total: int | None) -> None:
        if what.startswith("training") and done == 5:
            raise KilledError

    def run(out: Path, progress: Any = no_progress) -> Any:
        return distil_rows(rows(), out, base=str(base), options=QUICK, progress=progress)

    whole = run(tmp_path / "whole")
    with pytest.raises(KilledError):
        run(tmp_path / "killed", killer)
    (work,) = (tmp_path / "killed").glob(".*.work")
    assert (work / "checkpoint-4" / "trainer_state.json").is_file()
    torn = work / "checkpoint-5"
    torn.mkdir()
    (torn / "adapter_config.json").write_text("{")
    seen: list[int] = []
    resumed = run(tmp_path / "killed", lambda what, done, total: seen.append(done) if "training" in what else None)
    assert seen[0] == 4, "it went on from the checkpoint"
    assert resumed.path.name == whole.path.name
    assert resumed.manifest["adapter"] == whole.manifest["adapter"]
    assert not work.exists()


def test_it_ends_when_what_is_held_out_gets_no_better(base: Path, tmp_path: Path) -> None:
    wrong = [colour_row(n, "dev") for n in range(20, 24)]
    taught = [chat_row(chat(NameColour, {"thing": f"thing {n}"}, {"answer": "stone"}), "NameColour") for n in range(16)]
    harsh = {"epochs": 10, "evaluations": 4, "patience": 1, "learning_rate": 0.9}
    options = DistilOptions(**QUICK.to_json() | harsh)
    course = distil_rows([*taught, *wrong], tmp_path / "out", base=str(base), options=options).manifest["training"]
    assert course["stopped_early"] and course["steps"] < course["steps_planned"]
    assert course["best_step"] < course["steps"]


def test_without_held_out_rows_the_last_weights_count(base: Path, tmp_path: Path) -> None:
    options = DistilOptions(**QUICK.to_json() | {"max_steps": 2, "dev_rows": 0})
    made = distil_rows([colour_row(n) for n in range(8)], tmp_path / "out", base=str(base), options=options)
    assert (made.manifest["training"]["steps"], made.manifest["training"]["dev_loss"]) == (2, None)


def test_a_name_that_is_taken_by_something_else_is_refused(base: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "mine").mkdir(parents=True)
    for name, problem in (("mine", "exists and is not a model name"), ("a/b", "is not a valid name of a student")):
        with pytest.raises(UserError, match=problem):
            distil_rows(rows(), tmp_path / "out", base=str(base), name=name)


def test_an_adapter_as_base_model_and_a_missing_device_are_rejected(base: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    save_file({"x": np.zeros(1, np.float32)}, adapter / "adapter_model.safetensors")
    with pytest.raises(UserError, match="is an adapter; train its base model"):
        distil_rows(rows(), tmp_path / "out", base=str(adapter))
    with pytest.raises(UserError, match="no device 'abacus'"):
        distil_rows(rows(), tmp_path / "out", base=str(base), device="abacus")


def test_what_was_learnt_is_said_through_the_engine(base: Path, tmp_path: Path) -> None:
    taught = [
        chat_row(chat(PickNumbers, {"things": [f"lamp {n}", "sun"]}, {"keep": [1, 2], "bright": True}))
        for n in range(4)
    ]
    options = DistilOptions(**QUICK.to_json() | {"rank": 16, "alpha": 32, "epochs": 25})
    made = distil_rows(taught, tmp_path / "out", base=str(base), options=options)
    with session(Roles(made.model)):
        said = RolePredict(PickNumbers, role="prune")(things=["lamp 2", "sun"])
    assert (said.keep, said.bright) == ([1, 2], True)
    assert language_model(made.model).name == made.model
