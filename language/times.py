"""The times that a question is about: years, dates, and what is before, after or between them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from triplecheck.kg.values import Date, written_date
from triplecheck.language.operations import counted, number, or_graded
from triplecheck.language.parse import Parse

During = Literal["within", "after", "before", "since", "until", "between"]

_YEAR = re.compile(r"-?\d{3,4}")
_YEAR_OF_ERA = re.compile(r"\d{1,7}")
_FAR_YEAR = re.compile(r"[+-]?\d{5,7}")
_DECADE = re.compile(r"(\d{3}0)s")
_LONGEST_DATE = 5  # words
_OF_EDGE: dict[tuple[str, str], During] = {
    ("after", "start"): "since",
    ("until", "start"): "before",
    ("since", "end"): "after",
    ("before", "end"): "until",
}
"""The bounds that "the start of" or "the end of" a time changes: "after the start of 2019" is "since 2019"."""


@dataclass(frozen=True)
class TimeLimit:
    """A time that a question is about.

    Attributes:
        start, end: the first and the last year; None if there is no bound.
        span: positions [start, end).
        dates: the dates that bound it, in ISO 8601, where the question gives more than years.
        month: of any year, 1 for January: "in January"; 0 where it is about years or dates.
    """

    text: str
    during: During
    start: int | None
    end: int | None
    span: tuple[int, int]
    dates: tuple[str, ...] = ()
    month: int = 0

    @property
    def is_bound(self) -> bool:
        """Whether it is more than a year in which something holds: "since 1990", "in the nineties"."""
        return self.during != "within" or self.start != self.end or bool(self.month)


def time_limits(parse: Parse) -> tuple[TimeLimit, ...]:
    """The times that a question is about."""
    found: list[TimeLimit] = []
    taken = 0
    for at in range(len(parse)):
        if at >= taken and (limit := _time_limit(parse, at)) is not None:
            found.append(limit)
            taken = limit.span[1]
    return tuple(found)


def _time_limit(parse: Parse, at: int) -> TimeLimit | None:
    ends = {
        during: end for during, phrases in parse.lexicon.times.items() for p in phrases if (end := parse.said(at, p))
    }
    if not ends:
        return None
    during = max(ends, key=lambda one: ends[one])
    said_until = ends[during]
    first = _behind_articles(parse, said_until)
    for edge, phrases in parse.lexicon.edges.items():
        if behind := max((parse.said(first, phrase) for phrase in phrases), default=0):
            during, first = _OF_EDGE.get((during, edge), during), _behind_articles(parse, behind)
    if (dated := _dated(parse, at, first, during)) is not None:
        return dated
    is_whole = all(parse.words[i] in parse.lexicon.articles for i in range(said_until, first))  # not "in early May"
    if during == "within" and is_whole and (month := _month(parse, first)):
        return TimeLimit(parse.written(at, first + 1), "within", None, None, (at, first + 1), month=month)
    decade = _decade(parse, first)
    year, end = _year(parse, first, is_far=during in ("before", "after"))
    last = None
    if decade is not None:
        year, end = (decade + 9 if during == "after" else decade), first + 1
        last = decade + 9 if during == "within" else None
    elif parse.said_any(end, parse.lexicon.to):
        last, after = _year(parse, end + 1)
        if last is not None:
            year, end = _of_era(parse, first, last) if year is None or last < 0 < year else year, after
    if year is None:
        return None
    if during == "between" and last is None:
        return None
    if during == "within" and last is None and (graded := or_graded(parse, end)) is not None:
        during, end = ("since" if graded.operation == "max" else "until"), end + 2
    bounds: dict[str, tuple[int | None, int | None]] = {
        "after": (year + 1, None),
        "before": (None, year - 1),
        "since": (year, last),
        "until": (None, year),
    }
    start, stop = bounds.get(during, (year, year if last is None else last))
    return TimeLimit(parse.written(at, end), during, start, stop, (at, end))  # type: ignore[arg-type]


def _behind_articles(parse: Parse, at: int) -> int:
    while at < len(parse) and (parse.words[at] in parse.lexicon.articles or parse.lemma(at) in parse.lexicon.years):
        at += 1
    return at


def _dated(parse: Parse, at: int, first: int, during: str) -> TimeLimit | None:
    """The time between dates with a month, or before, after or at one; None if no such date stands at a position."""
    one, end = _date(parse, first)
    dates = [one]
    joined = next((i for i in range(first + 1, first + _LONGEST_DATE) if parse.said_any(i, parse.lexicon.to)), None)
    if during == "between" and joined is not None:
        two, end = _date(parse, joined + 1)
        if two is not None and one is None:  # "between 30 January and 10 February 2024"
            one = written_date(f"{parse.written(first, joined)} {two[0]}")
        dates = [one, two]
    known = [date for date in dates if date is not None]
    if len(known) < len(dates):
        return None
    texts = tuple(map(iso_date, known))
    years = known[0][0], known[-1][0]
    bounds: dict[str, tuple[int | None, int | None]] = {"after": (years[0], None), "since": (years[0], None)}
    bounds |= {"before": (None, years[0]), "until": (None, years[0])}
    start, stop = bounds.get(during, years)
    return TimeLimit(parse.written(at, end), during, start, stop, (at, end), texts)  # type: ignore[arg-type]


def _date(parse: Parse, at: int) -> tuple[Date | None, int]:
    """The date with a month that stands at a position, and where it ends."""
    for end in range(min(at + _LONGEST_DATE, len(parse)), at, -1):
        if not any(map(parse.is_topic, range(at, end))):
            found = written_date(parse.written(at, end))
            if found is not None and len(found) > 1:
                return found, end
    return None, at


def _month(parse: Parse, at: int) -> int:
    """The month whose name stands at a position, without a year; 0 if none does."""
    found = None if parse.is_topic(at) or at >= len(parse) else written_date(f"{parse.tokens[at].text} 2000")
    return found[1] if found is not None and len(found) == 2 and parse.words[at].isalpha() else 0


def iso_date(date: Date) -> str:
    """A date as in ISO 8601, its year with four digits at least."""
    year = f"{'-' if date[0] < 0 else ''}{abs(date[0]):04d}"
    return "-".join([year, *(f"{part:02d}" for part in date[1:])])


def _decade(parse: Parse, at: int) -> int | None:
    """The first year of the decade that a position names: "the 1860s", "the nineties"."""
    if at >= len(parse) or parse.is_topic(at):
        return None
    match = _DECADE.fullmatch(parse.tokens[at].text)
    return int(match[1]) if match else parse.lexicon.decades.get(parse.words[at])


def _year(parse: Parse, at: int, *, is_far: bool = False) -> tuple[int | None, int]:
    """The number at a position if it may be a year, and where it ends with its era.

    It has an era ("40 BC", "AD 79"), or is three or four digits, of a far year more, that count nothing.
    """
    before_it, number_at = _era(parse, at)
    text = (parse.topics[number_at] or parse.tokens[number_at].text) if number_at < len(parse) else ""
    era, end = (before_it, number_at + 1) if before_it else _era(parse, number_at + 1)
    if era and _YEAR_OF_ERA.fullmatch(text):
        return (-int(text) if era == "before" else int(text)), end
    may_be = _YEAR.fullmatch(text) or (is_far and _FAR_YEAR.fullmatch(text))
    is_year = may_be and not _counts(parse, number_at) and not _is_priced(parse, number_at)
    return (int(text) if is_year else None), number_at + 1


def _is_priced(parse: Parse, at: int) -> bool:
    """Whether a currency sign stands before a number."""
    before = parse.before(at)
    return bool(before) and unicodedata.category(before) == "Sc"


def _counts(parse: Parse, at: int) -> bool:
    """Whether a number counts something, alone or with the one that "and" joins it to: "95 and 112 minutes"."""
    head = parse.tokens[at].head
    first = head if parse.is_a(at, "conj") and number(parse, head) is not None else at
    return any(counted(parse, one) is not None for one in {at, first})


def _era(parse: Parse, at: int) -> tuple[str, int]:
    """The era that is named at a position, `before` or `after` the year 1, and where it ends; empty without one."""
    ends = {parse.said(at, phrase): era for era, phrases in parse.lexicon.eras.items() for phrase in phrases}
    end = max(ends, default=0)
    return (ends[end], end) if end else ("", at)


def _of_era(parse: Parse, at: int, last: int) -> int | None:
    """The first year of a span whose era stands behind the last ("between 60 and 40 BC"); None if it is no year."""
    text = parse.tokens[at].text if at < len(parse) else ""
    if not _YEAR_OF_ERA.fullmatch(text) or _era(parse, at)[0] or _era(parse, at + 1)[0]:
        return _year(parse, at)[0]
    first = -int(text) if last < 0 else int(text)
    return first if first <= last else int(text)
