"""Labels made out of identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg.readable import class_label, entity_label, local_name, relation_alias, relation_label, split_name
from triplecheck.kg.types import XSD


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("http://example.org/Paris", "Paris"),
        ("http://example.org/places#Paris", "Paris"),
        ("http://example.org/Paris/", "Paris"),
        ("urn:isbn:0451450523", "0451450523"),
        ("https://dbpedia.org/resource/S%C3%A3o_Paulo", "São_Paulo"),
        ("Paris/Texas", "Paris/Texas"),
        ("Q90", "Q90"),
    ],
)
def test_an_iri_becomes_its_local_name_and_other_ids_stay(id: str, name: str) -> None:
    assert local_name(id) == name


@pytest.mark.parametrize(
    ("id", "label"),
    [
        ("New_York_City", "New York City"),
        ("http://dbpedia.org/resource/New_York_City", "New York City"),
        ("snake_case with spaces", "snake_case with spaces"),
        ("/m/02mjmr", "/m/02mjmr"),
        ("_:b0", "b0"),
        ("_", "_"),
        ("http://", "http"),
        ("", ""),
    ],
)
def test_the_label_of_an_entity(id: str, label: str) -> None:
    assert entity_label(id) == label


@pytest.mark.parametrize(
    ("id", "label"),
    [
        ("http://ex.org/FoodStall", "Food Stall"),
        ("http://ex.org/food_stall", "food stall"),
        ("http://ex.org/Person", "Person"),
        ("/people/person", "/people/person"),
        (XSD + "gYear", "year"),
        (XSD + "dateTime", "date and time"),
        (XSD + "nonNegativeInteger", "integer"),
        (XSD + "date", "date"),
    ],
)
def test_the_label_of_a_class(id: str, label: str) -> None:
    assert class_label(id) == label


@pytest.mark.parametrize(
    ("id", "label"),
    [
        ("http://ex.org/birthPlace", "birth place"),
        ("plays_in_club", "plays in club"),
        ("place-of-birth", "place of birth"),
        ("/people/person/nationality", "nationality"),
        ("/film/film/starring./film/performance/actor", "starring actor"),
        ("/location/location/contains./location/location/contains", "contains"),
        ("hasISBN", "has ISBN"),
        ("Director(s)", "director"),
        ("Running time [min]", "running time [min]"),
        ("ISBNNumber", "ISBN number"),
        ("P31", "P31"),
        ("___", "___"),
    ],
)
def test_the_label_of_a_relation(id: str, label: str) -> None:
    assert relation_label(id) == label


def test_a_path_is_also_known_by_all_its_words() -> None:
    assert relation_alias("/film/film/starring./film/performance/actor") == "film starring performance actor"
    assert relation_alias("/people/person/nationality") == "people person nationality"


@pytest.mark.parametrize("id", ["nationality", "/nationality", "/people/nationality", "http://ex.org/a/b/c"])
def test_what_is_no_path_has_no_further_name(id: str) -> None:
    assert relation_alias(id) is None


@given(st.text(min_size=1))
def test_no_label_is_empty(id: str) -> None:
    assert entity_label(id)
    assert relation_label(id)


def test_the_local_name_of_an_iri_is_split_at_capitals_if_it_is_the_label() -> None:
    assert split_name("http://e/FoodEstablishment", "FoodEstablishment") == "Food Establishment"
    assert split_name("http://e/food_place", "food place") is None
    assert split_name("http://e/Q7", "FoodEstablishment") is None
    assert split_name("http://e/Paris", "Paris") is None
