"""What a program found, and how it becomes the one prediction that every program returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import dspy
import numpy as np

from triplecheck.kg import Graph, Triple
from triplecheck.kg.graph import plain_properties
from triplecheck.kg.types import Literal as Value
from triplecheck.lms import Usage
from triplecheck.programs.picture import Evidence, draw
from triplecheck.programs.steps import Stopped, Trace, TraceEvent

Verdict = Literal["proved", "supported", "unsupported", "unknown"]
"""What an answer rests on:

- `proved`: the relations of its evidence say what the question asks, every part of the question is covered, and the
  confidence is at least the level of the confidence model;
- `supported`: its evidence is in the graph; whether it answers the question is uncertain;
- `unsupported`: from a model alone;
- `unknown`: there is no answer.
"""


_NOT_IN_GRAPH = "Not in the graph, as far as I can tell"
_OTHERWISE = {
    "unknown": "No answer: the model knows none, and there is no document to read",
    "unreadable_reply": "No answer: the model's reply could not be read",
}
NO_ANSWER = (_NOT_IN_GRAPH, *_OTHERWISE.values())
"""All that `no_answer` may say."""


@dataclass(frozen=True)
class Outcome:
    """What a program found.

    Attributes:
        answer: the answer as text; empty where the program abstained.
        answers: nodes of the graph that answer the question; empty for a count, a yes or a no.
        evidence: (head, relation, tail) nodes of the triples that support the answer.
        grounded: whether the answer rests on the evidence alone.
        abstained: why there is no answer, else None.
        retrieved: nodes of all retrieved triples, whether used or not.
        ranking: nodes, best first, for a program that ranks; it begins with the answers.
        confidence: how sure the program is that its answer is right, from 0 to 1; None: `programs.judge` computes
            it from the evidence.
        doubts: why the evidence is no proof that this answers the question; empty if nothing speaks against it.
        verdict: see `Verdict`; `programs.judge` sets it.
        features: what the confidence is computed from.
        missing: of an abstention, the part of the question that the graph says least of.
        nearest: of an abstention, triples of the facts that are nearest to the question.
        query: what computed the answer over the graph; empty: nothing did.
        looked_through: what the query went through for what it counts, orders or excludes, in sentences.

    Raises:
        ValueError: the confidence is outside of [0, 1].
    """

    answer: str = ""
    answers: tuple[int, ...] = ()
    evidence: tuple[tuple[int, int, int], ...] = ()
    grounded: bool = False
    abstained: str | None = None
    retrieved: frozenset[int] = field(default=frozenset(), repr=False)
    ranking: tuple[int, ...] = ()
    confidence: float | None = None
    doubts: tuple[str, ...] = ()
    verdict: Verdict = "unknown"
    features: Mapping[str, float] = field(default_factory=dict)
    missing: str = ""
    nearest: tuple[tuple[int, int, int], ...] = ()
    query: str = ""
    looked_through: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise ValueError(f"a confidence of {self.confidence} is outside of [0, 1]")


def abstention(reason: str, detail: str, trace: Trace) -> Outcome:
    """An outcome without an answer. The trace records the reason and its detail."""
    trace.add(Stopped(reason, detail))
    return Outcome(abstained=reason)


class Answer(dspy.Prediction):
    """The prediction of every program: a `dspy.Prediction` that prints briefly and becomes JSON by `toDict`."""

    def toDict(self) -> dict[str, Any]:  # noqa: N802
        """Every field as JSON has it: steps and usage as objects, sets as sorted lists."""
        return {name: _plain(value) for name, value in self.items()}

    def __repr__(self) -> str:
        if "steps" not in self or "usage" not in self:
            return str(super().__repr__())
        found = f"no answer: {self.reason}" if self.abstained else f"{self.answer!r}"
        proof = "grounded" if self.grounded else "not grounded"
        sure = "" if self.confidence is None else f", confidence={self.confidence:.3g}"
        counts = f"{len(self.evidence)} triples, {len(self.steps)} steps, {self.usage.calls} model calls"
        return f"<{self.program} {self.question!r}: {found} ({proof}, {counts}{sure})>"

    def _repr_html_(self) -> str:
        if "steps" not in self or "usage" not in self:
            return f"<pre>{escape(repr(self))}</pre>"
        found = no_answer(self.reason) if self.abstained else self.answer
        sure = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        shown = self.nearest if self.abstained else self.evidence
        about = f"{self.reason}; nearest facts:" if self.abstained else f"{self.verdict}{sure}"
        return f"<p>{escape(self.question)}<br><b>{escape(found)}</b> <i>{escape(about)}</i></p>{draw(shown)}"


def closed_world(answer: str, query: str) -> str:
    """What is said beside an answer that rests on what a graph does not have: a "no" or "0" of a query.

    Args:
        answer: as text.
        query: that computed it; empty if none did.
    """
    return "in this graph" if query and answer in ("no", "0") else ""


def no_answer(reason: str) -> str:
    """What a person is told in place of an answer.

    Args:
        reason: why there is none (`Outcome.abstained`).
    """
    return _OTHERWISE.get(reason, _NOT_IN_GRAPH)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, TraceEvent | Usage):
        return _plain(value.to_json())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def evidence_rows(graph: Graph, triples: Iterable[tuple[int, int, int]]) -> Evidence:
    """Triples in ids and labels, each once, in order; `properties` lists those of an edge that has any."""
    rows = Evidence()
    for head, relation, tail in dict.fromkeys(triples):
        row: dict[str, Any] = {
            "head": graph.node_id(head),
            "relation": graph.relation(relation).id,
            "tail": graph.node_id(tail),
            "head_label": graph.label(head),
            "relation_label": graph.relation(relation).label,
            "tail_label": graph.label(tail),
        }
        value = graph.literal(tail)
        if value is not None:
            row["tail_datatype"] = value.datatype
        if statements := graph.edge_properties(head, relation, tail):
            row["properties"] = [plain_properties(statement) for statement in statements]
        rows.append(row)
    return rows


def evidence_edges(graph: Graph, evidence: Iterable[dict[str, str]]) -> list[tuple[int, int, int] | None]:
    """The cited triples as (head, relation, tail) nodes, in order; None for one that is not in the graph."""
    found = [_edge(graph, row) for row in evidence]
    known = [edge for edge in found if edge is not None]
    if not known:
        return found
    heads, relations, tails = np.array(known, np.int64).T
    there = {
        edge for edge, is_there in zip(known, graph.contains_many(heads, relations, tails), strict=True) if is_there
    }
    return [edge if edge in there else None for edge in found]


def _edge(graph: Graph, row: dict[str, str]) -> tuple[int, int, int] | None:
    value = Value(row["tail"], row["tail_datatype"]) if "tail_datatype" in row else row["tail"]
    head, relation, tail = graph.find(row["head"]), graph.find_relation(row["relation"]), graph.find(value)
    return None if head is None or relation is None or tail is None else (head, relation, tail)


def replay(graph: Graph, evidence: Iterable[dict[str, str]]) -> list[Triple]:
    """The cited triples that are *not* in the graph; none if the evidence holds."""
    rows = list(evidence)
    edges = evidence_edges(graph, rows)
    return [
        Triple(row["head"], row["relation"], row["tail"]) for row, edge in zip(rows, edges, strict=True) if edge is None
    ]


def prediction(
    graph: Graph, program: str, question: str, found: Outcome, steps: list[TraceEvent], usage: Usage
) -> Answer:
    """The fields that every system fills, from what one of them found."""
    return Answer(
        question=question,
        program=program,
        answer=found.answer,
        answers=[{"id": graph.node_id(n), "label": graph.label(n)} for n in found.answers],
        evidence=evidence_rows(graph, found.evidence),
        abstained=found.abstained is not None,
        reason=found.abstained or "",
        grounded=found.grounded,
        retrieved=found.retrieved,
        ranking=found.ranking,
        confidence=found.confidence,
        verdict=found.verdict,
        doubts=list(found.doubts),
        features=dict(found.features),
        missing=found.missing,
        nearest=evidence_rows(graph, found.nearest),
        query=found.query,
        looked_through=list(found.looked_through),
        steps=steps,
        usage=usage,
    )


def to_json(result: dspy.Prediction) -> dict[str, Any]:
    """The prediction as one plain object, without the numbers of nodes: what `triplecheck ask --json` prints."""
    return {name: _plain(value) for name, value in result.items() if name not in ("retrieved", "ranking")}
