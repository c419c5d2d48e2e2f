"""Typing errors, and the account of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from triplecheck.evals.variants.rewriting import KINDS, Edit, Kind, apply, edits_of, key_neighbours, misspell
from triplecheck.kg import normalize

NAME = "Anna of Holstein-Gottorp"


def undone(text: str, edits: tuple[Edit, ...]) -> str:
    for edit, shift in zip(reversed(edits), _shifts(edits), strict=True):
        at = edit.at + shift
        assert text[at : at + len(edit.after)] == edit.after
        text = text[:at] + edit.before + text[at + len(edit.after) :]
    return text


def _shifts(edits: tuple[Edit, ...]) -> list[int]:
    """The offset of each error caused by the errors before it, last error first."""
    grown = [len(edit.after) - len(edit.before) for edit in edits]
    return [sum(grown[:i]) for i in reversed(range(len(edits)))]


@pytest.mark.parametrize(
    ("kind", "edit", "text"),
    [
        ("keyboard", Edit("keyboard", 1, "s", "d"), "Odlo"),
        ("swap", Edit("swap", 0, "Os", "So"), "Solo"),
        ("drop", Edit("drop", 0, "Os", "S"), "Slo"),
        ("drop", Edit("drop", 2, "l", ""), "Oso"),
        ("double", Edit("double", 0, "O", "Oo"), "Ooslo"),
    ],
)
def test_an_error_of_each_kind(kind: Kind, edit: Edit, text: str) -> None:
    assert edit in edits_of("Oslo", kind)
    assert apply("Oslo", [edit]) == text


def test_neighbouring_keys_are_symmetric() -> None:
    assert sorted(key_neighbours("s")) == sorted("adwezx")
    for letter in "abcdefghijklmnopqrstuvwxyz":
        assert all(letter in key_neighbours(other) for other in key_neighbours(letter))
    assert key_neighbours("é") == key_neighbours("1") == ""


@pytest.mark.parametrize("edits", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_so_many_errors_of_a_kind_are_that_many_edits(kind: Kind, edits: int) -> None:
    for seed in range(30):
        made = misspell(NAME, edits, random.Random(seed), [kind])
        assert [edit.kind for edit in made.edits] == [kind] * edits
        assert 1 <= OSA.distance(made.text.lower(), NAME.lower()) <= edits


def test_all_kinds_occur() -> None:
    rng = random.Random(1)
    assert {edit.kind for _ in range(60) for edit in misspell(NAME, 1, rng).edits} == set(KINDS)


def test_the_same_seed_makes_the_same_errors() -> None:
    first, again, other = (misspell(NAME, 2, random.Random(seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("text", ["", "1972", "?!", "a"])
def test_where_no_error_is_possible_none_is_claimed(text: str) -> None:
    made = misspell(text, 2, random.Random(0), ["swap", "drop"])
    assert (made.text, made.edits) == (text, ())


def test_a_short_text_takes_fewer_errors_than_asked_for() -> None:
    assert len(misspell("Bo", 5, random.Random(0)).edits) == 1


def test_numbers_are_left_alone() -> None:
    for seed in range(30):
        assert "1972" in misspell("May 1972", 1, random.Random(seed)).text


def test_a_name_keeps_its_capitals() -> None:
    for seed in range(60):
        words = misspell(NAME, 2, random.Random(seed)).text.replace("-", " ").split()
        assert [word[0].isupper() for word in words] == [True, False, True, True]


@given(st.text(max_size=30), st.integers(0, 3), st.integers(0, 2**32))
def test_every_text_can_be_restored_from_the_account(text: str, edits: int, seed: int) -> None:
    made = misspell(text, edits, random.Random(seed))
    assert made.original == text
    assert len(made.edits) <= edits
    assert undone(made.text, made.edits) == text
    for edit in made.edits:
        assert normalize(apply(text, [edit])) != normalize(text)
