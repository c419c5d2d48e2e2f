"""The texts of a column as quantities: what `quantity` finds, in Arrow's arrays.

Ordinary numbers, dates of ISO 8601 and numbers with a unit are read by Arrow and numpy. Other texts are read by the
function for one text, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.types import XSD
from triplecheck.kg.values.typed import NUMBER, TIME, Form, Quantity, form_of, typed
from triplecheck.kg.values.units import Exact, Unit, own_unit, own_unit_after, unit_around

Mask = npt.NDArray[np.bool_]

# A float has 15 digits at least, and its shortest text those of the number.
_SHORT = r"^-?[0-9]{1,15}$"
_DECIMAL = r"^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$"
_SHORT_DECIMAL = r"^-?[0-9]{1,14}\.[0-9]{1,14}$"
_SHORT_LENGTH = 16
_DIGITS = 15
_THOUSANDS = r"^-?[0-9]{1,3}(,[0-9]{3}){1,4}(\.[0-9]{1,2})?$"
_DATE = r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MONTH = r"^-?[0-9]{4}-[0-9]{2}$"
_YEAR = r"^-?[0-9]{4,9}$"
_CLOCK = r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z?$"
# Blanks at the ends, which `str.strip` removes.
_BLANK = r"\s\x0b\x1c-\x1f\x{85}\p{Z}"
_PADDED = rf"[{_BLANK}]$"
# Each character belongs to one part, so that RE2 needs one pass.
_CURRENCY = rf"[^0-9.,+−{_BLANK}-]"
_MEASURED = (
    rf"^(?P<sign>-?)(?P<before>(?:{_CURRENCY}+ ?)?)(?P<whole>[0-9][0-9,]*)(?P<fraction>(?:\.[0-9]+)?)"
    r"(?P<rest>(?:[^0-9.,eE\n\r][^0-9\n\r]*[23]?)?)$"
)
_WHOLE = r"^([0-9]{1,15}|[0-9]{1,3}(,[0-9]{3}){1,4})$"
_BEFORE = r"[A-Z]{0,2}[^\p{L}\p{Nd}\s.,+−-]|[A-Z]{3}"
_MAY_BE = rf"^[{_BLANK}]*[+−-]?(?:{_BEFORE})?\p{{Z}}?-?\.?\p{{Nd}}"
_WHOLE_FLOATS = 2**53
_HALF_A_MILLISECOND = Fraction(1, 2 * 86_400_000)
_PARTS = ("sign", "before", "whole", "fraction", "rest")
_NO_UNITS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Quantities:
    """The quantities of a column, of length n.

    Attributes:
        kinds: the kind of each, a dictionary of strings; null where the text is no quantity.
        sizes: float64 in the base unit of the kind; null likewise.
        exact: by row, the sizes that their float64 does not tell from others: of numbers with more digits than a float
            has, and of times between milliseconds. Usually empty.
    """

    kinds: pa.DictionaryArray
    sizes: pa.Array
    exact: Mapping[int, Exact] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sizes)


def quantities(texts: pa.Array | pa.ChunkedArray, datatypes: pa.Array | pa.ChunkedArray | None = None) -> Quantities:
    """The quantities that texts denote, row by row as `quantity` finds them.

    Args:
        texts: strings, shape (n,), also dictionary-encoded; null is no quantity.
        datatypes: the IRIs of their datatypes, shape (n,), also dictionary-encoded; null and None: `xsd:string`.
    """
    plain = _plain(texts)
    reading = _Reading(plain) if datatypes is None else _Reading(plain, *_forms(datatypes))
    reading.numbers()
    reading.times()
    reading.measured()
    reading.others()
    return reading.result()


def _plain(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    found = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if isinstance(found, pa.ChunkedArray):  # of several chunks too large for one
        found = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in found.chunks])
    kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    return found.cast(pa.string() if pa.types.is_string(kind) else pa.large_string())


def _forms(
    datatypes: pa.Array | pa.ChunkedArray,
) -> tuple[npt.NDArray[np.int8], list[Unit], npt.NDArray[np.int64]]:
    """What the datatype of each text lets it be: the value of its `Form`; the units of one graph that datatypes name,
    and the place of that of each text among them, -1 for none."""
    found = datatypes.combine_chunks() if isinstance(datatypes, pa.ChunkedArray) else datatypes
    encoded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    names = [datatype or XSD + "string" for datatype in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int64)
    forms = np.array([*(form_of(name).value for name in names), Form.ANY.value], np.int8)
    units = [own_unit(name) for name in names]
    own = [one for one in units if one is not None]
    places = np.array([*(-1 if one is None else own.index(one) for one in units), -1])
    return np.asarray(forms[codes]), own, places[codes]


class _Reading:
    """Rows that are read, kind by kind; each step reads those that are left."""

    def __init__(
        self,
        texts: pa.Array,
        forms: npt.NDArray[np.int8] | None = None,
        own_units: Sequence[Unit] = (),
        unit_at: npt.NDArray[np.int64] = _NO_UNITS,
    ) -> None:
        self._texts = texts
        self._own_units, self._unit_at = own_units, unit_at
        self._forms = np.full(len(texts), Form.ANY.value, np.int8) if forms is None else forms
        self._left = texts.is_valid().to_numpy(zero_copy_only=False) & (self._forms != Form.TEXT.value)
        self._sizes = np.zeros(len(texts), np.float64)
        self._kinds = np.full(len(texts), -1, np.int32)
        self._names: dict[str, int] = {}
        self._exact: dict[int, Exact] = {}

    def result(self) -> Quantities:
        """What was found."""
        none = self._kinds < 0
        kinds = pa.DictionaryArray.from_arrays(
            pa.array(self._kinds, mask=none), pa.array(list(self._names), pa.string())
        )
        return Quantities(kinds, pa.array(self._sizes, mask=none), dict(sorted(self._exact.items())))

    # --- steps ---------------------------------------------------------------------------------
    def numbers(self) -> None:
        """Numbers of at most 15 digits, with separators of thousands or without, and others that floats write alike."""
        at, texts = self._rows(Form.ANY, _SHORT)
        self._set(at, NUMBER, texts.cast(pa.float64()))
        at, texts = self._rows(Form.ANY, _DECIMAL)
        sizes = texts.cast(pa.float64())
        short = pc.and_(
            pc.match_substring_regex(texts, _SHORT_DECIMAL), pc.less_equal(pc.binary_length(texts), _SHORT_LENGTH)
        )
        alike = pc.or_(short, pc.equal(sizes.cast(texts.type), texts)).to_numpy(zero_copy_only=False)
        self._set(at[alike], NUMBER, sizes.filter(pa.array(alike)))
        at, texts = self._rows(Form.ANY, _THOUSANDS)
        self._set(at, NUMBER, pc.replace_substring(texts, ",", "").cast(pa.float64()))

    def times(self) -> None:
        """Days, months and years; points in time to the second, in UTC."""
        for pattern, forms in (
            (_DATE, (Form.ANY, Form.TIME)),
            (_MONTH, (Form.ANY, Form.TIME)),
            (_CLOCK, (Form.ANY, Form.TIME)),
            (_YEAR, (Form.TIME,)),
        ):
            for form in forms:
                at, texts = self._rows(form, pattern)
                if len(at):
                    self._set(at, TIME, _days(texts))

    def measured(self) -> None:
        """Numbers with a unit behind them, or a currency before them."""
        likely, _ = self._rows(Form.ANY, _MAY_BE)
        self._left &= self._forms != Form.ANY.value
        self._left[likely] = True
        at, texts = self._rows(Form.ANY, _MEASURED)
        whole = pc.invert(pc.match_substring_regex(texts, _PADDED))
        at, texts = at[whole.to_numpy(zero_copy_only=False)], texts.filter(whole)
        if not len(at):
            return
        found = pc.extract_regex(texts, _MEASURED)
        parts = {name: pc.struct_field(found, name) for name in _PARTS}
        line, nothing = pa.scalar("\n", texts.type), pa.scalar("", texts.type)
        own = self._own_codes(at).cast(texts.type)
        around = pc.binary_join_element_wise(parts["before"], parts["rest"], own, line).dictionary_encode()
        codes = around.indices.to_numpy(zero_copy_only=False)
        fractions = pc.utf8_ltrim(parts["fraction"], ".")
        digits = pc.binary_join_element_wise(pc.replace_substring(parts["whole"], ",", ""), fractions, nothing)
        places = pc.binary_length(fractions).to_numpy(zero_copy_only=False)
        short = pc.match_substring_regex(parts["whole"], _WHOLE).to_numpy(zero_copy_only=False)
        short &= pc.binary_length(digits).to_numpy(zero_copy_only=False) <= _DIGITS
        numbers = np.zeros(len(at), np.int64)
        numbers[short] = digits.filter(pa.array(short)).cast(pa.int64()).to_numpy()
        numbers[pc.equal(parts["sign"], "-").to_numpy(zero_copy_only=False)] *= -1
        told = [text.split("\n") for text in around.dictionary.to_pylist()]
        units = [self._unit(*one) for one in told]
        none = [unit is None and one[:2] != ["", ""] for unit, one in zip(units, told, strict=True)]
        self._left[at[np.array(none, bool)[codes]]] = False
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(units) + 1))
        for code, one in enumerate(units):
            rows = order[bounds[code] : bounds[code + 1]]
            rows = rows[short[rows]]
            if one is None or not len(rows):
                continue
            for place in np.unique(places[rows]).tolist():
                own = rows[places[rows] == place]
                in_base = _in_base_unit(numbers[own], place, one)
                if in_base is not None:
                    fits, sizes = in_base
                    self._set(at[own[fits]], one.kind, sizes[fits])

    def others(self) -> None:
        """All others, each distinct text once."""
        for form in (Form.ANY, Form.TIME, Form.DURATION):
            at = np.flatnonzero(self._left & (self._forms == form.value))
            if not len(at):
                continue
            line = pa.scalar("\n", self._texts.type)
            own = self._own_codes(at).cast(self._texts.type)
            encoded = pc.binary_join_element_wise(own, self._texts.take(pa.array(at)), line).dictionary_encode()
            codes = encoded.indices.to_numpy(zero_copy_only=False)
            told = (text.partition("\n") for text in encoded.dictionary.to_pylist())
            found = [typed(text.strip(), form, self._named(code)) for code, _, text in told]
            sizes = np.array([0.0 if one is None else _float(one.size) for one in found])
            kinds = np.array([-1 if one is None else self._kind(one.kind) for one in found], np.int32)
            self._sizes[at], self._kinds[at], self._left[at] = sizes[codes], kinds[codes], False
            long = {code: one.size for code, one in enumerate(found) if one is not None and not _is_told(one)}
            for place in np.flatnonzero(np.isin(codes, [*long])).tolist():
                self._exact[int(at[place])] = long[int(codes[place])]

    # --- units of one graph --------------------------------------------------------------------
    def _own_codes(self, at: npt.NDArray[np.int64]) -> pa.Array:
        """The places of the units that the datatypes of rows name, as texts; empty where they name none."""
        if not self._own_units:
            return pa.repeat("", len(at))
        names = pa.array(["", *map(str, range(len(self._own_units)))], pa.string())
        return names.take(pa.array(self._unit_at[at] + 1))

    def _named(self, code: str) -> Unit | None:
        return self._own_units[int(code)] if code else None

    def _unit(self, before: str, rest: str, code: str) -> Unit | None:
        """The unit between these texts, whose datatype names the unit of a code."""
        found, own = unit_around(before, rest), self._named(code)
        return own_unit_after(rest, own) if found is None and own is not None and not before else found

    # --- parts of steps ------------------------------------------------------------------------
    def _rows(self, form: Form, pattern: str) -> tuple[npt.NDArray[np.int64], pa.Array]:
        """The rows that are left of a form whose texts match a pattern, and their texts."""
        at = np.flatnonzero(self._left & (self._forms == form.value))
        texts = self._texts if len(at) == len(self._texts) else self._texts.take(pa.array(at))
        matching = pc.match_substring_regex(texts, pattern)
        return at[matching.to_numpy(zero_copy_only=False)], texts.filter(matching)

    def _kind(self, kind: str) -> int:
        return self._names.setdefault(kind, len(self._names))

    def _set(self, at: npt.NDArray[np.int64], kind: str, sizes: pa.Array | npt.NDArray[np.float64]) -> None:
        if len(at):
            self._sizes[at] = sizes
            self._kinds[at] = self._kind(kind)
            self._left[at] = False


def _float(size: Exact) -> float:
    try:
        return float(size)
    except OverflowError:
        return float("inf") if size > 0 else float("-inf")


def _is_told(one: Quantity) -> bool:
    """Whether the float of a size tells it from those of other texts: its digits, or a time to the millisecond."""
    number = one.size if one.is_time else one.amount
    near = _float(number)
    if near in (float("inf"), float("-inf")):
        return False
    if one.is_time:
        return abs(Fraction(near) - number) <= _HALF_A_MILLISECOND
    return Decimal(repr(near)).as_integer_ratio() == number.as_integer_ratio()


def _in_base_unit(
    numbers: npt.NDArray[np.int64], places: int, one: Unit
) -> tuple[Mask, npt.NDArray[np.float64]] | None:
    """Numbers without their decimal point in the base unit; which of them are as exact as a float can be.

    A quotient of two whole numbers below 2**53 is rounded once.
    """
    factor, offset = Fraction(one.factor), Fraction(one.offset)
    # number / 10**places * factor + offset = (number * scale + shift) / below
    below = factor.denominator * offset.denominator * 10**places
    scale, shift = factor.numerator * offset.denominator, offset.numerator * factor.denominator * 10**places
    most = (_WHOLE_FLOATS - abs(shift)) // max(1, abs(scale))
    if below >= _WHOLE_FLOATS or most <= 0:
        return None
    fits = np.abs(numbers) <= most
    return fits, (np.where(fits, numbers, 0) * scale + shift) / below


def _days(texts: pa.Array) -> npt.NDArray[np.float64]:
    """The points in time of texts of one pattern, in days; an impossible date counts as its year, a time as its day."""
    late = pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    plain = pc.if_else(pc.starts_with(texts, "-"), pc.utf8_slice_codeunits(texts, 1), texts)
    length = int(pc.max(pc.binary_length(plain)).as_py())
    has_month = bool(pc.match_substring(plain, "-")[0].as_py())
    end = 4 if has_month else length

    def part(start: int, stop: int) -> npt.NDArray[np.int64]:
        cut = pc.utf8_slice_codeunits(plain, start, stop).cast(pa.int64())
        return np.asarray(cut.to_numpy(zero_copy_only=False))

    year = part(0, end)
    year = np.where(late, -year, year)
    ones = np.ones(len(year), np.int64)
    month = part(5, 7) if has_month else ones
    day = part(8, 10) if has_month and length >= 10 else ones
    possible = _is_day(year, month, day)
    days = _ordinal(year, np.where(possible, month, 1), np.where(possible, day, 1)).astype(np.float64)
    if length <= 10:
        return days
    hour, minute, second = part(11, 13), part(14, 16), part(17, 19)
    seconds = hour * 3600 + minute * 60 + second
    timed = possible & (seconds <= 86_400) & (minute < 60) & (second < 60)
    return np.where(timed, (days * 86_400 + seconds) / 86_400, days)


def _is_day(year: npt.NDArray[np.int64], month: npt.NDArray[np.int64], day: npt.NDArray[np.int64]) -> Mask:
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    valid = (month >= 1) & (month <= 12)
    most = lengths[np.where(valid, month, 0)] + (leap & (month == 2))
    return np.asarray(valid & (day >= 1) & (day <= most))


def _ordinal(
    year: npt.NDArray[np.int64], month: npt.NDArray[np.int64], day: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Days since the day before 0001-01-01 (proleptic Gregorian)."""
    # Years begin in March, so that the leap day is the last.
    year = year - (month <= 2)
    cycle, rest = np.divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return np.asarray(cycle * 146_097 + rest * 365 + rest // 4 - rest // 100 + of_year - 305)
