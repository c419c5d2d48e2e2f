"""Wikidata's JSON dump: one item or property per line, read as a stream, plain or compressed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from triplecheck.kg.errors import ReadError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.columns import DAMAGED
from triplecheck.kg.readers.raw import (
    EDGE_PROPERTY_SCHEMA,
    ENTITY_SCHEMA,
    RELATION_SCHEMA,
    BadLine,
    RawGraph,
    StringColumns,
    open_packed,
)
from triplecheck.kg.types import XSD

_INSTANCE_OF = "P31"
_BATCH = 10_000  # entities
_YEAR, _MONTH = 9, 10  # precisions of a time
Value = tuple[str, str | None]
"""Lexical form and datatype; None for an entity."""


def is_wikidata(path: Path) -> bool:
    """Whether a JSON file is a dump of Wikidata: `[`, then an object with claims or labels on each line."""
    try:
        with open_packed(path) as source:
            start = source.read(400).lstrip(b"\xef\xbb\xbf \n\r\t")
    except DAMAGED:
        return False
    body = start.removeprefix(b"[").lstrip()
    return start.startswith((b"[", b'{"type":"item"')) and body.startswith((b'{"type":"item"', b'{"type":"property"'))


def read_wikidata(
    path: Path, *, language: str = "en", skip_bad: bool = False, progress: ProgressCallback = no_progress
) -> RawGraph:
    """Read a dump, or any part of one that keeps one entity per line.

    Each statement of an item is an edge, its qualifiers are edge properties, "instance of" is also the type. Names are
    those of the language, else of all languages (`mul`), else of English. Deprecated statements, and those without a
    value, are left out and counted.

    Raises:
        ReadError: the file is damaged, or a line is not JSON and `skip_bad` is off.
    """
    edges, properties = StringColumns(4), StringColumns(4)
    entities: list[pa.Table] = []
    relations: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    skipped: list[BadLine] = []
    left_out: Counter[str] = Counter()
    count = described = 0
    rows: list[dict[str, Any]] = []
    edge_rows: list[tuple[str | None, ...]] = []
    property_rows: list[tuple[str | None, ...]] = []

    def flush() -> None:
        edges.add(edge_rows)
        properties.add(property_rows)
        entities.append(pa.Table.from_pylist(rows, ENTITY_SCHEMA))
        for held in (edge_rows, property_rows, rows):
            held.clear()
        progress(f"reading {path.name}", count, None)

    for number, line in _lines(path):
        try:
            about = json.loads(line)
        except ValueError as error:
            if not skip_bad:
                raise ReadError(path, number, f"not JSON: {error}") from error
            skipped.append(BadLine(str(path), number, f"not JSON: {error}"))
            continue
        row = _description(about, language)
        described += len(row["aliases"]) + bool(row["label"]) + bool(row["description"])
        if about.get("type") == "property":
            relations.append(row)
        else:
            if row["label"]:
                labels[row["id"]] = row["label"]
            rows.append(row)
        for statement in _statements(about):
            value = None if statement.get("rank") == "deprecated" else _value(statement["mainsnak"])
            if value is None:
                left_out["statements that are deprecated or have no value"] += 1
                continue
            relation = statement["mainsnak"]["property"]
            if relation == _INSTANCE_OF and value[1] is None:
                row["types"].append(value[0])
            edge_rows.append((row["id"], relation, *value))
            for qualifier in (one for group in statement.get("qualifiers", {}).values() for one in group):
                told = _value(qualifier)
                if told is not None:
                    property_rows.append((str(count), qualifier["property"], *told))
            count += 1
        if len(rows) >= _BATCH:
            flush()
    flush()
    columns = properties.arrays()
    table = [columns[0].cast(pa.string()).cast(pa.int64()), *(column.cast(pa.string()) for column in columns[1:])]
    types = {kind for part in entities for kinds in part["types"].to_pylist() for kind in kinds}
    heads, names, tails, datatypes = edges.arrays()
    return RawGraph(
        heads,
        names,
        tails,
        datatypes,
        entities=pa.concat_tables(entities),
        relation_rows=pa.Table.from_pylist(relations, RELATION_SCHEMA),
        edge_properties=pa.table(table, schema=EDGE_PROPERTY_SCHEMA),
        type_labels={kind: labels[kind] for kind in types if kind in labels},
        skipped=skipped,
        read=count + described + sum(left_out.values()),
        described=described,
        left_out=dict(left_out),
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with open_packed(path) as source:
            for number, line in enumerate(source, 1):
                content = line.strip().removeprefix(b"[").removesuffix(b"]").strip().removesuffix(b",")
                if content:
                    yield number, content
    except DAMAGED as error:
        raise ReadError(path, None, f"cannot be read to the end: {error}") from error


def _description(about: dict[str, Any], language: str) -> dict[str, Any]:
    def text(field: str) -> str | None:
        given = about.get(field) or {}
        return next((given[tag]["value"] for tag in (language, "mul", "en") if tag in given), None)

    given = about.get("aliases") or {}
    aliases = [alias["value"] for tag in dict.fromkeys((language, "mul")) for alias in given.get(tag, ())]
    return {
        "id": about["id"],
        "label": text("labels"),
        "description": text("descriptions"),
        "aliases": aliases,
        "types": [],
    }


def _statements(about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    claims = about.get("claims") or {}
    return (statement for group in (claims.values() if isinstance(claims, dict) else ()) for statement in group)


def _value(snak: dict[str, Any]) -> Value | None:
    """The value of a statement or qualifier; None if it is unknown, absent or of a form that is not read."""
    given = snak.get("datavalue")
    if snak.get("snaktype") != "value" or not given:
        return None
    kind, value = given["type"], given["value"]
    if kind == "wikibase-entityid":
        return value.get("id") or f"Q{value['numeric-id']}", None
    if kind == "string":
        return value, XSD + "string"
    if kind == "monolingualtext":
        return value["text"], XSD + "string"
    if kind == "quantity":
        return value["amount"].removeprefix("+"), XSD + "decimal"
    if kind == "globecoordinate":
        return f"{value['latitude']}, {value['longitude']}", XSD + "string"
    return _time(value) if kind == "time" else None


def _time(value: dict[str, Any]) -> Value:
    """A point in time at its precision: a year, a month or a day."""
    text = value["time"].removeprefix("+").partition("T")[0]
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    year, month, day = digits.split("-")
    if value["precision"] <= _YEAR or month == "00":
        return f"{sign}{year}", XSD + "gYear"
    if value["precision"] == _MONTH or day == "00":
        return f"{sign}{year}-{month}", XSD + "gYearMonth"
    return f"{sign}{year}-{month}-{day}", XSD + "date"
