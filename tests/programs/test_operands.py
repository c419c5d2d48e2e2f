"""The relation whose values are compared for a superlative, on the bundled questions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from triplecheck import kg
from triplecheck.kg import Direction, KnowledgeBase, normalize
from triplecheck.language.question import read_question
from triplecheck.programs.aggregation import aggregate, is_measured
from triplecheck.programs.assists.complete_citations import Operands
from triplecheck.programs.subgraph import Fact, Hop, Subgraph


def test_what_topics_share_may_be_at_the_first_hop(bundled: KnowledgeBase) -> None:
    graph = bundled.graph

    def node(name: str) -> int:
        return bundled.names.nodes(normalize(name))[0].node

    writer, character, novel = map(node, ("Agatha Christie", "Miss Marple", "The Murder at the Vicarage"))
    numbers = {graph.relation(n).id.rsplit("/", 1)[-1]: n for n in range(graph.num_relations)}
    by, has, genre = (numbers[name] for name in ("author", "character", "genre"))

    def fact(anchor: int, hop: Hop, *before: Hop, topic: int | None = None) -> Fact:
        values = tuple(graph.neighbors(anchor, hop.relation, hop.direction).tolist())
        return Fact(anchor, hop, values, len(values), (anchor if topic is None else topic, (*before, hop)))

    wrote, kind = Hop(by, Direction.IN), Hop(genre, Direction.OUT)
    cited = [fact(writer, wrote), fact(character, Hop(has, Direction.IN)), fact(novel, kind, wrote, topic=writer)]
    operands = Operands(graph, Subgraph(cited), read_question("Which of her novels feature Miss Marple?"), None)
    assert operands.of("common", cited, is_written=False) == cited[:2]
    assert aggregate(graph, "common", cited[:2]).nodes == (novel,)


def test_facts_that_lead_back_stand_for_the_things_they_start_from(bundled: KnowledgeBase) -> None:
    graph = bundled.graph
    number = next(n for n in range(graph.num_relations) if graph.relation(n).id.endswith("/author"))
    writer = bundled.names.nodes(normalize("Jane Austen"))[0].node
    wrote, by = Hop(number, Direction.IN), Hop(number, Direction.OUT)
    novels = tuple(graph.neighbors(writer, number, Direction.IN).tolist())
    listed = Fact(writer, wrote, novels, len(novels), (writer, (wrote,)))
    back = [Fact(novel, by, (writer,), 1, (writer, (wrote, by))) for novel in novels]
    question = "Which of her novels was published first?"
    operands = Operands(graph, Subgraph([listed, *back]), read_question(question), bundled.relation_vectors)
    found = operands.of("min", back[:2], is_written=False)
    assert {fact.anchor for fact in found} == set(novels)
    assert {graph.relation(fact.hop.relation).id.rsplit("/", 1)[-1] for fact in found} == {"publicationYear"}


@pytest.mark.parametrize(
    ("question", "includes_topic"),
    [
        ("Which of its neighbours has most people?", False),
        ("Which has most people, Germany or a neighbour of it?", True),
        ("Of Germany and its neighbours, which has most people?", True),
    ],
)
def test_an_extreme_of_related_things_leaves_out_the_topic(
    bundled: KnowledgeBase, question: str, includes_topic: bool
) -> None:
    graph = bundled.graph
    numbers = {graph.relation(n).id.rsplit("/", 1)[-1]: n for n in range(graph.num_relations)}
    borders, people = (Hop(numbers[name], Direction.OUT) for name in ("borders", "population"))
    topic = bundled.names.nodes(normalize("Germany"))[0].node
    near = graph.neighbors(topic, borders.relation, Direction.OUT).tolist()

    def size(node: int, *before: Hop) -> Fact:
        values = tuple(graph.neighbors(node, people.relation, Direction.OUT).tolist())
        return Fact(node, people, values, len(values), (topic, (*before, people)))

    cited = [size(topic), *(size(node, borders) for node in near)]
    operands = Operands(graph, Subgraph(cited), read_question(question), bundled.relation_vectors)
    assert (topic in {fact.anchor for fact in operands.of("max", cited, is_written=False)}) == includes_topic


def superlatives() -> list[dict[str, Any]]:
    parts = Path(kg.__file__).parent.joinpath("bundled").glob("questions_*.jsonl")
    rows = [json.loads(line) for part in sorted(parts) for line in part.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] == "superlative"]


def test_the_relation_that_a_superlative_asks_for_is_the_most_similar_to_it(bundled: KnowledgeBase) -> None:
    numbers = {bundled.graph.relation(n).id.rsplit("/", 1)[-1]: n for n in range(bundled.graph.num_relations)}
    rows, right, several = superlatives(), 0, 0
    for row in rows:
        # ":Alps ... ?answer r:locatedIn :Alps . ?answer r:elevationInMetres ?v"
        head, relation = re.search(r"(\?answer|:\S+) r:(\w+) (?:\?answer|:\S+)", row["sparql"]).groups()  # type: ignore[union-attr]
        asked = numbers[re.search(r"\?answer r:(\w+) \?v", row["sparql"])[1]]  # type: ignore[index]
        hop = Hop(numbers[relation], Direction.IN if head == "?answer" else Direction.OUT)
        topic = bundled.graph.find(row["topic"][0])
        assert topic is not None
        things = bundled.graph.neighbors(topic, hop.relation, hop.direction).tolist()
        listed = Fact(topic, hop, tuple(things), len(things), (topic, (hop,)))
        operands = Operands(bundled.graph, Subgraph([listed]), read_question(row["question"]), bundled.relation_vectors)
        found = operands.of("max", [listed], is_written=False)
        right += {fact.hop.relation for fact in found} == {asked}
        of_things = [
            count.relation
            for count in bundled.graph.relation_counts(things)
            if count.direction is Direction.OUT and count.nodes > 1
        ]
        measured = [
            relation
            for relation in of_things
            if is_measured(
                bundled.graph,
                Fact(topic, hop, tuple(bundled.graph.expand(things, relation).tails.tolist()), 0, listed.path),
            )
        ]
        several += len(measured) > 1
    assert right == len(rows) == 28
    assert several == 16
