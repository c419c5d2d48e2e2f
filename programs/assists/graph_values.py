"""`graph_values`: a value is given as the graph writes it, which may be more precise than a text."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Graph
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace


def graph_value(assists: Assists, graph: Graph, answer: str, nodes: Sequence[int], trace: Trace) -> str:
    """The answer in the words of the graph if its first node is a date, a number or a text; else as it was written."""
    if "graph_values" not in assists or not nodes or graph.literal(nodes[0]) is None:
        return answer
    assists.note(trace, "graph_values", "answer", [answer], [graph.label(nodes[0])])
    return graph.label(nodes[0])
