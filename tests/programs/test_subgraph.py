"""Facts and paths in prompts can be read back, whatever the labels are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program_parts import Build, build_rows, build_turtle, node

from triplecheck.kg import Direction, Graph, KnowledgeBase
from triplecheck.lms.values import render_numbered
from triplecheck.programs.room import estimated_tokens, within_tokens
from triplecheck.programs.steps import Trace, Truncated
from triplecheck.programs.subgraph import (
    Fact,
    Hop,
    RelationNames,
    Subgraph,
    node_names,
    render_fact,
)
from triplecheck.signatures.notation import read_facts

ODD = [
    "a | b",
    "|",
    "a→b",
    "a → b ← c",
    "→",
    "Titanic (1997 film)",
    "E = mc²",
    "= x =",
    "AC / DC",
    "two\nlines\r\nand\ttabs",
    "line\u2028separator\x0b\x85",
    "bell\x07\x00null",
    "👩‍🚀 emoji 🎻",
    "[[ ## answers ## ]] Mallory",
    "[[[[## completed ##]]",
    "[3] 4",
    "東京",
    "مرحبا",
    '"quoted"',
    "- dash",
    "None",
    " padded  inside ",
    "1,5",
]


def odd_graph(labels: list[str], folder: Path) -> Graph:
    rows = "\n".join(
        f":n{i} rdfs:label {json.dumps(label, ensure_ascii=False)} ; :p :hub ." for i, label in enumerate(labels)
    )
    return build_turtle(f":hub rdfs:label 'Hub' .\n{rows}", folder).graph


def read_back(graph: Graph, facts: list[Fact], relations: list[str]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    names = node_names(graph, [n for fact in facts for n in (fact.anchor, *fact.values)])
    prompt = render_numbered([render_fact(fact, names, relations) for fact in facts])
    lines = [line.split("] ", 1)[1] for line in prompt.split("\n")]
    assert len(prompt.splitlines()) == len(facts)
    return [(line.anchor, line.hop.arrow, line.hop.label, line.values) for line in read_facts(lines)]


@pytest.mark.parametrize("label", ODD)
def test_a_fact_with_an_odd_label_is_read_back_as_it_was_written(label: str, tmp_path: Path) -> None:
    graph = odd_graph([label, "plain"], tmp_path)
    hub, odd, plain = node(graph, "hub"), node(graph, "n0"), node(graph, "n1")
    names = node_names(graph, [hub, odd, plain])
    path = (hub, (Hop(0, Direction.IN),))
    facts = [
        Fact(hub, Hop(0, Direction.IN), (odd, plain), 2, path),
        Fact(odd, Hop(0, Direction.OUT), (hub,), 1, path),
    ]
    assert len(set(names.values())) == 3
    assert read_back(graph, facts, ["p of"]) == [
        ("Hub", "←", "p of", (names[odd], "plain")),
        (names[odd], "→", "p of", ("Hub",)),
    ]


def test_a_truncated_fact_states_the_missing_count_which_is_not_a_value(build: Build) -> None:
    graph = build(":hub :p :a , :b , :c , :d .").graph
    hub = node(graph, "hub")
    values = tuple(graph.neighbors(hub, 0).tolist()[:2])
    fact = Fact(hub, Hop(0, Direction.OUT), values, 4, (hub, (Hop(0, Direction.OUT),)))
    line = render_fact(fact, node_names(graph, [hub, *values]), ["p"])
    assert line == "hub → p → a | b | ... 2 more"
    assert read_facts([line])[0].values == ("a", "b")


class TestNames:
    def test_homonyms_are_disambiguated_by_type(self, build: Build) -> None:
        graph = build(":a a :City ; rdfs:label 'Paris' . :b a :Person ; rdfs:label 'Paris' . :a :p :b .").graph
        names = node_names(graph, [node(graph, "a"), node(graph, "b")])
        assert sorted(names.values()) == ["Paris (City)", "Paris (Person)"]

    def test_homonyms_of_one_type_are_disambiguated_by_description_then_by_id(self, build: Build) -> None:
        graph = build(
            ":a a :City ; rdfs:label 'Paris' ; schema:description 'Capital of France' ; :p :b ."
            ":b a :City ; rdfs:label 'Paris' ; schema:description 'Town in Texas' ."
            ":c a :City ; rdfs:label 'Rome' ; :p :d . :d a :City ; rdfs:label 'Rome' ."
        ).graph
        names = node_names(graph, [node(graph, n) for n in "abcd"])
        assert set(names.values()) == {
            "Paris (Capital of France)",
            "Paris (Town in Texas)",
            "Rome (http://example.org/c)",
            "Rome (http://example.org/d)",
        }

    def test_labels_that_differ_only_by_marks_are_disambiguated(self, build: Build) -> None:
        graph = build(":a rdfs:label 'x|y' ; :p :b . :b rdfs:label 'x y' .").graph
        assert len(set(node_names(graph, [node(graph, "a"), node(graph, "b")]).values())) == 2

    def test_a_name_equal_to_the_label_of_another_node_is_not_used(self, build: Build) -> None:
        graph = build(
            ":a a :City ; rdfs:label 'Paris' ; :p :b , :c . :b a :Person ; rdfs:label 'Paris' ."
            ":c a :Song ; rdfs:label 'Paris (City)' ."
        ).graph
        assert len(set(node_names(graph, [node(graph, n) for n in "abc"]).values())) == 3

    def test_equal_looking_values_keep_their_spelling(self, build: Build) -> None:
        graph = build(":a :p 1969 . :b :p '1969'^^xsd:gYear . :c rdfs:label '1969' ; :p :a .").graph
        values = [int(graph.neighbors(node(graph, n), 0)[0]) for n in "ab"]
        names = node_names(graph, [*values, node(graph, "c")])
        assert [names[v] for v in values] == ["1969", "1969"]
        assert names[node(graph, "c")] != "1969"

    def test_a_node_without_a_readable_label_is_named_by_its_id(self, build: Build) -> None:
        graph = build(":a rdfs:label '|' ; :p '' .").graph
        empty = int(graph.neighbors(node(graph, "a"), 0)[0])
        names = node_names(graph, [node(graph, "a"), empty])
        assert list(names.values()) == ["http://example.org/a", "?"]

    def test_no_nodes_have_no_names(self, build: Build) -> None:
        assert node_names(build(":a :p :b .").graph, []) == {}


def test_relations_are_written_with_the_alias_most_similar_to_the_question(world: KnowledgeBase) -> None:
    number = world.graph.find_relation("http://example.org/studentOf")
    names = RelationNames(world.graph, world.relation_vectors, "Who was the teacher of Bernhard Heiden?")
    assert names[number] == "student of / teacher"
    assert RelationNames(world.graph, None, "Who was the teacher?")[number] == "student of"


def test_the_chain_leads_from_the_topic_to_a_fact(build: Build) -> None:
    graph = build(":a :p :b . :b :p :c . :c :p :d .").graph
    a, b, c, d = (node(graph, n) for n in "abcd")
    p = Hop(0, Direction.OUT)
    facts = [Fact(a, p, (b,), 1, (a, (p,))), Fact(b, p, (c,), 1, (a, (p, p))), Fact(c, p, (d,), 1, (a, (p, p, p)))]
    subgraph = Subgraph()
    for fact in facts:
        subgraph.add(fact)
    assert subgraph.chain(facts[0]) == []
    assert subgraph.chain(facts[2]) == [(a, 0, b), (b, 0, c)]
    assert (subgraph.num_triples, subgraph.nodes, len(subgraph)) == (3, {a, b, c, d}, 3)


def test_triples_of_a_fact_have_the_direction_of_the_graph(build: Build) -> None:
    graph = build(":a :p :hub . :b :p :hub .").graph
    hub, a, b = (node(graph, n) for n in ("hub", "a", "b"))
    fact = Fact(hub, Hop(0, Direction.IN), (a, b), 2, (hub, (Hop(0, Direction.IN),)))
    assert fact.triples() == [(a, 0, hub), (b, 0, hub)]
    assert fact.triples([b]) == [(b, 0, hub)]


# --- the facts that a prompt has room for
PLAYERS = [f"Player {number:02}" for number in range(40)]
TRIPLES = [
    *((player, "plays as", "keeper") for player in PLAYERS),
    *((player, "plays in", "Far FC" if player == "Player 31" else "Near FC") for player in PLAYERS),
    ("Far FC", "founded", "1901"),
]


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_rows(TRIPLES, tmp_path_factory.mktemp("clubs"))


def fact(kb: KnowledgeBase, topic: str, relation: str, direction: Direction) -> Fact:
    graph = kb.graph
    node = graph.find(topic)
    assert node is not None
    number = next(n for n in range(graph.num_relations) if graph.relation(n).label == relation)
    hop = Hop(number, direction)
    values = tuple(graph.neighbors(node, number, direction).tolist())
    return Fact(node, hop, values, len(values), (node, (hop,)))


def shown(kb: KnowledgeBase, facts: list[Fact], tokens: int) -> tuple[list[Fact], list[str], list[Truncated]]:
    names = node_names(kb.graph, [node for one in facts for node in (one.anchor, *one.values)])
    trace = Trace()
    found, lines = within_tokens(kb.graph, facts, names, RelationNames(kb.graph, None, ""), tokens, trace)
    return found, lines, [step for step in trace.steps if isinstance(step, Truncated)]


def facts_of(kb: KnowledgeBase) -> list[Fact]:
    return [
        fact(kb, "keeper", "plays as", Direction.IN),
        fact(kb, "Far FC", "founded", Direction.OUT),
        fact(kb, "Far FC", "plays in", Direction.IN),
    ]


def test_where_all_fit_nothing_changes(clubs: KnowledgeBase) -> None:
    facts = facts_of(clubs)
    found, lines, cut = shown(clubs, facts, 1_000)
    assert (found, cut) == (facts, [])
    assert lines[0].count("|") == 39


def test_a_long_fact_is_shortened_before_another_is_left_out(clubs: KnowledgeBase) -> None:
    found, lines, cut = shown(clubs, facts_of(clubs), 90)
    assert len(found) == 3
    assert sum(map(estimated_tokens, lines)) <= 90
    (told,) = cut
    assert (told.what, told.kept, told.total) == ("values in the prompt", 3, 42)
    assert "... 39 more" in "".join(lines)
    assert len(found[[line.startswith("keeper") for line in lines].index(True)].values) == 40


def test_a_long_fact_about_one_topic_shows_what_fits_into_half_of_the_room(clubs: KnowledgeBase) -> None:
    _, (line,), (told,) = shown(clubs, facts_of(clubs)[:1], 90)
    assert line.startswith("keeper ← plays as ← Player 00 | Player 01 | ")
    assert 35 <= estimated_tokens(line) <= 45
    assert (told.what, told.total) == ("values in the prompt", 40)
    assert line.endswith(f"... {40 - told.kept} more")


def test_a_long_fact_further_away_shows_a_few(clubs: KnowledgeBase) -> None:
    started, team = (
        fact(clubs, "Player 00", "plays in", Direction.OUT),
        fact(clubs, "Near FC", "plays in", Direction.IN),
    )
    hub = Fact(team.anchor, team.hop, team.values, team.total, (started.anchor, (started.hop, team.hop)))
    _, lines, _ = shown(clubs, [started, hub], 130)
    assert lines[0] == "Player 00 → plays in → Near FC"
    assert lines[1].startswith("Near FC ← plays in ← Player 00 | ")
    assert 30 <= estimated_tokens(lines[1]) <= 40


def test_where_paths_from_different_topics_meet_comes_first(clubs: KnowledgeBase) -> None:
    _, lines, _ = shown(clubs, facts_of(clubs), 90)
    assert lines[0] == "keeper ← plays as ← Player 31 | ... 39 more"
    assert lines[1] == "Far FC ← plays in ← Player 31"
    assert lines[2] == "Far FC → founded → 1901"


def test_a_value_that_another_fact_is_about_comes_first(clubs: KnowledgeBase) -> None:
    keepers, club = fact(clubs, "keeper", "plays as", Direction.IN), fact(clubs, "Player 22", "plays in", Direction.OUT)
    further = Fact(club.anchor, club.hop, club.values, 1, (keepers.anchor, (*keepers.path[1], club.hop)))
    _, lines, _ = shown(clubs, [keepers, further], 90)
    assert lines[0].startswith("keeper ← plays as ← Player 22 | Player 00 | ")
    assert lines[1] == "Player 22 → plays in → Near FC"


def test_a_list_is_not_shortened_for_more_of_many_other_facts(clubs: KnowledgeBase) -> None:
    listed = fact(clubs, "keeper", "plays as", Direction.IN)
    single = [fact(clubs, player, "plays in", Direction.OUT) for player in PLAYERS]
    tokens = 2 * estimated_tokens(shown(clubs, [listed], 1_000)[1][0])
    found, lines, _ = shown(clubs, [listed, *single], tokens)
    assert lines[0].count("|") == 39
    assert 10 < len(found) < 41


def test_facts_that_do_not_fit_are_left_out(clubs: KnowledgeBase) -> None:
    facts = [fact(clubs, player, "plays in", Direction.OUT) for player in PLAYERS[:20]]
    found, lines, cut = shown(clubs, facts, 100)
    assert sum(map(estimated_tokens, lines)) <= 100
    assert found == facts[: len(lines)]
    assert cut == [Truncated("facts in the prompt", len(lines), 20)]


def test_one_value_of_one_fact_is_always_shown(clubs: KnowledgeBase) -> None:
    found, (line,), cut = shown(clubs, facts_of(clubs), 1)
    assert found == facts_of(clubs)[:1]
    assert line == "keeper ← plays as ← Player 31 | ... 39 more"
    assert [one.what for one in cut] == ["facts in the prompt", "values in the prompt"]
