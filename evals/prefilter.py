"""Where triplets help and where they mislead: rankings with a prefilter beside those of the search alone.

4StepFocus (section 4) names the danger: a triplet with "green" leaves out all "light green" products. Here
every question is asked both ways, and where the patterns of a question let none of its right answers
through, those at fault are found by leaving out one at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.metrics.trace import Row
from triplecheck.evals.questions import Question
from triplecheck.kg import Candidate, IntArray, KnowledgeBase, normalize
from triplecheck.kg.patterns import BoundPattern, Constants, Query, SchemaNames, bind, match, parse_patterns

DEPTH = 20
"""How far down a ranking a right answer counts: a longer ranking must not have the advantage."""

Effect = Literal["helped", "same", "hurt"]


@dataclass(frozen=True)
class Prefiltered:
    """One question with and without its patterns.

    Attributes:
        id, question: of the data set.
        right: labels of its right answers.
        alone: place of the first right answer by the search alone; None: not among the first `DEPTH`.
        place: the same with the patterns.
        left: nodes that satisfied the patterns; None where they were no filter, since none did or none was usable.
        at_fault: patterns without which a right answer would have been among these nodes, as written; where
            it takes more than one, all that leave out every right answer by themselves. None left one out: empty.
    """

    id: str
    question: str
    right: tuple[str, ...]
    alone: int | None
    place: int | None
    left: int | None
    at_fault: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        """Whether the first right answer stands higher than by the search alone."""
        with_patterns, without = self.place or DEPTH + 1, self.alone or DEPTH + 1
        return "helped" if with_patterns < without else "hurt" if with_patterns > without else "same"

    @property
    def misled(self) -> bool:
        """Whether the patterns let no right answer through."""
        return bool(self.at_fault)


def prefiltered(alone: Iterable[Row], rows: Iterable[Row], base: KnowledgeBase) -> list[Prefiltered]:
    """The questions that both evaluations have a ranking score for, by id.

    Args:
        alone: rows of a program that ranks by the search alone (`evals.rows`).
        rows: rows of one with patterns before it.
        base: what both were asked of.
    """
    before = {row["id"]: row for row in alone if row.get("mrr") is not None}
    schema = SchemaNames(base.graph)
    both = [(before[row["id"]], row) for row in rows if row.get("mrr") is not None and row["id"] in before]
    return sorted((_compared(one, other, base, schema) for one, other in both), key=lambda found: found.id)


def relations_at_fault(found: Iterable[Prefiltered]) -> Counter[str]:
    """How often each relation stands in a pattern at fault."""
    return Counter(str(_relation(text)) for one in found for text in one.at_fault)


def _relation(text: str) -> str:
    relation = parse_patterns(text)[0].relation
    return relation if isinstance(relation, str) else "any relation"


def _compared(alone: Row, row: Row, base: KnowledgeBase, schema: SchemaNames) -> Prefiltered:
    question = Question(row["id"], row["question"], tuple(row["gold"]))
    answers = resolve_gold(question, base.graph, linker_names(base.linker)).answers
    right = np.unique(np.array([node for one in answers for node in one.nodes], np.int64))
    matched = [step for step in row["steps"] if step["kind"] == "matched"]
    final = matched[-1] if matched else None
    size = None if final is None or final["emptied_by"] else final["rounds"][-1].get(final["target"])
    faults: tuple[str, ...] = ()
    if final is not None and size:
        faults = _at_fault(base, _bound(final, row, base, schema), final["target"], right)
    labels = tuple(base.graph.labels(right))
    return Prefiltered(row["id"], row["question"], labels, _place(alone), _place(row), size or None, faults)


def _place(row: Row) -> int | None:
    place = round(1 / row["mrr"]) if row["mrr"] else DEPTH + 1
    return place if place <= DEPTH else None


def _bound(step: Row, row: Row, base: KnowledgeBase, schema: SchemaNames) -> Query:
    """The patterns of a trace on node numbers, with the nodes that their names were linked to."""
    known = {normalize(one["mention"]): _chosen(one, base) for one in row["steps"] if one["kind"] == "linked"}
    return bind(
        base.graph,
        [pattern for text in step["patterns"] for pattern in parse_patterns(text)],
        Constants(base.graph, base.linker, recognised=known),
        schema,
        enforce_relation=not step.get("any_relation"),
        enforce_direction=not step.get("any_direction"),
    )


def _chosen(step: Row, base: KnowledgeBase) -> list[Candidate]:
    nodes = {id: node for id in step["chosen"] if (node := base.graph.find(id)) is not None}
    return [Candidate(node, id, base.graph.label(node), "id", 1.0) for id, node in nodes.items()]


def _at_fault(base: KnowledgeBase, query: Query, target: str, right: IntArray) -> tuple[str, ...]:
    def lets_through(patterns: Iterable[BoundPattern]) -> bool:
        part = query.only(tuple(patterns))
        nodes = match(base.graph, part.only(part.around(target)), exact=True).nodes(target)
        return nodes is None or bool(np.isin(right, nodes).any())

    if lets_through(query.patterns):
        return ()
    one = [p.text for p in query.patterns if lets_through(other for other in query.patterns if other is not p)]
    return tuple(one or [p.text for p in query.patterns if not lets_through([p])] or [p.text for p in query.patterns])
