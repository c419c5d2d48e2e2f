from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.lms.values import SCORES, hint, read, render, render_numbered

YesNo = Literal["yes", "no"]
Operation = Literal["none", "count", "max"]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "  Paris \n", "Paris"),
        (str, "**Paris**", "**Paris**"),
        (bool, "True", True),
        (bool, "False.", False),
        (bool, "**Yes**", True),
        (bool, "no, because it is not", False),
        (YesNo, "Yes", "yes"),
        (YesNo, "**yes**", "yes"),
        (YesNo, '"no"', "no"),
        (YesNo, "No - it does not.", "no"),
        (YesNo, "- yes", "yes"),
        (YesNo, "`Literal[yes]`", "yes"),
        (YesNo, "Yes\n\nThe fact says so.", "yes"),
        (Operation, "None.", "none"),
        (Literal[1, 2], "2", 2),
        (int, "1,234", 1234),
        (int, "**7**.", 7),
        (float, "0.5", 0.5),
        (str | None, "none", None),
        (str | None, "Paris", "Paris"),
        (int | None, "N/A", None),
        (list[str], "Paris\nLondon", ["Paris", "London"]),
        (list[str], "- Paris\n* London\n• Rome", ["Paris", "London", "Rome"]),
        (list[str], "1. Paris\n2) London", ["Paris", "London"]),
        (list[str], "[1] Paris\n[2] London", ["Paris", "London"]),
        (list[str], '["Paris", "Washington, D.C."]', ["Paris", "Washington, D.C."]),
        (list[str], "['Paris', 'London']", ["Paris", "London"]),
        (list[str], """['Land\\'s End', "O'Neill"]""", ["Land's End", "O'Neill"]),
        (list[str], '```json\n["Paris"]\n```', ["Paris"]),
        (list[str], "Washington, D.C.", ["Washington, D.C."]),
        (list[str], "- **Paris**\n- `London`", ["Paris", "London"]),
        (list[str], "-5 degrees", ["-5 degrees"]),
        (list[str], "none", []),
        (list[str], "None.", []),
        (list[str], "[]", []),
        (list[str], "", []),
        (list[int], "1, 4", [1, 4]),
        (list[int], "[1, 4]", [1, 4]),
        (list[int], "[1] and [4]", [1, 4]),
        (list[int], "Facts 1, 2 and 4.", [1, 2, 4]),
        (list[int], "2-4, 7", [2, 3, 4, 7]),
        (list[int], "1\n4", [1, 4]),
        (list[int], "- 1\n- 4", [1, 4]),
        (list[int], "1. 3\n2. 5", [3, 5]),
        (list[int], "[3] Paris was founded in 1200", [3]),
        (list[int], "3. Paris was founded in 1200", [3]),
        (list[int], "-4, 5", [-4, 5]),
        (list[int], "none", []),
        (list[float], "0.5\n1", [0.5, 1.0]),
        (list[YesNo], "Yes\nno.", ["yes", "no"]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
    ],
)
def test_what_models_write_is_read_as_they_mean_it(annotation: Any, text: str, value: Any) -> None:
    found = read(annotation, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (bool, "perhaps"),
        (YesNo, "yesterday"),
        (YesNo, "yes or no"),
        (YesNo, ""),
        (int, "three"),
        (int, "1.5"),
        (list[int], "the first one"),
        (list[int], "1.5"),
        (list[int], "1-99999999999"),
        (list[YesNo], "yes\nmaybe"),
        (dict[str, int], "no"),
    ],
)
def test_a_value_of_another_type_is_rejected(annotation: Any, text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        read(annotation, text)


def test_long_nonsense_is_refused_at_once() -> None:
    with pytest.raises(ValueError):
        read(list[int], "1" * 5_000 + "x")
    with pytest.raises(ValueError):
        read(list[int], "1 and " * 5_000 + "x")


def test_lists_are_written_one_item_a_line_and_numbers_in_one() -> None:
    assert render(list[str], ["A", "B, C"]) == "A\nB, C"
    assert render(list[str], []) == "none"
    assert render(list[int], [1, 4]) == "1, 4"
    assert render(list[int], []) == "none"
    assert render(bool, True) == "True"
    assert render_numbered(["A", "two\nlines"]) == "[1] A\n[2] two lines"
    assert render_numbered([]) == "none"


@pytest.mark.parametrize(
    "items",
    [["1. FC Köln"], ["none"], [""], [" a"], ["a\nb"], ["- x"], ["[[ ## a ## ]]"], ["<think>"], ["[THINK]", "</s>"]],
)
def test_an_item_that_lines_cannot_carry_is_written_as_json(items: list[str]) -> None:
    text = render(list[str], items)
    assert text.startswith("[")
    assert "[[" not in text and "<think" not in text
    assert read(list[str], text) == items


@given(st.lists(st.text()))
def test_any_list_of_texts_is_read_back_as_it_was(items: list[str]) -> None:
    assert read(list[str], render(list[str], items)) == items


@given(st.lists(st.integers()), st.lists(st.floats(allow_nan=False)), st.lists(st.booleans()))
def test_any_list_of_numbers_is_read_back_as_it_was(ints: list[int], floats: list[float], bools: list[bool]) -> None:
    assert read(list[int], render(list[int], ints)) == ints
    assert read(list[float], render(list[float], floats)) == floats
    assert read(list[bool], render(list[bool], bools)) == bools


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("2: 0.9\n4: 0.1", {2: 0.9, 4: 0.1}),
        ("- [2]: .9\n- 4 = 0", {2: 0.9, 4: 0.0}),
        ("2 (0.7)\n2: 0.3", {2: 0.7}),
        ('{"2": 0.9, "4": 1}', {2: 0.9, 4: 1.0}),
        ("2, 4", {2: 1.0, 4: 1.0}),
        ("none", {}),
    ],
)
def test_each_number_is_read_with_its_score(text: str, scores: dict[int, float]) -> None:
    assert read(SCORES, text) == scores


@pytest.mark.parametrize("text", ["2: 0.9\n4", "2: high", "the second: 0.9", '{"2": NaN}'])
def test_a_number_whose_score_is_missing_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number with a score"):
        read(SCORES, text)


@given(st.dictionaries(st.integers(0, 999), st.floats(0, 1000, allow_nan=False).map(lambda x: round(x, 4))))
def test_any_scores_are_read_back_as_they_were(scores: dict[int, float]) -> None:
    assert read(SCORES, render(SCORES, scores)) == scores


def test_hints_are_plain_words() -> None:
    assert hint(SCORES) == "one per line as number: score, or none"
    assert hint(str) == ""
    assert hint(list[str]) == "one per line, or none"
    assert hint(list[int]) == "numbers separated by commas, or none"
    assert hint(YesNo) == "one of: yes; no"
    assert hint(str | None) == "text, or none"
    assert hint(list[YesNo]) == "one per line, each one of: yes; no, or none"
    assert "dict" in hint(dict[str, int])
