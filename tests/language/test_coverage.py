"""Which words of a question a query leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.language.coverage import LeftOut, QuerySays, left_out, without_named_order
from triplecheck.language.likeness import Likeness
from triplecheck.language.question import read_question

SAYS = QuerySays(relations=(), dated=False, classes=(), open=False, operations=(), numbers=())


@pytest.fixture(scope="module")
def likeness() -> Likeness:
    return Likeness(load_encoder().encode, "en")


def found(likeness: Likeness, text: str, *relations: str, others: Sequence[str] = (), **said: Any) -> LeftOut:
    """The words that a query of these relations leaves out. Names in stars are topics: "Who leads *Acme*?"."""
    parts = text.split("*")
    question = read_question("".join(parts), parts[1::2])
    fields = {"classes": ["plant", "gardener"], "relations": [[name] for name in relations]} | said
    return replace(left_out(question, QuerySays(**(vars(SAYS) | fields)), likeness, others), weakest=1.0)


class TestWords:
    def test_nothing_is_left_out_where_relations_and_classes_say_all(self, likeness: Likeness) -> None:
        assert found(likeness, "Which plants grow in the *Palm House*?", "grows in") == LeftOut((), ())

    def test_what_the_whole_graph_is_about_may_be_left_out(self, likeness: Likeness) -> None:
        said = {"operations": ["order", "order asc", "limit 1"], "dated": True}
        assert found(likeness, "Which gardener joined the society first?", "joined on", **said) == LeftOut(
            (), ("society",)
        )

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("Which plants of the society grow in the *Palm House*?", "society"),
            ("Which plants grow in the *Palm House* and in the village?", "village"),
        ],
    )
    def test_a_place_or_an_owner_may_not(self, likeness: Likeness, text: str, left: str) -> None:
        assert left in found(likeness, text, "grows in").surely

    def test_a_noun_that_nothing_says_is_left_out(self, likeness: Likeness) -> None:
        assert found(likeness, "Which plants of *Ada Moss* have thorns?", "waters").surely == ("thorns",)

    def test_a_verb_may_be_meant_by_a_relation(self, likeness: Likeness) -> None:
        assert found(likeness, "Which plants were sold by *Ada Moss*?", "waters") == LeftOut((), ("sold",))

    def test_a_word_that_is_the_name_of_another_relation_means_that(self, likeness: Likeness) -> None:
        text = "What do the plants weigh that were watered by *Ada Moss*?"
        assert found(likeness, text, "weight") == LeftOut((), ("watered",))
        assert found(likeness, text, "weight", others=["grows in", "waters"]) == LeftOut(("watered",), ())
        assert found(likeness, text, "weight", others=["watered by"]) == LeftOut((), ("watered",))

    def test_the_class_that_is_asked_for_may_be_one_that_the_graph_does_not_tell(self, likeness: Likeness) -> None:
        text, said = "Which shrubs grow in the *Palm House*?", ("grows in",)
        assert found(likeness, text, *said).surely == ("shrubs",)
        assert found(likeness, text, *said, open=True) == LeftOut((), ("shrubs",))

    @pytest.mark.parametrize(("operation", "left"), [("difference", ()), ("filter", ("How much", "more"))])
    def test_more_is_said_by_a_difference(self, likeness: Likeness, operation: str, left: tuple[str, ...]) -> None:
        text = "How much more does a pot of *Ivy* cost than a pot of *Fern*?"
        found_left = found(likeness, text, "pot price", operations={operation}, classes=["plant", "number"])
        assert found_left.surely == left

    def test_what_we_do_is_said_where_nothing_else_is_asked_for(self, likeness: Likeness) -> None:
        assert found(likeness, "What did we pay for *Ivy*?", "grows in").maybe == ("pay",)
        assert found(likeness, "Which plants do we grow in the *Palm House*?", "grows in").maybe == ()

    def test_both_is_not_said_by_one_of_several(self, likeness: Likeness) -> None:
        text = "Which plants grow in both the *Palm House* and the *Rose Court*?"
        assert found(likeness, text, "grows in", operations={"values"}).surely == ("both",)
        assert found(likeness, text, "grows in") == LeftOut((), ())

    @pytest.mark.parametrize(
        ("text", "relation", "way", "said"),
        [
            ("Who is the oldest gardener?", "age", "desc", {"classes": ["gardener", "number"]}),
            ("Who is the youngest gardener?", "age", "asc", {"classes": ["gardener", "number"]}),
            ("Which plant is the oldest?", "planted", "asc", {"dated": True}),
        ],
    )
    def test_a_superlative_means_one_end_of_the_values(
        self, likeness: Likeness, text: str, relation: str, way: str, said: dict[str, Any]
    ) -> None:
        turned = {"asc": "desc", "desc": "asc"}[way]
        assert found(likeness, text, relation, operations={"order", f"order {way}"}, **said) == LeftOut((), ())
        assert found(likeness, text, relation, operations={"order", f"order {turned}"}, **said).surely

    def test_no_query_says_why(self, likeness: Likeness) -> None:
        assert found(likeness, "Why does *Ada Moss* water plants?", "waters").surely == ("why",)


@pytest.mark.parametrize(
    ("text", "relation", "operations", "numbers"),
    [
        ("Which plant is the tallest?", "height", {"order"}, ()),
        ("Which plant is the tallest?", "height", {"max"}, ()),
        ("Which plant is the second tallest?", "height", {"order", "offset"}, ()),
        ("How many plants grow in the *Palm House*?", "grows in", {"count"}, ()),
        ("What is the average height of the plants?", "height", {"avg"}, ()),
        ("What is the total height of the plants?", "height", {"sum"}, ()),
        ("How much taller is the *Old Fig* than the *Date Palm*?", "height", {"difference"}, ()),
        ("Which plants have a height of at least 20 m?", "height", {"filter"}, {"20"}),
        ("Which plants are older than 40?", "age", {"filter"}, {"40"}),
        ("Which plants are not watered by *Ada Moss*?", "watered by", {"not exists"}, ()),
        ("Which plants are not watered by *Ada Moss*?", "watered by", {"minus"}, ()),
        ("Which plants were planted before 1950?", "planted", {"filter"}, {"1950"}),
        ("Which plants were planted after 1950?", "planted", {"filter"}, {"1951"}),
        ("Which plants were planted on 3 May 1950?", "planted", {"filter"}, {"1950-05-03"}),
    ],
)
def test_an_operation_is_said_by_one_of_the_query_and_left_out_without_it(
    likeness: Likeness, text: str, relation: str, operations: set[str], numbers: set[str]
) -> None:
    dated = relation == "planted"
    whole = found(likeness, text, relation, operations=operations, numbers=numbers, dated=dated)
    assert whole.surely == ()
    assert found(likeness, text, relation, dated=dated).surely


@pytest.mark.parametrize(
    ("text", "number", "word"),
    [
        ("Which plants have a height of at least 20 m?", "30", "at"),
        ("Which plants were planted before 1950?", "1960", "before"),
        ("Which plants have 12 leaves?", "13", "12"),
    ],
)
def test_another_number_says_none_of_the_question(likeness: Likeness, text: str, number: str, word: str) -> None:
    said = found(likeness, text, "height", "planted", "leaves", operations={"filter"}, numbers={number}, dated=True)
    assert any(word in one for one in said.surely)


def test_a_superlative_of_other_values_is_left_out(likeness: Likeness) -> None:
    assert found(likeness, "Which plant is the tallest?", "price", operations={"order"}).surely == ("tallest",)
    assert found(likeness, "Which plant is the oldest?", "planted", operations={"order"}, dated=True).surely == ()


def test_a_superlative_that_tells_no_order_of_values_is_left_out(likeness: Likeness) -> None:
    assert found(likeness, "Which plant is the best?").surely == ("best",)
    assert found(likeness, "Which plant has the best score?", "score").surely == ("best",)
    assert found(likeness, "Which plant has the best score?", "score", operations={"order"}).surely == ()
    assert found(likeness, "Who is the best friend of *Ada Moss*?", "best friend").surely == ()


def test_a_superlative_that_is_not_known_is_no_order_of_what_its_noun_names(likeness: Likeness) -> None:
    said = {"operations": {"order"}}
    assert found(likeness, "Which plant has the nicest leaves?", "leaves", **said).surely == ("nicest",)
    assert found(likeness, "Which plant has the highest number of leaves?", "leaves", **said).surely == ()


def test_things_of_a_class_have_no_sum(likeness: Likeness) -> None:
    together = "Which plants did *Ada Moss* and *Ben Ray* water together?"
    assert found(likeness, together, "waters") == LeftOut((), ())
    assert found(likeness, "How many plants do *Ada Moss* and *Ben Ray* water together?", "waters").surely


def test_the_unit_or_the_year_of_a_value_is_said_by_the_value(likeness: Likeness) -> None:
    said = {"classes": ["plant", "number"], "operations": {"sum"}}
    assert found(likeness, "How many grams do the plants weigh in total?", "weight", **said) == LeftOut((), ())
    text = "Which plants bloomed in the same year as *Ada Moss*?"
    assert found(likeness, text, "bloomed", dated=True, operations={"filter"}).surely == ()
    text = "Which plants have a height of more than 20 thumbs?"
    said = {"classes": ["plant", "number"], "operations": {"filter", ">"}, "numbers": {"20 thumbs"}}
    assert found(likeness, text, "height", **said, units={"thumb"}).surely == ()
    assert found(likeness, text, "height", **said).surely == ("thumbs",)


def test_every_thing_that_is_asked_for_is_no_more_than_all(likeness: Likeness) -> None:
    assert found(likeness, "List every plant of *Ada Moss*.", "waters", operations=()).surely == ()
    assert found(likeness, "Does *Ada Moss* water every plant?", "waters").surely == ("every",)


@pytest.mark.parametrize(
    ("text", "name", "is_named"),
    [
        ("Which plants had their last watering in June?", "last watered", True),
        ("Which plants had their latest watering in June?", "last watered", True),
        ("Which plants had their first watering in June?", "last watered", False),
        ("Which plant had the last watering?", "last watered", False),
        ("What was the first flowering of the rose?", "first flowering", True),
    ],
)
def test_an_order_may_belong_to_the_name_of_a_relation(text: str, name: str, is_named: bool) -> None:
    question = read_question(text, ())
    assert question.compares is not None
    assert (without_named_order(question, [name]).compares is None) == is_named


def test_a_phrase_may_be_meant_where_its_noun_is_not(likeness: Likeness) -> None:
    assert found(likeness, "What is the hourly pay of *Ada Moss*?", "hourly rate").surely == ()
    assert found(likeness, "What is the yearly bill of *Ada Moss*?", "hourly rate").surely == ("yearly", "bill")
