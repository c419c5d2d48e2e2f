"""Units in texts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from triplecheck.kg.values import unit


@pytest.mark.parametrize("text", ["cats", "am", "pm", "monkeys", "Hours", "decibel", "", "per", "km/", "% per year"])
def test_what_is_no_unit(text: str) -> None:
    assert unit(text) is None


@pytest.mark.parametrize(
    ("one", "other"), [("km/h", "kilometres per hour"), ("m²", "m^2"), ("µg", "μg"), ("lb", "pounds")]
)
def test_ways_of_writing_a_unit(one: str, other: str) -> None:
    first, second = unit(one), unit(other)
    assert first is not None and second is not None
    assert (first.kind, first.factor) == (second.kind, second.factor)


def test_numbers_names_and_dates_do_not_load_the_library_of_units() -> None:
    code = (
        "import sys; from triplecheck.kg.values import quantity, agrees; from triplecheck.kg import Literal;"
        "found = [quantity(Literal(text)) for text in ('3 Doors Down', '1,150', '$5', '1999-05-03', 'Ada', '8 Mile')];"
        "agrees('84 million people', Literal('84000000')); print('pint' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
