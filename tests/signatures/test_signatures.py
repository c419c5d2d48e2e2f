"""The signatures: what every LLM step must keep to so that prompts can be rewritten and replies distilled."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import dspy
import pytest

import signatures
from lms import TolerantAdapter
from programs.aggregate import NotComputableError, aggregate
from signatures import AnswerFromFacts, NameTopics, Operation, SelectPaths

STEPS = [NameTopics, SelectPaths, AnswerFromFacts]
INPUTS: dict[str, Any] = {
    "question": "Who?",
    "known_names": ["A (T)"],
    "types": ["T"],
    "topics": ["A"],
    "paths": ["A → r"],
    "facts": ["A → r → B"],
}
OUTPUTS: dict[str, Any] = {
    "topics": ["A"],
    "domain": "T",
    "keep": [1, 3],
    "reasoning": "r leads to B",
    "cited": [1],
    "operation": "none",
    "answers": ["B"],
}


def of(step: Any, values: dict[str, Any], fields: Any) -> dict[str, Any]:
    return {name: values[name] for name in fields}


def test_all_of_them_are_public() -> None:
    found = {
        name
        for name, value in vars(signatures).items()
        if inspect.isclass(value) and issubclass(value, dspy.Signature) and value is not dspy.Signature
    }
    assert found == {step.__name__ for step in STEPS}
    assert found <= set(signatures.__all__)


@pytest.mark.parametrize("step", STEPS)
class TestEach:
    def test_it_says_what_is_to_be_done(self, step: Any) -> None:
        assert step.instructions.split(".")[0].split()[0] in ("Name", "Select", "Answer")
        assert len(step.instructions) < 800

    def test_its_fields_have_types_that_are_written_one_item_a_line(self, step: Any) -> None:
        for field in (*step.input_fields.values(), *step.output_fields.values()):
            assert field.annotation in (str, list[str], list[int], Operation)

    def test_a_reply_is_read_back_as_it_is_written(self, step: Any) -> None:
        adapter = TolerantAdapter()
        outputs = of(step, OUTPUTS, step.output_fields)
        text = adapter.format_assistant_message_content(step, outputs)
        assert adapter.parse(step, text) == outputs
        assert len(text) < 250

    def test_a_reply_of_nothing_is_read_back_too(self, step: Any) -> None:
        adapter = TolerantAdapter()
        outputs = {
            name: [] if field.annotation in (list[str], list[int]) else OUTPUTS[name]
            for name, field in step.output_fields.items()
        }
        assert adapter.parse(step, adapter.format_assistant_message_content(step, outputs)) == outputs

    def test_its_prompt_is_short(self, step: Any) -> None:
        messages = TolerantAdapter().format(step, [], of(step, INPUTS, step.input_fields))
        assert sum(len(message["content"]) for message in messages) < 2_500

    def test_it_makes_a_training_conversation(self, step: Any) -> None:
        inputs, outputs = of(step, INPUTS, step.input_fields), of(step, OUTPUTS, step.output_fields)
        data = TolerantAdapter().format_finetune_data(step, [], inputs, outputs)
        assert [message["role"] for message in data["messages"]] == ["system", "user", "assistant"]


def test_every_operation_but_none_is_computed_by_code() -> None:
    for operation in get_args(Operation):
        # Without facts each known operation says so; an unknown one would be told apart.
        with pytest.raises(NotComputableError, match="no facts were cited"):
            aggregate(None, operation, [])  # type: ignore[arg-type]
    assert set(get_args(Operation)) == {"none", "count", "max", "min", "sum", "difference", "common", "same"}


def test_no_two_steps_ask_for_the_same_outputs() -> None:
    assert len({tuple(step.output_fields) for step in STEPS}) == len(STEPS)
