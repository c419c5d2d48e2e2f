from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals.metrics.answers import (
    GoldAnswer,
    Predicted,
    crag_outcome,
    exact_match,
    hit,
    hits_at_1,
    lenient_match,
    set_scores,
    squad_normalize,
    token_f1,
    truthfulness,
)
from triplecheck.evals.metrics.retrieval import link_recall, retrieval_recall


def entity(node: int, *forms: str) -> Predicted:
    return Predicted(node, frozenset(forms))


def text(*forms: str) -> Predicted:
    return Predicted(None, frozenset(forms))


def gold(*nodes: int, forms: tuple[str, ...] = ()) -> GoldAnswer:
    return GoldAnswer(frozenset(nodes), frozenset(forms))


# --- on text ---------------------------------------------------------------------------------------
def test_squad_normalisation() -> None:
    assert squad_normalize("The  Eiffel-Tower, a tower!") == "eiffeltower tower"


def test_exact_match_by_hand() -> None:
    assert exact_match("the Beatles", ["Beatles.", "Stones"]) == 1
    assert exact_match("Beatle", ["Beatles"]) == 0
    assert exact_match("", [""]) == 0
    assert exact_match("the", ["a"]) == 0
    assert exact_match("x", []) == 0


def test_token_f1_by_hand() -> None:
    # 2 words in common of 3 and 2: 2 * 2 / (3 + 2).
    assert token_f1("big red dog", ["red dog"]) == pytest.approx(0.8)
    assert token_f1("dog dog", ["dog"]) == pytest.approx(2 / 3)
    assert token_f1("big red dog", ["cat", "red dog", "dog"]) == pytest.approx(0.8)
    assert token_f1("", [""]) == 0


words = st.text("ab cé.", max_size=8)


@given(words, words)
def test_token_f1_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert token_f1(a, [b]) == token_f1(b, [a])
    assert 0 <= token_f1(a, [b]) <= 1
    assert exact_match(a, [b]) <= token_f1(a, [b])


@given(words)
def test_a_text_matches_itself_unless_nothing_is_left_of_it(a: str) -> None:
    assert exact_match(a, [a]) == token_f1(a, [a]) == float(bool(squad_normalize(a)))


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


# --- on answers ------------------------------------------------------------------------------------
def test_hits_at_1_looks_at_the_first_answer_only() -> None:
    right, wrong = entity(1, "paris"), entity(2, "rome")
    assert hits_at_1([right, wrong], [gold(1)]) == 1
    assert hits_at_1([wrong, right], [gold(1)]) == 0
    assert hit([wrong, right], [gold(1)]) == 1
    assert hits_at_1([], [gold(1)]) == 0


def test_a_homonym_is_another_entity() -> None:
    assert hits_at_1([entity(2, "paris")], [gold(1, forms=("paris",))]) == 0
    assert hits_at_1([text("paris")], [gold(1, forms=("paris",))]) == 1
    assert hits_at_1([entity(2, "paris")], [gold(forms=("paris",))]) == 1


def test_nothing_never_matches() -> None:
    assert hit([text()], [gold(forms=())]) == 0
    assert hit([text("par")], [gold(forms=("paris",))]) == 0


def test_set_scores_by_hand() -> None:
    scores = set_scores([entity(1), entity(2), entity(9)], [gold(1), gold(2), gold(3), gold(4)])
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == 0.5
    assert scores.f1 == pytest.approx(4 / 7)


def test_each_gold_answer_counts_once() -> None:
    homonyms = set_scores([entity(1), entity(2)], [gold(1, 2)])
    assert (homonyms.precision, homonyms.recall) == (0.5, 1)
    repeated = set_scores([entity(1), entity(1)], [gold(1)])
    assert repeated.f1 == 1


def test_one_answer_is_not_used_for_two_gold_answers() -> None:
    ambiguous = [gold(forms=("a", "b")), gold(forms=("b", "c"))]
    assert set_scores([text("b")], ambiguous).recall == 0.5
    # The largest matching: the ambiguous answer makes way for the one that has no other place.
    assert set_scores([text("b"), text("a")], ambiguous).f1 == 1


nodes = st.frozensets(st.integers(0, 6), min_size=1, max_size=5)


@given(nodes, nodes)
def test_set_f1_is_symmetric_bounded_and_one_on_the_same_set(a: frozenset[int], b: frozenset[int]) -> None:
    def scores(left: frozenset[int], right: frozenset[int]) -> tuple[float, float, float]:
        found = set_scores([entity(n) for n in left], [gold(n) for n in right])
        return found.precision, found.recall, found.f1

    precision, recall, f1 = scores(a, b)
    assert scores(b, a) == (recall, precision, f1)
    assert 0 <= min(precision, recall) <= f1 <= max(precision, recall) <= 1
    assert f1 == pytest.approx(2 * len(a & b) / (len(a) + len(b)))
    assert scores(a, a) == (1, 1, 1)


# A form stands for one answer in four, a gold answer takes several: the largest matching by trying all.
loose = st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1), max_size=4)


@given(loose, loose)
def test_the_matching_is_a_largest_one(left: list[frozenset[str]], right: list[frozenset[str]]) -> None:
    predicted = [Predicted(None, forms) for forms in dict.fromkeys(left)]
    answers = [GoldAnswer(frozenset(), forms) for forms in right]

    def best(at: int, free: frozenset[int]) -> int:
        if at == len(predicted):
            return 0
        fits = [i for i in free if predicted[at].forms & answers[i].forms]
        return max([best(at + 1, free), *(1 + best(at + 1, free - {i}) for i in fits)])

    recall = set_scores(predicted, answers).recall
    assert recall * len(answers) == pytest.approx(best(0, frozenset(range(len(answers)))))


def test_many_ambiguous_answers_are_matched_without_deep_recursion() -> None:
    predicted = [text("same", str(i)) for i in range(1_500)]
    assert set_scores(predicted, [gold(forms=("same",))] * 700).recall == 1


# --- outcomes --------------------------------------------------------------------------------------
def test_crag_outcomes() -> None:
    right, wrong, answers = entity(1), entity(2), [gold(1)]
    assert crag_outcome([right, wrong], answers) == "accurate"
    assert crag_outcome([wrong, right], answers) == "hallucinated"
    assert crag_outcome([], answers) == "missing"
    assert crag_outcome([], []) == "accurate"
    assert crag_outcome([right], []) == "hallucinated"


def test_truthfulness_is_accuracy_less_hallucination() -> None:
    assert truthfulness(["accurate", "accurate", "hallucinated", "missing"]) == 0.25
    assert truthfulness(["hallucinated"]) == -1
    assert truthfulness([]) is None


@given(st.lists(st.sampled_from(["accurate", "hallucinated", "missing"]), min_size=1))
def test_abstaining_instead_of_hallucinating_is_never_worse(outcomes: list[str]) -> None:
    cautious = ["missing" if outcome == "hallucinated" else outcome for outcome in outcomes]
    assert -1 <= truthfulness(outcomes) <= truthfulness(cautious) <= 1  # type: ignore[arg-type, operator]


# --- stages ----------------------------------------------------------------------------------------
def test_retrieval_recall_by_hand() -> None:
    answers = [gold(1, 11), gold(2), gold(forms=("three",))]
    assert retrieval_recall([11, 5], answers) == 0.5
    assert retrieval_recall([], answers) == 0
    assert retrieval_recall(None, answers) is None
    assert retrieval_recall([1], [gold(forms=("three",))]) is None


def test_link_recall_by_hand() -> None:
    topics = [frozenset([1]), frozenset([2, 3]), frozenset[int]()]
    assert link_recall([1, 3], topics) == pytest.approx(2 / 3)
    assert link_recall([], topics) == 0
    assert link_recall([1], []) is None


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.lists(nodes, min_size=1))
def test_retrieving_more_never_lowers_recall(some: set[int], more: set[int], answers: list[frozenset[int]]) -> None:
    golds = [GoldAnswer(one, frozenset()) for one in answers]
    assert 0 <= retrieval_recall(some, golds) <= retrieval_recall(some | more, golds) <= 1  # type: ignore[operator]
    assert 0 <= link_recall(some, answers) <= link_recall(some | more, answers) <= 1  # type: ignore[operator]
