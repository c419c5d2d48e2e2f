"""Values as text: writes typed fields for a model, and parses what a model wrote.

The forms are short enough for small models: one item per line, numbers with commas, `none` for an empty list.
A value that would not survive the round trip in such a form is written as JSON.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from dspy.adapters.utils import get_annotation_name, parse_value, serialize_for_json
from pydantic_core import CoreSchema, core_schema

NOTHING = frozenset({"", "none", "n/a", "null", "[]", "empty", "-", "()", "{}"})
"""Forms of an empty list or a missing value, compared in lower case and without a final full stop."""

_DASH = r"\-\u2013\u2014"
_BULLET = re.compile(rf"^(?:[*•{_DASH}]\s+|\[\d+\]\s*)")
_MARK = re.compile(rf"^[*•{_DASH}]\s+")
_NUMBERED = re.compile(r"^\d{1,3}[.)]\s+")
_PYTHON_STRING = re.compile(r"""'((?:[^'\\]|\\.)*+)(?:'|\Z)|"((?:[^"\\]|\\.)*+)(?:"|\Z)""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(['"\\])""")
_FENCE = re.compile(r"```[\w-]*\s*")
_RANGE = re.compile(rf"(?<=\d)\s*[{_DASH}]\s*(?=\d)")
_ONLY_NUMBERS = re.compile(
    rf"(?:and|facts?|paths?|numbers?|items?|relations?|no\b|[\d\s,;:#&.\[\]()*_`+{_DASH}])+", re.I
)
_END_OF_CHOICE = re.compile(rf"[,.;:(]|\s[{_DASH}]\s")
_MARKUP = re.compile(r"\[\[|\[/?think|<[/|｜]?\w", re.IGNORECASE)
_SCORED = re.compile(r"\[?(?P<number>\d+)\]?\s*[:：=(]\s*(?P<score>\d+(?:\.\d+)?|\.\d+)\)?\.?")
_SCORE_MARK = re.compile(r"[:：=(]")
_MOST_IN_RANGE = 1000


SCORES = dict[int, float]
"""The type of a field that names items of a list by their numbers, and gives each a score."""


def hint(annotation: Any) -> str:
    """The expected kind of value in a few words; empty for text."""
    inner = _optional(annotation)
    if inner is not None:
        return f"{hint(inner) or 'text'}, or none"
    item = _list_item(annotation)
    if annotation == SCORES:
        return "one per line as number: score, or none"
    if item is str:
        return "one per line, or none"
    if item is int:
        return "numbers separated by commas, or none"
    if item is not None and _is_simple(item):
        return f"one per line, each {hint(item)}, or none"
    if get_origin(annotation) is Literal:
        return "one of: " + "; ".join(str(option) for option in get_args(annotation))
    plain = {str: "", bool: "True or False", int: "a whole number", float: "a number"}
    return plain[annotation] if annotation in plain else f"JSON for {get_annotation_name(annotation)}"


def render(annotation: Any, value: Any) -> str:
    """Write an output value so that `read` gives it back."""
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, list) and _is_simple(_list_item(annotation)):
        return _render_list(annotation, value)
    if isinstance(value, Mapping) and annotation == SCORES:
        return "\n".join(f"{number}: {score}" for number, score in value.items()) or "none"
    plain = serialize_for_json(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else str(plain)


def render_numbered(items: list[Any]) -> str:
    """Write an input list: one `[i] item` a line, from 1; `none` for an empty one."""
    lines = [f"[{number}] {' '.join(str(item).split())}" for number, item in enumerate(items, start=1)]
    return "\n".join(lines) or "none"


class NumberedList(list[Any]):
    """A list that every DSPy adapter writes as `render_numbered` does, so that a model can cite its items."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """DSPy's adapters turn values into text by Pydantic."""
        numbered = core_schema.plain_serializer_function_ser_schema(render_numbered)
        return core_schema.no_info_plain_validator_function(cls, serialization=numbered)


def numbered_lists(fields: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, NumberedList]:
    """The lists among the values of these input fields, each as a `NumberedList`."""
    return {
        name: NumberedList(values[name])
        for name, field in fields.items()
        if isinstance(values.get(name), list) and (is_list(field.annotation) or field.annotation is str)
    }


def read(annotation: Any, text: str) -> Any:
    """Read what a model wrote as a value of the given type.

    Raises:
        ValueError: the text cannot be parsed; the message says what was expected.
    """
    text = _unfenced(text.strip())
    inner = _optional(annotation)
    if inner is not None:
        return None if _is_nothing(text) else read(inner, text)
    item = _list_item(annotation)
    if annotation == SCORES:
        return _read_scores(text)
    if item is int:
        return _read_ints(text)
    if item is str:
        return _read_items(text)
    if _is_simple(item):
        return [read(item, part) for part in _read_items(text)]
    if annotation is str:
        return text
    if annotation is bool:
        return _choose(text, {"true": True, "yes": True, "false": False, "no": False})
    if get_origin(annotation) is Literal:
        return _choose(text, {str(option).casefold(): option for option in get_args(annotation)})
    if annotation in (int, float):
        return _read_number(text, annotation)
    try:
        return parse_value(text, annotation)
    except ValueError as error:
        raise ValueError(f"{_short(text)} is no {hint(annotation)}") from error


def is_list(annotation: Any) -> bool:
    """Whether values of this type are lists written with one item per line."""
    return _is_simple(_list_item(annotation))


def _render_list(annotation: Any, items: list[Any]) -> str:
    texts = [render(_list_item(annotation), item) for item in items]
    text = (", " if _list_item(annotation) is int else "\n").join(texts) or "none"
    if not _MARKUP.search(text):
        try:
            if read(annotation, text) == items:
                return text
        except ValueError:
            pass
    # Header-like or thought-like text would end the field: JSON can escape it.
    written = json.dumps(items, ensure_ascii=False)
    return written[0] + written[1:].replace("[", "\\u005b").replace("<", "\\u003c")


def _read_items(text: str) -> list[str]:
    listed = _json_list(text)
    if listed is not None:
        return [item if isinstance(item, str) else json.dumps(item) for item in listed]
    if _is_nothing(text):
        return []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if all(_NUMBERED.match(line) for line in lines):
        lines = [_NUMBERED.sub("", line) for line in lines]
    items = [_unmarked(_BULLET.sub("", line)) for line in lines]
    return [item for item in items if item]


def _read_ints(text: str) -> list[int]:
    listed = _json_list(text)
    if listed is not None and all(isinstance(item, int) and not isinstance(item, bool) for item in listed):
        return listed
    if _is_nothing(_unmarked(text)):
        return []
    found: list[int] = []
    for line in text.splitlines():
        found += _ints_of_line(_unmarked(_MARK.sub("", line.strip())))
    return found


def _read_scores(text: str) -> dict[int, float]:
    """The score of each number; 1 for all of them if none has a score. Of two scores of a number the first counts."""
    if text.startswith("{"):
        found = _json_scores(text)
        if found is not None:
            return found
    if not _SCORE_MARK.search(text):
        return dict.fromkeys(_read_ints(text), 1.0)
    scores: dict[int, float] = {}
    for line in filter(None, (_unmarked(_MARK.sub("", line.strip())) for line in text.splitlines())):
        match = _SCORED.fullmatch(line)
        if match is None:
            raise ValueError(f"{_short(line)} is no number with a score; write it as 2: 0.5")
        scores.setdefault(int(match["number"]), float(match["score"]))
    return scores


def _json_scores(text: str) -> dict[int, float] | None:
    try:
        found = {int(number): float(score) for number, score in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return found if all(map(math.isfinite, found.values())) else None


def _ints_of_line(line: str) -> list[int]:
    if not line:
        return []
    if _ONLY_NUMBERS.fullmatch(line):
        numbered = _NUMBERED.match(line)
        if numbered and re.search(r"\d", line[numbered.end() :]):
            line = line[numbered.end() :]
        return _spread(line)
    bracketed = re.findall(r"\[(\d+)\]", line)
    if bracketed:
        return [int(number) for number in bracketed]
    numbered = _NUMBERED.match(line)
    if numbered:
        return [int(numbered.group().strip(" .)\t"))]
    raise ValueError(f"{_short(line)} is no list of numbers")


def _spread(line: str) -> list[int]:
    """The numbers of a line, ranges such as 2-4 spread out."""
    if re.search(r"\d\.\d", line):
        raise ValueError(f"{_short(line)} is no list of whole numbers")
    found: list[int] = []
    for part in re.findall(rf"-?\d+(?:\s*[{_DASH}]\s*\d+)*", line):
        ends = [int(end) for end in _RANGE.split(part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] < _MOST_IN_RANGE:
            found += range(ends[0], ends[1] + 1)
        elif len(ends) == 1:
            found += ends
        else:
            raise ValueError(f"{_short(line)} is no list of numbers")
    return found


def _read_number(text: str, kind: Callable[[str], Any]) -> Any:
    plain = _unmarked(_first_line(text)).rstrip(".").replace(",", "")
    try:
        return kind(plain)
    except ValueError as error:
        raise ValueError(f"{_short(text)} is no {'whole ' if kind is int else ''}number") from error


def _choose(text: str, options: dict[str, Any]) -> Any:
    """The option that a text names: alone, or before punctuation."""
    first = _unmarked(_BULLET.sub("", _first_line(text))).casefold()
    wrapped = re.fullmatch(r"(?:literal|str)\[(.*)\]", first)
    first = wrapped.group(1).strip("'\" ") if wrapped else first
    if first in options:
        return options[first]
    plain = first.rstrip(".!,;:").strip()
    if plain in options:
        return options[plain]
    end = _END_OF_CHOICE.search(first)
    if end and _unmarked(first[: end.start()]) in options:
        return options[_unmarked(first[: end.start()])]
    raise ValueError(f"{_short(text)} is none of: {'; '.join(str(option) for option in options)}")


def _json_list(text: str) -> list[Any] | None:
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return _quoted_list(text)
    return listed if isinstance(listed, list) else None


def _quoted_list(text: str) -> list[Any] | None:
    """A list in Python's spelling, such as ['a', "b's"]."""
    # Not `ast.literal_eval`: in two threads at once it fails in Python 3.11 before 3.11.8.
    text = _PYTHON_STRING.sub(lambda found: json.dumps(_ESCAPED.sub(r"\1", found[1] or found[2] or "")), text)
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return listed if isinstance(listed, list) else None


def _unmarked(text: str) -> str:
    """The text without surrounding emphasis, code marks and quotes."""
    text = text.strip()
    for mark in ("**", "__", "*", "_", "`", '"', "'"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.rstrip(".").endswith(mark):
            inner = text.rstrip(".")[len(mark) : -len(mark)]
            if mark not in inner:
                return _unmarked(inner)
    return text


def _unfenced(text: str) -> str:
    first, _, rest = text.partition("\n")
    return rest[:-3].strip() if rest.endswith("```") and _FENCE.fullmatch(first) else text


def _is_nothing(text: str) -> bool:
    return _unmarked(text).strip().rstrip(".").casefold() in NOTHING


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _list_item(annotation: Any) -> Any:
    """The item type of a list type; None where it is no list type."""
    if annotation is list:
        return str
    return (get_args(annotation) or (str,))[0] if get_origin(annotation) is list else None


def _is_simple(annotation: Any) -> bool:
    return annotation in (str, int, float, bool) or get_origin(annotation) is Literal


def _optional(annotation: Any) -> Any:
    """The T of `T | None`; None for any other type."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return None
    inner = [option for option in get_args(annotation) if option is not type(None)]
    return inner[0] if len(inner) == 1 and len(inner) < len(get_args(annotation)) else None


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
