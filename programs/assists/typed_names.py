"""`typed_names`: where a question asks who or where, facts tell which things are persons or places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triplecheck.kg import Graph
from triplecheck.language.question import Question
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.subgraph import Fact, node_names


def names_of_facts(
    assists: Assists, graph: Graph, facts: Iterable[Fact], topics: Mapping[int, str], question: Question
) -> dict[int, str]:
    """The text of each node in a prompt with facts; with its types if the question asks who or where."""
    nodes = [node for fact in facts for node in (fact.anchor, *fact.values)]
    return node_names(
        graph, nodes, typed="typed_names" in assists and question.asked.kind in ("person", "place")
    ) | dict(topics)
