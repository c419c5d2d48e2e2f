"""Metrics on rankings and on the way to an answer, against examples worked by hand and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals.metrics.answers import GoldAnswer
from triplecheck.evals.metrics.retrieval import (
    anchor_accuracy,
    bands,
    citation_precision,
    hit_at_k,
    link_recall,
    recall_at_k,
    reciprocal_rank,
)


def gold(*answers: int | tuple[int, ...]) -> list[GoldAnswer]:
    return [GoldAnswer(frozenset([one] if isinstance(one, int) else one), frozenset()) for one in answers]


class TestRanking:
    def test_by_hand(self) -> None:
        ranking, right = [9, 4, 7, 1, 2], gold(4, 2, 30)
        assert hit_at_k(ranking, right, 1) == 0
        assert hit_at_k(ranking, right, 2) == 1
        assert recall_at_k(ranking, right, 4) == pytest.approx(1 / 3)
        assert recall_at_k(ranking, right, 20) == pytest.approx(2 / 3)
        assert reciprocal_rank(ranking, right) == 0.5

    def test_what_is_not_ranked_is_not_hit(self) -> None:
        assert hit_at_k([1], gold(2), 5) == recall_at_k([1], gold(2), 5) == reciprocal_rank([1], gold(2)) == 0

    def test_answers_without_a_node_are_left_out(self) -> None:
        text = GoldAnswer(frozenset(), frozenset(["four"]))
        assert recall_at_k([1], [*gold(1), text], 1) == 1
        assert hit_at_k([1], [text], 1) is recall_at_k([1], [text], 1) is reciprocal_rank([1], [text]) is None

    def test_a_repeated_node_takes_one_place(self) -> None:
        assert reciprocal_rank([5, 5, 5, 1], gold(1)) == 0.5
        assert hit_at_k([5, 5, 5, 1], gold(1), 2) == 1

    @given(st.permutations(range(8)), st.sets(st.integers(0, 12), min_size=1), st.integers(1, 10))
    def test_bounds_and_order(self, ranking: list[int], right: set[int], k: int) -> None:
        answers = gold(*right)
        hit, recall, rank = (
            hit_at_k(ranking, answers, k),
            recall_at_k(ranking, answers, k),
            reciprocal_rank(ranking, answers),
        )
        assert 0 <= recall <= hit <= 1  # type: ignore[operator]
        assert (rank >= 1 / k) == (hit == 1)  # type: ignore[operator]
        assert recall <= recall_at_k(ranking, answers, k + 1)  # type: ignore[operator]
        assert recall == recall_at_k(ranking, answers[::-1], k)
        inside = [*reversed(ranking[:k]), *ranking[k:]]
        assert (hit, recall) == (hit_at_k(inside, answers, k), recall_at_k(inside, answers, k))


class TestAnchors:
    def test_one_topic_of_several_is_enough(self) -> None:
        topics = [frozenset([1, 2]), frozenset([3])]
        assert anchor_accuracy([9, 3], topics) == 1
        assert link_recall([9, 3], topics) == 0.5
        assert anchor_accuracy([9], topics) == anchor_accuracy([], topics) == 0
        assert anchor_accuracy([9], []) is None

    @given(st.sets(st.integers(0, 5)), st.lists(st.frozensets(st.integers(0, 5)), min_size=1))
    def test_it_is_right_where_any_topic_was_linked(self, anchors: set[int], topics: list[frozenset[int]]) -> None:
        assert anchor_accuracy(anchors, topics) == float(link_recall(anchors, topics) > 0)  # type: ignore[operator]


class TestCitations:
    CHAIN = ((1, 0, 2), (3, 1, 2))  # from topic 1 by 2 to answer 3, the second against its direction

    def test_a_chain_from_topic_to_answer_supports(self) -> None:
        assert citation_precision(self.CHAIN, {3}, {1}) == 1

    def test_what_lies_beside_the_chain_does_not(self) -> None:
        assert citation_precision([*self.CHAIN, (7, 0, 8), (8, 0, 9)], {3}, {1}) == 0.5

    def test_a_triple_that_is_not_in_the_graph_connects_nothing(self) -> None:
        assert citation_precision([None, self.CHAIN[1]], {3}, {1}) == 0
        assert citation_precision([*self.CHAIN, None], {3}, {1}) == pytest.approx(2 / 3)

    def test_without_answer_or_beginning_nothing_supports(self) -> None:
        assert citation_precision(self.CHAIN, {9}, {1}) == 0
        assert citation_precision(self.CHAIN, set(), {1}) == 0
        assert citation_precision(self.CHAIN, {3}, set()) == 0

    def test_a_computed_answer_needs_the_beginning_alone(self) -> None:
        assert citation_precision([*self.CHAIN, (7, 0, 8)], None, {1}) == pytest.approx(2 / 3)

    def test_nothing_cited_is_no_precision(self) -> None:
        assert citation_precision([], {3}, {1}) is None

    edges = st.lists(st.none() | st.tuples(st.integers(0, 6), st.just(0), st.integers(0, 6)), min_size=1, max_size=9)

    @given(edges, st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)), st.randoms())
    def test_it_is_bounded_and_without_order(
        self, cited: list[tuple[int, int, int] | None], answers: set[int], topics: set[int], random: object
    ) -> None:
        found = citation_precision(cited, answers, topics)
        shuffled = [*cited]
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert 0 <= found <= citation_precision(cited, None, topics) <= 1  # type: ignore[operator]
        assert found == citation_precision(shuffled, answers, topics)
        assert found == citation_precision(cited, topics, answers), "topics and answers are the two ends of one chain"

    @given(edges, st.integers(0, 6), st.integers(0, 6))
    def test_it_agrees_with_walking_the_graph(
        self, cited: list[tuple[int, int, int] | None], answer: int, topic: int
    ) -> None:
        there = [edge for edge in cited if edge is not None]
        reached = {topic}
        for _ in range(8):
            reached |= {end for h, _, t in there for end in (h, t) if h in reached or t in reached}
        supporting = [h in reached and answer in reached for h, _, _ in there]
        assert citation_precision(cited, {answer}, {topic}) == pytest.approx(sum(supporting) / len(cited))


class TestBands:
    def test_each_band_has_a_third_of_all_popularity(self) -> None:
        # 90 in all: 40 begins before 30; 25 and 20 begin at 40 and 65 (before and after 60); the rest is tail.
        assert bands([5, 40, 25, 20]) == ["tail", "head", "torso", "tail"]
        assert bands([1, 1, 1]) == ["head", "head", "head"], "nothing tells them apart"

    def test_given_bands_are_kept_and_unknown_ones_left_out(self) -> None:
        assert bands(["tail", None, "obscure", 7]) == ["tail", None, "obscure", "head"]
        assert bands([]) == []
        assert bands([0, 0]) == ["tail", "tail"]

    @given(st.lists(st.integers(0, 100), min_size=1, max_size=20), st.randoms())
    def test_more_popular_is_never_further_down(self, popularities: list[int], random: object) -> None:
        order = {"head": 0, "torso": 1, "tail": 2, None: 3}
        found = dict(zip(popularities, bands(popularities), strict=True))
        placed = [order[found[one]] for one in sorted(popularities, reverse=True)]
        assert placed == sorted(placed)
        shuffled = [*popularities]
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert dict(zip(shuffled, bands(shuffled), strict=True)) == found
