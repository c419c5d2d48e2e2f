"""Reading a question: what it asks for, where its topics stand, and what is to be computed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.language.question import read_question
from triplecheck.language.text import TOPIC, find_span, mask, plain


def segments(text: str, *topics: str) -> list[tuple[str, str]]:
    return [(s.text, s.kind) for s in read_question(text, list(topics)).segments]


class TestTopics:
    @pytest.mark.parametrize(
        ("text", "topic"),
        [
            ("who taught Bernhard Heiden?", "Bernhard Heiden"),
            ("who taught bernhard heiden", "Bernhard Heiden"),
            ("who taught Bernard Hieden?", "Bernhard Heiden"),
            ("who taught Bernhard Heiden’s sister?", "Bernhard Heiden"),
            ("where is Zürich?", "Zurich"),
            ("who is Satchmo?", "Satchmo = Louis Armstrong"),
            ("who is Michael Jordan?", "Michael Jordan (Athlete)"),
            ("who is Michael Jordan?", "Michael Jordan = Michael Jordan (Athlete)"),
        ],
    )
    def test_a_topic_is_found_in_the_question_in_any_spelling(self, text: str, topic: str) -> None:
        words = read_question(text, [topic]).words
        assert words.count(TOPIC) == 1
        assert not {"heiden", "hieden", "zurich", "satchmo", "jordan", "bernhard", "bernard"} & set(words)

    def test_the_longer_of_two_names_is_found_first(self) -> None:
        words = read_question("Is New York City in New York?", ["New York", "New York City"]).words
        assert words == ("is", TOPIC, "in", TOPIC)

    def test_topics_whose_words_are_the_same_are_two(self) -> None:
        question = read_question("Who has blood group 0+ or 0-?", ["0+", "0-"])
        assert [topic for topic in question.parse.topics if topic] == ["0+", "0-"]

    @pytest.mark.parametrize(("text", "count"), [("Is Oslo in Oslo?", 2), ("Is oslo twinned with Oslo or Olso?", 2)])
    def test_a_topic_may_stand_twice(self, text: str, count: int) -> None:
        question = read_question(text, ["Oslo"])
        assert question.words.count(TOPIC) == count
        assert len({topic for topic in question.parse.topics if topic}) == 1

    def test_a_topic_that_the_question_does_not_hold_changes_nothing(self) -> None:
        assert read_question("who taught him", ["Paul Hindemith"]).words == ("who", "taught", "him")

    def test_the_sign_for_a_topic_is_not_read_out_of_the_question(self) -> None:
        assert TOPIC not in read_question(f"what does {TOPIC} 5 say", []).words

    def test_function_words_are_no_misspelt_names(self) -> None:
        assert find_span(["who", "was", "it"], ["wha"]) is None
        assert find_span(["the", "who", "played"], ["the", "who"]) == (0, 2)
        assert find_span(["x"], []) is None
        assert mask(["a", "b"], []) == ["a", "b"]


class TestComputing:
    @pytest.mark.parametrize(
        "text", ["How many films did X make?", "What is the number of films by X?", "Count the films of X"]
    )
    def test_counts(self, text: str) -> None:
        assert read_question(text, ["X"]).counts

    @pytest.mark.parametrize("text", ["Which films did X make?", "How old is X?", "How much is X?", "Many films by X"])
    def test_no_counts(self, text: str) -> None:
        assert not read_question(text, ["X"]).counts

    @pytest.mark.parametrize(
        ("text", "operation"),
        [
            ("Which is larger, X or Y?", "max"),
            ("Who is older, X or Y?", "min"),
            ("Who was born earlier, X or Y?", "min"),
            ("What is the highest mountain of X?", "max"),
            ("Which has more inhabitants, X or Y?", "max"),
            ("What is the least populous city of X?", "min"),
            ("Is X taller than Y?", "max"),
        ],
    )
    def test_comparisons_and_extremes(self, text: str, operation: str) -> None:
        compares = read_question(text, ["X", "Y"]).compares
        assert compares is not None
        assert compares.operation == operation

    def test_the_compared_quantity_is_found(self) -> None:
        compares = read_question("Which has more inhabitants, X or Y?", ["X", "Y"]).compares
        assert compares is not None and (compares.operation, compares.quantity) == ("max", "inhabitants")
        medals = read_question("Who won more medals, X or Y?", ["X", "Y"]).compares
        assert medals is not None and (medals.operation, medals.quantity) == ("max", "medals")

    @pytest.mark.parametrize("text", ["Who wrote X?", "Where was X first performed?", "When was X first published?"])
    def test_no_comparisons(self, text: str) -> None:
        assert read_question(text, ["X"]).compares is None

    def test_yes_or_no(self) -> None:
        assert read_question("Was X born in Y?", ["X", "Y"]).asks_whether
        assert not read_question("Where was X born?", ["X"]).asks_whether
        assert read_question("Can you get into X in a wheelchair?", ["X"]).asks_whether
        assert not read_question("Can you list the boats of X?", ["X"]).asks_whether

    def test_whether_something_is_the_same(self) -> None:
        assert read_question("Do X and Y have the same teacher?", ["X", "Y"]).asks_same
        assert not read_question("Who has the same teacher as X?", ["X"]).asks_same


class TestSegments:
    def test_a_chain_of_possessives_asks_for_a_hop_each(self) -> None:
        assert segments("What was the nationality of Bernhard Heiden's teacher?", "Bernhard Heiden") == [
            ("nationality", "chained"),
            ("teacher", "chained"),
        ]

    @pytest.mark.parametrize(
        ("text", "chain"),
        [
            ("Who is the wife of X's father?", ("father", "wife")),
            ("What is X's father's wife's job?", ("father", "wife", "job")),
            ("What is the population of the city of X?", ()),
            ("Is X's height greater than Y's height?", ()),
        ],
    )
    def test_a_chain_has_possessives_from_one_topic(self, text: str, chain: tuple[str, ...]) -> None:
        assert read_question(text, ["X", "Y"]).chain == chain

    def test_the_noun_after_the_question_word_is_asked_for(self) -> None:
        assert ("city", "asked") in segments("In which city was X born?", "X")
        assert ("films", "asked") in segments("How many films did X direct?", "X")

    @pytest.mark.parametrize(("text", "word"), [("Where was X born?", "place"), ("When did X die?", "date")])
    def test_a_question_word_stands_for_what_it_asks(self, text: str, word: str) -> None:
        assert any(word in asked and kind == "asked" for asked, kind in segments(text, "X"))

    def test_there_is_always_a_segment(self) -> None:
        assert segments("X?", "X")
        assert segments("", "X")


def test_accents_and_quotes_are_folded() -> None:
    assert plain("Ångström’s ‘École’") == "angstrom's 'ecole'"


@settings(max_examples=80)
@given(st.text(max_size=60), st.lists(st.text(max_size=15), max_size=3))
def test_any_text_can_be_read(text: str, topics: list[str]) -> None:
    question = read_question(text, topics)
    assert question.segments
    assert question == read_question(text, topics)
