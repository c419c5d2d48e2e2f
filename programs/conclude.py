"""From what a model concluded to a checked outcome: every answer is found in the facts or computed from them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from triplecheck.kg import Graph, normalize
from triplecheck.kg.types import Edge
from triplecheck.kg.values import quantity, value_of
from triplecheck.programs.aggregate import NotComputableError, aggregate
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Computed, Stopped, Trace
from triplecheck.programs.subgraph import Fact, Subgraph

_YES_NO = ("yes", "no")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$)|\d{3},)")


def conclude(
    graph: Graph,
    subgraph: Subgraph,
    cited: Sequence[Fact],
    operation: str,
    answers: Sequence[str],
    names: dict[int, str],
    trace: Trace,
    *,
    grounded_only: bool,
) -> Outcome:
    """Check and complete a model's conclusion.

    Args:
        graph: what it is checked against.
        subgraph: everything that was retrieved.
        cited: the facts that the model named as its proof.
        operation: what to compute over them, `none` for nothing.
        answers: the answers as the model wrote them.
        names: the text by which each node stood in the prompt.
        trace: told what was computed and checked.
        grounded_only: abstain rather than give an answer that no fact supports.
    """
    if operation != "none":
        try:
            if any(subgraph.incomplete(fact) for fact in cited):
                raise NotComputableError("a bound cut off entities that it would have to run over")
            result = aggregate(graph, operation, cited)
        except NotComputableError as error:
            trace.add(Checked(f"operation {operation}", False, str(error)))
        else:
            trace.add(Computed(operation, sum(len(f.values) for f in cited), result.text))
            evidence = _with_chains(subgraph, cited, result.triples)
            return Outcome(result.text, result.nodes, evidence, grounded=True)
    written = [a.strip() for a in answers if a.strip()]
    if not written:
        trace.add(Stopped("not_in_facts", "the model found no answer in the retrieved facts"))
        return Outcome(abstained="not_in_facts")
    # A value may be called so (a band is): then the answer is that value.
    is_value = any(written[0] == names[value] for fact in cited for value in fact.values)
    if cited and len(written) == 1 and normalize(written[0]) in _YES_NO and not is_value:
        evidence = _with_chains(subgraph, cited, [t for fact in cited for t in fact.triples()])
        trace.add(Checked("answer", True, "a yes or no that rests on the cited facts"))
        return Outcome(normalize(written[0]), (), evidence, grounded=True)
    return _look_up(graph, subgraph, cited, written, names, trace, grounded_only=grounded_only)


def _look_up(
    graph: Graph,
    subgraph: Subgraph,
    cited: Sequence[Fact],
    written: Sequence[str],
    names: dict[int, str],
    trace: Trace,
    *,
    grounded_only: bool,
) -> Outcome:
    nodes: list[int] = []
    evidence: list[Edge] = []
    unfounded = []
    in_cited = _exact(graph, cited, names)
    in_all = functools.cache(lambda: _exact(graph, subgraph.facts, names))  # seldom needed
    for text in written:
        found = (
            in_cited.get(text)
            or _alike(graph, text, cited, names)
            or in_all().get(text)
            or _alike(graph, text, subgraph.facts, names)
        )
        if found is None:
            unfounded.append(text)
        elif found[0] not in nodes:
            node, fact = found
            nodes.append(node)
            supporting = fact.triples([node] if node in fact.values else None)
            evidence += _with_chains(subgraph, [fact], supporting)
    if unfounded:
        trace.add(Checked("answer", False, f"in no retrieved fact: {', '.join(unfounded)}"))
    if nodes:
        trace.add(Checked("answer", True, f"{len(nodes)} answer(s) found in the facts"))
        # What the model cited besides stays in the proof: it may be how it got there.
        besides = [t for fact in cited if len(fact.values) == 1 for t in fact.triples()]
        return Outcome(", ".join(graph.labels(nodes)), tuple(nodes), tuple(dict.fromkeys([*evidence, *besides])), True)
    if grounded_only:
        trace.add(Stopped("not_grounded", "the answer is in no retrieved fact"))
        return Outcome(abstained="not_grounded")
    return Outcome(", ".join(unfounded), grounded=False)


def _exact(graph: Graph, facts: Sequence[Fact], names: dict[int, str]) -> dict[str, tuple[int, Fact]]:
    """By name in the prompt and by label: the node, and the first fact that it stands in, values before anchors."""
    nodes = [(value, fact) for fact in facts for value in fact.values] + [(fact.anchor, fact) for fact in facts]
    found: dict[str, tuple[int, Fact]] = {}
    for (node, fact), label in zip(nodes, graph.labels([node for node, _ in nodes]), strict=True):
        found.setdefault(names[node], (node, fact))
        found.setdefault(label, (node, fact))
    return found


def _alike(graph: Graph, text: str, facts: Sequence[Fact], names: dict[int, str]) -> tuple[int, Fact] | None:
    """The node that an answer names in other letters, and the first fact that it stands in."""
    nodes = [(value, fact) for fact in facts for value in fact.values] + [(fact.anchor, fact) for fact in facts]
    return next(((node, fact) for node, fact in nodes if _is_alike(graph, text, node, names[node])), None)


def _is_alike(graph: Graph, text: str, node: int, name: str) -> bool:
    """Equal but for case, accents and punctuation; a number or a date by its value, since "-5" is not "5"."""
    literal = value_of(graph, node)
    size = quantity(literal)
    if size is not None and size.kind == "number":
        return quantity(replace(literal, lexical=_THOUSANDS.sub("", text))) == size
    if size is not None and text.startswith("-") != literal.lexical.startswith("-"):
        return False  # before Christ or after
    return normalize(text) in (normalize(name), normalize(graph.label(node)))


def _with_chains(subgraph: Subgraph, facts: Sequence[Fact], triples: Sequence[Edge]) -> tuple[Edge, ...]:
    """The triples, led by those that connect them with the topic."""
    chains = [edge for fact in facts for edge in subgraph.chain(fact)]
    return tuple(dict.fromkeys([*chains, *triples]))
