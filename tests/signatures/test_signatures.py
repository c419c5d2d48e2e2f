"""The signatures: what every LLM step must keep to so that prompts can be rewritten and replies distilled."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any, Literal, get_args, get_origin

import cloudpickle
import dspy
import pytest

from triplecheck import programs, signatures
from triplecheck.lms import RolePredict, TolerantAdapter, session
from triplecheck.programs.aggregation import NotComputableError, aggregate
from triplecheck.signatures import STEPS, Operation, Step, step_of
from triplecheck.signatures.step import CopiedFrom, Numbers, hint_of


def asked_by_programs() -> list[Any]:
    """Those of them that a program asks; others judge or write data, which takes a language model."""
    names = [found.name for found in pkgutil.walk_packages(programs.__path__, f"{programs.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    used = [value for module in modules for value in vars(module).values()]
    return [step for step in STEPS if any(value is step for value in used)]


LISTS = (list[str], list[int], list[float])
SAMPLES: dict[Any, Any] = {
    str: "A r B",
    int: 3,
    float: 0.75,
    bool: True,
    list[str]: ["A (T) → r → B", "A → s"],
    list[int]: [1, 2],
    dict[int, float]: {2: 0.75, 1: 0.25},
}


def sample(annotation: Any) -> Any:
    """Some value of a type."""
    return get_args(annotation)[0] if get_origin(annotation) is Literal else SAMPLES[annotation]


def of(fields: Any) -> dict[str, Any]:
    return {name: sample(field.annotation) for name, field in fields.items()}


def test_all_of_them_are_public() -> None:
    assert len(STEPS) > 10
    assert all(getattr(signatures, step.__name__) is step for step in STEPS)
    assert {step.__module__.rpartition(".")[0] for step in STEPS} == {signatures.__name__}


@pytest.mark.parametrize("step", STEPS)
class TestEach:
    def test_it_says_what_is_to_be_done(self, step: Any) -> None:
        assert inspect.getdoc(step) == step.instructions  # its own, and none that DSPy makes up
        assert step.instructions[0].isupper()
        assert step.instructions.endswith(".")
        assert not step.instructions.startswith(("Given the fields", "You "))
        assert len(step.instructions) < 1_200

    def test_its_fields_have_types_that_are_written_one_item_a_line(self, step: Any) -> None:
        for field in (*step.input_fields.values(), *step.output_fields.values()):
            assert field.annotation in SAMPLES or get_origin(field.annotation) is Literal

    def test_a_reply_is_read_back_as_it_is_written(self, step: Any) -> None:
        adapter = TolerantAdapter()
        outputs = of(step.output_fields)
        text = adapter.format_assistant_message_content(step, outputs)
        assert adapter.parse(step, text) == outputs
        assert len(text) < 250

    def test_a_reply_of_nothing_is_read_back_too(self, step: Any) -> None:
        adapter = TolerantAdapter()
        outputs = {
            name: [] if field.annotation in LISTS else sample(field.annotation)
            for name, field in step.output_fields.items()
        }
        assert adapter.parse(step, adapter.format_assistant_message_content(step, outputs)) == outputs

    def test_its_prompt_is_short(self, step: Any) -> None:
        messages = TolerantAdapter().format(step, [], of(step.input_fields))
        assert sum(len(message["content"]) for message in messages) < 2_500

    def test_it_makes_a_training_conversation(self, step: Any) -> None:
        inputs, outputs = of(step.input_fields), of(step.output_fields)
        data = TolerantAdapter().format_finetune_data(step, [], inputs, outputs)
        assert [message["role"] for message in data["messages"]] == ["system", "user", "assistant"]


@pytest.mark.parametrize("step", asked_by_programs())
def test_what_programs_ask_is_filled_in_without_a_language_model_too(step: Any) -> None:
    with session("extractive"):
        reply = RolePredict(step)(**of(step.input_fields))
    assert set(reply.keys()) == set(step.output_fields)


def test_every_operation_but_none_is_computed_by_code() -> None:
    for operation in get_args(Operation):
        # Without facts each known operation says so; an unknown one would give another reply.
        with pytest.raises(NotComputableError, match="no facts were cited"):
            aggregate(None, operation, [])  # type: ignore[arg-type]
    assert set(get_args(Operation)) == {"none", "count", "max", "min", "sum", "difference", "common", "same"}


class TestChangedSteps:
    @pytest.mark.parametrize("step", STEPS)
    def test_a_step_stays_itself_whatever_its_words_are_changed_to(self, step: Any) -> None:
        name = next(iter(step.output_fields))
        copies = [
            step.with_instructions("Do it."),
            step.append_instructions("Be brief."),
            step.with_updated_fields(name, desc="other words"),
            step.load_state(step.with_instructions("Do it.").dump_state()),
            cloudpickle.loads(cloudpickle.dumps(step.with_instructions("Do it."))),
        ]
        for copy in [*copies, copies[0].with_instructions("Do it again.")]:
            assert step_of(copy) is step
            assert copy.__name__ == step.__name__
            assert list(copy.fields) == list(step.fields)
            assert {n: f.annotation for n, f in copy.fields.items()} == {
                n: f.annotation for n, f in step.fields.items()
            }
            assert [hint_of(copy, n) for n in copy.output_fields] == [hint_of(step, n) for n in step.output_fields]
        assert copies[0].instructions == copies[3].instructions == "Do it."
        assert copies[1].instructions == f"{step.instructions}\n\nBe brief."
        assert copies[2].output_fields[name].json_schema_extra["desc"] == "other words"
        assert step.output_fields[name].json_schema_extra["desc"] != "other words"

    def test_a_signature_with_other_fields_is_no_step(self) -> None:
        assert step_of(dspy.Signature("question -> answer")) is None
        assert step_of(Step) is None
        assert step_of(STEPS[0].append("more", dspy.OutputField(), str)) is None


@pytest.mark.parametrize("step", STEPS)
def test_a_hint_names_fields_of_its_step(step: Any) -> None:
    for name, field in step.output_fields.items():
        match hint_of(step, name):
            case Numbers(of=listed):
                assert step.input_fields[listed].annotation == list[str]
                assert field.annotation in (list[int], dict[int, float])
            case CopiedFrom(cited=cited):
                assert list(step.output_fields).index(cited) < list(step.output_fields).index(name)
                assert isinstance(hint_of(step, cited), Numbers)
                assert field.annotation == list[str]
            case None:
                assert field.annotation != list[int]
