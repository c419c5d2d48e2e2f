"""Gold replies computed from the graph: gold paths, and programs run with gold replies."""

from __future__ import annotations

from pathlib import Path

import pytest
from optimize_parts import world_question as question
from program_parts import EX, kerag, node

from triplecheck.evals import Question
from triplecheck.kg import Direction, Graph, KnowledgeBase
from triplecheck.optimize.traces import TraceManifest, collect
from triplecheck.optimize.traces.gold_paths import GoldPath, found_paths, given_paths, gold_row
from triplecheck.programs.subgraph import Hop


def hop(graph: Graph, relation: str, way: str = "out") -> Hop:
    number = graph.find_relation(EX + relation)
    assert number is not None
    return Hop(number, Direction[way.upper()])


def gold(world: KnowledgeBase, out: Path, *questions: Question, hops: int = 2) -> TraceManifest:
    return collect(kerag(world, hops=hops), questions, out, passes=["gold"])


def kept(manifest: TraceManifest) -> tuple[int, dict[str, int]]:
    (about,) = manifest.passes.values()
    return about["kept"], about["rejected"]


# --- paths ---------------------------------------------------------------------------------------
def test_the_shortest_path_that_leads_to_the_answers_alone_is_found(world: KnowledgeBase) -> None:
    graph = world.graph
    start, end = node(graph, "heiden"), node(graph, "sekles")
    (path,) = found_paths(graph, [{start}], [{end}], 2)
    assert path == GoldPath(start, (hop(graph, "studentOf"), hop(graph, "studentOf")))


def test_a_path_that_leads_to_more_than_the_answers_proves_nothing(world: KnowledgeBase) -> None:
    graph = world.graph
    assert found_paths(graph, [{node(graph, "hindemith")}], [{node(graph, "viola")}], 1) == ()


def test_two_topics_are_two_conditions(world: KnowledgeBase) -> None:
    graph = world.graph
    topics = [{node(graph, "frankfurt")}, {node(graph, "german")}]
    found = found_paths(graph, topics, [{node(graph, "sekles")}], 1)
    assert {path.hops for path in found} == {(hop(graph, "bornIn", "in"),), (hop(graph, "nationality", "in"),)}


def test_paths_out_of_reach_are_not_found(world: KnowledgeBase) -> None:
    graph = world.graph
    assert found_paths(graph, [{node(graph, "heiden")}], [{node(graph, "sekles")}], 1) == ()


def test_a_path_is_written_so_that_it_is_read_back(world: KnowledgeBase) -> None:
    graph = world.graph
    path = GoldPath(node(graph, "german"), (hop(graph, "nationality", "in"), hop(graph, "bornIn")))
    assert given_paths(graph, {"gold_paths": [gold_row(graph, path)]}) == (path,)


@pytest.mark.parametrize("written", [True, ["nationality"], [{"topic": "nobody", "hops": [["x", "out"]]}], [{}]])
def test_paths_of_another_form_or_graph_count_as_none(world: KnowledgeBase, written: object) -> None:
    assert given_paths(world.graph, {"gold_paths": written}) == ()


# --- what a program does with right replies -------------------------------------------------------
def test_a_question_without_a_path_is_counted_separately(world: KnowledgeBase, tmp_path: Path) -> None:
    far = question("Who taught Silent Hermit?", ["hermit"], ["sekles"])
    assert kept(gold(world, tmp_path / "out", far)) == (0, {"no_path": 1})


def test_what_the_bounds_of_a_program_keep_from_an_answer_is_rejected(world: KnowledgeBase, tmp_path: Path) -> None:
    path = [[("studentOf", "out"), ("studentOf", "out")]]
    deep = question("Who taught the teacher of Bernhard Heiden?", ["heiden"], ["sekles"], path)
    count, why = kept(gold(world, tmp_path / "out", deep, hops=1))
    assert (count, sum(why.values())) == (0, 1)


def test_another_set_of_questions_is_another_pass(world: KnowledgeBase, tmp_path: Path) -> None:
    one = question("Who taught Bernhard Heiden?", ["heiden"], ["hindemith"])
    two = question("What does Paul Hindemith play?", ["hindemith"], ["viola", "piano"])
    first = gold(world, tmp_path / "out", one)
    both = gold(world, tmp_path / "out", one, two)
    assert kept(both)[0] == 2
    assert both.rows > first.rows
