"""Pattern matching against a join by brute force, on small random graphs and on a small known one."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_parts import built, raw_graph
from sparql_endpoint import StoreClient

from triplecheck.kg import Direction, Graph, KnowledgeBase, Name, Pattern, Relation, Variable, build
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.columnar_build import NumberedGraph, write_graph
from triplecheck.kg.patterns import (
    BoundPattern,
    Constants,
    Link,
    Match,
    Query,
    bind,
    extreme,
    match,
    parse_patterns,
    relax,
    support,
)
from triplecheck.kg.patterns.adjacency import CompiledAdjacency, GraphAdjacency
from triplecheck.kg.sparql import SparqlGraph
from triplecheck.kg.types import Edge

NODES, RELATIONS, VARIABLES = 6, 2, "wxyz"

edge_lists = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, RELATIONS - 1), st.integers(0, NODES - 1)),
    min_size=1,
    max_size=14,
)
ends = st.sampled_from([*VARIABLES, "'a'", "'b'"])
links = st.builds(
    Link,
    st.sampled_from([(0,), (1,), (0, 1), None]),
    st.sampled_from([(Direction.OUT,), (Direction.OUT, Direction.IN)]),
)
pattern_lists = st.lists(st.tuples(ends, links, ends).filter(lambda p: p[0] != p[2]), min_size=1, max_size=4)
small = settings(max_examples=60)


def graph_of(edges: Iterable[Edge]) -> ColumnarGraph:
    heads, relations, tails = np.array(list(edges), np.int32).T
    names = pa.array([f"n{n}" for n in range(NODES)])
    numbered = NumberedGraph(
        heads=heads,
        relations=relations,
        tails=tails,
        ids=names,
        labels=names,
        descriptions=pa.array([""] * NODES, pa.string()),
        aliases=pa.array([[]] * NODES, pa.list_(pa.string())),
        literal_datatypes=np.empty(0, np.int32),
        datatypes=[],
        type_offsets=np.zeros(NODES + 1, np.int64),
        type_codes=np.empty(0, np.int32),
        types=[],
        relation_table=[Relation(f"r{r}", f"r{r}") for r in range(RELATIONS)],
    )
    with tempfile.TemporaryDirectory() as folder:  # a mapped file outlives its name
        write_graph(numbered, Path(folder))
        return ColumnarGraph(Path(folder))


def query_of(patterns: Sequence[tuple[str, Link, str]]) -> Query:
    bound = [BoundPattern(head, link, tail, f"{head} {link} {tail}") for head, link, tail in patterns]
    constants = {"'a'": [0], "'b'": [1, 2]}
    used = {end for head, _, tail in patterns for end in (head, tail)}
    return Query(tuple(dict.fromkeys(bound)), {name: np.array(constants[name]) for name in constants if name in used})


def holds(graph: Graph, pattern: BoundPattern, head: int, tail: int) -> bool:
    relations = range(graph.num_relations) if pattern.link.relations is None else pattern.link.relations
    ways = [(head, tail), (tail, head)][: len(pattern.link.directions)]
    return any(graph.contains(a, relation, b) for relation in relations for a, b in ways)


def brute_force(graph: Graph, query: Query) -> dict[str, set[int]]:
    """The values of each variable over all solutions, by trying all assignments."""
    found: dict[str, set[int]] = {name: set() for name in query.names}
    choices = [query.given.get(name, range(graph.num_nodes)) for name in query.names]
    for nodes in itertools.product(*([int(n) for n in choice] for choice in choices)):
        chosen = dict(zip(query.names, nodes, strict=True))
        if all(holds(graph, p, chosen[p.head], chosen[p.tail]) for p in query.patterns):
            for name, node in chosen.items():
                found[name].add(node)
    return found


def domains(found: Match) -> dict[str, set[int]]:
    assert all(nodes is not None for nodes in found.domains.values())
    assert all(np.array_equal(nodes, np.unique(nodes)) for nodes in found.domains.values())  # type: ignore[arg-type]
    return {name: set(nodes.tolist()) for name, nodes in found.domains.items()}  # type: ignore[union-attr]


def both(graph: ColumnarGraph) -> list[GraphAdjacency]:
    return [GraphAdjacency(graph), CompiledAdjacency(graph)]


class TestAgainstBruteForce:
    @given(edge_lists, pattern_lists)
    @small
    def test_domains_contain_every_solution_and_nothing_else_without_a_cycle(
        self, edges: list[Edge], patterns: list[tuple[str, Link, str]]
    ) -> None:
        graph = graph_of(edges)
        query = query_of(patterns)
        wanted = brute_force(graph, query)
        for steps in both(graph):
            found = match(graph, query, steps=steps)
            for name, nodes in domains(found).items():
                assert nodes >= wanted[name]
                if query.is_forest:
                    assert found.exact
                    assert nodes == wanted[name]

    @given(edge_lists, pattern_lists)
    @small
    def test_the_exact_join_finds_the_solutions_of_cycles_too(
        self, edges: list[Edge], patterns: list[tuple[str, Link, str]]
    ) -> None:
        graph = graph_of(edges)
        query = query_of(patterns)
        found = match(graph, query, exact=True)
        assert found.exact
        assert domains(found) == brute_force(graph, query)
        assert (found.emptied_by is None) == all(domains(found).values())

    @given(edge_lists, pattern_lists, st.randoms(use_true_random=False))
    @small
    def test_neither_the_order_of_patterns_nor_a_second_run_makes_a_difference(
        self, edges: list[Edge], patterns: list[tuple[str, Link, str]], random: object
    ) -> None:
        graph = graph_of(edges)
        query = query_of(patterns)
        shuffled = list(query.patterns)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        for steps in both(graph):
            found = match(graph, query, steps=steps)
            other = match(graph, query.only(shuffled), steps=steps)
            assert domains(found) == domains(other)
            assert found.emptied_by == other.emptied_by
            assert found.rounds == other.rounds
            kept = {name: nodes for name, nodes in found.domains.items() if nodes is not None}
            assert domains(match(graph, query, candidates=kept, steps=steps)) == domains(found)

    @given(edge_lists, pattern_lists)
    @small
    def test_supporting_triples_are_in_the_graph_and_each_pattern_has_one(
        self, edges: list[Edge], patterns: list[tuple[str, Link, str]]
    ) -> None:
        graph = graph_of(edges)
        query = query_of(patterns)
        found = match(graph, query, exact=True)
        for name in query.variables:
            for node in sorted(domains(found)[name]):
                triples = support(graph, found, name, node, per_pattern=2)
                assert all(graph.contains(*triple) for triple in triples)
                around = query.around(name)
                assert len(triples) <= 2 * len(around)
                assert all(any(fits(pattern, triple) for triple in triples) for pattern in around)
                assert any(node in (head, tail) for head, _, tail in triples)


def fits(pattern: BoundPattern, triple: Edge) -> bool:
    return pattern.link.relations is None or triple[1] in pattern.link.relations


# --- a known graph -------------------------------------------------------------------------------
FILMS = """
nolan directed inception
nolan directed memento
scott directed alien
scott directed gladiator
inception starring dicaprio
inception starring page
memento starring pearce
alien starring weaver
titanic starring dicaprio
cameron directed titanic
cameron directed aliens
aliens starring weaver
page spouse_of dicaprio
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows = [line.split() for line in FILMS.split("\n") if line]
    return build(raw_graph(rows), tmp_path_factory.mktemp("films") / "kb", encoder=None)


def asked(base: KnowledgeBase, text: str, **options: bool) -> Query:
    return bind(base.graph, parse_patterns(text), Constants(base.graph, base.linker), **options)


def ids(base: KnowledgeBase, found: Match, variable: str) -> list[str]:
    nodes = found.nodes(variable)
    assert nodes is not None
    return sorted(base.graph.node_id(int(node)) for node in nodes)


def literal_lines_2_to_21(query: Query, graph: Graph, domains: dict[str, set[int]]) -> None:
    """One pass of Algorithm 2 as it is printed: lines 14 and 19 intersect the side they were computed from."""
    for pattern in query.patterns:
        head, tail, (relation,) = pattern.head, pattern.tail, pattern.link.relations or ()
        if head in query.given:
            domains[tail] &= {t for h in domains[head] for t in graph.neighbors(h, relation).tolist()}
        elif tail in query.given:
            domains[head] &= {h for t in domains[tail] for h in graph.neighbors(t, relation, Direction.IN).tolist()}
        else:
            domains[head] &= {t for h in domains[head] for t in graph.neighbors(h, relation).tolist()}
            domains[tail] &= {h for t in domains[tail] for h in graph.neighbors(t, relation, Direction.IN).tolist()}


def test_the_printed_lines_14_and_19_empty_what_has_an_answer(films: KnowledgeBase) -> None:
    query = asked(films, "nolan directed ?film; ?film starring ?actor")
    everything = set(range(films.graph.num_nodes))
    printed = {name: set(everything) for name in query.variables} | {
        name: set(nodes.tolist()) for name, nodes in query.given.items()
    }
    literal_lines_2_to_21(query, films.graph, printed)
    assert printed["film"] == set()
    found = match(films.graph, query)
    assert ids(films, found, "film") == ["inception", "memento"]
    assert ids(films, found, "actor") == ["dicaprio", "page", "pearce"]


def test_a_pattern_of_two_variables_may_come_first(films: KnowledgeBase) -> None:
    text = ["?film starring ?actor", "?other starring ?actor", "nolan directed ?film", "cameron directed ?other"]
    for order in itertools.permutations(text):
        found = match(films.graph, asked(films, ";".join(order)))
        assert ids(films, found, "actor") == ["dicaprio"]
        assert ids(films, found, "film") == ["inception"]


def test_candidates_restrict_their_variable_and_no_other(films: KnowledgeBase) -> None:
    query = asked(films, "nolan directed ?film; ?film starring ?actor")
    only = np.array([films.graph.find("page")])
    found = match(films.graph, query, candidates={"actor": only})
    assert ids(films, found, "actor") == ["page"]
    assert ids(films, found, "film") == ["inception"]  # no candidate, and reached all the same


def test_what_emptied_a_result_is_named(films: KnowledgeBase) -> None:
    found = match(films.graph, asked(films, "nolan directed ?film; ?film starring weaver; ?film starring ?actor"))
    assert found.emptied_by is not None
    assert found.emptied_by.text in ("nolan directed ?film", "?film starring weaver")
    assert found.count("film") == found.count("actor") == 0
    assert found.rounds[-1]["film"] == 0


def test_relaxation_gives_up_the_fewest_patterns(films: KnowledgeBase) -> None:
    query = asked(films, "nolan directed ?film; ?film starring dicaprio; ?film starring weaver")
    assert match(films.graph, query).count("film") == 0
    relaxed = relax(query, "film", lambda part: match(films.graph, part))
    assert relaxed is not None
    assert [pattern.text for pattern in relaxed.left_out] == ["?film starring weaver"]
    assert ids(films, relaxed.match, "film") == ["inception"]


def test_relaxation_keeps_no_pattern_that_says_nothing_of_the_answer(films: KnowledgeBase) -> None:
    query = asked(films, "?film starring weaver; ?film starring page; nolan directed ?other")
    relaxed = relax(query, "film", lambda part: match(films.graph, part))
    assert relaxed is not None
    assert all("?film" in pattern.text for pattern in relaxed.match.query.patterns)


def test_type_and_direction_of_edges_can_be_ignored(films: KnowledgeBase) -> None:
    assert match(films.graph, asked(films, "nolan starring ?film")).count("film") == 0
    untyped = asked(films, "nolan starring ?film", enforce_relation=False)
    assert ids(films, match(films.graph, untyped), "film") == ["inception", "memento"]
    assert match(films.graph, asked(films, "?film directed nolan")).count("film") == 0
    either = asked(films, "?film directed nolan", enforce_direction=False)
    assert ids(films, match(films.graph, either), "film") == ["inception", "memento"]


def test_an_unknown_relation_allows_any_with_a_warning(films: KnowledgeBase) -> None:
    query = asked(films, "nolan directd ?film")
    assert ids(films, match(films.graph, query), "film") == ["inception", "memento"]
    (warning,) = query.warnings
    assert "'directd'" in warning
    assert "'directed'" in warning  # what may be meant


def test_patterns_that_say_nothing_are_dropped_with_a_reason(films: KnowledgeBase) -> None:
    query = asked(films, "?x spouse_of ?x; nolan directed inception; nobody directed ?film; nolan directed ?film")
    assert [pattern.text for pattern in query.patterns] == ["nolan directed ?film"]
    reasons = [dropped.reason for dropped in query.dropped]
    assert "both sides" in reasons[0]
    assert "no variable" in reasons[1]
    assert "'nobody'" in reasons[2]


def test_a_cycle_ends_with_a_superset_and_the_join_makes_it_exact(tmp_path: Path) -> None:
    # Two triangles of edges that no node closes: each edge has a continuation, no three of them meet.
    rows = [(f"{a}{i}", r, f"{b}{1 - i if r == 'q' else i}") for i in (0, 1) for a, r, b in ("apb", "bpc", "cqa")]
    base = build(raw_graph(rows), tmp_path / "kb", encoder=None)
    query = asked(base, "?a p ?b; ?b p ?c; ?c q ?a")
    loose = match(base.graph, query)
    assert not loose.exact
    assert loose.count("a") == 2
    joined = match(base.graph, query, exact=True)
    assert joined.exact
    assert joined.count("a") == 0
    assert joined.emptied_by is not None


def test_a_join_that_needs_more_than_its_budget_leaves_the_superset(films: KnowledgeBase) -> None:
    query = asked(films, "?film starring ?a; ?film starring ?b; ?a spouse_of ?b")
    loose = match(films.graph, query)
    kept = match(films.graph, query, exact=True, budget=0)
    assert not kept.exact
    assert domains(kept) == domains(loose)
    assert ids(films, match(films.graph, query, exact=True), "film") == ["inception"]


# --- names and types -----------------------------------------------------------------------------
def test_homonyms_stay_together_until_a_pattern_parts_them(people: KnowledgeBase) -> None:
    query = asked(people, "'Michael Jordan' * ?what")
    (both_jordans,) = query.given.values()
    assert len(both_jordans) == 2
    found = match(people.graph, asked(people, "'Michael Jordan' plays_for ?team; 'Michael Jordan' born_in ?city"))
    assert ids(people, found, "team") == ["bulls"]
    assert [people.graph.node_id(int(n)) for n in found.domains["'Michael Jordan'"]] == ["jordan_player"]  # type: ignore[union-attr]


def test_names_are_found_by_alias_and_misspelt(people: KnowledgeBase) -> None:
    for name in ("Bernhard Levi", "Bernhard Haiden", "Bernard Haiden", "heiden"):
        assert ids(people, match(people.graph, asked(people, f"'{name}' born_in ?city")), "city") == ["frankfurt"]
    strict = Constants(people.graph, people.linker, cutoff=0.99)
    dropped = bind(people.graph, parse_patterns("'Bernhard Haiden' born_in ?city"), strict).dropped
    assert "Bernhard Haiden" in dropped[0].reason


def test_a_constant_is_looked_up_once_over_all_nodes_of_its_type(people: KnowledgeBase) -> None:
    asked_for = []

    class Counting:
        def candidates(self, text: str, question: str | None = None, limit: int = 10) -> object:
            asked_for.append(text)
            return people.linker.candidates(text, question, limit)

    constants = Constants(people.graph, Counting())  # type: ignore[arg-type]
    query = bind(
        people.graph, parse_patterns("'Paris':City * ?a; 'Paris':City country ?b; 'Paris':Person * ?c"), constants
    )
    assert asked_for == ["Paris", "Paris"]  # as a city and as a person
    assert len(query.given["'Paris':City"]) == 2
    assert "of type 'Person'" in query.dropped[0].reason


def test_types_restrict_variables_and_an_unknown_one_does_not(people: KnowledgeBase) -> None:
    every = match(people.graph, asked(people, "?x born_in ?place"))
    cities = match(people.graph, asked(people, "?x born_in ?place:City"))
    assert set(ids(people, cities, "place")) < set(ids(people, every, "place"))
    assert "gottorp" not in ids(people, cities, "place")
    assert "anna" not in ids(people, cities, "x")  # nor who was born elsewhere
    unknown = asked(people, "?x born_in ?place:Planet")
    assert "'Planet'" in unknown.warnings[0]
    assert domains(match(people.graph, unknown)) == domains(every)


def test_relations_are_known_by_label_alias_and_any_spelling(people: KnowledgeBase) -> None:
    for relation in ("born_in", "'born in'", "birthplace", "BornIn"):
        query = asked(people, f"obama {relation} ?place")
        assert query.warnings == ()
        assert ids(people, match(people.graph, query), "place") == ["honolulu"]


# --- any store -----------------------------------------------------------------------------------
def test_patterns_work_on_a_store_that_cannot_list_its_nodes() -> None:
    store = pyoxigraph.Store()
    turtle = (
        "@prefix : <http://e/> . :n :directed :i, :m . :i :starring :d . :i a :Film . :m a :Short . :c :directed :t ."
    )
    store.load(turtle.encode(), pyoxigraph.RdfFormat.TURTLE)
    graph = SparqlGraph(StoreClient(store))
    film, actor = Variable("film", "http://e/Film"), Variable("actor")
    constants = Constants(graph, None)
    patterns = [Pattern("http://e/n", "http://e/directed", film), Pattern(film, "http://e/starring", actor)]
    found = match(graph, bind(graph, patterns, constants))
    assert [graph.node_id(int(n)) for n in found.domains["actor"]] == ["http://e/d"]  # type: ignore[union-attr]
    free = match(graph, bind(graph, [Pattern(film, "http://e/starring", actor)], constants))
    assert not free.exact
    assert free.nodes("actor") is None


def test_a_name_may_stand_for_an_end_of_a_pattern(films: KnowledgeBase) -> None:
    pattern = Pattern(Name("nolan"), "directed", Variable("film"))
    query = bind(films.graph, [pattern], Constants(films.graph, films.linker))
    assert ids(films, match(films.graph, query), "film") == ["inception", "memento"]


# --- superlatives --------------------------------------------------------------------------------
RELEASES = """\
inception\treleased\t2010-07-16
memento\treleased\t2000-09-05
alien\treleased\t1979
gladiator\treleased\t2000-09-05
legend\treleased\tlong ago
inception\tminutes\t148
"""


@pytest.mark.parametrize(
    ("names", "relation", "last"),
    [
        (("inception", "memento", "gladiator"), "released", "inception"),
        (("memento", "gladiator"), "released", None),  # both
        (("inception", "alien"), "released", None),  # 1979 is a number
        (("inception", "memento", "legend"), "released", None),  # "long ago" is neither
        (("memento",), "minutes", None),
    ],
)
def test_a_superlative_is_one_thing_of_which_all_others_are_less(
    tmp_path: Path, names: tuple[str, ...], relation: str, last: str | None
) -> None:
    graph = built(tmp_path, RELEASES).graph
    number = graph.find_relation(relation)
    assert number is not None
    found = extreme(graph, np.array([graph.find(name) for name in names]), number, greatest=True)
    assert found == (None if last is None else graph.find(last))
