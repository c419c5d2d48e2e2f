"""The facts that a prompt has room for, as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triplecheck.kg import Graph
from triplecheck.programs.steps import Trace, Truncated
from triplecheck.programs.subgraph import Fact, RelationTexts, render_fact

_CHARACTERS_PER_TOKEN = 4
_FURTHER = 40
"""Estimated tokens of a long fact beyond the first hop: what has so many values there is a hub, and these distract."""


def within_tokens(
    graph: Graph, facts: Sequence[Fact], names: dict[int, str], relations: RelationTexts, tokens: int, trace: Trace
) -> tuple[list[Fact], list[str]]:
    """The facts that a prompt has room for, and their lines (`render_fact`); at least one.

    If not all fit, the facts come first where paths from different topics meet. A fact that takes more than half of the
    room shows only the values where paths meet. If it has none, it shows first those that other facts are about: at the
    first hop as many as fit into half of the room, later a few. It keeps all its values; only its line is shorter.

    Args:
        graph: the graph of the facts.
        facts: best first.
        names: the text of each node.
        relations: the text of each relation.
        tokens: estimated tokens of all lines.
        trace: records how many facts and values are left out.
    """

    def line(fact: Fact) -> str:
        return render_fact(fact, names, relations, graph)

    lines = [line(fact) for fact in facts]
    sizes = [estimated_tokens(text) for text in lines]
    if sum(sizes) <= tokens:
        return list(facts), lines
    meeting, anchors = _meeting(facts), {fact.anchor for fact in facts}
    order = sorted(range(len(facts)), key=lambda at: not _meets(facts[at], meeting))
    longest = tokens // 2
    shown: list[int] = []
    written: list[str] = []
    used = hidden = 0
    for at in order:
        fact = facts[at]
        most = longest if len(fact.path[1]) == 1 else min(longest, _FURTHER)
        shortened = _shortened(fact, meeting, anchors, line, most) if sizes[at] > longest else fact
        text = line(shortened)
        used += estimated_tokens(text)
        if used > tokens and written:
            break
        shown.append(at)
        written.append(text)
        hidden += len(fact.values) - len(shortened.values)
    if len(shown) < len(facts):
        trace.add(Truncated("facts in the prompt", len(shown), len(facts)))
    if hidden:
        values = sum(len(facts[at].values) for at in shown)
        trace.add(Truncated("values in the prompt", values - hidden, values))
    return [facts[at] for at in shown], written


def estimated_tokens(line: str) -> int:
    """Estimated tokens of an item of a numbered list, with its number."""
    return len(line) // _CHARACTERS_PER_TOKEN + 4


def _meeting(facts: Sequence[Fact]) -> set[int]:
    """Nodes that paths from several topics lead to. A topic counts as reached from itself."""
    reached: dict[int, set[int]] = {}
    for fact in facts:
        topic = fact.path[0]
        reached.setdefault(topic, {topic}).update(fact.values)
    once: set[int] = set()
    several: set[int] = set()
    for nodes in reached.values():
        several |= once & nodes
        once |= nodes
    return several


def _meets(fact: Fact, meeting: set[int]) -> bool:
    """Whether a fact leads to a node where paths meet, or goes on from one that is no topic."""
    return not meeting.isdisjoint(fact.values) or (fact.anchor in meeting and fact.anchor != fact.path[0])


def _shortened(fact: Fact, meeting: set[int], anchors: set[int], line: Callable[[Fact], str], tokens: int) -> Fact:
    """A fact with as many values as fit into a line, at least one; its `total` stays."""
    values = [value for value in fact.values if value in meeting]
    values = values or sorted(fact.values, key=lambda value: value not in anchors)
    low, high = 1, len(values)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimated_tokens(line(replace(fact, values=tuple(values[:middle])))) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return replace(fact, values=tuple(values[:low]))
