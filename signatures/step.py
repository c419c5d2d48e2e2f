"""What a step is: a signature that is known by its class, with hints for decoding on its fields.

    class SelectPaths(Step):
        "Select the paths that may lead to what the question asks for."

        paths: list[str] = dspy.InputField()
        keep: Annotated[list[int], Numbers("paths")] = dspy.OutputField()

Tables of what an engine, a metric or a generator of traces does with a step have the class as their key. A changed
copy of a step (`with_instructions`, `load_state` ...) is a subclass of it, so `step_of` finds the class.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import dspy
from dspy.signatures.signature import SignatureMeta

Items: TypeAlias = Literal["path", "fact", "reached", "text"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A field holds numbers of the items of an input list, from 1: a list of them, or the score of each.

    Attributes:
        items: what the items are, in the notation of prompts (`signatures.notation`). A language model names an item by
            copying its beginning (`notation.beginning`), except those of a long text, which it names by its number.
    """

    of: str
    items: Items = "text"


@dataclass(frozen=True, slots=True)
class CopiedFrom:
    """A field of texts holds copies from the items that an earlier field of `Numbers` names.

    Attributes:
        besides: what else may be written.
    """

    cited: str
    besides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamesIn:
    """A field of texts holds mostly names from the items of an input list.

    Other texts are allowed. The hint is used to split names that a reply joins by commas.
    """

    of: str


class Step(dspy.Signature):
    """One LLM step."""

    @classmethod
    def with_instructions(cls, instructions: str) -> type[Step]:
        """The same step with another instruction."""
        return _changed(cls, instructions, {})

    @classmethod
    def append_instructions(cls, instructions: str) -> type[Step]:
        """The same step with more behind its instruction."""
        return _changed(cls, f"{cls.instructions}\n\n{instructions}", {})

    @classmethod
    def with_updated_fields(cls, name: str, type_: Any = None, **extra: Any) -> type[Step]:
        """The same step with other words, or another type, for one field."""
        return _changed(cls, cls.instructions, {name: extra}, {} if type_ is None else {name: type_})

    @classmethod
    def without(cls, name: str) -> type[Step]:
        """A step of its own, with the same words and without one of the fields."""
        fields = {field: copy.deepcopy(info) for field, info in cls.fields.items() if field != name}
        return _made(cls, Step, cls.instructions, fields, {field: info.annotation for field, info in fields.items()})

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> type[Step]:
        """The same step with the instruction and field descriptions that `dump_state` gave."""
        fields = {
            name: {"prefix": saved["prefix"], "desc": saved["description"]}
            for name, saved in zip(cls.fields, state["fields"], strict=False)
        }
        return _changed(cls, state["instructions"], fields)


def step_of(signature: type[dspy.Signature]) -> type[Step] | None:
    """The step that a signature is, or was made from by changing its words; None for a signature of another kind."""
    return next((one for one in signature.__mro__ if Step in one.__bases__), None)


def hint_of(signature: type[dspy.Signature], field: str) -> Numbers | CopiedFrom | NamesIn | None:
    """The hint on an output field of a step; None for a field without one."""
    hints = (one for one in signature.output_fields[field].metadata if isinstance(one, Numbers | CopiedFrom | NamesIn))
    return next(hints, None)


def _changed(
    step: type[Step], instructions: str, extra: Mapping[str, Mapping[str, Any]], types: Mapping[str, Any] | None = None
) -> type[Step]:
    fields = copy.deepcopy(step.fields)
    for name, values in extra.items():
        fields[name].json_schema_extra = {**fields[name].json_schema_extra, **values}
    annotations = {name: field.annotation for name, field in fields.items()} | dict(types or {})
    return _made(step, step, instructions, fields, annotations)


def _made(
    step: type[Step], base: type[Step], instructions: str, fields: Mapping[str, Any], annotations: Mapping[str, Any]
) -> type[Step]:
    same = {"__doc__": instructions, "__module__": step.__module__, "__qualname__": step.__qualname__}
    made: type[Step] = SignatureMeta(step.__name__, (base,), {**same, "__annotations__": dict(annotations), **fields})
    return made
