"""The texts of a column are read as each text is alone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import Exact, quantities, quantity

ODD = [
    *(
        "| 12 |\u00a012|1e5|1E+05|1e3 kg|-0|+3|.5|5.|007|1,150|1,150.5|1,15|12,345,67 kg|9007199254740993|"
        "12345678901234567890|0.1234567890123456789|48.856613333333334|1e400|1e-400|2001-02-29|2000-02-29|1900-02-29|"
        "-0044-03-15|-44-03-15|12026-01-01|1999-13|1999-05|2001-05-03T23:59:59|2001-05-03T24:00:00Z|"
        "2001-05-03T25:00:00Z|2001-05-03T10:00:00.123456789Z|2001-05-03T10:00:00+02:00|0000-01-01|$5|-$5|$-5|USD 5|"
        "USD  5|USD\u00a05|5 $|$5 CAD|USD 5 EUR|-5 °C|68 °F|1 000 kg|5G|5 G|3m|5 km2|1 152|1 2|3 Doors Down|X 5|١٢|"
        "12\n|3 kg\n|true|P1Y|PT1.5S|1e999999999999|123456789012345.6 kg|12345678901234567 kg|0.00000000000001 ft|"
        "4200 crowns|1 crown|-3,800.5 crowns|4 200\u00a0crowns|1e3 crowns|4200crowns|$5 crowns|5 Crowns|5 crowns more|"
        "12345678901234567 crowns|٣ crowns|5 crowns\n"
    ).split("|"),
    "9" * 450,
    "1" * 30 + " ft",
]
TYPES = [
    None,
    *(XSD + name for name in "string integer date dateTime gYear gYearMonth boolean duration".split()),
    "urn:own",
    "urn:triplecheck:unit:crowns",
]


def near(size: Exact) -> float:
    try:
        return float(size)
    except OverflowError:
        return float("inf") if size > 0 else float("-inf")


def agree(texts: Sequence[str | None], datatypes: Sequence[str | None] | None) -> None:
    found = quantities(pa.array(texts, pa.string()), None if datatypes is None else pa.array(datatypes, pa.string()))
    kinds, sizes = found.kinds.to_pylist(), found.sizes.to_pylist()
    assert len(found) == len(kinds) == len(sizes) == len(texts)
    for row, text in enumerate(texts):
        datatype = (datatypes[row] if datatypes else None) or XSD + "string"
        one = None if text is None else quantity(Literal(text, datatype))
        if one is None:
            assert (kinds[row], sizes[row], row in found.exact) == (None, None, False), (text, datatype)
            continue
        assert (kinds[row], sizes[row]) == (one.kind, near(one.size)), (text, datatype)
        assert found.exact.get(row, one.size) == one.size, (text, datatype)


@pytest.mark.parametrize("datatype", TYPES)
def test_odd_texts_of_each_datatype(datatype: str | None) -> None:
    agree([*ODD, None], [datatype] * (len(ODD) + 1))


numbers = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.integers(0, 10**12).map("{:,}".format),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**9), 10**9, places=3).map("{:f}".format),
)
dates = st.builds(
    "{}{:04d}-{:02d}-{:02d}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 12_000),
    st.integers(0, 13),
    st.integers(0, 32),
    st.sampled_from(["", "T08:30:00", "T23:59:59Z", "T01:02:03.456+05:30"]),
)
units = st.sampled_from(["kg", " g", " ft", " °F", "%", " km/h", " Doors", "", " USD", " in", "m", "G", " days"])
texts = st.one_of(
    st.none(),
    numbers,
    dates,
    st.tuples(numbers, units).map("".join),
    st.tuples(st.sampled_from(["$", "-€", "USD ", "X"]), numbers).map("".join),
    st.integers(-(10**6), 10**6).map("{:05d}".format),
    st.sampled_from(ODD),
    st.text(max_size=8),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(texts, st.sampled_from(TYPES)), max_size=12))
def test_a_column_is_read_like_its_texts(rows: list[tuple[str | None, str | None]]) -> None:
    agree([text for text, _ in rows], [datatype for _, datatype in rows])
    agree([text for text, _ in rows], None)


def test_sizes_that_floats_do_not_tell_apart_are_exact_too() -> None:
    found = quantities(pa.array(["9007199254740993", "9007199254740992", "0.1", "100000000000000000000", "1/2"]))
    assert found.exact == {0: 9007199254740993}


def test_chunks_and_dictionaries() -> None:
    chunked = pa.chunked_array([pa.array(["3 kg", None]), pa.array(["1999"])])
    types = pa.chunked_array([pa.array([XSD + "gYear", XSD + "gYear", None]).dictionary_encode()])
    assert quantities(chunked, types).kinds.to_pylist() == [None, None, "number"]
    assert quantities(chunked.dictionary_encode()).kinds.to_pylist() == ["mass", None, "number"]
    assert quantities(chunked.cast(pa.large_string())).sizes.to_pylist() == [3, None, 1999]
    assert len(quantities(pa.array([], pa.string()))) == 0
