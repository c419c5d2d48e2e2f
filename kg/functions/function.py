"""`Function`: something that can be called about an entity, and the schema of what it returns."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.shapes import Shape, read_shape
from triplecheck.kg.readable import relation_label

_MOST_CHOICES = 12  # relations made of one function by the values of its arguments

FunctionSource = Callable[..., Any]
"""A Python function with annotations: the arguments are checked by name, the result by its return type."""


@dataclass(frozen=True)
class Function:
    """One function with its arguments bound, but for its subject.

    Attributes:
        id: unique among the functions of a graph.
        subject: name of the argument that is the entity: its label, or its id if the name ends in "id".
        datatype: JSON type and format of the subject, such as `string` or `string date`.
        call: takes the subject and returns plain JSON values.
    """

    id: str
    label: str
    description: str
    subject: str
    datatype: str
    shape: Shape
    call: Callable[[str], Any]

    @property
    def takes_id(self) -> bool:
        """Whether it takes the id of an entity, not its label."""
        return self.subject.lower() == "id" or self.subject.endswith(("_id", "Id"))


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

    @property
    def datatype(self) -> str:
        """JSON type and format."""
        kind = next((k for k in _listed(self.schema.get("type", "string")) if k != "null"), "string")
        return f"{kind} {self.schema.get('format', '')}".strip()

    @property
    def choices(self) -> list[Any] | None:
        """All its values, if they are few; None if they are not."""
        if self.datatype == "boolean":
            return [False, True]
        if "const" in self.schema:
            return [self.schema["const"]]
        return list(self.schema["enum"]) if "enum" in self.schema else None


def bind(
    id: str,
    description: str,
    parameters: Sequence[Parameter],
    returns: Mapping[str, Any],
    call: Callable[[Mapping[str, Any]], Any],
) -> list[Function]:
    """The functions of one subject that a function with several arguments is: one for each choice of the others.

    The subject, the entity, is the argument that is required and no choice.

    Args:
        returns: JSON schema of its result.
        call: takes the arguments by name.

    Raises:
        UserError: no argument is the subject, another one has neither default nor choices, or it returns nothing.
    """
    shape = read_shape(id, returns)
    free = [p for p in parameters if p.required and p.choices is None]
    if not free:
        raise UserError(f"{id}: no argument is an entity: one must have neither a default nor a list of values")
    subject, *others = free
    if others:
        raise UserError(
            f"{id}: the argument {others[0].name!r} has neither a default nor a list of values (Literal, enum); give "
            f"it one, or bind it with functools.partial"
        )
    choices = {p.name: p.choices or [] for p in parameters if p.required and p is not subject}
    combined = list(itertools.islice(itertools.product(*choices.values()), _MOST_CHOICES + 1))
    if len(combined) > _MOST_CHOICES:
        raise UserError(f"{id}: its arguments have more than {_MOST_CHOICES} combinations of values; bind some of them")
    found = []
    for values in combined:
        bound = dict(zip(choices, values, strict=True))
        said = "".join(f" {name.replace('_', ' ')} {value}" for name, value in bound.items())
        found.append(
            Function(
                f"{id}{''.join(f';{name}={value}' for name, value in bound.items())}",
                f"{relation_label(id)}{said}",
                description,
                subject.name,
                subject.datatype,
                shape,
                lambda value, own=bound: call({subject.name: value, **own}),  # type: ignore[misc]
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
        return returns.dump_python(returns.validate_python(result), mode="json")

    return bind(name, description, parameters, schema, call)


def reason_of(error: BaseException) -> str:
    """Why a call failed, in one line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return f"its result is not as declared: {f'{place}: ' if place else ''}{first['msg']}"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200].rstrip(": ")


async def _awaited(result: Any) -> Any:
    return await result


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
