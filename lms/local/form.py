"""The form of a reply: its fields, and what each may hold, for guided decoding (`lms.local.guide`).

Names and types of the fields are read off the prompt. If it is the prompt of a known step, the hints on that step's
fields (`signatures.step`) say more:

- `Numbers` of listed items: a small model writes the shortest distinct prefix of each item, which is translated to
  its number. Copying the item that fits the question is easier for a small model than looking up its number.
- `CopiedFrom` cited items: only what these hold, and what they lead to, can be written. This is decoding constrained
  by the graph (Graph-constrained Reasoning, Luo et al. 2024), here by the cited facts.

A signature of a user's own has no hints: its fields are decoded by their types.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triplecheck.lms.prompt import HEADER, Chat, ForeignPromptError, read_request
from triplecheck.signatures import STEPS, AnswerFromFacts, Step, without_reasoning
from triplecheck.signatures.notation import read_facts
from triplecheck.signatures.step import CopiedFrom, Numbers, hint_of

Kind = Literal["text", "lines", "numbers", "items", "copies", "number", "choice"]

NONE = "none"
"""The text of an empty list."""

_STEPS = (*STEPS, without_reasoning(AnswerFromFacts))
_SCORE = re.compile(r":[^\n]*")
_REMINDER = "Reply with `[[ ## "
_END_OF_REMINDER = ", and end with `[[ ## completed ## ]]`."
_KINDS: dict[str, Kind] = {
    "": "text",
    "one per line, or none": "lines",
    "numbers separated by commas, or none": "numbers",
    "one per line as number: score, or none": "numbers",  # the guide writes no scores: all are the same
    "a whole number": "number",
    "a number": "number",
}


@dataclass(frozen=True)
class Field:
    """One output field of a reply."""

    name: str
    kind: Kind
    options: tuple[str, ...] = ()
    """The values of a choice; of items, the prefix of each."""
    numbers: tuple[int, ...] = ()
    """The number of each item in `options`."""
    repeats: tuple[tuple[int, int], ...] = ()
    """Of items that are listed again: the number, and that of the first of these."""
    source: str = ""
    """Of copies: the field of items that selects the sources."""
    copied: tuple[tuple[str, ...], ...] = ()
    """Of copies: the texts of each option of `source`: head and tails of a fact, and what the tails lead to."""
    besides: tuple[str, ...] = ()
    """Of copies: other allowed texts, such as yes and no."""


def fields_of(messages: Chat, steps: Sequence[type[Step]] = _STEPS) -> list[Field]:
    """The fields that a chat's last message asks for; none if the message has another format."""
    return _fields(messages, len(messages), steps)


def shown(messages: Chat, steps: Sequence[type[Step]] = _STEPS) -> tuple[tuple[str, str], ...]:
    """A chat as a small model reads it.

    Replies in it, such as demonstrations, write items as the model's own replies do. The reminder at the end of a
    request is left out: it repeats the first message, the guide writes the headers that it asks for, and it would
    have to be processed again for each request.
    """

    def as_shown(at: int, role: str, content: str) -> str:
        if role == "assistant":
            return _rewritten(_fields(messages, at, steps), content, _items)
        return _without_reminder(content)[0].rstrip() or content

    return tuple((role, as_shown(at, role, content)) for at, (role, content) in enumerate(messages))


def written(messages: Chat, reply: str, steps: Sequence[type[Step]] = _STEPS) -> str:
    """A reply to a chat as a small model writes it: items by their prefixes in place of their numbers (`as_numbers` is
    the way back)."""
    return _rewritten(fields_of(messages, steps), reply, _items)


def as_items(field: Field, numbers: str) -> list[str] | None:
    """These numbers of items as a model writes them: one prefix each without its score, or `none`.

    Returns:
        None if a number is out of range.
    """
    if numbers.strip().casefold() == NONE:
        return [NONE]
    written = dict(zip(field.numbers, field.options, strict=True))
    written |= {number: written[first] for number, first in field.repeats}
    found = [written.get(int(number)) for number in re.findall(r"\d+", _SCORE.sub("", numbers))]
    return None if None in found or not found else list(dict.fromkeys(filter(None, found)))


def as_numbers(fields: Sequence[Field], reply: str) -> str:
    """A reply with the numbers of items in place of their prefixes."""
    return _rewritten(fields, reply, _numbers)


def _numbers(field: Field, items: str) -> str:
    number = dict(zip(field.options, field.numbers, strict=True))
    lines = dict.fromkeys(line.strip() for line in items.split("\n"))
    return ", ".join(str(number[line]) for line in lines if line in number) or NONE


def _items(field: Field, numbers: str) -> str:
    items = as_items(field, numbers)
    return numbers if items is None else "\n".join(items)


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


def _without_reminder(content: str) -> tuple[str, list[tuple[str, str]]]:
    """A message without the reminder of the format at its end, and the fields that this names, each with its type."""
    before, found, reminder = content.rstrip().rpartition(_REMINDER)
    if not found or not reminder.endswith(_END_OF_REMINDER):
        return content, []
    fields = []
    for text in reminder.removesuffix(_END_OF_REMINDER).split(", then `[[ ## "):
        name, _, kind = text.partition(" ## ]]`")
        fields.append((name, kind.strip().removeprefix("(").removesuffix(")")))
    return before, fields


def _fields(messages: Chat, at: int, steps: Sequence[type[Step]]) -> list[Field]:
    """The fields that the last message asks for, with the lists that a reply at this position refers to."""
    reminder = _without_reminder(messages[-1][1])[1] if messages else []
    if not reminder:
        return []
    asked = [_field(name, hint) for name, hint in reminder]
    try:
        step = read_request(messages).step(steps)
    except ForeignPromptError:
        return asked
    prompt = read_request(messages[:at])
    fields: dict[str, Field] = {}
    listed: dict[str, list[str]] = {}
    for field in asked:
        if not step.output_fields[field.name].is_required():
            continue  # a small model answers better without it, and sooner
        fields[field.name] = field
        match hint_of(step, field.name):
            case Numbers(of=name) if items := prompt.items(name):
                fields[field.name], listed[field.name] = _pointing(field, items), items
            case CopiedFrom(cited=cited, besides=besides) if cited in listed:
                held = _held([listed[cited][number - 1] for number in fields[cited].numbers])
                fields[field.name] = replace(field, kind="copies", source=cited, copied=held, besides=besides)
    return list(fields.values())


def _field(name: str, hint: str) -> Field:
    if hint == "True or False":
        return Field(name, "choice", ("True", "False"))
    if hint.startswith("one of: "):
        return Field(name, "choice", tuple(hint.removeprefix("one of: ").split("; ")))
    return Field(name, _KINDS.get(hint, "text"))


def _held(items: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The texts that can be copied from each item: head and tails of a fact, and the tails of facts about these; of
    another item, all of it.

    A small model that is asked for the end of a path often cites only its first fact.
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
    firsts = {number: texts.setdefault(text, number) for number, text in enumerate(items, start=1)}
    repeats = tuple((number, first) for number, first in firsts.items() if number != first)
    options = beginnings(list(texts))
    return replace(field, kind="items", options=options, numbers=tuple(texts.values()), repeats=repeats)


def beginnings(texts: Sequence[str]) -> tuple[str, ...]:
    """The shortest distinct prefix of each text, in whole words; the whole text if there is none."""
    every = Counter(start for text in texts for start in _starts(text))
    return tuple(next((start for start in _starts(text) if every[start] == 1), text) for text in texts)


def _starts(text: str) -> list[str]:
    words = text.split(" ")
    return [" ".join(words[:count]) for count in range(1, len(words) + 1)]
