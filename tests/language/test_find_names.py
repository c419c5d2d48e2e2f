"""Names in a text."""

from __future__ import annotations

import pytest

from triplecheck.language.names import find_names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The son of Adalbert II of Tuscany", ["Adalbert II of Tuscany"]),
        ("He lived in New York City's suburbs.", ["New York City"]),
        ("Leland is in May 1945 in Harrisburg–Carlisle.", ["Leland", "May", "Harrisburg–Carlisle"]),
        ("Situated in the north, it is small.", []),
        ("It was Jackie Wong Fei-hung who met J. S. Bach.", ["Jackie Wong Fei-hung", "J. S. Bach"]),
        ("Simon & Sons of London built it.", ["Simon & Sons of London"]),
        ("He saw Mother's Day and Apollo 11 in the U.S.", ["Mother's Day", "Apollo 11", "U.S."]),
        ("who directed it?", []),
        ("", []),
    ],
)
def test_names_are_runs_of_capitals_with_small_words_inside(text: str, found: list[str]) -> None:
    names = find_names(text)
    assert [name.text for name in names] == found
    assert all(text[name.start : name.end] == name.text for name in names)


def test_without_a_trained_pipeline_capitals_alone_count() -> None:
    names = find_names("Wer unterrichtete Paul Hindemith in Frankfurt?", "nl")
    assert [name.text for name in names] == ["Wer", "Paul Hindemith", "Frankfurt"]
