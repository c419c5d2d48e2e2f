"""The facts that a prompt has room for."""

from __future__ import annotations

import pytest
from program_parts import build_rows

from triplecheck.kg import Direction, KnowledgeBase
from triplecheck.programs.room import estimated_tokens, within_tokens
from triplecheck.programs.steps import Trace, Truncated
from triplecheck.programs.subgraph import Fact, Hop, RelationNames, node_names

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
