"""Expressions over tables of solutions, a whole column at a time."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.plans.algebra import Call, Constant, Exists, Expression, IsA, Labelled, Relations, Var
from triplecheck.kg.plans.basic import NotCoveredError
from triplecheck.kg.plans.compare import both, compare, either, negated, one_of, truth_of
from triplecheck.kg.plans.quantities import WIDEST, time_parts, without_noise
from triplecheck.kg.plans.tables import UNBOUND, Table
from triplecheck.kg.plans.terms import BOOLEAN, DECIMAL, DOUBLE, ERROR, INTEGER, NUMBER, TIME, Codes, Terms, Values
from triplecheck.kg.plans.write import write_expression
from triplecheck.kg.types import XSD

Flags = npt.NDArray[np.bool_]
Having = Callable[[Exists, Table], Flags]
"""Which rows of a table have a solution of a pattern."""

_COMPARISONS = frozenset(("=", "!=", "<", ">", "<=", ">="))
_ROUNDED: dict[str, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": lambda sizes: np.floor(sizes + 0.5),
}
_TEXT_TESTS = {"contains": pc.match_substring, "strstarts": pc.starts_with, "strends": pc.ends_with}
_TIME_PARTS = ("year", "month", "day")
_MONTH, _DATE = re.compile(r"-?\d{4,}-\d{2}"), re.compile(r"-?\d{4,}-\d{2}-\d{2}")
_DAY = 86_400.0  # seconds


class Expressions:
    """Evaluates expressions over tables.

    Args:
        having: decides EXISTS.
    """

    def __init__(self, terms: Terms, having: Having) -> None:
        self._terms, self._having = terms, having

    def truth(self, expression: Expression, table: Table) -> Codes:
        """Whether a condition holds per row: 1, 0, or -1 for an error."""
        match expression:
            case Exists():
                return np.asarray(self._having(expression, table) != expression.negated, np.int8)
            case Call("and" | "or" as name, arguments):
                truths = [self.truth(one, table) for one in arguments]
                return functools.reduce(both if name == "and" else either, truths)
            case Call("not", (one,)):
                return negated(self.truth(one, table))
            case Call(name, (left, right)) if name in _COMPARISONS:
                return self._compared(name, left, right, table)
            case Call("in" | "not in" as name, (one, *others)):
                listed = [value for other in others for value in self._each(other, table)]
                found = one_of(self._terms, self.values(one, table), listed)
                return found if name == "in" else negated(found)
            case Call("bound", (Var(name),)):
                column = table.columns.get(name)
                return np.zeros(len(table), np.int8) if column is None else (column != UNBOUND).astype(np.int8)
            case Call("sameterm", (left, right)):
                a, b = (self._terms.ids(self.values(one, table)) for one in (left, right))
                return np.where((a < 0) | (b < 0), -1, a == b).astype(np.int8)
        return truth_of(self._terms, self.values(expression, table))

    def values(self, expression: Expression, table: Table) -> Values:
        """What an expression is per row.

        Raises:
            NotCoveredError: a function that only rdflib's evaluator knows.
        """
        match expression:
            case Var(name):
                column = table.columns.get(name)
                return self._terms.values(np.full(len(table), UNBOUND) if column is None else column)
            case Constant():
                return self._each(expression, table)[0]
            case Exists() | Call("and" | "or" | "not" | "in" | "not in" | "bound" | "sameterm"):
                return Values.of_truth(self.truth(expression, table))
            case Call(name) if name in _COMPARISONS:
                return Values.of_truth(self.truth(expression, table))
            case Call("+" | "-" | "*" | "/" as name, (left, right)):
                return _computed(self._terms, name, self.values(left, table), self.values(right, table))
            case Call("minus" | "plus" as name, (one,)):
                value = self.values(one, table)
                sizes = -value.sizes if name == "minus" else value.sizes
                found = Values.of_numbers(sizes, value.forms, value.kinds >= NUMBER, value.kinds, value.units)
                return replace(found, rests=-value.rests if name == "minus" else value.rests)
            case Call("if", (condition, then, otherwise)):
                truth = self.truth(condition, table)
                return self._chosen([(truth == 1, then), (truth == 0, otherwise)], table)
            case Call("coalesce", arguments):
                return self._first(arguments, table)
            case Relations() | IsA() | Labelled():
                raise NotCoveredError(write_expression(expression))
            case Call(name, arguments):
                return self._function(name, [self.values(one, table) for one in arguments])
        raise AssertionError(expression)

    def _compared(self, operator: str, left: Expression, right: Expression, table: Table) -> Codes:
        """A comparison; with a name that several nodes share, equality with any of them; with a month or a day, of
        months or of days: a month includes its last day, a day its last hour."""
        ways = [(a, b) for a in self._each(left, table) for b in self._each(right, table)]
        if _MONTH.fullmatch(_written(left)) or _MONTH.fullmatch(_written(right)):
            ways = [_by_month(a, b) for a, b in ways]
        elif _DATE.fullmatch(_written(left)) or _DATE.fullmatch(_written(right)):
            ways = [(_in_days(a), _in_days(b)) for a, b in ways]
        truths = [compare(self._terms, "=" if operator == "!=" and len(ways) > 1 else operator, a, b) for a, b in ways]
        truth = functools.reduce(either, truths)
        return negated(truth) if operator == "!=" and len(ways) > 1 else truth

    def _each(self, expression: Expression, table: Table) -> list[Values]:
        """The values of an expression: one for each node of a name, otherwise one."""
        if not isinstance(expression, Constant):
            return [self.values(expression, table)]
        literal = expression.literal
        terms = [self._terms.constant(literal)] if literal is not None else expression.nodes
        return [self._terms.values(np.full(len(table), term, np.int64)) for term in terms]

    def _chosen(self, ways: Sequence[tuple[Flags, Expression]], table: Table) -> Values:
        ids = np.full(len(table), UNBOUND, np.int64)
        for where, expression in ways:
            rows = np.flatnonzero(where)
            if len(rows):
                ids[rows] = self._terms.ids(self.values(expression, table.take(rows)))
        return self._terms.values(ids)

    def _first(self, arguments: Sequence[Expression], table: Table) -> Values:
        ids = np.full(len(table), UNBOUND, np.int64)
        for one in arguments:
            found = self.values(one, table)
            ids = np.where((ids == UNBOUND) & (found.kinds != ERROR), self._terms.ids(found), ids)
        return self._terms.values(ids)

    def _function(self, name: str, values: list[Values]) -> Values:
        first = values[0] if values else None
        if first is None:
            raise NotCoveredError(f"{name.upper()}()")
        if name in _ROUNDED:
            return self._rounded(name, first)
        if name in _TIME_PARTS:
            dated = first.kinds == TIME
            part = time_parts(first.sizes)[_TIME_PARTS.index(name)]
            whole = (first.kinds == NUMBER) & (first.sizes == np.floor(first.sizes)) & (name == "year")
            return Values.of_numbers(np.where(whole, first.sizes, part), INTEGER, dated | whole)
        if name in ("str", "lcase", "ucase", "strlen"):
            return self._of_text(name, first)
        if name in _TEXT_TESTS and len(values) == 2:
            return self._text_test(_TEXT_TESTS[name], *values)
        if name == "regex":
            return self._regex(values)
        if name.startswith(XSD):
            return self._cast(name.removeprefix(XSD), first)
        raise NotCoveredError(f"{name.upper()}()")

    def _rounded(self, name: str, value: Values) -> Values:
        """Rounded in the unit that it is written in."""
        units = value.unit_codes
        factors, zeros = self._terms.scales(units)
        sizes = np.where(units == 0, value.sizes, (value.sizes - zeros) / factors)
        sizes = np.where(units == 0, _ROUNDED[name](sizes), _ROUNDED[name](sizes) * factors + zeros)
        return Values.of_numbers(
            sizes, value.forms, (value.kinds >= NUMBER) & (value.kinds != TIME), value.kinds, units
        )

    def _of_text(self, name: str, value: Values) -> Values:
        texts = self._terms.texts(value)
        if name == "strlen":
            lengths = pc.utf8_length(texts)
            return Values.of_numbers(
                np.array(lengths.fill_null(0), np.float64), INTEGER, np.array(pc.is_valid(lengths))
            )
        change = {"str": lambda texts: texts, "lcase": pc.utf8_lower, "ucase": pc.utf8_upper}[name]
        return Values.of_texts(change(texts))

    def _text_test(self, test: Callable[..., pa.Array], value: Values, part: Values) -> Values:
        texts, parts = self._terms.texts(value), self._terms.texts(part).dictionary_encode()
        truth = np.full(len(value), -1, np.int8)
        codes = np.asarray(parts.indices.fill_null(-1))
        for code, text in enumerate(parts.dictionary.to_pylist()):
            rows = np.flatnonzero((codes == code) & (value.kinds != ERROR))
            found = test(texts.take(pa.array(rows, pa.int64())), text)
            truth[rows] = np.array(found.fill_null(False))
        return Values.of_truth(truth)

    def _regex(self, values: list[Values]) -> Values:
        """REGEX by RE2.

        Raises:
            NotCoveredError: an expression that RE2 does not know, or flags other than `i`.
        """
        flags = set() if len(values) < 3 else set(pc.unique(self._terms.texts(values[2])).to_pylist())
        if not flags <= {"", "i"} or len(flags) > 1:
            raise NotCoveredError("REGEX() with these flags")

        def matching(texts: pa.Array, pattern: str) -> pa.Array:
            return pc.match_substring_regex(texts, pattern, ignore_case=flags == {"i"})

        try:
            return self._text_test(matching, *values[:2])
        except pa.ArrowInvalid:
            raise NotCoveredError("REGEX() with this expression") from None

    def _cast(self, kind: str, value: Values) -> Values:
        if kind == "string":
            return Values.of_texts(self._terms.texts(value))
        number = (value.kinds == NUMBER) | (value.kinds == BOOLEAN)
        if kind in ("integer", "int", "long"):
            return replace(Values.of_numbers(np.trunc(value.sizes), INTEGER, number), rests=np.trunc(value.rests))
        if kind in ("decimal", "double", "float"):
            return Values.of_numbers(value.sizes, DECIMAL if kind == "decimal" else DOUBLE, number)
        if kind in ("date", "dateTime", "gYear") and (value.kinds == TIME).any():
            return value
        raise NotCoveredError(f"xsd:{kind}()")


def _written(expression: Expression) -> str:
    """What a plan writes for a value; empty for anything else."""
    literal = expression.literal if isinstance(expression, Constant) else None
    return "" if literal is None else literal.lexical


def _in_days(values: Values) -> Values:
    """A column with the day in place of each point in time."""
    return replace(values, sizes=np.where(values.kinds == TIME, np.floor(values.sizes), values.sizes))


def _by_month(left: Values, right: Values) -> tuple[Values, Values]:
    """Two columns, with numbers of months for the points in time that stand in both."""
    dated = (left.kinds == TIME) & (right.kinds == TIME)
    return _in_months(left, dated), _in_months(right, dated)


def _in_months(values: Values, dated: Flags) -> Values:
    """A column with the number of the month in place of each point in time that is `dated`."""
    year, month, _ = time_parts(np.where(dated, values.sizes, 0.0))
    sizes = np.where(dated, year * 12 + month, values.sizes)
    kinds = np.where(dated, NUMBER, values.kinds).astype(values.kinds.dtype)
    return replace(values, sizes=sizes, rests=np.where(dated, 0.0, values.rests), kinds=kinds)


def _computed(terms: Terms, operator: str, left: Values, right: Values) -> Values:
    """Arithmetic. Sums and differences need one kind and have the unit of the left; the difference of two points in
    time is in days. A product keeps the kind of the side that has a unit, a quotient that of the left."""
    forms = np.maximum(left.forms, right.forms)
    is_number, other_is = left.kinds == NUMBER, right.kinds == NUMBER
    alike = (left.kinds >= NUMBER) & (left.kinds == right.kinds)
    untimed = (left.kinds != TIME) & (right.kinds != TIME)
    units = left.unit_codes
    with np.errstate(all="ignore"):
        if operator in ("+", "-"):
            sizes = left.sizes + right.sizes if operator == "+" else left.sizes - right.sizes
            rests = left.rests + right.rests if operator == "+" else left.rests - right.rests
            kinds, good = left.kinds, alike & untimed
            if operator == "+" and right.unit_codes.any():
                sizes = sizes - terms.scales(right.unit_codes)[1]  # 20 °C + 5 °C is 25 °C
            if operator == "-" and units.any():
                units = terms.differences(units)
            if operator == "-" and (between := alike & ~untimed).any():
                kind, days = terms.duration()
                kinds, units = np.where(between, kind, kinds), np.where(between, days, units)
                sizes, rests = np.where(between, sizes * _DAY, sizes), np.where(between, rests * _DAY, rests)
                good = alike
            found = Values.of_numbers(without_noise(sizes, forms == DECIMAL), forms, good, kinds, units)
            wide = (np.abs(sizes) >= WIDEST) & (kinds == NUMBER)
            return found if not wide.any() and not rests.any() else _exact(operator, left, right, found)
        if operator == "*":
            kinds = np.where(is_number, right.kinds, left.kinds)
            good = (left.kinds >= NUMBER) & (right.kinds >= NUMBER) & (is_number | other_is) & untimed
            units = np.where(is_number, right.unit_codes, units)
            found = Values.of_numbers(left.sizes * right.sizes, forms, good, kinds, units)
            return found if not (np.abs(found.sizes) >= WIDEST).any() else _exact(operator, left, right, found)
        ratio = alike & ~is_number & untimed  # of two of one dimension: a number
        good = (ratio | ((left.kinds >= NUMBER) & other_is & untimed)) & (right.sizes != 0)
        kinds, units = np.where(ratio, NUMBER, left.kinds), np.where(ratio, 0, units)
        return Values.of_numbers(left.sizes / right.sizes, np.maximum(forms, DECIMAL), good, kinds, units)


def _exact(operator: str, left: Values, right: Values, found: Values) -> Values:
    """The same with integers of any size; only the rows that need it."""
    sizes, rests = found.sizes.copy(), found.rests.copy()
    forms = np.maximum(left.forms, right.forms)
    wide = (np.abs(sizes) >= WIDEST) | (left.rests != 0) | (right.rests != 0)
    for row in np.flatnonzero(wide & (forms == INTEGER) & (found.kinds == NUMBER)).tolist():
        a, b = (int(one.sizes[row]) + int(one.rests[row]) for one in (left, right))
        whole = a + b if operator == "+" else a - b if operator == "-" else a * b
        sizes[row] = float(whole)
        rests[row] = float(whole - int(sizes[row]))
    return replace(found, sizes=sizes, rests=rests)
