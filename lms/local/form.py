"""The form of a reply, read off its prompt as any model reads it (`lms.adapter`): nothing is known that is not asked.

Where numbers of listed items are asked for, a small model points at them in its own way: it writes how the items
begin, as far as tells them apart, and what it writes is put back as numbers. To copy what fits the question is
near to what such a model has learnt; to look up the number that stands before it is not. Where values are to be
copied from the items that it has pointed at, only these and what they lead to can be written (decoding constrained
by the graph, as in Graph-constrained Reasoning, Luo et al. 2024, here by the facts that are cited).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triplecheck.lms.prompt import read_request
from triplecheck.lms.sections import HEADER
from triplecheck.signatures.notation import read_facts

Kind = Literal["text", "lines", "numbers", "items", "copies", "number", "choice"]

LISTS: frozenset[Kind] = frozenset({"lines", "numbers", "items", "copies"})
NONE = "none"
"""What an empty list reads."""

_REMINDER = re.compile(r"Reply with (?P<fields>`\[\[ ## .*), and end with `\[\[ ## completed ## \]\]`\.\s*$", re.DOTALL)
_FIELD = re.compile(r"`\[\[ ## (\w+) ## \]\]`(?: \((.*?)\))?(?=, then `|$)", re.DOTALL)
_COPIED = re.compile(r"copied from the (?P<source>\w+) (?P<list>\w+)(?:, or (?P<one>\w+) or (?P<other>\w+))?")
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
    source: str = ""
    """Of copies, the field of items that says what is copied from."""
    copied: tuple[tuple[str, ...], ...] = ()
    """Of copies, what each item in the options of `source` holds: head and tails of a fact, and what these lead to."""
    besides: tuple[str, ...] = ()
    """Of copies, what else may be written, such as yes and no."""


def fields_of(messages: Sequence[tuple[str, str]]) -> list[Field]:
    """The fields that a chat's last message asks for, none where it is not of this project's form.

    Args:
        messages: (role, content) in order.
    """
    return _fields(messages, len(messages))


def shown(messages: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """A chat as a small model reads it.

    Replies in it, such as demonstrations, point at items as its own do. The reminder that ends a request is left
    out: it repeats what the first message says, a guide writes what it asks for (`lms.local.guide`), and it would
    have to be read anew for each request.
    """
    return tuple(
        (role, _rewritten(_fields(messages, at), content, _items) if role == "assistant" else _unreminded(content))
        for at, (role, content) in enumerate(messages)
    )


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
    return _rewritten(fields, reply, _numbers)


def _numbers(field: Field, items: str) -> str:
    number = dict(zip(field.options, field.numbers, strict=True))
    lines = dict.fromkeys(line.strip() for line in items.split("\n"))
    return ", ".join(str(number[line]) for line in lines if line in number) or NONE


def _items(field: Field, numbers: str) -> str:
    items = as_items(field, numbers)
    return numbers if items is None else "\n".join(items)


def _unreminded(content: str) -> str:
    return _REMINDER.sub("", content).rstrip() or content


def _rewritten(fields: Sequence[Field], reply: str, write: Callable[[Field, str], str]) -> str:
    for field in fields:
        if field.kind != "items":
            continue
        head = HEADER.format(name=field.name)
        value = re.compile(rf"(?<={re.escape(head)}\n).*?(?=\n\n\[\[ ## |\n*\Z)", re.DOTALL)
        found = value.search(reply)
        if found is not None:
            reply = f"{reply[: found.start()]}{write(field, found.group())}{reply[found.end() :]}"
    return reply


def _fields(messages: Sequence[tuple[str, str]], at: int) -> list[Field]:
    """The fields that the last message asks for, with the lists that a reply at this place points into."""
    reminder = _REMINDER.search(messages[-1][1]) if messages else None
    if reminder is None:
        return []
    inputs = read_request([content for role, content in messages[:at] if role == "user"])
    lists = {name: items for name in inputs.inputs if (items := inputs.items(name))}
    system, fields = messages[0][1], list[Field]()
    for name, hint in _FIELD.findall(reminder["fields"]):
        field = _field(name, hint)
        if field.kind == "numbers" and lists:
            field = _pointing(field, lists[_pointed_at(name, system, list(lists))])
        elif field.kind == "lines":
            field = _copying(field, system, fields, lists)
        fields.append(field)
    return fields


def _field(name: str, hint: str) -> Field:
    if hint == "True or False":
        return Field(name, "choice", ("True", "False"))
    if hint.startswith("one of: "):
        return Field(name, "choice", tuple(hint.removeprefix("one of: ").split("; ")))
    return Field(name, _KINDS.get(hint, "text"))


def _pointed_at(name: str, description: str, lists: Sequence[str]) -> str:
    """Which list the numbers of a field are of: the one that its description names, else the last."""
    words = set(re.findall(r"\w+", _described(name, description)))
    return next((one for one in lists if one in words), lists[-1])


def _described(name: str, description: str) -> str:
    line = re.search(rf"^- `{name}`: (.*)$", description, re.MULTILINE)
    return line[1] if line else ""


def _copying(field: Field, system: str, before: Sequence[Field], lists: Mapping[str, Sequence[str]]) -> Field:
    """The field as one of copies where its description says so, and what it copies from has been pointed at."""
    said = _COPIED.search(_described(field.name, system))
    source = next((one for one in before if said and one.name == said["source"] and one.kind == "items"), None)
    if said is None or source is None or said["list"] != _pointed_at(source.name, system, list(lists)):
        return field
    copied = _held([lists[said["list"]][number - 1] for number in source.numbers])
    besides = tuple(word for word in (said["one"], said["other"]) if word)
    return replace(field, kind="copies", source=source.name, copied=copied, besides=besides)


def _held(items: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """What can be copied from each item: head and tails of a fact, and where facts about these lead; else all of it.

    A small model that is asked for the end of a path often cites no more than its beginning.
    """
    facts = {fact.number: fact for fact in read_facts(items)}
    leads_to: dict[str, list[str]] = {}
    for fact in facts.values():
        leads_to.setdefault(fact.anchor, []).extend(fact.values)
    held = []
    for number, item in enumerate(items, start=1):
        near = (facts[number].anchor, *facts[number].values) if number in facts else (item,)
        further = (value for name in near[1:] for value in leads_to.get(name, ()))
        held.append(tuple(dict.fromkeys((*near, *further))))
    return tuple(held)


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
