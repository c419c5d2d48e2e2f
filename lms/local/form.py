"""The form of a reply, read off its prompt as any model reads it (`lms.adapter`): nothing is known that is not asked.

Where numbers of listed items are asked for, a small model points at them in its own way: it writes how the items
begin, as far as tells them apart, and what it writes is put back as numbers. To copy what fits the question is
near to what such a model has learnt; to look up the number that stands before it is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lms.extractive.prompt import read_prompt
from lms.sections import HEADER

Kind = Literal["text", "lines", "numbers", "items", "number", "choice"]

NONE = "none"
"""What an empty list reads."""

_REMINDER = re.compile(r"Reply with (?P<fields>`\[\[ ## .*), and end with `\[\[ ## completed ## \]\]`\.\s*$", re.DOTALL)
_FIELD = re.compile(r"`\[\[ ## (\w+) ## \]\]`(?: \((.*?)\))?(?=, then `|$)", re.DOTALL)
_KINDS: dict[str, Kind] = {
    "": "text",
    "one per line, or none": "lines",
    "numbers separated by commas, or none": "numbers",
    "a whole number": "number",
    "a number": "number",
}


@dataclass(frozen=True)
class Field:
    """One output field of a reply."""

    name: str
    kind: Kind
    options: tuple[str, ...] = ()
    """The values of a choice; of items, how each begins."""
    numbers: tuple[int, ...] = ()
    """The number of each item in `options`."""


def fields_of(messages: Sequence[tuple[str, str]]) -> list[Field]:
    """The fields that a chat's last message asks for, none where it is not of this project's form.

    Args:
        messages: (role, content) in order.
    """
    request = messages[-1][1] if messages else ""
    reminder = _REMINDER.search(request)
    if reminder is None:
        return []
    inputs = read_prompt(request)
    lists = {name: items for name in inputs.inputs if (items := inputs.items(name))}
    fields = [_field(name, hint) for name, hint in _FIELD.findall(reminder["fields"])]
    return [
        _pointing(field, lists[_pointed_at(field.name, messages[0][1], list(lists))])
        if field.kind == "numbers" and lists
        else field
        for field in fields
    ]


def as_items(field: Field, numbers: str) -> list[str] | None:
    """How a model writes these numbers of items: one beginning each, `none` alone for none.

    Returns:
        None where a number is not one of an item.
    """
    if numbers.strip().casefold() == NONE:
        return [NONE]
    written = dict(zip(field.numbers, field.options, strict=True))
    found = [written.get(int(number)) for number in re.findall(r"\d+", numbers)]
    return None if None in found or not found else list(dict.fromkeys(filter(None, found)))


def as_numbers(fields: Sequence[Field], reply: str) -> str:
    """A reply in which items are pointed at by their beginnings, with their numbers in place of them."""
    for field in fields:
        if field.kind != "items":
            continue
        number = dict(zip(field.options, field.numbers, strict=True))
        head = HEADER.format(name=field.name)
        value = re.compile(rf"(?<={re.escape(head)}\n).*?(?=\n\n\[\[ ## |\n*\Z)", re.DOTALL)
        found = value.search(reply)
        if found is not None:
            lines = dict.fromkeys(line.strip() for line in found.group().split("\n"))
            numbers = ", ".join(str(number[line]) for line in lines if line in number)
            reply = f"{reply[: found.start()]}{numbers or NONE}{reply[found.end() :]}"
    return reply


def _field(name: str, hint: str) -> Field:
    if hint == "True or False":
        return Field(name, "choice", ("True", "False"))
    if hint.startswith("one of: "):
        return Field(name, "choice", tuple(hint.removeprefix("one of: ").split("; ")))
    return Field(name, _KINDS.get(hint, "text"))


def _pointed_at(name: str, description: str, lists: Sequence[str]) -> str:
    """Which list the numbers of a field are of: the one that its description names, else the last."""
    line = re.search(rf"^- `{name}`: (.*)$", description, re.MULTILINE)
    words = set(re.findall(r"\w+", line[1])) if line else set()
    return next((one for one in lists if one in words), lists[-1])


def _pointing(field: Field, items: Sequence[str]) -> Field:
    texts: dict[str, int] = {}
    for number, text in enumerate(items, start=1):
        texts.setdefault(text, number)
    return replace(field, kind="items", options=beginnings(list(texts)), numbers=tuple(texts.values()))


def beginnings(texts: Sequence[str]) -> tuple[str, ...]:
    """How each of several texts begins: the fewest whole words that no other one begins with, else all of it."""
    every = Counter(start for text in texts for start in _starts(text))
    return tuple(next((start for start in _starts(text) if every[start] == 1), text) for text in texts)


def _starts(text: str) -> list[str]:
    words = text.split(" ")
    return [" ".join(words[:count]) for count in range(1, len(words) + 1)]
