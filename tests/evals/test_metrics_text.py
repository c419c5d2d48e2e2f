"""Metrics on text, against examples worked by hand and what must hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals.metrics.answers import exact_match, lenient_match, token_f1

phrases = st.lists(st.sampled_from(["yes", "no", "the", "red", "dog", "Dog.", "noanswer", ""]), max_size=4).map(
    " ".join
)


class TestYesAndNo:
    def test_against_yes_only_yes_counts(self) -> None:
        assert token_f1("yes it is", ["yes"]) == 0
        assert token_f1("Yes.", ["yes"]) == 1
        assert token_f1("no answer", ["noanswer"]) == 0

    def test_a_yes_against_other_words_is_compared_by_word(self) -> None:
        # One word of one and two in common: 2 * 1 / (1 + 2).
        assert token_f1("yes", ["yes minister"]) == pytest.approx(2 / 3)


class TestAliases:
    def test_the_best_alias_counts(self) -> None:
        assert exact_match("JFK", ["John F. Kennedy", "JFK"]) == 1
        assert token_f1("John Kennedy", ["Kennedy", "John F. Kennedy"]) == pytest.approx(0.8)

    @given(phrases, st.lists(phrases, max_size=3), phrases)
    def test_another_alias_never_lowers_a_score(self, text: str, gold: list[str], alias: str) -> None:
        assert token_f1(text, gold) <= token_f1(text, [*gold, alias])
        assert exact_match(text, gold) <= exact_match(text, [*gold, alias])
        assert lenient_match(text, gold) <= lenient_match(text, [*gold, alias])

    @given(phrases, st.lists(phrases, max_size=4), st.randoms())
    def test_their_order_does_not_matter(self, text: str, gold: list[str], random: object) -> None:
        shuffled = [*gold]
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        for metric in (exact_match, token_f1, lenient_match):
            assert metric(text, gold) == metric(text, shuffled)


class TestLenient:
    def test_either_text_may_be_a_part_of_the_other(self) -> None:
        assert lenient_match("It was Paris, the capital.", ["paris"]) == 1
        assert lenient_match("New  York", ["New York City"]) == 1
        assert lenient_match("Rome", ["Paris"]) == 0
        assert lenient_match("Paris", []) == 0

    @pytest.mark.parametrize("nothing", ["", "  ", "a"])
    def test_its_flaw_is_that_nothing_and_single_letters_are_right(self, nothing: str) -> None:
        gold = ["Barack Obama"]
        assert lenient_match(nothing, gold) == 1
        assert exact_match(nothing, gold) == token_f1(nothing, gold) == 0

    def test_its_flaw_is_that_a_list_of_guesses_is_right(self) -> None:
        assert lenient_match("Rome, Paris or Berlin", ["Paris"]) == 1
        assert exact_match("Rome, Paris or Berlin", ["Paris"]) == 0
