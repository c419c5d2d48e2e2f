"""The signatures: what every LLM step must keep to so that prompts can be rewritten and replies distilled."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any, Literal, get_args, get_origin

import dspy
import pytest

from triplecheck import programs, signatures
from triplecheck.lms import RolePredict, TolerantAdapter, session
from triplecheck.programs.conclude import NotComputableError, aggregate
from triplecheck.signatures import Operation


def defined() -> list[Any]:
    """Every signature of the package, exported or not."""
    modules = [
        importlib.import_module(f"signatures.{found.name}") for found in pkgutil.iter_modules(signatures.__path__)
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, dspy.Signature) and value.__module__ == module.__name__
    ]


def asked_by_programs() -> list[Any]:
    """Those of them that a program asks; others judge or write data, which takes a language model."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(programs.__path__, "programs.")]
    used = [value for module in modules for value in vars(module).values()]
    return [step for step in defined() if any(value is step for value in used)]


STEPS = defined()
LISTS = (list[str], list[int], list[float])
SAMPLES: dict[Any, Any] = {
    str: "A r B",
    int: 3,
    float: 0.75,
    bool: True,
    list[str]: ["A (T) → r → B", "A → s"],
    list[int]: [1, 2],
    list[float]: [0.75, 0.25],
}


def sample(annotation: Any) -> Any:
    """Some value of a type."""
    return get_args(annotation)[0] if get_origin(annotation) is Literal else SAMPLES[annotation]


def of(fields: Any) -> dict[str, Any]:
    return {name: sample(field.annotation) for name, field in fields.items()}


def test_all_of_them_are_public() -> None:
    assert len(STEPS) > 10
    assert {step.__name__ for step in STEPS} <= set(signatures.__all__)
    assert all(getattr(signatures, name) is not None for name in signatures.__all__)


@pytest.mark.parametrize("step", STEPS)
class TestEach:
    def test_it_says_what_is_to_be_done(self, step: Any) -> None:
        assert inspect.getdoc(step) == step.instructions  # its own, and none that DSPy makes up
        assert step.instructions[0].isupper()
        assert step.instructions.endswith(".")
        assert not step.instructions.startswith(("Given the fields", "You "))
        assert len(step.instructions) < 800

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
        # Without facts each known operation says so; an unknown one would be told apart.
        with pytest.raises(NotComputableError, match="no facts were cited"):
            aggregate(None, operation, [])  # type: ignore[arg-type]
    assert set(get_args(Operation)) == {"none", "count", "max", "min", "sum", "difference", "common", "same"}


def test_no_two_steps_ask_for_the_same_outputs() -> None:
    assert len({tuple(step.output_fields) for step in STEPS}) == len(STEPS)
