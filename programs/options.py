"""Options of a program: a frozen record, presets of its values, and the checks of what a user gives."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from triplecheck.kg import UserError
from triplecheck.programs.assists import ALL, Assists

DEFAULT = "default"
"""The preset that changes no option."""

_PRESET = "preset"

Bar = typing.Literal["proved", "likely", "supported", "any"]
"""The lowest verdict of answers that are given: `proved`; `likely`: proved, or supported with a confidence of at least
the floor of the confidence model; `supported`; `any`: unsupported answers too."""

Demos = typing.Literal["worked", "none"]
"""Which demonstrations the steps of a program are made with: their worked examples, or none."""

Prompts = typing.Literal["written", "plain"]
"""The signatures of the steps: as they are written, or the first sentence of each, without descriptions of fields."""


@dataclasses.dataclass(frozen=True)
class ProgramOptions:
    """Options of every program. A program with further options declares a subclass as `Program.Options`.

    Attributes:
        grounded_only: abstain rather than answer from a model's own knowledge.
        closed_world: what the graph does not say is false, so that facts without a value exclude it.
        verdict: abstain below this verdict: `proved`, `likely`, `supported` or `any`.
        judge_proof: also ask the model of the role `judge` whether the evidence proves the answer. If it denies that,
            the answer is not proved. One more call for each answer.
        assist: helps that the paper does not have (`programs.assists`): `all`, `none`, or names; `-doubts` is all but
            `doubts`.
        demos: what language models are shown before their task: `worked`, the worked examples of each step; `none`.
            Demonstrations that a program was compiled with are shown either way.
        prompts: the signatures of the steps: `written`; `plain`, the first sentence of each without descriptions of the
            fields, to see what prompts and optimizers are worth.
    """

    grounded_only: bool = False
    closed_world: bool = False
    verdict: Bar = "any"
    judge_proof: bool = False
    assist: str | tuple[str, ...] = ALL
    demos: Demos = "worked"
    prompts: Prompts = "written"

    def __post_init__(self) -> None:
        Assists(self.assist)  # raises for an unknown name


@dataclasses.dataclass(frozen=True)
class AnsweringOptions(ProgramOptions):
    """Options of every program whose model answers from facts.

    Attributes:
        samples: how often a language model answers from the same facts, at the temperature 0.7 from the second time;
            the answer of most of them counts, and one that half of them or fewer give is not proved.
    """

    samples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 1:
            raise UserError(f"samples must be at least 1, not {self.samples}")


class Optioned(typing.Protocol):
    """What options need to know of a class of programs; see `programs.base.Program`."""

    name: typing.ClassVar[str]
    Options: typing.ClassVar[type[ProgramOptions]]
    presets: typing.ClassVar[Mapping[str, Mapping[str, Any]]]


def check_options(program: type[Optioned], options: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset and the explicit options, converted to the types of `Program.Options`.

    Args:
        options: by name; `preset` names one of `Program.presets`. An option given by name wins over the preset.

    Raises:
        UserError: no such preset, no such option, or a value that the option cannot have.
    """
    options = dict(options)
    preset = options.pop(_PRESET, DEFAULT)
    presets: dict[str, Mapping[str, Any]] = {DEFAULT: {}, **program.presets}
    if not isinstance(preset, str) or preset not in presets:
        raise UserError(f"the program {program.name!r} has no preset {preset!r}; there are {', '.join(presets)}")
    merged = dict(presets[preset])
    for name, value in options.items():
        of_preset = merged.get(name)
        if isinstance(of_preset, Mapping) and isinstance(value, Mapping):
            value = {**of_preset, **value}
        merged[name] = value
    return {name: _checked(program, name, value) for name, value in merged.items()}


def _checked(program: type[Optioned], name: str, value: Any) -> Any:
    hints = _types(program.Options)
    if name not in hints:
        shown = [option for option in hints if option not in _types(ProgramOptions)]
        takes = f"its options are {', '.join(shown)}" if shown else "it has no options"
        raise UserError(f"the program {program.name!r} has no option {name!r}; {takes}")
    hint = hints[name]
    if value == "none" and type(None) in typing.get_args(hint):
        value = None  # a configuration in TOML has no other word for it
    _refuse_unknown_fields(name, value, hint)
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        reasons = "; ".join(dict.fromkeys(detail["msg"] for detail in error.errors()))
        raise UserError(f"option {name!r} of {program.name!r} cannot be {value!r}: {reasons}") from None


def _types(options: type[ProgramOptions]) -> dict[str, Any]:
    hints = typing.get_type_hints(options)
    return {field.name: hints[field.name] for field in dataclasses.fields(options)}


def _refuse_unknown_fields(name: str, value: Any, hint: Any) -> None:
    """Pydantic ignores fields that a dataclass does not have; a misspelt limit must be an error."""
    tables = [kind for kind in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(kind)]
    if not tables or not isinstance(value, dict):
        return
    fields = [field.name for field in dataclasses.fields(tables[0])]
    for key in value:
        if key not in fields:
            raise UserError(f"option {f'{name}.{key}'!r} does not exist; there are {', '.join(fields)}")
