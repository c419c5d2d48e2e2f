"""Units of measurement and currencies: what kind of quantity they measure, and their size in its base unit.

Definitions are pint's; which texts are units is decided here, because pint reads "cats" as hundredths of a technical
atmosphere and "5 pm" as picometres. A text is a unit if it is

- a symbol listed here, with an SI prefix where it takes one: "kg", "mph", "°C", "%";
- a unit word of pint in lower case, with or without a prefix word and a plural "s": "kilometres", "feet". "8 Mile" and
  "127 Hours" are names. A few words that mean something else in most texts are left out ("points");
- a power, product or quotient of these: "km²", "sq mi", "km/h", "kilograms per cubic metre";
- a currency sign or code: "$", "EUR". Nothing is converted between currencies.

A graph may have units of its own, such as the "crowns" of a game: the datatype of its amounts names the word
(`own_unit`; `kg.own_units` finds them).
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from triplecheck.kg.readable import singular

Exact = int | Fraction
"""A number without rounding; whole numbers are int."""

_LONGEST = 60  # characters of a unit

# --- what is a unit ------------------------------------------------------------------------------
_ALONE = frozenset(
    "m g s h d l L t A K V W J N min mins sec secs hr hrs yr yrs in ft yd mi nmi lb lbs oz gal ha mph kph kn hp rpm "
    "psi atm bar cal au ly Hz Pa Wh Ah eV B bit bps mol lm lx lux Bq Gy Sv Ω ohm KiB MiB GiB TiB °C °F ° % ‰ "
    "ppm kgs kilo kilos".split()
)
# "5G", "3D" and "7a" are names.
_GLUED_LETTERS = frozenset("mgshlLt")
_PREFIXED = {
    "k": "m g l W V A Hz Pa J N B bit bps eV K mol cal Ω ohm Bq Gy Sv Wh yr ly pc",
    "M": "m g t W V A Hz Pa J N B bit bps eV Ω ohm Bq Wh yr ly pc",
    "G": "m t W V Hz Pa J N B bit bps eV Ω ohm Bq Wh yr pc",
    "T": "W Hz J B bit bps eV Bq Wh",
    "h": "Pa l L",
    "d": "m l L",
    "c": "m l L",
    "m": "m g s l L W V A Pa J N K mol bar Gy Sv Wh Ah",
    "µ": "m g s l L W V A Pa J mol Gy Sv",
    "n": "m g s W V A mol Gy Sv",
}
_SYMBOLS = _ALONE | {prefix + symbol for prefix, symbols in _PREFIXED.items() for symbol in symbols.split()}
_NAMES = {
    "°": "degree",
    "°C": "degree_Celsius",
    "°F": "degree_Fahrenheit",
    "%": "percent",
    "‰": "permille",
} | dict.fromkeys(("kgs", "kilo", "kilos"), "kilogram")
_DEGREES = {f"{word} {of}": f"degree_{of}" for word in ("degree", "degrees") for of in ("Celsius", "Fahrenheit")}
_SHARES = frozenset({"percent", "permille", "ppm"})
_LEAST_WORD = 4
# Words of pint that mean something else in most texts.
_OTHER = frozenset(
    "bag barn blob candle chain circle count cup cycle denier dot fifth gamma grade gravity hand jute lambda league "
    "link molecule octave octet particle perch pica point poise pole pond quad quarter rads rod scruple section shake "
    "shot sigma slug slugette stick strain turn zeta "
    "decibelmicrowatt decibelmilliwatt decibelwatt".split()  # logarithms
)
_TERM = re.compile(
    r"(?:(?P<power>square|cubic|sq\.?|cu\.?) )?(?P<name>[^\W\d_¹²³]+|°[CF]?|[%‰])"
    r"(?:\^?(?P<minus>[-−⁻])?(?P<exponent>[1-3¹²³]))?"
)
_POWERS = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3, "cu": 3, "cu.": 3}
_DIGITS = str.maketrans("¹²³", "123")
_PER = re.compile(r" ?/ ?| per ")
_TIMES = re.compile(r"(?<!square)(?<!cubic)(?<!sq)(?<!sq\.)(?<!cu)(?<!cu\.) | ?[·⋅*] ?")

# --- currencies ----------------------------------------------------------------------------------
_SIGNS = {
    "$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY",
    "₪": "ILS", "₫": "VND", "₴": "UAH", "฿": "THB", "₦": "NGN", "₱": "PHP", "R$": "BRL", "C$": "CAD", "A$": "AUD",
    "NZ$": "NZD", "HK$": "HKD",
}  # fmt: skip
_CODES = frozenset(
    "USD EUR GBP JPY CHF CNY INR RUB KRW TRY ILS VND UAH THB NGN PHP BRL CAD AUD NZD HKD SEK NOK DKK ISK PLN CZK HUF "
    "RON BGN MXN ARS CLP COP PEN ZAR EGP KES MAD SGD TWD MYR IDR PKR BDT LKR SAR AED QAR KWD IRR".split()
)
_MONEY = "money "
MONEY_BEFORE = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True)) + r"|[A-Z]{3}(?![^\W\d_])"
"""A regular expression for what may stand before an amount of money; a code is not checked."""

# --- units of one graph --------------------------------------------------------------------------
OWN = "urn:triplecheck:unit:"
"""What the datatype of an amount in a unit of one graph begins with; its word follows, as most amounts have it."""
_OWN_WORD = re.compile(r"[ \u00a0\u2009\u202f](?P<word>[^\W\d_]{2,})")

# --- kinds ---------------------------------------------------------------------------------------
_KINDS = {
    "meter": "length",
    "kilogram": "mass",
    "second": "duration",
    "ampere": "electric current",
    "kelvin": "temperature",
    "mole": "amount of substance",
    "candela": "luminous intensity",
    "bit": "information",
    "radian": "angle",
    "meter^2": "area",
    "meter^3": "volume",
    "meter second^-1": "speed",
    "meter second^-2": "acceleration",
    "second^-1": "frequency",
    "bit second^-1": "data rate",
    "kilogram meter^-3": "density",
    "kilogram meter second^-2": "force",
    "kilogram meter^2 second^-2": "energy",
    "kilogram meter^2 second^-3": "power",
    "kilogram meter^-1 second^-2": "pressure",
    "ampere second": "electric charge",
    "ampere^-1 kilogram meter^2 second^-3": "voltage",
    "ampere^-2 kilogram meter^2 second^-3": "resistance",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement, or a currency.

    Attributes:
        text: as written.
        kind: what it measures: `mass`, `length`, ...; `share` for percent; `money USD`; for a dimension without a name
            its base units ("kilogram meter^-1").
        factor: one of it in the base unit of the kind (SI: kilogram, metre, second; bit, radian, 1).
        offset: zero of it in the base unit; not 0 for some temperatures.
    """

    text: str
    kind: str
    factor: Exact
    offset: Exact = 0

    @property
    def is_sign(self) -> bool:
        """Whether it stands before the number, as "$"."""
        return self.text in _SIGNS

    def size(self, amount: Exact) -> Exact:
        """So many of it in the base unit."""
        return whole(amount * self.factor + self.offset)

    def amount(self, size: Exact) -> Exact:
        """A size in the base unit as a number of it."""
        return whole(Fraction(size - self.offset) / self.factor)


def whole(number: Exact) -> Exact:
    """The same number, an int if it is whole."""
    return number.numerator if number.denominator == 1 else number


@functools.lru_cache(maxsize=1 << 16)
def unit(text: str) -> Unit | None:
    """The unit or currency that a whole text is; None for other texts.

    >>> unit("km/h").factor
    Fraction(5, 18)
    >>> unit("Doors Down") is None
    True
    """
    text = text.strip()
    if text in _SIGNS or text in _CODES:
        return Unit(text, _MONEY + _SIGNS.get(text, text), 1)
    if not 0 < len(text) <= _LONGEST:
        return None
    terms = _terms(text.replace("μ", "µ").replace("\u00a0", " ").replace("\u202f", " "))
    return None if terms is None else _made(text, terms)


def converted(amount: Exact, given: str, wanted: str) -> Exact | None:
    """So many of one unit as a number of another, 180 minutes for 3 hours; None if they do not measure the same.

    >>> converted(3, "hours", "minutes")
    180
    """
    one, other = unit(given), unit(wanted)
    return other.amount(one.size(amount)) if one and other and one.kind == other.kind else None


def unit_after(rest: str) -> Unit | None:
    """The unit that directly follows a number, with or without a space: " kg" or "kg".

    A single letter must be apart: "5G" and "7a" are names.
    """
    is_letter = len(rest) == 1 and rest.isalpha()
    if len(rest) > _LONGEST or (is_letter and rest not in _GLUED_LETTERS):
        return None
    return unit(rest)


def unit_around(before: str, after: str) -> Unit | None:
    """The unit of a number between two texts, one of which may be empty: a currency before it, or a unit behind it.

    Behind a currency may be its code: "$5 CAD".
    """
    if not before:
        return unit_after(after)
    money = unit(before)
    if money is None or not money.kind.startswith(_MONEY):
        return None
    code = unit(after) if after else money
    narrower = code is not None and (code.kind == money.kind or (before == "$" and code.kind.startswith(_MONEY)))
    return code if narrower else None


def is_known(word: str) -> bool:
    """Whether a word is a unit or currency of all graphs; pint is loaded only for words of its definitions."""
    return word in _CODES or _terms(word) is not None


@functools.lru_cache(maxsize=1 << 12)
def own_unit(datatype: str) -> Unit | None:
    """The unit of one graph that a datatype names, of the kind `unit crown`; None for other datatypes.

    >>> own_unit("urn:triplecheck:unit:crowns").kind
    'unit crown'
    """
    word = datatype.removeprefix(OWN)
    return None if word in ("", datatype) else Unit(word, f"unit {singular(word)}", 1)


def own_unit_after(rest: str, own: Unit) -> Unit | None:
    """A unit of one graph, if its word in the singular or plural follows a number: " crowns"; else None."""
    match = _OWN_WORD.fullmatch(rest)
    return own if match is not None and singular(match["word"]) == singular(own.text) else None


def in_own_unit(number: str, word: str) -> str:
    """A number as text with the word of a unit of one graph: "13000 crowns", "1 crown"."""
    return f"{number} {singular(word) if number.lstrip('-') == '1' else word}"


def _terms(text: str) -> Mapping[str, int] | None:
    """pint's names of the units in a text, with their exponents; None if one is no unit."""
    if one := _DEGREES.get(text) or (_name(re.sub("[ -]", "_", text)) if " " in text or "-" in text else None):
        return {one: 1}
    found: Counter[str] = Counter()
    sign = 1
    for part in _PER.split(text):
        for term in _TIMES.split(part):
            match = _TERM.fullmatch(term)
            name = None if match is None else _name(match["name"])
            if match is None or name is None:
                return None
            exponent = int((match["exponent"] or "1").translate(_DIGITS)) * (-1 if match["minus"] else 1)
            found[name] += sign * exponent * _POWERS.get(match["power"] or "", 1)
        sign = -1
    return found


def _name(text: str) -> str | None:
    """pint's name of a unit without exponent."""
    if text in _SYMBOLS:
        return _NAMES.get(text, text)
    if len(text) < _LEAST_WORD or not text.islower() or not _may_be_word(text):
        return None
    for prefix, name, suffix in _registry().parse_unit_name(text):
        # pint returns the prefix as a word where the text has its symbol.
        word = text.removeprefix(prefix)
        spelled = text.startswith(prefix) and len(word.removesuffix(suffix)) >= _LEAST_WORD - 1
        if spelled and _OTHER.isdisjoint({word, word.removesuffix("s")}):
            return f"{prefix}{name}"
    return None


def _made(text: str, terms: Mapping[str, int]) -> Unit | None:
    """The unit of a product of pint's units."""
    registry = _registry()
    factor, offset = Fraction(1), Fraction(0)
    powers: Counter[str] = Counter()
    for name, exponent in terms.items():
        one, base_unit = registry.get_base_units(name)
        own = dict(registry.Quantity(1, base_unit).unit_items())
        if not own:
            alone = name in _SHARES and [*terms.values()] == [1]
            return Unit(text, "share", Fraction(one)) if alone else None
        if [*terms.values()] == [1] and [*own] == ["kelvin"]:
            offset = Fraction(registry.Quantity(Fraction(0), name).to_base_units().magnitude)
        factor *= Fraction(one) ** exponent
        for base, power in own.items():
            powers[base] += int(power) * exponent
    base = " ".join(name if power == 1 else f"{name}^{power}" for name, power in sorted(powers.items()) if power)
    return Unit(text, _KINDS.get(base, base), whole(factor), whole(offset)) if base else None


def _may_be_word(text: str) -> bool:
    """Whether a word is made of words in pint's definitions. If not, it is no unit, and pint need not be loaded."""
    words = _defined_words()
    return any(
        name in words or any(name[:at] in words and name[at:] in words for at in range(3, len(name) - 2))
        for name in (text, text.removesuffix("s"))
    )


@functools.cache
def _defined_words() -> frozenset[str]:
    """All words in pint's definitions, except those in comments."""
    place = importlib.util.find_spec("pint")
    assert place is not None and place.submodule_search_locations is not None
    files = Path(place.submodule_search_locations[0]).glob("*_en.txt")
    lines = (line.partition("#")[0] for file in files for line in file.read_text("utf-8").splitlines())
    return frozenset(word for line in lines for word in re.findall(r"[^\W\d]{3,}", line))


@functools.cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, autoconvert_offset_to_baseunit=True)
