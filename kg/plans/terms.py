"""`Terms`: what stands in the columns of a running plan: nodes of the graph, and values that it computed.

Every term is an integer: below the number of nodes it is a node, above it a computed value. So joins, groups and
distinct rows are those of integers, and what a term means is looked up where it is compared or computed with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg._arrays import distinct, used
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.quantities import lacking, scale_of, size_in_words, units_of
from triplecheck.kg.plans.tables import UNBOUND, codes, first_rows
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import quantities

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]

ERROR, BOOLEAN, TEXT, THING, NUMBER, TIME = range(6)
"""Kinds of values; physical dimensions follow. ERROR is also unbound; a THING is an entity that is no quantity."""
INTEGER, DECIMAL, DOUBLE = range(3)
"""Forms of numbers."""

_FORMS = {INTEGER: XSD + "integer", DECIMAL: XSD + "decimal", DOUBLE: XSD + "double"}
_DOUBLES = (XSD + "double", XSD + "float")
_COLUMNS: Sequence[Any] = (np.int8, np.float64, np.float64, np.int8, np.int32)
"""The types of kinds, sizes, rests, forms and units."""
_MOST_KINDS = 100
_DAYS = "days"


@dataclass(frozen=True)
class Values:
    """What the rows of an expression are, each shape (n,).

    Attributes:
        kinds: ERROR, BOOLEAN, TEXT, THING, NUMBER, TIME or a dimension.
        sizes: the number in its base unit; 1 or 0 for a boolean.
        rests: what the float of `sizes` lacks to the exact number.
        forms: INTEGER, DECIMAL or DOUBLE.
        ids: terms, if the rows are terms; UNBOUND where they are not.
        written: the texts of computed texts.
        units: units of sizes, numbered by `Terms.unit`; 0 and None: none.
    """

    kinds: Codes
    sizes: FloatArray
    rests: FloatArray
    forms: Codes
    ids: IntArray | None = None
    written: pa.Array | None = None
    units: IntArray | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def unit_codes(self) -> IntArray:
        """The numbers of the units, shape (n,)."""
        return np.zeros(len(self), np.int64) if self.units is None else self.units

    @classmethod
    def of_numbers(
        cls,
        sizes: FloatArray,
        forms: Codes | int,
        good: npt.NDArray[np.bool_],
        kinds: Codes | None = None,
        units: IntArray | None = None,
    ) -> Values:
        """Computed numbers; errors where they are not good."""
        n = len(sizes)
        kind = np.full(n, NUMBER, np.int8) if kinds is None else kinds
        finite = good & np.isfinite(sizes)
        form = np.broadcast_to(np.asarray(forms, np.int8), (n,))
        return cls(
            np.where(finite, kind, ERROR).astype(np.int8), np.where(finite, sizes, 0.0), np.zeros(n), form, units=units
        )

    @classmethod
    def of_truth(cls, truth: Codes) -> Values:
        """Computed booleans: 1, 0, or -1 for an error."""
        kinds = np.where(truth < 0, ERROR, BOOLEAN).astype(np.int8)
        n = len(truth)
        return cls(kinds, truth.astype(np.float64), np.zeros(n), np.zeros(n, np.int8))

    @classmethod
    def of_texts(cls, texts: pa.Array) -> Values:
        """Computed texts; errors where they are null."""
        n = len(texts)
        kinds = np.where(np.array(pc.is_valid(texts)), TEXT, ERROR).astype(np.int8)
        return cls(kinds, np.zeros(n), np.zeros(n), np.zeros(n, np.int8), None, texts)


Made = tuple[int, int, float, float, str, int]
"""A computed value: kind, form, size, rest, text, unit."""


class Terms:
    """The terms of one run of a plan."""

    def __init__(self, graph: ColumnarGraph) -> None:
        self.graph = graph
        self.nodes = graph.num_nodes
        self.kinds: list[str] = ["number", "time"]
        self._units: list[tuple[str, bool]] = [("", False)]
        self._read: npt.NDArray[np.bool_] | None = None
        self._node_columns: list[npt.NDArray[Any]] = []  # kinds, sizes, rests, forms and units
        self._made: list[Made] = []
        self._numbers: dict[Made, int] = {}
        self._columns: tuple[int, Sequence[npt.NDArray[Any]]] | None = None

    # --- nodes -----------------------------------------------------------------------------------
    def _look_at(self, nodes: IntArray) -> None:
        """Read the quantities of nodes that were not read before."""
        if self._read is None:
            self._read = np.zeros(self.nodes, bool)
            self._node_columns = [np.zeros(self.nodes, kind) for kind in _COLUMNS]
        fresh = nodes[~self._read[nodes]]
        if len(fresh) == 0:
            return
        fresh = distinct(fresh) if len(fresh) <= 1000 else np.flatnonzero(used(fresh, self.nodes))
        plain = np.where(fresh < self.graph.num_entities, THING, TEXT).astype(np.int8)
        found = self._measured(self.graph.texts(fresh), self.graph.datatypes(fresh), plain)
        for column, values in zip(self._node_columns, found, strict=True):
            column[fresh] = values
        self._read[fresh] = True

    def _measured(self, texts: pa.Array, datatypes: pa.Array, plain: Codes) -> tuple[npt.NDArray[Any], ...]:
        """Kinds, sizes, rests, forms and units of values, each shape (n,).

        Args:
            plain: the kinds of those that are no quantities.
        """
        datatypes = self.graph.own_units.datatypes(texts, datatypes)
        found = quantities(texts, datatypes)
        kinds, rests, units = plain.copy(), np.zeros(len(plain)), np.zeros(len(plain), np.int32)
        coded = np.asarray(found.kinds.indices.fill_null(-1).to_numpy(zero_copy_only=False))
        for code, name in enumerate(found.kinds.dictionary.to_pylist()):
            kinds[coded == code] = self._kind(name)
        with_unit = np.flatnonzero(kinds > TIME)
        if len(with_unit):
            at = pa.array(with_unit)
            codes_of_units, names = units_of(texts.take(at), datatypes.take(at))
            units[with_unit] = np.array([self.unit(name) for name in names])[codes_of_units]
        sizes = np.array(found.sizes.fill_null(0.0), np.float64)
        is_boolean = np.array(pc.fill_null(pc.equal(datatypes.cast(pa.string()), XSD + "boolean"), False))
        if is_boolean.any():
            kinds[is_boolean] = BOOLEAN
            sizes[is_boolean] = np.array(pc.is_in(texts, value_set=pa.array(["true", "1"])))[is_boolean]
        is_double = np.array(pc.is_in(datatypes.cast(pa.string()), value_set=pa.array(_DOUBLES, pa.string())))
        forms = np.where(is_double, DOUBLE, np.where(sizes == np.floor(sizes), INTEGER, DECIMAL)).astype(np.int8)
        for row, exact in found.exact.items():
            rests[row] = lacking(exact, float(sizes[row]))
        return kinds, sizes, rests, forms, units

    def _kind(self, name: str) -> int:
        if name not in self.kinds:
            if len(self.kinds) == _MOST_KINDS:
                return TEXT
            self.kinds.append(name)
        return NUMBER + self.kinds.index(name)

    # --- units -----------------------------------------------------------------------------------
    def unit(self, text: str, is_difference: bool = False) -> int:
        """The number of a unit; differences of temperatures have units of their own, without the zero of the scale."""
        key = (text, is_difference and scale_of(text)[1] != 0)
        if key not in self._units:
            self._units.append(key)
        return self._units.index(key)

    def differences(self, units: IntArray) -> IntArray:
        """The units of differences of sizes in these units."""
        of_code = np.array([self.unit(text, True) for text, _ in tuple(self._units)], np.int64)
        return of_code[units]

    def scales(self, units: IntArray) -> tuple[FloatArray, FloatArray]:
        """One of each unit and its zero, in base units, each shape (n,)."""
        found = [(scale_of(text)[0], 0.0 if alone else scale_of(text)[1]) for text, alone in self._units]
        factors, zeros = np.array(found).T
        return factors[units], zeros[units]

    def duration(self) -> tuple[int, int]:
        """Kind and unit of the time between two points in time."""
        return self._kind("duration"), self.unit(_DAYS)

    # --- computed values -------------------------------------------------------------------------
    def _number(self, made: Made) -> int:
        """The term of a computed value: the node of the same literal, if the graph has one."""
        known = self._numbers.get(made)
        if known is None:
            node = self.graph.find(self._literal(made))
            known = self.nodes + len(self._made) if node is None else node
            if node is None:
                self._made.append(made)
            self._numbers[made] = known
        return known

    def constant(self, value: Literal) -> int:
        """The term of a value that the plan writes."""
        node = self.graph.find(value)
        if node is not None:
            return node
        texts, datatypes = pa.array([value.lexical], pa.string()), pa.array([value.datatype], pa.string())
        found = self._measured(texts, datatypes, np.array([TEXT], np.int8))
        kind, size, rest, form, unit = (column.item() for column in found)
        written = value.lexical if value.datatype == XSD + "string" else f"{value.lexical}\x1f{value.datatype}"
        if self._literal((kind, form, size, rest, "", unit)) == value:
            written = ""  # as if it were computed
        return self._number((kind, form, size, rest, written, unit))

    def ids(self, values: Values) -> IntArray:
        """The terms of values; computed ones are numbered."""
        if values.ids is not None:
            return values.ids
        n = len(values)
        result = np.full(n, UNBOUND, np.int64)
        good = np.flatnonzero(values.kinds != ERROR)
        if len(good) == 0:
            return result
        if values.written is not None:
            encoded = values.written.take(pa.array(good)).dictionary_encode()
            texts = encoded.dictionary.to_pylist()
            numbers = np.array([self._number((TEXT, 0, 0.0, 0.0, text, 0)) for text in texts], np.int64)
            result[good] = numbers[encoded.indices.to_numpy()]
            return result
        units = values.unit_codes
        kinds = values.kinds[good].astype(np.int64) * 4 + values.forms[good]
        columns = [values.sizes[good].view(np.int64), values.rests[good].view(np.int64), kinds, units[good]]
        found, number = codes(columns, len(good))
        first = first_rows(found, number)
        listed = zip(
            values.sizes[good][first].tolist(),
            values.rests[good][first].tolist(),
            kinds[first].tolist(),
            columns[3][first].tolist(),
            strict=True,
        )
        made = [self._number((both // 4, both % 4, size, rest, "", unit)) for size, rest, both, unit in listed]
        result[good] = np.array(made, np.int64)[found]
        return result

    # --- what terms mean -------------------------------------------------------------------------
    def values(self, ids: IntArray) -> Values:
        """What terms are, shape (n,)."""
        is_node = (ids >= 0) & (ids < self.nodes)
        nodes = ids if is_node.all() else ids[is_node]
        self._look_at(nodes)
        if is_node.all():
            found = [column[ids] for column in self._node_columns]
        else:
            is_made = ids >= self.nodes
            found = [np.zeros(len(ids), kind) for kind in _COLUMNS]
            for own, column, made in zip(found, self._node_columns, self._made_columns(), strict=True):
                own[is_node] = column[nodes]
                own[is_made] = made[ids[is_made] - self.nodes]
        kinds, sizes, rests, forms, units = found
        return Values(kinds, sizes, rests, forms, ids, units=units)

    def _made_columns(self) -> Sequence[npt.NDArray[Any]]:
        if self._columns is None or self._columns[0] != len(self._made):
            kinds, forms, sizes, rests, _, units = zip(*self._made, strict=True) if self._made else ((),) * 6
            made = zip((kinds, sizes, rests, forms, units), _COLUMNS, strict=True)
            self._columns = len(self._made), [np.array(values, kind) for values, kind in made]
        return self._columns[1]

    def texts(self, values: Values) -> pa.Array:
        """The texts of values: labels of entities, lexical forms of literals; null where there is none."""
        if values.ids is None:
            if values.written is not None:
                return values.written
            return self.texts(self.values(self.ids(values)))
        ids = values.ids
        is_node = (ids >= 0) & (ids < self.nodes)
        if is_node.all():
            return self.graph.texts(ids)
        texts = self.graph.texts(ids[is_node])
        places = np.full(len(ids), -1, np.int64)
        places[is_node] = np.arange(len(texts))
        is_made = ids >= self.nodes
        if is_made.any():
            terms, at = np.unique(ids[is_made], return_inverse=True)
            made = pa.array([self.literal(one).lexical for one in terms.tolist()], pa.string())
            places[is_made] = len(texts) + at
            texts = pa.concat_arrays([texts, made])
        return texts.take(pa.array(places, pa.int64(), mask=places < 0))

    def literal(self, id: int) -> Literal:
        """The value of a term; for an entity its label."""
        if id < self.nodes:
            return self.graph.literal(id) or Literal(self.graph.label(id))
        return self._literal(self._made[id - self.nodes])

    def cell(self, id: int) -> int | Literal | None:
        """A term in a result: a node, a computed value, or None where it is unbound."""
        return None if id == UNBOUND else id if id < self.nodes else self.literal(id)

    def class_term(self, id: str) -> int:
        """The term of a class: its node, or else one that shows its label."""
        node = self.graph.find(id)
        return self._number((THING, 0, 0.0, 0.0, id, 0)) if node is None else node

    def _literal(self, made: Made) -> Literal:
        kind, form, size, rest, text, unit = made
        if kind == THING:
            return Literal(self.graph.type_label(text))
        if text:
            lexical, _, datatype = text.partition("\x1f")
            return Literal(lexical, datatype or XSD + "string")
        if kind == TEXT:
            return Literal("")
        if kind == BOOLEAN:
            return Literal("true" if size else "false", XSD + "boolean")
        if unit:
            own = self.graph.own_units.datatype(self._units[unit][0])
            return Literal(size_in_words(size, rest, *self._units[unit]), own or XSD + "string")
        return Literal(number_text(size, rest, form), _FORMS[form])


def number_text(size: float, rest: float, form: int) -> str:
    """A number as XSD writes it; decimals with at most 15 digits, without those that rounding left."""
    if form == DOUBLE or not np.isfinite(size):
        return repr(size)
    if size == int(size) and rest == int(rest):
        return str(int(size) + int(rest))
    text = f"{size:.15g}"
    return text if "e" not in text else f"{size:.20f}".rstrip("0")
