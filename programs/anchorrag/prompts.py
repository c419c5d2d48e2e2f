"""What AnchorRAG's supervisor shows to the model: the facts and paths for which a prompt has room."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from triplecheck.kg import Graph
from triplecheck.programs.anchorrag.agent import Briefing, Retriever
from triplecheck.programs.room import estimated_tokens, within_tokens
from triplecheck.programs.steps import Trace, Truncated
from triplecheck.programs.subgraph import Fact, Path, names_of_facts

Owned = tuple[Retriever, Path, int]
"""An agent, a path that it may follow, and the number of edges there."""

_VALUES_SHOWN = 8  # of a fact in a prompt that filters, in addition to those that other facts are about


def fact_lines(
    graph: Graph,
    briefing: Briefing,
    groups: Sequence[Sequence[Fact]],
    tokens: int,
    trace: Trace,
    *,
    whole: bool = False,
) -> tuple[list[Fact], list[str]]:
    """The facts that a prompt shows and their lines.

    Args:
        groups: the facts of each agent; each agent has an equal share of the prompt.
        whole: show all values of a fact; else some (`shortened`).
    """
    groups = [group for group in groups if group]
    all_facts = [fact for group in groups for fact in group]
    names = names_of_facts(graph, all_facts, briefing.anchors)
    facts: list[Fact] = []
    lines: list[str] = []
    offers = [group if whole else shortened(group) for group in groups]
    kept, total = (sum(len(fact.values) for group in some for fact in group) for some in (offers, groups))
    if kept < total:
        trace.add(Truncated("values offered to a prompt", kept, total))
    for group, offered in zip(groups, offers, strict=True):
        shown, written = within_tokens(graph, offered, names, briefing.relations, tokens // len(groups), trace)
        full = {id(short): fact for short, fact in zip(offered, group, strict=True)}
        facts += [full[id(short)] for short in shown]
        lines += written
    return facts, lines


def nearest_paths(briefing: Briefing, paths: Sequence[Owned], tokens: int, trace: Trace) -> list[Owned]:
    """The paths that a prompt has room for: those whose last relation is most similar to the question."""
    order = list(range(len(paths)))
    if briefing.likeness is not None:
        likeness = briefing.likeness
        order.sort(key=lambda i: -float(likeness[paths[i][1].hops[-1].relation]))
    used = list(accumulate(estimated_tokens(paths[i][0].offer(*paths[i][1:])) for i in order))
    shown = max(1, bisect_right(used, tokens))
    if shown < len(paths):
        trace.add(Truncated("paths in the prompt", shown, len(paths)))
    return [paths[i] for i in sorted(order[:shown])]


def shortened(facts: Sequence[Fact]) -> list[Fact]:
    """Facts with some of their values; values that other facts are about come first."""
    anchors = {fact.anchor for fact in facts}
    short = []
    for fact in facts:
        about = [value for value in fact.values if value in anchors]
        others = [value for value in fact.values if value not in anchors]
        values = (*about, *others[: max(0, _VALUES_SHOWN - len(about))])
        short.append(replace(fact, values=values))
    return short
