"""`Shape`: what a function returns, as relations: the properties of a JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from triplecheck.kg.errors import UserError
from triplecheck.kg.readable import relation_label
from triplecheck.kg.types import XSD

DATATYPES = {"integer": "integer", "number": "decimal", "boolean": "boolean", "string date": "date"}
DATATYPES |= {"string date-time": "dateTime"}
"""Local names of XSD's datatypes, by JSON type and format."""
_DEEPEST = 3  # objects within objects


@dataclass(frozen=True)
class Shape:
    """A value or an object of a result.

    Attributes:
        title: of an object: what it is, such as "Standing".
        datatype: of a value: its IRI; empty for an object.
        fields: of an object: (key, description, shape) of its properties.
        open: an object whose properties are not declared: each becomes a text "name: value".
        many: whether it is a list of objects or values.
    """

    title: str = ""
    datatype: str = ""
    fields: tuple[tuple[str, str, Shape], ...] = ()
    open: bool = False
    many: bool = False


def read_shape(function: str, schema: Mapping[str, Any]) -> Shape:
    """The shape of a JSON schema with its own definitions. A list has the shape of its items.

    Raises:
        UserError: it returns nothing, or the schema refers to what it does not have.
    """
    if not schema or schema.get("type") == "null":
        raise UserError(f"{function}: it returns nothing that is declared; give it a type of its result")
    return _read(function, schema, schema, 0)


def resolved(function: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema, or what it refers to within the root (`#/$defs/City`).

    Raises:
        UserError: there is nothing at this place, or it refers to itself.
    """
    for _ in range(20):
        if "$ref" not in schema:
            return schema
        place: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
        if not isinstance(place, Mapping):
            raise UserError(f"{function}: nothing is at {schema['$ref']}; references must stay within the file")
        schema = place
    raise UserError(f"{function}: the references of its schema do not end")


def _read(function: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Shape:
    name = str(schema.get("$ref", "")).rpartition("/")[2]  # what the file calls an object without a title
    schema = resolved(function, schema, root)
    for how in ("anyOf", "oneOf", "allOf"):
        options = [resolved(function, one, root) for one in schema.get(how, ())]
        if meant := [one for one in options if one.get("type") != "null"]:
            return _read(function, meant[0], root, depth)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = next((k for k in kinds if k != "null"), "string") if isinstance(kinds, list) else kinds
    if kind == "array":
        return replace(_read(function, schema.get("items") or {}, root, depth), many=True)
    if kind != "object":
        form = f"{kind} {schema.get('format', '')}".strip()
        return Shape(datatype=XSD + DATATYPES.get(form, DATATYPES.get(str(kind), "string")))
    title = str(schema.get("title") or name or relation_label(function))
    properties = schema.get("properties")
    if not properties or depth == _DEEPEST:
        return Shape(title, open=True)
    fields = tuple(
        (key, str(resolved(function, one, root).get("description", "")), _read(function, one, root, depth + 1))
        for key, one in properties.items()
    )
    return Shape(title, fields=fields)


def values(shape: Shape, result: Any) -> Iterator[Any]:
    """The items of a result of this shape: values as text, objects as mappings; nothing for null.

    An object whose properties are not declared gives a text for each property.
    """
    if result is None:
        return
    if isinstance(result, list):
        for one in result:
            yield from values(shape, one)
    elif shape.open and isinstance(result, Mapping):
        yield from (f"{relation_label(key)}: {text(one)}" for key, one in result.items() if one is not None)
    elif isinstance(result, Mapping) and not shape.datatype:
        yield result
    elif shape.datatype:
        yield text(result)


def text(value: Any) -> str:
    """A JSON value as the lexical form of a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {text(one)}" for key, one in value.items())
    return str(value)
