"""Names that a reply has from an example."""

from __future__ import annotations

from triplecheck.lms.copying import names_of_examples

INPUTS = {
    "question": "Which baker sells the most loaves?",
    "demos": [{"question": "Which ship of Holm is fast?", "query": "SELECT ?ship { ?ship <port> <Holm> } LIMIT 1"}],
}


def test_a_name_that_only_an_example_has_is_told() -> None:
    assert names_of_examples("It is the baker of Holm", INPUTS) == {"Holm"}
    assert names_of_examples("SELECT ?baker { ?baker <lives in> <Holm> }", INPUTS) == set()
    assert names_of_examples("It is the baker of Oslo", INPUTS) == set()


def test_the_keywords_of_a_query_are_no_names() -> None:
    assert names_of_examples("SELECT ?baker { ?baker <sells> ?loaf } LIMIT 1", INPUTS) == set()
