"""`Function`: something that can be called about an entity, and the schema of what it returns."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.shapes import Shape, read_shape
from triplecheck.kg.readable import relation_label
from triplecheck.kg.types import XSD

_MOST_CHOICES = 12  # relations made of one function by the values of its arguments
STRING = XSD + "string"
_BY_NAME = {"date": XSD + "date", "year": XSD + "integer"}  # of texts
_READ: Mapping[str, Callable[[str], Any]] = {
    XSD + "integer": re.compile(r"-?\d+").fullmatch,
    XSD + "decimal": re.compile(r"-?\d+(\.\d+)?").fullmatch,
    XSD + "date": date.fromisoformat,
    XSD + "dateTime": datetime.fromisoformat,
}

FunctionSource = Callable[..., Any]
"""A Python function with annotations: the arguments are checked by name, the result by its return type."""


@dataclass(frozen=True)
class Parameter:
    """An argument of a function.

    Attributes:
        schema: JSON schema of its values.
        required: whether it has no default.
    """

    name: str
    schema: Mapping[str, Any]
    required: bool

    @functools.cached_property
    def datatype(self) -> str:
        """The IRI of its datatype; empty for a list and for an object. A text whose last word is "date" is a date."""
        shape = read_shape(self.name, self.schema or {"type": "string"})
        if shape.many or not shape.datatype:
            return ""
        last = relation_label(self.name).split()[-1:]
        return _BY_NAME.get("".join(last).lower(), STRING) if shape.datatype == STRING else shape.datatype

    @property
    def takes_id(self) -> bool:
        """Whether it is the id of an entity, not its label."""
        return self.name.lower() == "id" or self.name.endswith(("_id", "Id"))

    @property
    def choices(self) -> list[Any] | None:
        """All its values, if they are few; None if they are not."""
        if "const" in self.schema:
            return [self.schema["const"]]
        if "enum" in self.schema:
            return list(self.schema["enum"])
        return [False, True] if self.datatype == XSD + "boolean" else None

    def reads(self, text: str) -> bool:
        """Whether a text is of its datatype."""
        try:
            return bool(_READ.get(self.datatype, str)(text))
        except ValueError:
            return False


@dataclass(frozen=True)
class Function:
    """One function about an entity.

    Attributes:
        id: unique among the functions of a graph.
        subject: the argument that is the entity: its label, or its id if the name ends in "id".
        further: the arguments that the question gives: its dates, its numbers, its other topics.
        call: takes the subject and the further arguments as texts, and returns plain JSON values.
    """

    id: str
    label: str
    description: str
    subject: Parameter
    shape: Shape
    call: Callable[..., Any]
    further: tuple[Parameter, ...] = ()


def bind(
    id: str,
    description: str,
    parameters: Sequence[Parameter],
    returns: Mapping[str, Any],
    call: Callable[[Mapping[str, Any]], Any],
) -> list[Function]:
    """The functions of one subject that a function with several arguments is: one for each choice of the others.

    The subject, the entity, is the first text that is required and no choice, else the first such argument. The
    question gives the others.

    Args:
        returns: JSON schema of its result.
        call: takes the arguments by name.

    Raises:
        UserError: no argument is the subject, one is a list or an object, or it returns nothing.
    """
    shape = read_shape(id, returns)
    free = [p for p in parameters if p.required and p.choices is None]
    if not free:
        raise UserError(f"{id}: no argument is an entity: one must have neither a default nor a list of values")
    if composed := [p.name for p in free if not p.datatype]:
        raise UserError(
            f"{id}: the argument {composed[0]!r} is a list or an object, which no entity and no question gives; give "
            f"it a default, or bind it with functools.partial"
        )
    subject = next((p for p in free if p.datatype == STRING), free[0])
    further = tuple(p for p in free if p is not subject)
    names = [subject.name, *(p.name for p in further)]
    choices = {p.name: p.choices for p in parameters if p.required and p.choices is not None}
    combined = list(itertools.islice(itertools.product(*choices.values()), _MOST_CHOICES + 1))
    if len(combined) > _MOST_CHOICES:
        raise UserError(f"{id}: its arguments have more than {_MOST_CHOICES} combinations of values; bind some of them")

    def called(bound: Mapping[str, Any], *texts: str) -> Any:
        return call({**dict(zip(names, texts, strict=True)), **bound})

    found = []
    for values in combined:
        bound = dict(zip(choices, values, strict=True))
        said = "".join(f" {name.replace('_', ' ')} {value}" for name, value in bound.items())
        found.append(
            Function(
                f"{id}{''.join(f';{name}={value}' for name, value in bound.items())}",
                f"{relation_label(id)}{said}",
                description,
                subject,
                shape,
                functools.partial(called, bound),
                further,
            )
        )
    return found


def of_callable(function: FunctionSource) -> list[Function]:
    """The functions that an annotated Python function is.

    Args:
        function: its docstring describes it, its annotations say what it takes and returns (a pydantic model, a
            dataclass, a `TypedDict`, numbers, texts, dates, lists of them).

    Raises:
        UserError: no annotations, types that have no JSON schema, or arguments that `bind` refuses.
    """
    inner = getattr(function, "func", function)  # of functools.partial
    name = str(getattr(inner, "__name__", "function"))
    try:
        hints = typing.get_type_hints(inner, include_extras=True)
        signature = inspect.signature(function)
        returns: TypeAdapter[Any] = TypeAdapter(hints["return"])
        taken = {
            p.name: TypeAdapter(hints[p.name]) for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD
        }
        parameters = [
            Parameter(p, adapter.json_schema(), signature.parameters[p].default is inspect.Parameter.empty)
            for p, adapter in taken.items()
        ]
        schema = returns.json_schema(mode="serialization")
    except KeyError as missing:
        raise UserError(f"{name}: no annotation of {missing.args[0]!r}; annotate arguments and result") from None
    except (NameError, TypeError, ValueError, PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UserError(f"{name}: its types cannot be described: {str(error).splitlines()[0]}") from None
    description = (inspect.getdoc(inner) or "").partition("\n")[0]

    def call(arguments: Mapping[str, Any]) -> Any:
        given = {key: taken[key].validate_python(value, strict=False) for key, value in arguments.items()}
        result = function(**given)
        result = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        try:
            return returns.dump_python(returns.validate_python(result), mode="json")
        except ValidationError as error:
            first = error.errors()[0]
            raise NotAsDeclaredError(first["loc"], first["msg"]) from None

    return bind(name, description, parameters, schema, call)


class NotAsDeclaredError(ValueError):
    """A result that is not of the declared type.

    Args:
        place: the keys that lead to the wrong value.
    """

    def __init__(self, place: Iterable[str | int], message: str) -> None:
        super().__init__(": ".join(part for part in (".".join(map(str, place)), message) if part))


def reason_of(error: BaseException) -> str:
    """Why a call failed, in one line."""
    kind = "its result is not as declared" if isinstance(error, NotAsDeclaredError) else type(error).__name__
    return f"{kind}: {error}".splitlines()[0][:200].rstrip(": ")


async def _awaited(result: Any) -> Any:
    return await result
