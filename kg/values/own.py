"""The units that only one graph has, by the datatypes of its values: what plain texts mean in this graph.

`kg.own_units` finds the units when a graph is built.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.readable import singular
from triplecheck.kg.types import XSD
from triplecheck.kg.values.units import own_unit

_GAP = r"[ \x{a0}\x{2009}\x{202f}]"
_NUMBER = rf"[+-]?(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,3}}(?:{_GAP}[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?"
FORM = rf"^(?P<number>{_NUMBER}){_GAP}(?P<word>\p{{Ll}}{{2,}})$"
"""A regular expression of RE2 for a number and a lower-case word."""
SEPARATORS = rf",|{_GAP}"
"""A regular expression of RE2 for what separates thousands."""


class OwnUnits:
    """The units that only one graph has; false if there are none.

    Args:
        datatypes: the IRIs of the datatypes of the graph's values.
    """

    def __init__(self, datatypes: Iterable[str]) -> None:
        units = {datatype: unit for datatype in datatypes if (unit := own_unit(datatype)) is not None}
        self._of_stem = {singular(unit.text): datatype for datatype, unit in reversed(units.items())}
        self._of_word = {unit.text: datatype for datatype, unit in units.items()}

    def __bool__(self) -> bool:
        return bool(self._of_word)

    def datatype(self, word: str) -> str | None:
        """The datatype of a unit, as `Quantity.unit` has it; None if it is none of this graph alone."""
        return self._of_word.get(word)

    def datatypes(self, texts: pa.Array, given: pa.Array) -> pa.Array:
        """The datatypes of values. Plain texts that are amounts in a unit of this graph get the datatype of the unit.

        Args:
            texts: strings, shape (n,).
            given: the IRIs of their datatypes, shape (n,), also dictionary-encoded; null for none.
        """
        if not self:
            return given
        plain = pc.fill_null(pc.equal(given.cast(pa.string()), XSD + "string"), True)
        rows = pc.indices_nonzero(pc.and_(plain, pc.fill_null(pc.match_substring_regex(texts, FORM), False)))
        if not len(rows):
            return given
        words = pc.struct_field(pc.extract_regex(texts.take(rows), FORM), "word").dictionary_encode()
        known = [self._of_stem.get(singular(word)) for word in words.dictionary.to_pylist()]
        mask = np.zeros(len(texts), bool)
        mask[rows.to_numpy()] = True
        kinds = pa.array(known, pa.string()).take(words.indices)
        return pc.replace_with_mask(given.cast(pa.string()), pa.array(mask), kinds)
