"""Reading released predictions: JSON, JSON lines, CSV or TSV, with fields of any name.

A field may lie deeper, with dots between the names (`output.answer`); where a list lies on the way, all of
its items are gone through (`Parses.Answers.EntityName`). A row that cannot be read is told, with why, and
does not keep the others from being read.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from triplecheck.kg import ReadError, UserError

Format = Literal["json", "jsonl", "csv", "tsv"]
FORMATS: tuple[Format, ...] = ("json", "jsonl", "csv", "tsv")
_SUFFIXES: dict[str, Format] = {".ndjson": "jsonl", ".tab": "tsv", **{f".{one}": one for one in FORMATS}}


@dataclass(frozen=True)
class Fields:
    """Where things stand.

    Attributes:
        id: field of the question's id; need not be there where the question is.
        question: field of the question's text.
        prediction: field of what was answered.
        gold: field of the correct answers; not looked at where they come from another file.
        records: field of a JSON file in which its rows lie; empty: the file itself is they.
        separator: what stands between several answers in one text; `json`: such a text is a JSON list;
            empty: a text is one answer.
    """

    id: str = "id"
    question: str = "question"
    prediction: str = "prediction"
    gold: str = "gold"
    records: str = ""
    separator: str = ""


@dataclass(frozen=True)
class Released:
    """A row that could be read.

    Attributes:
        place: where it stands in the file.
        id: of the question, where it is there.
        question: its text, where it is there.
        prediction: what was answered, one text an answer, the first first; empty: nothing.
        gold: the correct answers, where they are there.
    """

    place: str
    id: str | None
    question: str | None
    prediction: tuple[str, ...]
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Unscored:
    """A row that was not scored, and why."""

    place: str
    reason: str


def read_released(path: Path, fields: Fields, form: Format | None = None) -> Iterator[Released | Unscored]:
    """The rows of a file, in order.

    Args:
        path: the file. A JSON file holds a list of objects, or an object by id, of objects or of answers.
        fields: where things stand.
        form: of the file; None: as its name ends.

    Raises:
        ReadError: the file as a whole cannot be read.
        UserError: its name does not tell its format.
    """
    form = form or _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise UserError(f"{path}: its name does not tell its format; name one of {', '.join(FORMATS)} with --format")
    try:
        for place, row in _rows(path, form, fields):
            try:
                yield _released(place, row, fields) if isinstance(row, Mapping) else Unscored(place, _not_a_row(row))
            except ValueError as error:
                yield Unscored(place, str(error))
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, None, f"is not UTF-8 ({error.reason})") from error
    except csv.Error as error:
        raise ReadError(path, None, f"is no {form.upper()} ({error})") from error


def _rows(path: Path, form: Format, fields: Fields) -> Iterator[tuple[str, Any]]:
    if form == "json":
        yield from _json_rows(path, fields)
        return
    with path.open(encoding="utf-8-sig", newline="" if form != "jsonl" else None) as source:
        if form == "jsonl":
            for number, line in enumerate(source, 1):
                if line.strip():
                    yield f"line {number}", _json_line(line)
            return
        table = csv.DictReader(source, delimiter="\t" if form == "tsv" else ",", restkey="", strict=True)
        if fields.prediction not in (table.fieldnames or ()):
            columns = ", ".join(table.fieldnames or ()) or "none"
            raise ReadError(path, 1, f"has no column {fields.prediction!r}; there are: {columns}")
        for row in table:
            yield f"line {table.line_num}", {name: value for name, value in row.items() if name and value is not None}


def _json_rows(path: Path, fields: Fields) -> Iterator[tuple[str, Any]]:
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ReadError(path, None, f"is not JSON ({error}); for JSON lines say --format jsonl") from error
    if fields.records:
        try:
            found = _at(found, fields.records)
        except ValueError as error:
            raise ReadError(path, None, str(error)) from error
    if isinstance(found, Mapping):
        for id, value in found.items():
            row = dict(value) if isinstance(value, Mapping) else {fields.prediction: value}
            yield f"key {id!r}", {fields.id: id} | row
    elif isinstance(found, list):
        yield from ((f"item {number}", row) for number, row in enumerate(found, 1))
    else:
        raise ReadError(path, None, f"holds a {type(found).__name__}, neither a list nor an object of rows")


def _json_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        return error


def _not_a_row(row: Any) -> str:
    return f"is not JSON ({row})" if isinstance(row, Exception) else f"is a {type(row).__name__}, not an object"


def _released(place: str, row: Mapping[str, Any], fields: Fields) -> Released:
    return Released(
        place,
        _one(row, fields.id),
        _one(row, fields.question),
        tuple(_texts(_at(row, fields.prediction), fields.prediction, fields.separator)),
        tuple(_texts(_at(row, fields.gold, None), fields.gold, fields.separator)),
    )


_REQUIRED = object()


def _at(value: Any, name: str, default: Any = _REQUIRED) -> Any:
    """What lies in a field; ValueError where there is none and no default."""
    if isinstance(value, Mapping) and name in value:
        return value[name]  # a name may have dots of its own
    head, _, rest = name.partition(".")
    if isinstance(value, list) and name:
        return [_at(item, name, default) for item in value]
    if isinstance(value, Mapping) and head in value:
        return _at(value[head], rest, default)
    if default is _REQUIRED:
        there = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise ValueError(f"has no field {name!r}; there are: {there[:200]}")
    return default


def _one(row: Mapping[str, Any], name: str) -> str | None:
    texts = [*_texts(_at(row, name, None), name, "")]
    return texts[0] if len(texts) == 1 and texts[0] else None


def _texts(value: Any, name: str, separator: str) -> Iterator[str]:
    """The texts of a value, however deep its lists."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item, name, separator)
    elif isinstance(value, str):
        yield from _parts(value, name, separator)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif value is not None:
        raise ValueError(f"{name!r} is {json.dumps(value)[:80]}, not text, a number or a list of such")


def _parts(text: str, name: str, separator: str) -> Iterator[str]:
    if separator == "json" and text.lstrip().startswith("["):
        try:
            yield from _texts(json.loads(text), name, "")
        except json.JSONDecodeError as error:
            raise ValueError(f"{name!r} is no JSON list ({error})") from error
    elif separator and separator != "json":
        yield from (part.strip() for part in text.split(separator) if part.strip())
    else:
        yield text.strip()
