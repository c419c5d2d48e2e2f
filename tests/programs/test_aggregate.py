"""Aggregation over the cited triples: exact, or rejected with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_parts import EX, build_turtle, node

from triplecheck.kg import Direction, Graph, KnowledgeBase
from triplecheck.programs.aggregation import NotComputableError, Result, aggregate
from triplecheck.programs.subgraph import Fact, Hop

TURTLE = """
:a :population 100 ; :founded "1200-05-01"^^xsd:date ; :height 1.5 ; :name "Aton" ; :born "1850"^^xsd:gYear .
:b :population 30 ; :founded "1200-04-30"^^xsd:date ; :height 2.25 ; :born "-0044"^^xsd:gYear .
:c :population 100 ; :founded "-0044-03-15"^^xsd:date ; :height -3 ; :born "1900"^^xsd:gYear .
:d :population 12345678901234567890 ; :height 0.1 ; :area 0.2 .
:w :member :a , :b , :c ; :likes :a . :v :member :b , :c ; :likes :b .
:u :member :d .
:x :director :p , :q . :y :director :q . :z :director :r .
:p :home :a . :q :home :b . :r :home :c . :s :home :b .
"""
Facts = Callable[..., list[Fact]]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build_turtle(TURTLE, tmp_path_factory.mktemp("aggregate")).graph


def fact(
    graph: Graph,
    anchor: str,
    relation: str,
    *,
    back: bool = False,
    limit: int | None = None,
    topic: str | None = None,
) -> Fact:
    """The fact of one (entity, relation, direction), with at most `limit` values."""
    number = graph.find_relation(EX + relation)
    assert number is not None
    hop = Hop(number, Direction.IN if back else Direction.OUT)
    at = node(graph, anchor)
    values = graph.neighbors(at, number, hop.direction).tolist()
    hops = (hop,) if topic is None else (hop, hop)
    return Fact(at, hop, tuple(values[:limit]), len(values), (at if topic is None else node(graph, topic), hops))


def labels(graph: Graph, result: Result) -> list[str]:
    return graph.labels(list(result.nodes))


def holds(graph: Graph, result: Result) -> bool:
    heads, relations, tails = np.array(result.triples, np.int64).T
    return bool(graph.contains_many(heads, relations, tails).all())


class TestCount:
    def test_it_counts_the_values_of_one_fact(self, graph: Graph) -> None:
        result = aggregate(graph, "count", [fact(graph, "w", "member")])
        assert (result.text, result.nodes, len(result.triples)) == ("3", (), 3)
        assert holds(graph, result)

    def test_the_count_is_exact_if_values_were_truncated(self, graph: Graph) -> None:
        result = aggregate(graph, "count", [fact(graph, "w", "member", limit=1)])
        assert (result.text, len(result.triples)) == ("3", 1)

    def test_values_that_several_facts_share_count_once(self, graph: Graph) -> None:
        assert aggregate(graph, "count", [fact(graph, "w", "member"), fact(graph, "v", "member")]).text == "3"

    def test_a_fact_on_two_paths_counts_once(self, graph: Graph) -> None:
        twice = [fact(graph, "w", "member", limit=1), fact(graph, "w", "member", limit=1, topic="a")]
        assert aggregate(graph, "count", twice).text == "3"

    def test_several_truncated_facts_cannot_be_counted(self, graph: Graph) -> None:
        with pytest.raises(NotComputableError, match="not all values were fetched"):
            aggregate(graph, "count", [fact(graph, "w", "member", limit=1), fact(graph, "v", "member")])

    def test_it_counts_incoming_edges(self, graph: Graph) -> None:
        result = aggregate(graph, "count", [fact(graph, "b", "home", back=True)])
        assert result.text == "2"
        assert holds(graph, result)


class TestExtremes:
    def test_the_entity_with_the_extreme_value_is_the_answer(self, graph: Graph) -> None:
        heights = [fact(graph, name, "height") for name in "abcd"]
        assert labels(graph, aggregate(graph, "max", heights)) == ["b"]
        assert labels(graph, aggregate(graph, "min", heights)) == ["c"]
        assert len(aggregate(graph, "max", heights).triples) == 4

    def test_ties_are_all_answers(self, graph: Graph) -> None:
        result = aggregate(graph, "max", [fact(graph, name, "population") for name in "abc"])
        assert (labels(graph, result), result.text) == (["a", "c"], "a, c")

    def test_with_one_entity_the_value_is_the_answer(self, graph: Graph) -> None:
        assert aggregate(graph, "max", [fact(graph, "a", "population")]).text == "100"

    def test_dates_are_compared_by_day(self, graph: Graph) -> None:
        result = aggregate(graph, "max", [fact(graph, "a", "founded"), fact(graph, "b", "founded")])
        assert labels(graph, result) == ["a"]

    def test_years_before_christ_come_first(self, graph: Graph) -> None:
        dates = [fact(graph, name, "founded") for name in "abc"]
        assert labels(graph, aggregate(graph, "min", dates)) == ["c"]
        years = [fact(graph, name, "born") for name in "abc"]
        assert labels(graph, aggregate(graph, "min", years)) == ["b"]
        assert labels(graph, aggregate(graph, "max", years)) == ["c"]

    @pytest.mark.parametrize(
        ("cited", "reason"),
        [
            ([("a", "population"), ("b", "founded")], "numbers and dates"),
            ([("a", "population"), ("b", "height")], "different relations"),
            ([("w", "member")], "no cited value is a number or a date"),
            ([("a", "name")], "no cited value is a number or a date"),
        ],
    )
    def test_incomparable_values_are_rejected(
        self, graph: Graph, cited: Sequence[tuple[str, str]], reason: str
    ) -> None:
        with pytest.raises(NotComputableError, match=reason):
            aggregate(graph, "max", [fact(graph, *pair) for pair in cited])

    def test_truncated_values_have_no_known_extreme(self, tmp_path: Path) -> None:
        base = build_turtle(":a :size 1 , 2 , 3 .", tmp_path)
        with pytest.raises(NotComputableError, match="more extreme"):
            aggregate(base.graph, "max", [fact(base.graph, "a", "size", limit=2)])


class TestArithmetic:
    def test_sums_are_exact_to_the_last_digit(self, graph: Graph) -> None:
        numbers = [fact(graph, "d", "population"), fact(graph, "a", "population")]
        assert aggregate(graph, "sum", numbers).text == "12345678901234567990"
        assert aggregate(graph, "sum", [fact(graph, "d", "height"), fact(graph, "d", "area")]).text == "0.3"
        assert aggregate(graph, "sum", [fact(graph, "c", "height"), fact(graph, "a", "height")]).text == "-1.5"

    def test_equal_numbers_of_two_entities_are_both_added_but_a_fact_only_once(self, graph: Graph) -> None:
        populations = [fact(graph, "a", "population"), fact(graph, "c", "population")]
        assert aggregate(graph, "sum", populations).text == "200"
        assert aggregate(graph, "sum", [populations[0], populations[0]]).text == "100"

    def test_differences_have_no_sign(self, graph: Graph) -> None:
        for pair in ("ab", "ba"):
            assert aggregate(graph, "difference", [fact(graph, name, "population") for name in pair]).text == "70"

    def test_a_difference_needs_two_values(self, graph: Graph) -> None:
        with pytest.raises(NotComputableError, match="two values, not 3"):
            aggregate(graph, "difference", [fact(graph, name, "population") for name in "abc"])

    def test_dates_differ_by_whole_years(self, tmp_path: Path) -> None:
        graph = build_turtle(
            ':a :born "1890-01-01"^^xsd:date ; :died "1950-12-31"^^xsd:date .'
            ':b :born "1890-06-15"^^xsd:date ; :died "1950-06-14"^^xsd:date .'
            ':c :born "1890-06-15"^^xsd:date ; :died "1990-06-15"^^xsd:date .'
            ':d :born "1914"^^xsd:gYear ; :died "1918-11-11"^^xsd:date .',
            tmp_path,
        ).graph
        ages = [aggregate(graph, "difference", [fact(graph, x, "born"), fact(graph, x, "died")]).text for x in "abcd"]
        assert ages == ["60", "59", "100", "4"]

    def test_dates_cannot_be_added(self, graph: Graph) -> None:
        with pytest.raises(NotComputableError, match="dates cannot be added"):
            aggregate(graph, "sum", [fact(graph, "a", "founded")])

    def test_sums_and_differences_are_in_the_unit_of_the_greatest_value(self, tmp_path: Path) -> None:
        graph = build_turtle(
            ':a :weight "300 kg" ; :price "$1,200" ; :rise "20 °C" .'
            ':b :weight "170 kg" ; :price "$50.5" ; :rise "5 °C" .'
            ':c :weight "800 g" ; :price "40 EUR" . :d :weight "3 m" .',
            tmp_path,
        ).graph

        def computed(operation: str, relation: str, names: str) -> str:
            return aggregate(graph, operation, [fact(graph, name, relation) for name in names]).text

        assert computed("sum", "weight", "ab") == "470 kg"
        assert computed("sum", "weight", "bc") == "170.8 kg"
        assert computed("difference", "weight", "cb") == "169.2 kg"
        assert computed("difference", "price", "ab") == "$1149.5"
        assert computed("difference", "rise", "ab") == "15 °C"
        assert computed("min", "weight", "abc") == "c"
        with pytest.raises(NotComputableError, match="length and mass cannot be compared"):
            computed("sum", "weight", "ad")
        with pytest.raises(NotComputableError, match="money EUR and money USD cannot be compared"):
            computed("max", "price", "abc")
        with pytest.raises(NotComputableError, match="temperatures cannot be added up"):
            computed("sum", "rise", "ab")

    def test_truncated_values_have_no_sum(self, tmp_path: Path) -> None:
        base = build_turtle(":a :size 1 , 2 , 3 .", tmp_path)
        with pytest.raises(NotComputableError, match="sum of all of them is not known"):
            aggregate(base.graph, "sum", [fact(base.graph, "a", "size", limit=2)])


class TestCommon:
    def test_it_returns_the_values_that_two_paths_share_and_their_edges(self, graph: Graph) -> None:
        result = aggregate(graph, "common", [fact(graph, "w", "member"), fact(graph, "v", "member")])
        assert labels(graph, result) == ["b", "c"]
        assert len(result.triples) == 4
        assert holds(graph, result)

    def test_the_intersection_is_exact_if_one_path_was_truncated(self, graph: Graph) -> None:
        result = aggregate(graph, "common", [fact(graph, "w", "member", limit=1), fact(graph, "v", "member")])
        assert labels(graph, result) == ["b", "c"]
        assert len(result.triples) == 4
        assert holds(graph, result)

    def test_the_intersection_is_unknown_if_all_paths_were_truncated(self, graph: Graph) -> None:
        cut = [fact(graph, "w", "member", limit=1), fact(graph, "v", "member", limit=1)]
        with pytest.raises(NotComputableError, match="more may be shared"):
            aggregate(graph, "common", cut)

    def test_facts_of_one_path_are_united_first(self, graph: Graph) -> None:
        # p and q direct x; what their homes and the members of v have in common is the home of q.
        homes = [fact(graph, "p", "home", topic="x"), fact(graph, "q", "home", topic="x")]
        assert labels(graph, aggregate(graph, "common", [*homes, fact(graph, "v", "member")])) == ["b"]

    def test_within_one_path_entities_are_intersected(self, graph: Graph) -> None:
        both = [fact(graph, "q", "home", topic="x"), fact(graph, "s", "home", topic="x")]
        assert labels(graph, aggregate(graph, "common", both)) == ["b"]

    def test_the_topic_is_not_what_paths_from_it_have_in_common(self, graph: Graph) -> None:
        # q directs x and y, so the director that both have is q again.
        films = [fact(graph, "x", "director", topic="q"), fact(graph, "y", "director", topic="q")]
        with pytest.raises(NotComputableError, match="share no value"):
            aggregate(graph, "common", films)

    @pytest.mark.parametrize(
        ("cited", "reason"),
        [([("w", "member")], "only one set"), ([("u", "member"), ("v", "member")], "share no value")],
    )
    def test_an_empty_intersection_is_reported(self, graph: Graph, cited: list[tuple[str, str]], reason: str) -> None:
        with pytest.raises(NotComputableError, match=reason):
            aggregate(graph, "common", [fact(graph, *pair) for pair in cited])


class TestSame:
    def test_yes_where_a_value_is_shared_no_where_none_is(self, graph: Graph) -> None:
        assert aggregate(graph, "same", [fact(graph, "x", "director"), fact(graph, "y", "director")]).text == "yes"
        assert aggregate(graph, "same", [fact(graph, "x", "director"), fact(graph, "z", "director")]).text == "no"

    def test_facts_of_one_topic_are_united(self, graph: Graph) -> None:
        homes = [fact(graph, "p", "home", topic="x"), fact(graph, "q", "home", topic="x")]
        assert aggregate(graph, "same", [*homes, fact(graph, "q", "home", topic="y")]).text == "yes"
        assert aggregate(graph, "same", [*homes, fact(graph, "r", "home", topic="z")]).text == "no"

    def test_yes_is_certain_with_truncated_values_but_no_is_not(self, graph: Graph) -> None:
        cut = fact(graph, "v", "member", limit=1)  # b of b and c
        assert aggregate(graph, "same", [cut, fact(graph, "w", "member")]).text == "yes"
        with pytest.raises(NotComputableError, match="not all values were fetched"):
            aggregate(graph, "same", [cut, fact(graph, "u", "member")])

    def test_one_entity_cannot_be_compared(self, graph: Graph) -> None:
        with pytest.raises(NotComputableError, match="one entity only"):
            aggregate(graph, "same", [fact(graph, "x", "director")])


@pytest.mark.parametrize("operation", ["count", "max", "min", "sum", "difference", "common", "same"])
def test_without_facts_there_is_nothing_to_compute(graph: Graph, operation: str) -> None:
    with pytest.raises(NotComputableError, match="no facts were cited"):
        aggregate(graph, operation, [])


def test_an_unknown_operation_is_refused(graph: Graph) -> None:
    with pytest.raises(NotComputableError, match="no such operation: median"):
        aggregate(graph, "median", [fact(graph, "a", "population")])


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Groups g0..g9, each with members m0..m19 by a fixed rule, each member with a number."""
    edges = [f":g{g} :member :m{m} ." for g in range(10) for m in range(20) if (m * 7 + g * 3) % 5 < 2]
    return build_turtle(
        "\n".join([*edges, *(f":m{m} :size {(m * 37) % 23 - 11} ." for m in range(20))]),
        tmp_path_factory.mktemp("numbered"),
    )


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=5, unique=True), st.sampled_from(["count", "common", "same"]))
def test_set_operations_agree_with_python(numbered: KnowledgeBase, groups: list[int], operation: str) -> None:
    graph = numbered.graph
    facts = [fact(graph, f"g{g}", "member") for g in groups]
    sets = [{m for m in range(20) if (m * 7 + g * 3) % 5 < 2} for g in groups]
    shared = set.intersection(*sets)
    if operation == "common" and not shared:
        with pytest.raises(NotComputableError):
            aggregate(graph, operation, facts)
        return
    result = aggregate(graph, operation, facts)
    assert holds(graph, result)
    if operation == "common":
        assert set(labels(graph, result)) == {f"m{m}" for m in shared}
    else:
        assert result.text == (str(len(set.union(*sets))) if operation == "count" else "yes" if shared else "no")


@settings(max_examples=40)
@given(st.lists(st.integers(0, 19), min_size=2, max_size=8, unique=True))
def test_arithmetic_agrees_with_python(numbered: KnowledgeBase, members: list[int]) -> None:
    graph = numbered.graph
    facts = [fact(graph, f"m{m}", "size") for m in members]
    sizes = {m: (m * 37) % 23 - 11 for m in members}
    assert aggregate(graph, "sum", facts).text == str(sum(sizes.values()))
    for operation, extreme in (("max", max(sizes.values())), ("min", min(sizes.values()))):
        winners = {f"m{m}" for m, size in sizes.items() if size == extreme}
        assert set(labels(graph, aggregate(graph, operation, facts))) == winners
