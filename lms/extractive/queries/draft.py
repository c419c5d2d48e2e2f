"""A query that is being written, and what of the question it says so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from triplecheck.kg.errors import TriplecheckError
from triplecheck.language.clauses import Attachment
from triplecheck.language.coverage import is_rate, unsayable
from triplecheck.language.likeness import least_likeness
from triplecheck.language.operations import Extreme
from triplecheck.language.orders import Ordinal
from triplecheck.lms.extractive.queries.joins import Join
from triplecheck.lms.extractive.queries.reading import Reading
from triplecheck.lms.extractive.queries.text import QueryText


class UnsaidError(TriplecheckError):
    """A part of the question that no query of this schema says."""


@dataclass
class Draft:
    """A query that is being written.

    Attributes:
        reading: what the question says.
        root: the number of the unit that is asked for.
        attachments: how the other units are joined to it.
        text: the patterns and filters.
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
