"""Aggregation over the cited triples: exact, or rejected with a reason."""

from __future__ import annotations

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
:u :member :d . :e :size 1 , 2 , 3 .
:x :director :p , :q . :y :director :q . :z :director :r .
:p :home :a . :q :home :b . :r :home :c . :s :home :b .
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build_turtle(TURTLE, tmp_path_factory.mktemp("aggregate")).graph


def facts(graph: Graph, texts: str) -> list[Fact]:
    """Facts as "a.home": its anchor and relation; "b.<home" backwards, "w.member:1" cut, "p.home@x" of the topic x."""
    found = []
    for text in texts.split():
        rest, _, topic = text.partition("@")
        rest, _, limit = rest.partition(":")
        anchor, _, relation = rest.partition(".")
        number = graph.find_relation(EX + relation.removeprefix("<"))
        assert number is not None
        hop = Hop(number, Direction.IN if relation.startswith("<") else Direction.OUT)
        at = node(graph, anchor)
        values = graph.neighbors(at, number, hop.direction).tolist()
        path = (node(graph, topic), (hop, hop)) if topic else (at, (hop,))
        found.append(Fact(at, hop, tuple(values[: int(limit) if limit else None]), len(values), path))
    return found


def computed(graph: Graph, operation: str, texts: str) -> Result:
    """The result, which is computed from edges of the graph."""
    given = facts(graph, texts)
    result = aggregate(graph, operation, given)
    heads, relations, tails = np.array(result.triples, np.int64).T
    assert graph.contains_many(heads, relations, tails).all()
    if operation != "common":
        assert set(result.triples) == {edge for one in given for edge in one.triples()}
    return result


@pytest.mark.parametrize(
    ("operation", "cited", "text"),
    [
        ("count", "w.member", "3"),
        ("count", "w.member:1", "3"),  # exact if values were cut
        ("count", "w.member v.member", "3"),  # what several facts share counts once
        ("count", "w.member:1 w.member:1@a", "3"),  # so does a fact on two paths
        ("count", "b.<home", "2"),
        ("sum", "d.population a.population", "12345678901234567990"),  # exact to the last digit
        ("sum", "d.height d.area", "0.3"),
        ("sum", "c.height a.height", "-1.5"),
        ("sum", "a.population c.population", "200"),  # of two entities both are added, a fact only once
        ("sum", "a.population a.population", "100"),
        ("difference", "a.population b.population", "70"),  # without a sign
        ("difference", "b.population a.population", "70"),
        ("same", "x.director y.director", "yes"),
        ("same", "x.director z.director", "no"),
        ("same", "p.home@x q.home@x q.home@y", "yes"),  # facts of one topic are united
        ("same", "p.home@x q.home@x r.home@z", "no"),
        ("same", "v.member:1 w.member", "yes"),  # certain though a value was cut
    ],
)
def test_what_is_no_thing_of_the_graph(graph: Graph, operation: str, cited: str, text: str) -> None:
    result = computed(graph, operation, cited)
    assert (result.text, result.nodes) == (text, ())


@pytest.mark.parametrize(
    ("operation", "cited", "names"),
    [
        ("max", "a.height b.height c.height d.height", "b"),
        ("min", "a.height b.height c.height d.height", "c"),
        ("max", "a.population b.population c.population", "a, c"),  # ties
        ("max", "a.population", "100"),  # of one entity its value
        ("max", "a.founded b.founded", "a"),  # dates by day
        ("min", "a.founded b.founded c.founded", "c"),  # years before Christ come first
        ("min", "a.born b.born c.born", "b"),
        ("max", "a.born b.born c.born", "c"),
        ("common", "w.member v.member", "b, c"),
        ("common", "w.member:1 v.member", "b, c"),  # exact if one path was cut
        ("common", "p.home@x q.home@x v.member", "b"),  # facts of one path are united first
        ("common", "q.home@x s.home@x", "b"),  # within one path entities are intersected
    ],
)
def test_what_is_a_thing_of_the_graph(graph: Graph, operation: str, cited: str, names: str) -> None:
    result = computed(graph, operation, cited)
    assert (result.text, ", ".join(graph.labels(list(result.nodes)))) == (names, names)
    if names == "b, c":
        assert len(result.triples) == 4


@pytest.mark.parametrize(
    ("operation", "cited", "reason"),
    [
        ("count", "w.member:1 v.member", "not all values were fetched"),
        ("max", "a.population b.founded", "numbers and dates"),
        ("max", "a.population b.height", "different relations"),
        ("max", "w.member", "no cited value is a number or a date"),
        ("max", "a.name", "no cited value is a number or a date"),
        ("max", "e.size:2", "more extreme"),
        ("sum", "e.size:2", "sum of all of them is not known"),
        ("sum", "a.founded", "dates cannot be added"),
        ("sum", "a.population a.name", "some of the values are no numbers"),
        ("difference", "a.population b.population c.population", "two values, not 3"),
        ("common", "w.member:1 v.member:1", "more may be shared"),
        ("common", "w.member", "only one set"),
        ("common", "u.member v.member", "share no value"),
        ("common", "x.director@q y.director@q", "share no value"),  # q directs both, and is the topic
        ("same", "v.member:1 u.member", "not all values were fetched"),
        ("same", "x.director", "one entity only"),
        *((one, "", "no facts were cited") for one in ("count", "max", "min", "sum", "difference", "common", "same")),
        ("median", "a.population", "no such operation: median"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_reason(
    graph: Graph, operation: str, cited: str, reason: str
) -> None:
    with pytest.raises(NotComputableError, match=reason):
        aggregate(graph, operation, facts(graph, cited))


def test_dates_differ_by_whole_years(tmp_path: Path) -> None:
    graph = build_turtle(
        ':a :born "1890-01-01"^^xsd:date ; :died "1950-12-31"^^xsd:date .'
        ':b :born "1890-06-15"^^xsd:date ; :died "1950-06-14"^^xsd:date .'
        ':c :born "1890-06-15"^^xsd:date ; :died "1990-06-15"^^xsd:date .'
        ':d :born "1914"^^xsd:gYear ; :died "1918-11-11"^^xsd:date .',
        tmp_path,
    ).graph
    ages = [computed(graph, "difference", f"{x}.born {x}.died").text for x in "abcd"]
    assert ages == ["60", "59", "100", "4"]


def test_sums_and_differences_are_in_the_unit_of_the_greatest_value(tmp_path: Path) -> None:
    graph = build_turtle(
        ':a :weight "300 kg" ; :price "$1,200" ; :rise "20 °C" .'
        ':b :weight "170 kg" ; :price "$50.5" ; :rise "5 °C" .'
        ':c :weight "800 g" ; :price "40 EUR" . :d :weight "3 m" .',
        tmp_path,
    ).graph
    for operation, cited, text in (
        ("sum", "a.weight b.weight", "470 kg"),
        ("sum", "b.weight c.weight", "170.8 kg"),
        ("difference", "c.weight b.weight", "169.2 kg"),
        ("difference", "a.price b.price", "$1149.5"),
        ("difference", "a.rise b.rise", "15 °C"),
        ("min", "a.weight b.weight c.weight", "c"),
    ):
        assert computed(graph, operation, cited).text == text
    for operation, cited, reason in (
        ("sum", "a.weight d.weight", "length and mass cannot be compared"),
        ("max", "a.price b.price c.price", "money EUR and money USD cannot be compared"),
        ("sum", "a.rise b.rise", "temperatures cannot be added up"),
    ):
        with pytest.raises(NotComputableError, match=reason):
            computed(graph, operation, cited)


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
    cited = " ".join(f"g{g}.member" for g in groups)
    sets = [{m for m in range(20) if (m * 7 + g * 3) % 5 < 2} for g in groups]
    shared = set.intersection(*sets)
    if operation == "common" and not shared:
        with pytest.raises(NotComputableError):
            computed(numbered.graph, operation, cited)
        return
    result = computed(numbered.graph, operation, cited)
    if operation == "common":
        assert set(numbered.graph.labels(list(result.nodes))) == {f"m{m}" for m in shared}
    else:
        assert result.text == (str(len(set.union(*sets))) if operation == "count" else "yes" if shared else "no")


@settings(max_examples=40)
@given(st.lists(st.integers(0, 19), min_size=2, max_size=8, unique=True))
def test_arithmetic_agrees_with_python(numbered: KnowledgeBase, members: list[int]) -> None:
    graph, cited = numbered.graph, " ".join(f"m{m}.size" for m in members)
    sizes = {m: (m * 37) % 23 - 11 for m in members}
    assert computed(graph, "sum", cited).text == str(sum(sizes.values()))
    for operation, extreme in (("max", max(sizes.values())), ("min", min(sizes.values()))):
        winners = {f"m{m}" for m, size in sizes.items() if size == extreme}
        assert set(graph.labels(list(computed(graph, operation, cited).nodes))) == winners
