"""Cells of a wide table as values: numbers with thousands signs, percentages, money, dates, yes and no, names, texts.

What text cells mean is decided for a column as a whole: "1,234" beside "2,500,000" is a number of thousands, beside
"12,5" a decimal one; "03/04/2024" beside "25/04/2024" is a day in April.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import quantity, written_date

_SURE = 0.9  # of the texts of a column, to take it for a column of numbers or dates
_SOME = 500  # texts that are looked at before all of a column are read
_LONG = 100  # characters of a text that names nothing
_NOTHING = {"", "-", "–", "—", "n/a", "#n/a", "null", "nan", "nat", "<na>"}
_NO_VALUE = {"na", "none", "unknown", "?", "tbd"}  # in a column of numbers or dates
_BOOLEANS = {"true": "true", "false": "false", "yes": "true", "no": "false", "y": "true", "n": "false"}
_DIGITS_ONLY = re.compile(r"[+(]?\d[\d ()./-]*")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[^\s@]+@[^\s@]+\.\w+")

_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₫": "VND"}
_SYMBOLS |= {"₴": "UAH", "₪": "ILS", "₱": "PHP", "฿": "THB", "zł": "PLN", "Kč": "CZK", "US$": "USD", "A$": "AUD"}
_SYMBOLS |= {"C$": "CAD", "R$": "BRL"}
_SIGN_OF = {code: sign for sign, code in reversed(_SYMBOLS.items()) if quantity(Literal(f"{sign}1"))}
_CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN "
    "NOK NZD PEN PHP PKR PLN QAR RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).split()
_CURRENCY = "|".join(map(re.escape, sorted([*_SYMBOLS, *_CODES], key=len, reverse=True)))
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "mio": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_WORDS = ("thousand", "million", "billion")  # the others only beside a currency: "5 m" may be a length
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?)\s*+(?P<before>{_CURRENCY})?\s*+(?P<minus>[-−]?)"
    rf"(?P<digits>\.?\d(?:[.,'’ \u00a0\u2009\u202f]*+\d)*+[.,]?)(?P<power>[eE][-+]?\d++)?"
    rf"\s*+(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})?"
    rf"\s*+(?P<after>{_CURRENCY}|%)?(?P<close>\))?",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"['’ \u00a0\u2009\u202f]")
_GROUPED = re.compile(r"\d{1,3}(?:[' ’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?")
_MOST_DIGITS = 18  # of a number; more are a name

_TIME = r"(?:[T ](?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<sign>[-/.])(?P<second>\d{{1,2}})(?P=sign)(?P<year>\d{{4}}|\d\d){_TIME}"
)
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
_SPELT = re.compile(r"(\d{1,2})-([A-Za-z]{3,9})-(\d{4})")

_SEPARATORS = (";", "|")
_SHARED = 0.5  # of the values beside a separator
_LISTS, _LIST_SHARE = 3, 0.2  # cells of names between semicolons, and their share of all
_LIST = re.compile(r"[A-Z\u00c0-\u00de][^;!?\d]{0,39}(?:; [A-Z\u00c0-\u00de][^;!?\d]{0,39})+")
_ENTITY = re.compile(r"&#?\w+;")  # of HTML


@dataclass(frozen=True, slots=True)
class Value:
    """What a cell says.

    Attributes:
        text: a name, or the lexical form of a literal; an amount has its unit: "€3", "12%".
        datatype: of a literal; None for a name.
    """

    text: str
    datatype: str | None = None


@dataclass
class Typed:
    """The cells of a column as values.

    Attributes:
        rows: the values of each row, none for an empty cell.
        kind: `number`, `date`, `boolean`, `text`, `name`, or `mixed`.
        notes: what is not sure.
    """

    rows: list[list[Value]]
    kind: str
    notes: list[str] = field(default_factory=list)


def typed(
    cells: Sequence[object],
    split: str | None = None,
    *,
    day_first: bool | None = None,
    decimal_comma: bool = False,
    units: Sequence[str | None] = (),
) -> Typed:
    """The values of a column.

    Args:
        cells: texts, or what data frames, spreadsheets and databases hold; None is empty.
        split: what separates the values of a text cell.
        day_first: whether 03/04/2024 is in April. None: as the other cells of the column say.
        decimal_comma: whether "1.234" alone is a number of thousands.
        units: of the numbers of each row, if a spreadsheet says so.
    """
    parts = [_parts(cell, split) for cell in cells]
    texts = list(dict.fromkeys(part for row in parts for part in row if isinstance(part, str)))
    meaning, kind, notes = _meanings(texts, day_first, decimal_comma)
    integral = _integral(parts)
    others = list(units) or [None] * len(parts)
    rows = [
        [value for part in row if (value := meaning[part] if isinstance(part, str) else _held(part, unit, integral))]
        for row, unit in zip(parts, others, strict=True)
    ]
    found = {_kind_of(part) for row in parts for part in row if not isinstance(part, str)} | (
        {kind} if texts else set()
    )
    return Typed(rows, found.pop() if len(found) == 1 else "mixed" if found else "name", notes)


def separator(cells: Iterable[object], known: Collection[str], *, of_keys: bool = False) -> str | None:
    """The sign between the values of cells that hold several, ";" or "|"; None if they hold one each.

    At least half of the values beside such a sign also stand in another cell of the column, or are known; or several
    cells have "; " between names: "Italy; Malta".

    Args:
        known: texts of whole cells elsewhere.
        of_keys: whether they may be numbers; else "2|1" is a score.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    for sign in _SEPARATORS:
        if not any(sign in text for text in texts) or any(map(_ENTITY.search, texts)):
            continue
        parts = [{part for one in text.split(sign) if (part := one.strip())} for text in texts]
        beside = [part for text, own in zip(texts, parts, strict=True) if sign in text for part in own]
        uses = Counter(part for own in parts for part in own)
        shared = sum(uses[part] > 1 or part in known for part in beside)
        may_be = of_keys or not all(map(_NUMBER.fullmatch, beside))
        lists = sum(_LIST.fullmatch(text) is not None for text in texts)
        are_lists = (
            sign == ";"
            and lists == sum(sign in text for text in texts)
            and lists >= max(_LISTS, _LIST_SHARE * len(texts))
        )
        if beside and may_be and (are_lists or shared >= _SHARED * len(beside)):
            return sign
    return None


def is_typed(texts: Iterable[str]) -> bool:
    """Whether texts are a column of numbers, dates, or yes and no."""
    return _meanings(list(dict.fromkeys(texts)), None, False)[1] in ("number", "date", "boolean")


def looks_typed(text: str) -> bool:
    """Whether a text alone is a number or a date."""
    return (
        bool(_NUMBER.fullmatch(text.strip()) or _YEAR_LAST.fullmatch(text.strip())) or _as_date(text, None) is not None
    )


def uses_decimal_commas(cells: Iterable[object]) -> bool:
    """Whether some numbers of a column can only be read with a decimal comma."""
    return "," in _signs(
        [m["digits"] for cell in cells if isinstance(cell, str) and (m := _NUMBER.fullmatch(cell.strip()))]
    )


# --- cells ---------------------------------------------------------------------------------------
def _parts(cell: object, split: str | None) -> list[Any]:
    """The single values of a cell; texts without blanks around them, and none that stands for nothing."""
    if isinstance(cell, list | tuple | set | np.ndarray):
        return [part for one in cell for part in _parts(one, None)]
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or cell != cell:
        return []
    if isinstance(cell, str):
        texts = cell.split(split) if split and split in cell else [cell]
        if split and not cell.endswith(split):  # "a; b;": the blank after the last sign may be missing
            texts[-1] = texts[-1].removesuffix(split.rstrip()) if split.strip() else texts[-1]
        return [text for one in texts if (text := one.strip()).casefold() not in _NOTHING]
    return [] if type(cell).__name__ in ("NaTType", "NAType") else [cell]


def _integral(parts: Sequence[Sequence[object]]) -> bool:
    """Whether floats are whole numbers that a gap has made floats."""
    floats = [part for row in parts for part in row if isinstance(part, float)]
    return any(not row for row in parts) and all(one.is_integer() and abs(one) < 10**_MOST_DIGITS for one in floats)


def _held(cell: object, unit: str | None, integral: bool) -> Value:
    """A value that is no text."""
    if isinstance(cell, Literal):
        return Value(cell.lexical, cell.datatype)
    if isinstance(cell, bool):
        return Value(str(cell).lower(), XSD + "boolean")
    if isinstance(cell, int) or (isinstance(cell, float) and integral and unit != "%"):
        number = int(cell)
        return _number(Decimal(number * 100 if unit == "%" else number), unit)
    if isinstance(cell, float | Decimal):
        exact = Decimal(repr(cell)) if isinstance(cell, float) else cell
        if not exact.is_finite():
            return Value(str(cell), XSD + "double")
        return _number(exact * 100 if unit == "%" else exact, unit)
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time() and cell.tzinfo is None
        return Value(cell.date().isoformat(), XSD + "date") if midnight else Value(cell.isoformat(), XSD + "dateTime")
    if isinstance(cell, dt.date):
        return Value(cell.isoformat(), XSD + "date")
    return Value(str(cell), XSD + "string")


def _kind_of(cell: object) -> str:
    if isinstance(cell, bool):
        return "boolean"
    if isinstance(cell, int | float | Decimal):
        return "number"
    return "date" if isinstance(cell, dt.date) else "text"


def _number(exact: Decimal, unit: str | None) -> Value:
    """A number without zeros at its end, with its unit."""
    text = format(exact, "f")  # `normalize` would round to 28 digits
    text = text.rstrip("0").removesuffix(".") if "." in text else text
    if unit is None:
        return Value(text, XSD + ("decimal" if "." in text else "integer"))
    if unit == "%":
        return Value(f"{text}%", XSD + "string")
    text += "0" if len(text.partition(".")[2]) == 1 else ""  # €1234.50
    if sign := _SIGN_OF.get(unit):
        return Value(f"-{sign}{text[1:]}" if exact < 0 else f"{sign}{text}", XSD + "string")
    return Value(f"{text} {unit}", XSD + "string")


# --- texts ---------------------------------------------------------------------------------------
def _meanings(
    texts: Sequence[str], day_first: bool | None, decimal_comma: bool
) -> tuple[dict[str, Value | None], str, list[str]]:
    """The value of each text of a column, what most are, and what is not sure."""
    notes: list[str] = []
    told = [text for text in texts if text.casefold() not in _NO_VALUE]
    some = told[:_SOME]
    readers: dict[str, tuple[Callable[[str], object], Callable[[], Callable[[str], Value | None]]]] = {
        "boolean": (_boolean, lambda: _boolean),
        "number": (_NUMBER.fullmatch, lambda: _number_reader(told, decimal_comma)),
        "date": (_looks_dated, lambda: _date_reader(told, day_first, notes)),
    }
    for kind, (looks, reader_of) in readers.items():
        if 2 * sum(looks(text) is not None for text in some) < len(some):
            continue
        reader = reader_of()
        found = {text: reader(text) for text in told}
        read = sum(value is not None for value in found.values())
        if told and read >= (1.0 if kind == "boolean" else _SURE) * len(told):
            odd = [text for text, value in found.items() if value is None]
            if odd:
                notes.append(f"{len(odd)} text(s) among {kind}s are kept as texts, such as {odd[0]!r}")
            texts_of = {text: Value(text, XSD + "string") for text in odd}
            return {text: found.get(text) or texts_of.get(text) for text in texts}, kind, notes
    plain = [text for text in texts if _names_nothing(text)]
    kind = "text" if 2 * len(plain) >= len(texts) and texts else "name"
    return (
        {t: Value(t, XSD + "string") if kind == "text" or _names_nothing(t) else Value(t) for t in texts},
        kind,
        notes,
    )


def _names_nothing(text: str) -> bool:
    return len(text) > _LONG or "\n" in text or bool(_ADDRESS.fullmatch(text) or _DIGITS_ONLY.fullmatch(text))


def _boolean(text: str) -> Value | None:
    found = _BOOLEANS.get(text.casefold())
    return None if found is None else Value(found, XSD + "boolean")


def _number_reader(texts: Sequence[str], decimal_comma: bool) -> Callable[[str], Value | None]:
    """Reads the numbers of a column by its decimal sign."""
    matches = {text: match for text in texts if (match := _NUMBER.fullmatch(text))}
    signs = _signs([match["digits"] for match in matches.values()])
    decimal = "," if signs == {","} or (decimal_comma and not signs) else "."

    def read(text: str) -> Value | None:
        match = matches.get(text)
        if match is None or bool(match["open"]) != bool(match["close"]):
            return None
        scale = (match["scale"] or "").casefold()
        currency = _currency(match["before"]) or _currency(match["after"])
        if scale and scale not in _WORDS and currency in (None, "%"):
            return None
        plain = _plain(match["digits"], decimal)
        if plain is None:
            return None
        negative = "-" if match["open"] or (match["sign"] + match["minus"]) in ("-", "−") else ""
        if match["power"]:
            return Value(f"{negative}{plain}{match['power']}", XSD + "double") if currency is None else None
        exact = Decimal(negative + plain)
        if scale:
            exact = exact.scaleb(_SCALES[scale])
        is_whole = currency is None and not scale and "." not in plain
        return Value(str(exact), XSD + "integer") if is_whole else _number(exact, currency)

    return read


def _currency(sign: str | None) -> str | None:
    if sign is None or sign == "%":
        return sign
    return _SYMBOLS.get(sign) or next(
        (name for s, name in _SYMBOLS.items() if s.casefold() == sign.casefold()), sign.upper()
    )


def _signs(digits: Iterable[str]) -> set[str]:
    """The decimal signs that numbers use, where only one reading is possible."""
    found = set()
    for number in digits:
        text = _BLANKS.sub("", number)
        signs = [c for c in text if c in ".,"]
        if not signs:
            continue
        last = signs[-1]
        if len(set(signs)) == 2:
            found.add(last)
        elif len(signs) > 1:
            found.add("." if last == "," else ",")
        else:
            head, tail = text.split(last)
            if len(tail) != 3 or head in ("", "0") or len(head) > 3 or _GROUPED.fullmatch(number):
                found.add(last)
    return found


def _plain(digits: str, decimal: str) -> str | None:
    """Digits with a decimal point and without thousands signs; None if they are no number."""
    thousands = "," if decimal == "." else "."
    if _BLANKS.search(digits) and not _GROUPED.fullmatch(digits):
        return None
    text = _BLANKS.sub("", digits)
    whole, _, fraction = text.partition(decimal)
    if thousands in fraction or decimal in fraction:
        return None
    if thousands in whole:
        first, *groups = whole.split(thousands)
        if not 1 <= len(first) <= 3 or len(groups[-1]) != 3 or any(len(group) not in (2, 3) for group in groups):
            return None
        whole = first + "".join(groups)
    if len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole.startswith("0")):
        return None
    return f"{whole or '0'}.{fraction}" if fraction else whole or "0"


def _date_reader(texts: Sequence[str], day_first: bool | None, notes: list[str]) -> Callable[[str], Value | None]:
    """Reads the dates of a column by the order of day and month that all of them allow."""
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    if day_first is None and found:
        firsts, seconds = (max(int(match[name]) for match in found) for name in ("first", "second"))
        if firsts > 12 or seconds > 12:
            day_first = firsts > 12
        elif all(match["sign"] == "." for match in found) or all(m["first"] == m["second"] for m in found):
            day_first = True
        elif 10 * len(found) >= 9 * len(texts):
            notes.append(
                f"{found[0][0]!r} may begin with the day or the month, so such dates are kept as texts; "
                "say --day-first or --month-first (day_first=True or False)"
            )
    return lambda text: _as_date(text, day_first)


def _looks_dated(text: str) -> object:
    return _YEAR_LAST.fullmatch(text) or _as_date(text, None)


def _as_date(text: str, day_first: bool | None) -> Value | None:
    if match := _YEAR_FIRST.fullmatch(text):
        return _day(int(match["year"]), int(match["month"]), int(match["day"]), match)
    if match := _YEAR_LAST.fullmatch(text):
        if day_first is None:
            return None
        day, month = (match["first"], match["second"]) if day_first else (match["second"], match["first"])
        year = int(match["year"])
        if len(match["year"]) == 2:
            year += 2000 if year < 69 else 1900
        return _day(year, int(month), int(day), match)
    if _MONTH.fullmatch(text):
        return Value(text, XSD + "gYearMonth")
    if not any(c.isalpha() for c in text):
        return None
    said = written_date(_SPELT.sub(r"\1 \2 \3", text))
    if said is None or len(said) < 2 or said[0] <= 0:
        return None
    return _day(*said, None) if len(said) == 3 else Value(f"{said[0]:04}-{said[1]:02}", XSD + "gYearMonth")


def _day(year: int, month: int, day: int, match: re.Match[str] | None) -> Value | None:
    """A date that exists, with the time that a text gives."""
    try:
        date = dt.date(year, month, day).isoformat()
        time = match["time"] if match else None
        if time is None:
            return Value(date, XSD + "date")
        at = dt.time.fromisoformat(time.rjust(len(time) + (time.index(":") == 1), "0")).isoformat()
    except ValueError:
        return None
    zone = (match["zone"] if match else None) or ""
    if at == "00:00:00" and not zone:
        return Value(date, XSD + "date")
    return Value(f"{date}T{at}{zone if len(zone) != 5 else f'{zone[:3]}:{zone[3:]}'}", XSD + "dateTime")
