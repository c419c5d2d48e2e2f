"""Where triplet patterns help and where they mislead: rankings with the prefilter against the search alone.

4StepFocus (section 4) names the risk: a triplet with "green" excludes all "light green" products. Every question
is asked with and without patterns. If the patterns exclude every gold answer, the patterns at fault are found by
removing one at a time.
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
from triplecheck.kg.patterns import BoundPattern, Constants, Query, SchemaNames, bind, match
from triplecheck.programs.triplets import read_triplets, write_triplet
from triplecheck.signatures.query_notation import read_patterns

DEPTH = 20
"""A gold answer below this rank does not count, so that a longer ranking has no advantage."""

Effect = Literal["helped", "same", "hurt"]


@dataclass(frozen=True)
class Prefiltered:
    """One question with and without its patterns.

    Attributes:
        id, question: id and text of the question.
        right: labels of the gold answers.
        alone: rank of the first gold answer by the search alone; None: not among the first `DEPTH`.
        place: rank of the first gold answer with the patterns; None: not among the first `DEPTH`.
        left: number of nodes that satisfy the patterns; None if the patterns were not used as a filter, because no
            node satisfies them or no pattern is usable.
        at_fault: patterns whose removal lets a gold answer through, as written; if no single removal does, all
            patterns that exclude every gold answer on their own. Empty: the patterns let a gold answer through.
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
        """Whether the first gold answer ranks higher than by the search alone."""
        with_patterns, without = self.place or DEPTH + 1, self.alone or DEPTH + 1
        return "helped" if with_patterns < without else "hurt" if with_patterns > without else "same"

    @property
    def misled(self) -> bool:
        """Whether the patterns exclude every gold answer."""
        return bool(self.at_fault)


def prefiltered(alone: Iterable[Row], rows: Iterable[Row], base: KnowledgeBase) -> list[Prefiltered]:
    """Return the questions that have a ranking score in both evaluations, matched by id."""
    before = {row["id"]: row for row in alone if row.get("mrr") is not None}
    schema = SchemaNames(base.graph)
    both = [(before[row["id"]], row) for row in rows if row.get("mrr") is not None and row["id"] in before]
    return sorted((_compared(one, other, base, schema) for one, other in both), key=lambda found: found.id)


def relations_at_fault(found: Iterable[Prefiltered]) -> Counter[str]:
    """Count the relations in patterns at fault."""
    return Counter(str(_relation(text)) for one in found for text in one.at_fault)


def _relation(text: str) -> str:
    patterns, _ = read_patterns([text])
    return (patterns[0].relation if patterns else None) or "any relation"


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
    """Return the patterns of a trace as node numbers, with the nodes that their names were linked to."""
    known = {normalize(one["mention"]): _chosen(one, base) for one in row["steps"] if one["kind"] == "linked"}
    return bind(
        base.graph,
        read_triplets(step["patterns"], "", schema).patterns,
        Constants(base.graph, base.linker, recognised=lambda text: known.get(normalize(text), ())),
        schema,
        enforce_relation=not step.get("any_relation"),
        enforce_direction=not step.get("any_direction"),
        write=write_triplet,
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
