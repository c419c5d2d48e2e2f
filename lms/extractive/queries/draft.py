"""A query that is being written, and what of the question it says so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from triplecheck.kg.errors import TriplecheckError
from triplecheck.kg.plans.notation import write_label
from triplecheck.language.clauses import Attachment
from triplecheck.language.coverage import is_rate, unsayable
from triplecheck.language.likeness import least_likeness
from triplecheck.language.operations import Extreme
from triplecheck.language.orders import Ordinal
from triplecheck.lms.extractive.queries.joins import Join
from triplecheck.lms.extractive.queries.reading import Reading
from triplecheck.signatures.query_notation import variable

_NAME_OR_VARIABLE = re.compile(r"<[^<>]*>|\?\w+")


class UnsaidError(TriplecheckError):
    """A part of the question that no query of this schema says."""


class QueryText:
    """Patterns and filters, and the variables that they use."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._groups: list[list[str]] = [[]]

    def variable(self, name: str) -> str:
        """A new variable, named after what it stands for."""
        base = variable(name.casefold())
        base = f"x_{base}" if base[0].isdigit() else base
        found, number = base, 1
        while found in self._taken:
            number += 1
            found = f"{base}{number}"
        self._taken.add(found)
        return f"?{found}"

    def of_class(self, variable: str, names: Sequence[str]) -> None:
        """A variable stands for things of one of some classes."""
        options = [f"{variable} a {write_label(name)}" for name in names]
        self.add(options[0] if len(options) == 1 else " UNION ".join(f"{{ {option} }}" for option in options))

    def triple(self, head: str, relation: str, tail: str) -> None:
        """A pattern."""
        self.add(f"{head} {write_label(relation)} {tail}")

    def add(self, pattern: str) -> None:
        """A pattern or a filter, once."""
        if pattern not in self._groups[-1]:
            self._groups[-1].append(pattern)

    def add_outside(self, pattern: str) -> None:
        """A filter outside of what must not hold, once."""
        if pattern not in self._groups[0]:
            self._groups[0].append(pattern)

    def for_each(self, variable: str, names: Sequence[str]) -> None:
        """Say all of each of some things, in place of any of them: a variable stands for one of `names` so far."""
        said = [pattern for pattern in self._groups[0] if not pattern.startswith(f"VALUES {variable} ")]
        self._groups[0] = []
        for number, name in enumerate(names):
            new = {variable: name}
            rename = partial(self._renamed, new, number)
            for pattern in said:
                self.add(_NAME_OR_VARIABLE.sub(rename, pattern))

    def _renamed(self, new: dict[str, str], number: int, match: re.Match[str]) -> str:
        """A variable in one of several copies of the same patterns; a name as it is."""
        text = match[0]
        if text.startswith("<"):
            return text
        if text not in new:
            new[text] = self.variable(text[1:]) if number else text
        return new[text]

    def begin_denied(self) -> None:
        """What follows must not hold."""
        self._groups.append([])

    def end_denied(self) -> None:
        """End of what must not hold."""
        inside = " . ".join(self._groups.pop())
        self.add(f"FILTER NOT EXISTS {{ {inside} }}")

    def has(self, relation: str) -> bool:
        """Whether a pattern has a relation."""
        return any(f" {write_label(relation)} " in pattern for pattern in self._groups[0])

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not self._groups[0]

    @property
    def where(self) -> str:
        """The patterns and filters in braces."""
        return f"{{ {' . '.join(self._groups[0])} }}"


@dataclass
class Draft:
    """A query that is being written.

    Attributes:
        root: the number of the unit that is asked for.
        attachments: how the other units are joined to it.
        terms: the name or the variable of each unit that has one.
        values: the variable of each value, by the unit that has it and the relation.
        said: the tokens that the query says.
        joins: the join of each attached unit.
        having: the bound of the number of things in a group; empty without one.
        standard: the unit that another is compared with ("older than X").
    """

    reading: Reading
    root: int
    attachments: tuple[Attachment, ...]
    text: QueryText = field(default_factory=QueryText)
    terms: dict[int, str] = field(default_factory=dict)
    values: dict[tuple[int, str], str] = field(default_factory=dict)
    said: set[int] = field(default_factory=set)
    joins: dict[int, Join] = field(default_factory=dict)
    having: str = ""
    standard: int | None = None
    shares: bool = False

    @property
    def unsaid(self) -> list[int]:
        """The content words that it does not say yet."""
        return sorted(self.reading.content - self.said)

    @property
    def unsaid_outside(self) -> list[int]:
        """Of these, those that belong to no unit."""
        return [at for at in self.unsaid if at not in self.reading.unit_at]

    def say_units(self, numbers: Iterable[int]) -> None:
        """Note that the tokens of units are said."""
        for number in numbers:
            self.said.update(self.reading.units[number].tokens)


def begin(reading: Reading) -> Draft:
    """An empty draft.

    Raises:
        UnsaidError: the question speaks of nothing.
    """
    clauses = reading.clauses
    if clauses.root is None:
        raise UnsaidError("The question speaks of nothing in the graph.")
    return Draft(reading, clauses.root, tuple(_beside_value(reading, one) for one in clauses.attachments))


def _beside_value(reading: Reading, one: Attachment) -> Attachment:
    """An attachment; of "which carpenters do not live in X", both the value and X say something of those asked for."""
    value, root = reading.joiner.value, reading.clauses.root
    if value is None or root is None or value not in (one.to, one.unit):
        return one
    return replace(one, to=root, denied=one.denied if one.to == value else reading.units[value].is_denied)


def owner_of(draft: Draft, at: int) -> int:
    """The unit that has what a word says: its noun, the subject of its clause, else what is asked for."""
    found = _nearest_unit(draft, at)
    return draft.root if found == draft.reading.joiner.value else found  # "which starter"


def _nearest_unit(draft: Draft, at: int) -> int:
    reading, parse, own = draft.reading, draft.reading.parse, draft.reading.unit_at
    if at in own:
        return own[at]
    for above in parse.ancestors(at):
        if above in own and reading.units[own[above]].kind in ("class", "topic"):
            subjects = [child for child in parse.dependents(above, "nsubj") if child in own]
            return own[subjects[0] if subjects else above]  # "which rooms are white and have a projector"
        # "Who drives the truck with the highest payload": of the truck, whatever the parser says.
        before = min(parse.dependents(above, "case"), default=0) - 1
        if parse.is_a(above, "obl") and before in own and reading.units[own[before]].kind == "class":
            return own[before]
        for child in parse.dependents(above, "nsubj", "obj"):
            if child in own and child != at and parse.is_a(child, "nsubj"):
                return own[child]
        if parse.is_a(above, "acl") and parse.tokens[above].head in own:
            return own[parse.tokens[above].head]
    below = (child for child in parse.dependents(at, "nsubj", "nmod") if child in own)
    return next((own[child] for child in below), draft.root)


def check_all_said(draft: Draft) -> None:
    """Raise an error if the query leaves out a content word, a topic or a number.

    Raises:
        UnsaidError: names what is left out.
    """
    reading = draft.reading
    left = [at for at in draft.unsaid if not _is_said(draft, at)]
    named = (unit for unit in reading.units if unit.kind in ("topic", "number", "self"))
    left += [at for unit in named for at in unit.tokens if at not in draft.said]
    if left:
        raise UnsaidError(f"No relation says {' '.join(reading.parse.tokens[at].text for at in left)!r}.")
    for _, word in unsayable(reading.question):
        raise UnsaidError(f"No triple stands for {word!r}.")


def _is_said(draft: Draft, at: int) -> bool:
    """Whether a relation of the query says a word, or may do so, as a verb has many words."""
    reading = draft.reading
    used = [one for one in reading.schema.relations if draft.text.has(one.label)]
    if used and reading.parse.pos(at) == "VERB":
        return True
    if is_rate(reading.parse, at, [name for one in used for name in one.wordings]):
        return True
    least = least_likeness(reading.parse.pos(at))
    return any(reading.likeness.of_word(reading.parse.words[at], one.wordings) >= least for one in used)


def first_by(operation: Extreme, value: str, place: Ordinal | None = None) -> str:
    """The clause that takes the first of an order.

    Args:
        operation: `max` for the largest value first.
        place: which and how many are taken; None: the first.
    """
    place = place or Ordinal("", 1)
    way = "DESC" if operation == "max" else "ASC"
    start = f" OFFSET {place.place - 1}" if place.place > 1 else ""
    return f"ORDER BY {way}({value}) LIMIT {place.length}{start}"


def select(answers: Sequence[str], draft: Draft, rest: str = "") -> str:
    """The text of a SELECT query with what the draft says."""
    return f"SELECT {' '.join(answers)} {draft.text.where} {rest}".rstrip()
