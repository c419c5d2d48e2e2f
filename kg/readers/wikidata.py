"""Wikidata's JSON dump: one item or property per line, read as a stream, plain or compressed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from triplecheck.kg.readers.columns import DAMAGED, reading
from triplecheck.kg.readers.options import ReadOptions
from triplecheck.kg.readers.raw import (
    EDGE_PROPERTY_SCHEMA,
    ENTITY_SCHEMA,
    RELATION_SCHEMA,
    BadLine,
    RawGraph,
    StringColumns,
    bad_line,
    open_packed,
)
from triplecheck.kg.types import XSD
from triplecheck.kg.values import parse_record
from triplecheck.kg.vocabulary import fallbacks, missing_language, tag_rank

_INSTANCE_OF = "P31"
_BATCH = 10_000  # entities
_YEAR, _MONTH = 9, 10  # precisions of a time
Value = tuple[str, str | None]
"""Lexical form and datatype; None for an entity."""
_MALFORMED = (AttributeError, KeyError, TypeError, ValueError)


def is_wikidata(path: Path) -> bool:
    """Whether a JSON file is a dump of Wikidata: `[`, then an object with claims or labels on each line."""
    try:
        with open_packed(path) as source:
            start = source.read(400).lstrip(b"\xef\xbb\xbf \n\r\t")
    except DAMAGED:
        return False
    body = start.removeprefix(b"[").lstrip()
    return start.startswith((b"[", b'{"type":"item"')) and body.startswith((b'{"type":"item"', b'{"type":"property"'))


def read_wikidata(path: Path, how: ReadOptions) -> RawGraph:
    """Read a dump, or any part of one that keeps one entity per line.

    Each statement of an item is an edge, its qualifiers are edge properties, "instance of" is also the type. Names are
    those of the language, else of all languages (`mul`), else of English. Deprecated statements, and those without a
    value, are left out and counted.

    Raises:
        ReadError: the file is damaged, or a line is no entity in JSON and `skip_bad` is off.
    """
    edges, properties = StringColumns(4), StringColumns(4)
    entities: list[pa.Table] = []
    relations: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    skipped: list[BadLine] | None = [] if how.skip_bad else None
    left_out: Counter[str] = Counter()
    count = described = 0
    tags: set[str] = set()
    rows: list[dict[str, Any]] = []
    edge_rows: list[tuple[str | None, ...]] = []
    property_rows: list[tuple[str | None, ...]] = []

    def flush() -> None:
        edges.add(edge_rows)
        properties.add(property_rows)
        entities.append(pa.Table.from_pylist(rows, ENTITY_SCHEMA))
        for held in (edge_rows, property_rows, rows):
            held.clear()
        how.progress(f"reading {path.name}", count, None)

    for number, line in _lines(path):
        try:
            about: Any = parse_record(line)
            row, found, told, lacking = _entity(about, how.language)
            tags |= {*(about.get("labels") or {})}
        except _MALFORMED as error:
            reason = f"not an entity as Wikidata writes it ({f'no {error}' if isinstance(error, KeyError) else error})"
            bad_line(skipped, path, number, reason, error)
            continue
        described += len(row["aliases"]) + bool(row["label"]) + bool(row["description"])
        if about.get("type") == "property":
            relations.append(row)
        else:
            if row["label"]:
                labels[row["id"]] = row["label"]
            rows.append(row)
        left_out["statements that are deprecated or have no value"] += lacking
        edge_rows += found
        property_rows += ((str(count + at), *value) for at, *value in told)
        count += len(found)
        if len(rows) >= _BATCH:
            flush()
    flush()
    columns = properties.arrays()
    table = [columns[0].cast(pa.string()).cast(pa.int64()), *(column.cast(pa.string()) for column in columns[1:])]
    types = {kind for part in entities for kinds in part["types"].to_pylist() for kind in kinds}
    return replace(
        RawGraph(*edges.arrays()),
        entities=pa.concat_tables(entities),
        relation_rows=pa.Table.from_pylist(relations, RELATION_SCHEMA),
        edge_properties=pa.table(table, schema=EDGE_PROPERTY_SCHEMA),
        type_labels={kind: labels[kind] for kind in types if kind in labels},
        skipped=skipped or [],
        read=count + described + sum(left_out.values()),
        described=described,
        left_out=dict(left_out),
        notes=missing_language(how.language, tags),
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with reading(path), open_packed(path) as source:
        for number, line in enumerate(source, 1):
            content = line.strip().removeprefix(b"[").removesuffix(b"]").strip().removesuffix(b",")
            if content:
                yield number, content


def _entity(
    about: Any, language: str
) -> tuple[dict[str, Any], list[tuple[str | None, ...]], list[tuple[Any, ...]], int]:
    """What a line says; one of `_MALFORMED` if it is not an entity.

    Returns:
        The row of the table of entities, or of relations; edges (head, relation, value); their properties (place of the
        edge, name, value); and the number of statements that are deprecated or have no value.
    """
    row = _description(about, language)
    edges: list[tuple[str | None, ...]] = []
    properties: list[tuple[Any, ...]] = []
    left_out = 0
    claims = about.get("claims") or {}
    for statement in (one for group in (claims.values() if isinstance(claims, dict) else ()) for one in group):
        snak = statement["mainsnak"]
        value = None if statement.get("rank") == "deprecated" else _value(snak)
        if value is None:
            left_out += 1
            continue
        relation = _text(snak["property"])
        if relation == _INSTANCE_OF and value[1] is None:
            row["types"].append(value[0])
        for qualifier in (one for group in (statement.get("qualifiers") or {}).values() for one in group):
            told = _value(qualifier)
            if told is not None:
                properties.append((len(edges), _text(qualifier["property"]), *told))
        unit = _unit(snak)
        if unit is not None:
            properties.append((len(edges), "unit", unit, None))
        edges.append((row["id"], relation, *value))
    return row, edges, properties, left_out


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _description(about: dict[str, Any], language: str) -> dict[str, Any]:
    wanted = fallbacks(language)

    def best_first(given: Mapping[str, Any]) -> list[str]:
        """The tags of the language, in order, then that of all languages."""
        ranked = sorted((tag_rank(tag, wanted), tag) for tag in given)
        return [*(tag for rank, tag in ranked if rank < 2 * len(wanted)), *(["mul"] if "mul" in given else [])]

    def text(field: str) -> str | None:
        given = about.get(field) or {}
        tag = next(iter([*best_first(given), *(["en"] if "en" in given else [])]), None)
        return None if tag is None else _text(given[tag]["value"])

    given = about.get("aliases") or {}
    tags = dict.fromkeys(best_first(given))
    return {
        "id": _text(about["id"]),
        "label": text("labels"),
        "description": text("descriptions"),
        "aliases": [_text(alias["value"]) for tag in tags if tag in given for alias in given[tag]],
        "types": [],
    }


def _unit(snak: dict[str, Any]) -> str | None:
    """The item that is the unit of a quantity; None: it has none."""
    value = (snak.get("datavalue") or {}).get("value")
    unit = str(value.get("unit", "1")) if isinstance(value, dict) else "1"
    return None if unit == "1" else _text(unit.rpartition("/")[2])


def _value(snak: dict[str, Any]) -> Value | None:
    """The value of a statement or qualifier; None if it is unknown, absent or of a form that is not read."""
    given = snak.get("datavalue")
    if snak.get("snaktype") != "value" or not given:
        return None
    kind, value = given["type"], given["value"]
    if kind == "wikibase-entityid":
        return _text(value.get("id") or f"Q{value['numeric-id']}"), None
    if kind == "string":
        return _text(value), XSD + "string"
    if kind == "monolingualtext":
        return _text(value["text"]), XSD + "string"
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
