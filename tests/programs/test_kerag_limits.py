"""Truncation by limits is recorded, and computed results stay exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program_parts import (
    ask,
    build_rows,
    build_turtle,
    conclude_with,
    fields,
    items,
    keep,
    kerag,
    node,
    play,
    steps,
    topics,
)

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAGLimits, Sources, replay
from triplecheck.programs.steps import Assisted, Checked, Expanded, Pruned, Truncated, Wrote

HUB = "\n".join(
    [
        ":hub a :Band ; rdfs:label 'Hub' ; :founded 1960 ; :genre :rock .",
        *(f":m{i} a :Person ; rdfs:label 'Member {i}' ; :memberOf :hub ; :age {i} ." for i in range(10)),
    ]
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_turtle(HUB, tmp_path_factory.mktemp("hub"))


def cut(result: Any) -> list[tuple[str, int, int]]:
    return [(step.what, step.kept, step.total) for step in steps(result, Truncated)]


def run(base: KnowledgeBase, limits: KERAGLimits, *replies: Any, **options: Any) -> tuple[Any, Any]:
    question = "How many are the members of Hub, and how old?"
    return play(kerag(base, limits=limits, **options), question, topics("Hub"), *replies)


def test_values_of_one_entity_are_limited(hub: KnowledgeBase) -> None:
    count = conclude_with(cite=["member of"], operation="count")
    result, engine = run(hub, KERAGLimits(values=3), keep("member of"), count, hops=1)
    assert items(engine.requests[2], "facts") == ["Hub ← member of ← Member 0 | Member 1 | Member 2 | ... 7 more"]
    (expanded,) = steps(result, Expanded)
    assert (expanded.triples, expanded.total) == (3, 10)
    assert (result.answer, result.grounded, len(result.evidence)) == ("10", True, 3)
    assert replay(hub.graph, result.evidence) == []


@pytest.mark.parametrize("limits", [KERAGLimits(values=3), KERAGLimits(frontier=4), KERAGLimits(triples=13)], ids=str)
def test_nothing_is_computed_over_truncated_facts(hub: KnowledgeBase, limits: KERAGLimits) -> None:
    oldest = conclude_with(cite=["age"], operation="max")
    result, _ = run(hub, limits, keep("member of"), keep("age"), oldest)
    assert (result.abstained, result.answer) == (True, "")
    (refused,) = (step for step in steps(result, Checked) if step.what == "operation max")
    assert not refused.passed


def test_followed_entities_are_limited(hub: KnowledgeBase) -> None:
    result, engine = run(hub, KERAGLimits(frontier=4), keep("member of"), keep("age"), conclude_with("3", cite=["age"]))
    assert cut(result) == [("frontier: Hub ← member of → age", 4, 10)]
    assert len(items(engine.requests[3], "facts")) == 5


def test_the_total_number_of_triples_is_limited(hub: KnowledgeBase) -> None:
    result, _ = run(hub, KERAGLimits(triples=12), keep("member of"), keep("age", "member of"), conclude_with("1"))
    told = [(e.path, e.triples, e.total) for e in steps(result, Expanded)]
    assert told[0] == ("Hub ← member of", 10, 10)
    assert sum(triples for _, triples, _ in told) == 12
    assert told[1][1] < told[1][2]
    result, _ = run(hub, KERAGLimits(triples=10), keep("member of"), keep("age"), conclude_with("Member 1"))
    assert cut(result) == [("triples: Hub ← member of → age", 0, 10)]


def test_a_fact_truncated_by_the_total_limit_keeps_its_full_count(hub: KnowledgeBase) -> None:
    count = conclude_with(cite=["member of"], operation="count")
    result, engine = run(hub, KERAGLimits(triples=4), keep("member of"), count, hops=1)
    assert items(engine.requests[2], "facts")[0].endswith("Member 3 | ... 6 more")
    assert result.answer == "10"


def test_prompt_tokens_are_limited(hub: KnowledgeBase) -> None:
    limits = KERAGLimits(tokens=60)
    result, engine = run(hub, limits, keep("member of"), keep("age"), conclude_with("1", cite=["age"]))
    shown = items(engine.requests[3], "facts")
    assert cut(result) == [("facts in the prompt", len(shown), 11), ("values in the prompt", 10, 13)]
    assert 1 <= len(shown) < 11
    # What stands in no prompt is still a retrieved fact, in which an answer is found.
    assert run(hub, limits, keep("member of"), keep("age"), conclude_with("9"))[0].grounded


@pytest.mark.parametrize("ranker", [True, False])
def test_offered_paths_are_those_most_similar_to_the_question(sources: Sources, ranker: bool) -> None:
    program = kerag(sources, assist="ranked_paths" if ranker else "none", limits=KERAGLimits(offered=1), hops=1)
    replies = [topics("Bernhard Heiden"), fields(keep="1"), conclude_with("Paul Hindemith")]
    result, engine = play(program, "Who was the teacher of Bernhard Heiden?", *replies)
    assert items(engine.requests[1], "paths") == ["Bernhard Heiden → student of / teacher (1 × Composer)"]
    assert cut(result) == [("offered paths", 1, 3)]
    assert len(steps(result, Pruned)[0].offered) == 1


@pytest.mark.parametrize(
    ("relations", "shown"), [(("knows", "P57"), ["Ann → knows"]), (("P57", "P58"), ["Ann → P57", "Ann → P58"])]
)
def test_a_relation_without_a_name_is_offered_only_if_none_has_one(
    relations: tuple[str, str], shown: list[str], tmp_path: Path
) -> None:
    base = build_rows([("Ann", relation, f"Bob {relation}") for relation in relations], tmp_path)
    replies = [topics("Ann"), fields(keep="1"), conclude_with(f"Bob {relations[0]}")]
    _, engine = play(kerag(base, hops=1), "Whom does Ann know?", *replies)
    assert sorted(line.split(" (")[0] for line in items(engine.requests[1], "paths")) == shown


def test_offered_paths_are_limited_without_vectors(hub: KnowledgeBase) -> None:
    result, engine = run(hub, KERAGLimits(offered=2), fields(keep="1, 2"), conclude_with("1960"), hops=1)
    assert len(items(engine.requests[1], "paths")) == 2
    assert cut(result) == [("offered paths", 2, 3)]


def test_without_filtering_no_path_is_left_out(hub: KnowledgeBase) -> None:
    result, _ = run(hub, KERAGLimits(offered=1), conclude_with("1960"), hops=1, filtering="none")
    assert cut(result) == []
    assert len(steps(result, Expanded)) == 3


def test_paths_that_the_ranker_prefers_are_followed_with_those_that_a_model_selects(sources: Sources) -> None:
    which, replies = "Who taught Bernhard Heiden?", [topics("Bernhard Heiden"), keep("date of birth")]
    followed = {}
    for suggested in (0, 2):
        program = kerag(sources, assist="-all_topics -plans", limits={"suggested": suggested}, hops=1)
        result, _ = play(program, which, *replies, conclude_with())
        followed[suggested] = steps(result, Pruned)[0].kept
    assert len(followed[0]) == 1 and followed[0] == followed[2][:1]
    assert any("student of" in path for path in followed[2])
    (assisted,) = steps(result, Assisted)
    assert (assisted.name, len(assisted.before), assisted.after) == ("suggested_paths", 1, followed[2])
    nothing, _ = play(program, which, replies[0], fields(keep="none"))
    assert nothing.reason == "no_facts", "a model that selects nothing follows nothing"


def test_a_further_hop_follows_the_first_path_of_the_ranker(sources: Sources) -> None:
    program = kerag(sources, assist="suggested_paths ranked_paths", hops=2)
    replies = [topics("Bernhard Heiden"), keep("→ student of"), keep("← student of"), conclude_with()]
    result, _ = play(program, "Who taught Bernhard Heiden?", *replies)
    second = steps(result, Pruned)[1]
    assert second.kept == [second.offered[1], second.offered[0]]
    assert "← student of" in second.kept[0], "the ranker prefers shorter paths to all of these"


def test_within_the_limits_nothing_is_truncated(hub: KnowledgeBase) -> None:
    for filtering in ("schema", "instances", "none"):
        result = ask(kerag(hub, filtering=filtering), "Which band is Member 3 a member of?")
        assert cut(result) == []
        assert all(step.triples == step.total for step in steps(result, Expanded))


@pytest.fixture(scope="module")
def giant(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A hub with 200,000 neighbours."""
    rows = [(f"Person {i}", "citizen_of", "Utopia") for i in range(200_000)]
    rows += [("Utopia", "capital", "Amaurot"), ("Person 7", "friend_of", "Person 8")]
    return build_rows(rows, tmp_path_factory.mktemp("giant"))


class TestLarge:
    def test_a_question_about_a_hub_is_answered(self, giant: KnowledgeBase) -> None:
        result = ask(kerag(giant), "What is the capital of Utopia?")
        assert (result.answer, result.grounded) == ("Amaurot", True)
        assert sum(step.triples for step in steps(result, Expanded)) <= KERAGLimits().triples

    def test_the_neighbours_of_a_hub_are_counted_exactly(self, giant: KnowledgeBase) -> None:
        replies = [topics("Utopia"), keep("citizen of"), conclude_with(cite=["citizen of"], operation="count")]
        result, _ = play(kerag(giant, hops=1), "How many citizens has Utopia?", *replies)
        assert (result.answer, len(result.evidence)) == ("200000", 200)
        assert steps(result, Expanded)[0].total == 200_000

    @pytest.mark.parametrize("filtering", ["schema", "none"])
    def test_a_path_through_a_hub_is_limited(self, giant: KnowledgeBase, filtering: Any) -> None:
        result = ask(kerag(giant, filtering=filtering, hops=3), "Who is a friend of Person 7?")
        assert result.answer == "Person 8"
        assert sum(step.triples for step in steps(result, Expanded)) <= KERAGLimits().triples
        assert replay(giant.graph, result.evidence) == []


def test_everything_that_was_fetched_is_an_edge_of_the_graph(hub: KnowledgeBase) -> None:
    program = kerag(hub, filtering="none", limits=KERAGLimits(values=4, frontier=3, triples=15))
    result, _ = play(program, "Hub?", topics("Hub"), conclude_with("Member 0"))
    assert replay(hub.graph, result.evidence) == []
    assert node(hub.graph, "hub") in result.retrieved


def test_no_further_hop_is_offered_that_the_ranker_finds_far_too_long(bundled: KnowledgeBase) -> None:
    result = ask(kerag(bundled), "Who directed Alien?")
    assert result.answer == "Ridley Scott"
    last = steps(result, Pruned)[-1]
    assert (last.hop, last.kept, last.by) == (2, [], "ranker")
    assert len([step for step in steps(result, Wrote) if step.signature == "SelectPaths"]) == 1
    longer = ask(kerag(bundled), "What is the nationality of the director of Alien?")
    assert all(step.by == "schema" for step in steps(longer, Pruned))
    unranked = ask(kerag(bundled, assist="-stop_early"), "Who directed Alien?")
    assert all(step.by == "schema" for step in steps(unranked, Pruned))


def test_paths_that_meet_go_no_further_unless_the_ranker_prefers_it(bundled: KnowledgeBase) -> None:
    both = "Which films by Christopher Nolan star Michael Caine?"
    assert {step.hop: step.by for step in steps(ask(kerag(bundled), both), Pruned)} == {1: "schema", 2: "ranker"}
    whole = ask(kerag(bundled, assist="-stop_early -plans"), both)
    assert {step.hop: step.by for step in steps(whole, Pruned)} == {1: "schema", 2: "schema"}
