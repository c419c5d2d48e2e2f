"""How near the names of relations are to words of a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.language.likeness import Likeness, unit_of_name


@pytest.fixture(scope="module")
def likeness() -> Likeness:
    return Likeness(load_encoder().encode, "en")


def test_a_name_says_its_own_words_in_any_form(likeness: Likeness) -> None:
    assert likeness.of_word("watered", ["waters"]) == 1
    assert likeness.of_word("gardeners", ["head gardener"]) == 1
    assert likeness.of_words(["grown", "in"], ["grows in"]) == pytest.approx(1)


def test_a_word_of_like_meaning_is_nearer_than_another(likeness: Likeness) -> None:
    assert likeness.of_word("cost", ["price"]) > likeness.of_word("cost", ["height"])
    assert likeness.of_words(["employer"], ["works for"]) > likeness.of_words(["employer"], ["grows in"])


def test_a_noun_for_those_who_do_something_says_that(likeness: Likeness) -> None:
    assert likeness.of_words(["keepers"], ["keeps"]) == likeness.of_word("keepers", ["keeps"]) == 1
    assert likeness.of_words(["keepers"], ["sleeps"]) < 0.6


@pytest.mark.parametrize("name", ["walk [min]", "walk (min)", "walk min", "walk[min]"])
def test_a_name_may_end_with_the_unit_of_its_values(likeness: Likeness, name: str) -> None:
    assert unit_of_name(name) == "min"
    assert likeness.of_word("minutes", [name]) == 1


@pytest.mark.parametrize(("name", "unit"), [("page(s)", "page"), ("lap time(s)", "s"), ("Director(s)", "Director")])
def test_the_mark_of_a_plural_is_no_unit(name: str, unit: str) -> None:
    assert unit_of_name(name) == unit


def test_the_nearest_of_several_names_counts(likeness: Likeness) -> None:
    one, both = (likeness.of_word("cost", names) for names in (["height"], ["height", "cost"]))
    assert one < both == 1


def test_further_words_of_a_name_lower_it_unless_they_may_be_there(likeness: Likeness) -> None:
    names = ["greenhouse opening date"]
    alone, allowed = (likeness.of_words(["opening"], names, besides) for besides in ((), {"greenhouse", "date"}))
    assert alone < allowed == pytest.approx(1)


def test_words_that_a_name_lacks_lower_it(likeness: Likeness) -> None:
    assert likeness.of_words(["home", "city"], ["home city"]) > likeness.of_words(["home", "city"], ["home"])


def test_nothing_is_like_nothing(likeness: Likeness) -> None:
    assert likeness.of_words([], ["price"]) == 0
    assert likeness.cosine("", "price") == 0
    assert likeness.bases("of the") == frozenset()


def test_each_text_is_encoded_once_and_together_with_others() -> None:
    asked: list[list[str]] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        asked.append(list(texts))
        return np.eye(4)[: len(texts)]

    found = Likeness(encode, "en")
    found.prepare(["a", "b", "a", ""])
    assert found.cosine("a", "b") == 0 and found.cosine("a", "a") == 1
    assert asked == [["a", "b"]]


@pytest.mark.parametrize(
    ("noun", "classes", "name"),
    [
        ("venue", ["event", "place"], "place"),
        ("venue", ["event", "Location"], "Location"),
        ("hotel", ["event", "place"], ""),
        ("venue", ["museum", "place"], ""),
        ("venue", ["museum"], ""),
        ("company", ["person", "organization"], "organization"),
        ("event", ["event", "place"], ""),
    ],
)
def test_a_general_noun_is_the_only_class_of_its_kind(
    likeness: Likeness, noun: str, classes: list[str], name: str
) -> None:
    assert likeness.general_class(noun, classes) == name


def test_a_relation_without_names_is_unlike_any_word(likeness: Likeness) -> None:
    assert likeness.of_word("age", []) == 0
