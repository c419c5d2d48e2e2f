"""Values as English texts write them, compared with literals: "13 August 1899", "84 million", "5,000 km"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from triplecheck.kg.types import Literal
from triplecheck.kg.values.typed import GAP, LONGEST, NUMBER, Date, Quantity, date_of, quantity
from triplecheck.kg.values.units import MONEY_BEFORE, Unit, unit_after

_MONTHS = tuple("january february march april may june july august september october november december".split())
_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]}|{name[3:4]})?' for name in _MONTHS)})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_ERA = r"(?P<era> (?:(?P<before>BCE?|B\. ?C\.(?: ?E\.)?)|CE|AD|A\. ?D\.|C\. ?E\.))"
_YEAR = rf"(?P<year>\d{{1,4}}){_ERA}|(?P<plain>\d{{3,4}})"
_ISO_YEAR = r"-?\d{4}|[+-]?\d{5,12}(?=-\d\d)|-\d{1,3}(?=-\d\d-\d\d)"
_ISO = rf"(?P<year>{_ISO_YEAR})(?:-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}}))?)?"
_DATES = tuple(
    re.compile(rf"(?<![\w.,/-]){pattern}(?![\w/-]|[.,]\d)", re.IGNORECASE)
    for pattern in (
        rf"{_DAY} (?:of )?{_MONTH},? (?:{_YEAR})",
        rf"{_MONTH} {_DAY},? (?:{_YEAR})",
        rf"{_MONTH},? (?:{_YEAR})",
        _ISO,
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        r"(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})",
        rf"(?:{_YEAR})",
    )
)
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
"""Words for powers of ten behind a number."""
_WRITTEN_NUMBER = re.compile(
    rf"(?<![\w.,-])(?P<whole>-?(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,3}}(?:{GAP}\d{{3}})+|\d+))"
    r"(?:\.(?P<fraction>\d+))?"
    rf"(?![,.]?\d)(?: (?P<scale>{'|'.join(SCALES)})\b)?",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?:[ %°]?[^\d]*)?")
_NEXT_WORD = re.compile(r" ?[^\s\d,;:!?()]+[23]?")
_MONEY = re.compile(rf"(?P<minus>-?)(?:{MONEY_BEFORE}) ?(?=\d)")


@dataclass(frozen=True, slots=True)
class _Said:
    """A number of a text: all numbers that round to it at the precision of the text; 0 if it is not rounded."""

    number: Fraction
    rounded: Fraction
    unit: Unit | None = None

    def agrees(self, there: Quantity) -> bool | None:
        """Whether a quantity rounds to this number; None if their units measure something else.

        If one of them has no unit, the numbers are compared as they stand.
        """
        if self.unit is None or there.kind == NUMBER:
            return self._is_near(Fraction(there.amount))
        return self._is_near(Fraction(self.unit.amount(there.size))) if self.unit.kind == there.kind else None

    def _is_near(self, exact: Fraction) -> bool:
        if not self.rounded or not self.number:
            return abs(exact - self.number) <= self.rounded
        # A half is rounded away from zero: 1.85 to 1.9.
        away = exact if self.number > 0 else -exact
        return abs(self.number) - self.rounded <= away < abs(self.number) + self.rounded


def agrees(written: str, value: Literal) -> bool | None:
    """Whether a text agrees with a literal at the precision of the text; None if they cannot be compared.

    A year agrees with all its days, "3.5 million" with all numbers that round to it, "3 kg" with "3000 g". A unit that
    only one of them has is ignored.
    """
    text = " ".join(written.split())
    there = quantity(value)
    if there is None:
        return None
    if there.is_time:
        said, known = written_date(text) or date_of(Literal(text)), date_of(value)
        return None if said is None or known is None else _same_date(said, known)
    number = _number(text, there)
    return None if number is None else number.agrees(there)


def mentions(sentence: str, value: Literal) -> bool:
    """Whether a sentence holds a date or number that agrees with a literal at the precision of the sentence."""
    there = quantity(value)
    if there is None:
        return False
    text = " ".join(sentence.split())
    if there.is_time:
        known = date_of(value)
        for pattern in _DATES if known is not None else ():
            # The first form that occurs is the most precise: a year that belongs to a date is not read alone.
            said = [date for match in pattern.finditer(text) if (date := _read_date(match)) is not None]
            if known is not None and said:
                return any(_same_date(date, known) for date in said)
        return False
    for match in _WRITTEN_NUMBER.finditer(text):
        following = _NEXT_WORD.match(text, match.end())
        number = _read_number(match, there, following[0].rstrip(".") if following else "")
        if number is not None and number.agrees(there):
            return True
    return False


def _same_date(said: Date, known: Date) -> bool:
    both = min(len(said), len(known))
    return said[:both] == known[:both]


def written_date(text: str) -> Date | None:
    """The date that a text is, in English words, in digits or in ISO 8601; None if it is none, or not only one."""
    return next((_read_date(match) for pattern in _DATES if (match := pattern.fullmatch(text.strip()))), None)


def dates_in(text: str) -> list[tuple[int, int]]:
    """Where a text has dates with a month, as [start, end) in characters: "June 2024", "3 May 1999"."""
    matches = (match for pattern in _DATES for match in pattern.finditer(text))
    return [match.span() for match in matches if len(_read_date(match) or ()) > 1]


def _read_date(match: re.Match[str]) -> Date | None:
    """The date; None if day and month of 3/4/1900 cannot be told apart."""
    parts = {name: part for name, part in match.groupdict().items() if part}
    year = int(parts.get("plain") or parts["year"])
    if "before" in parts:
        year = -year
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        if first != second and max(first, second) <= 12:
            return None
        return (year, *((second, first) if first > 12 else (first, second)))
    if "month" not in parts:
        return (year,)
    name = parts["month"].casefold()
    month = int(name) if name.isdecimal() else next(n for n, m in enumerate(_MONTHS, 1) if m.startswith(name[:3]))
    return (year, month, int(parts["day"])) if "day" in parts else (year, month)


def _number(text: str, there: Quantity) -> _Said | None:
    """The number that a text is, alone or with any words behind it."""
    money = _MONEY.match(text)
    if money:
        text = money["minus"] + text[money.end() :]
    match = _WRITTEN_NUMBER.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    number = _read_number(match, there, rest)
    is_whole = number is not None and (number.unit is not None or _UNIT.fullmatch(rest))
    return number if is_whole else None


def _read_number(match: re.Match[str], there: Quantity, rest: str) -> _Said | None:
    """The number of a match and, if it is compared with one that has a unit, the unit that follows."""
    whole, fraction = re.sub(r"[^\d-]", "", match["whole"]), match["fraction"] or ""
    if len(whole) + len(fraction) > LONGEST:
        return None
    scale = SCALES.get((match["scale"] or "").casefold(), 1)
    number = Fraction(int(whole + fraction) * scale, 10 ** len(fraction))
    rounded = Fraction(scale, 2 * 10 ** len(fraction)) if fraction or match["scale"] else Fraction(0)
    return _Said(number, rounded, unit_after(rest) if rest and there.kind != NUMBER else None)
