"""The facts that fit into a prompt, as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triplecheck.kg import Graph
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Fact, RelationNames, reached, render_fact

_CHARACTERS_PER_TOKEN = 4
_FURTHER = 40
"""Most estimated tokens of a long fact beyond the first hop. It belongs to a hub. With half of the prompt full of a
hub's names, a model of 1.5B parameters answered from them (two questions of WebQSP)."""


def within_tokens(
    graph: Graph, facts: Sequence[Fact], names: dict[int, str], relations: RelationNames, tokens: int, trace: Trace
) -> tuple[list[Fact], list[str]]:
    """The facts that fit into a prompt, at least one, and their lines (`render_fact`).

    If not all fit, the facts come first where paths from different topics meet. A fact that takes more than half of the
    room shows only the values where paths meet. If it has none, it shows first those that other facts are about: at the
    first hop as many as fit into half of the room, later a few. It keeps all its values; only its line is shorter.
    """

    def line(fact: Fact) -> str:
        return render_fact(fact, names, relations, graph)

    lines = _all_lines(facts, line, tokens)
    if lines is not None:
        return list(facts), lines
    meeting, anchors = _meeting(facts), {fact.anchor for fact in facts}
    longest = tokens // 2
    shown: list[Fact] = []
    written: list[str] = []
    used = hidden = 0
    for fact in sorted(facts, key=lambda fact: not _meets(fact, meeting)):
        shortened, text = fact, line(fact)
        if estimated_tokens(text) > longest:
            most = longest if len(fact.path[1]) == 1 else min(longest, _FURTHER)
            shortened = _shortened(fact, meeting, anchors, line, most)
            text = line(shortened)
        used += estimated_tokens(text)
        if used > tokens and written:
            break
        shown.append(fact)
        written.append(text)
        hidden += len(fact.values) - len(shortened.values)
    trace.note_cut("facts in the prompt", len(shown), len(facts))
    values = sum(len(fact.values) for fact in shown)
    trace.note_cut("values in the prompt", values - hidden, values)
    return shown, written


def _all_lines(facts: Sequence[Fact], line: Callable[[Fact], str], tokens: int) -> list[str] | None:
    """The lines of all facts; None if they do not fit. No more facts are written than it takes to tell."""
    lines: list[str] = []
    used = 0
    for fact in facts:
        lines.append(line(fact))
        used += estimated_tokens(lines[-1])
        if used > tokens:
            return None
    return lines


def estimated_tokens(line: str) -> int:
    """Estimated tokens of an item of a numbered list, with its number."""
    return len(line) // _CHARACTERS_PER_TOKEN + 4


def _meeting(facts: Sequence[Fact]) -> set[int]:
    """Nodes that paths from several topics lead to. A topic counts as reached from itself."""
    once: set[int] = set()
    several: set[int] = set()
    for topic, ends in reached(facts).items():
        nodes = {topic, *ends}
        several |= once & nodes
        once |= nodes
    return several


def _meets(fact: Fact, meeting: set[int]) -> bool:
    """Whether a fact leads to a node where paths meet, or goes on from one that is no topic."""
    return not meeting.isdisjoint(fact.values) or (fact.anchor in meeting and fact.anchor != fact.path[0])


def _shortened(fact: Fact, meeting: set[int], anchors: set[int], line: Callable[[Fact], str], tokens: int) -> Fact:
    """The fact with fewer values: as many as fit into a line of `tokens` estimated tokens, but at least one."""
    values = [value for value in fact.values if value in meeting]
    values = values or sorted(fact.values, key=lambda value: value not in anchors)
    low, high = 1, len(values)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimated_tokens(line(replace(fact, values=tuple(values[:middle])))) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return replace(fact, values=tuple(values[:low]))
