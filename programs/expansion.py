"""One hop: the relations that may be followed from the ends of paths, and fetching their edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Direction, Graph, IntArray, Literal
from triplecheck.kg.functions import FunctionGraph, calls_at, is_function
from triplecheck.kg.graph import Edges
from triplecheck.kg.relation_vectors import end_text
from triplecheck.kg.types import XSD
from triplecheck.kg.values import dates_in, written_date
from triplecheck.language.question import Question
from triplecheck.language.times import iso_date
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.time_conditions import TimeCondition
from triplecheck.programs.steps import Called, Checked, Expanded, Trace, Truncated
from triplecheck.programs.subgraph import Fact, Hop, Path, Subgraph
from triplecheck.signatures.notation import write_end

SCHEMA_RELATIONS = (r"(^|/)type[./]object[./]", r"(^|/)common[./]", r"(^|[/#:])sameAs$", r"(^|[/#:])seeAlso$")
"""Regular expressions for ids of schema-level relations: those that AnchorRAG names, and similar ones."""

_IDENTIFIER = re.compile(r"[A-Za-z]{1,2}\d+")
_EXAMPLES_SHOWN = 3
_WHOLE_DATE = 3  # year, month and day


def one_hop_paths(graph: Graph, paths: Iterable[Path]) -> list[tuple[Path, int]]:
    """Each path extended by one relation, with its number of edges; its ends are still those before the relation."""
    offers = []
    for path in paths:
        for count in graph.relation_counts(path.ends):
            hop = Hop(count.relation, count.direction)
            turns_back = path.hops and path.hops[-1] == Hop(hop.relation, hop.direction.reverse)
            if turns_back and count.edges <= len(path.ends):
                continue  # leads back to where it came from and nowhere else
            offers.append((Path(path.topic, (*path.hops, hop), path.ends), count.edges))
    return offers


def asked_graph(graph: Graph, question: Question, topics: Iterable[int]) -> Graph:
    """The graph for one question: its dates, years, numbers and topics are further arguments of functions beside it."""
    if not isinstance(graph, FunctionGraph):
        return graph
    text = question.text
    spans = [text[start:end] for start, end in dates_in(text)]
    dates = [date for span in spans if (date := written_date(span)) is not None]
    digits = {part for span in spans for part in re.findall(r"\d+", span)}
    numbers = [*(n for n in question.numbers if n not in digits), *(str(date[0]) for date in dates)]
    values = [Literal(iso_date(date), f"{XSD}date") for date in dates if len(date) == _WHOLE_DATE]
    values += [Literal(number, XSD + kind) for number in numbers for kind in ("integer", "decimal")]
    return cast(Graph, graph.asked(values, list(topics)))


def with_names(graph: Graph, offers: list[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """The offers without those whose relation has an identifier for a name, which tells nothing; all, if all are so."""
    named = [offer for offer in offers if not is_identifier(graph.relation(offer[0].hops[-1].relation).label)]
    return named or offers


def is_identifier(label: str) -> bool:
    """Whether the label of a relation is an identifier, such as P31, which tells nothing."""
    return _IDENTIFIER.fullmatch(label) is not None


def unlikeness(likeness: npt.NDArray[np.float32] | None, path: Path, edges: int) -> float:
    """By what paths are sorted, the most similar last relation first; without similarities, the fewest edges first.

    Args:
        likeness: cosine of each relation with the question, shape (relations,).
    """
    return float(edges) if likeness is None else -float(likeness[path.hops[-1].relation])


def is_schema(graph: Graph, relation: int, patterns: Iterable[str | re.Pattern[str]]) -> bool:
    """Whether one of some patterns finds the id of a relation."""
    id = graph.relation(relation).id
    return any(re.search(pattern, id) for pattern in patterns)


def note_at_end(graph: Graph, path: Path, edges: int, *, by_schema: bool) -> str:
    """What is at the end of an offered path: the number of edges, and the types or examples they lead to."""
    hop = path.hops[-1]
    if by_schema or is_function(graph, hop.relation):
        return write_end(edges, types=end_text(graph, hop.relation, hop.direction))
    sample = graph.expand(path.ends[:_EXAMPLES_SHOWN], hop.relation, hop.direction, _EXAMPLES_SHOWN)
    ends = sample.tails if hop.direction is Direction.OUT else sample.heads
    return write_end(edges, examples=graph.labels(ends[:_EXAMPLES_SHOWN]))


def fetch(
    graph: Graph, path: Path, subgraph: Subgraph, label: str, trace: Trace, *, values: int, frontier: int, triples: int
) -> Path | None:
    """Fetch the edges of the last hop of a path into a subgraph.

    Args:
        label: the path in words, for the trace.
        values: edges fetched per (entity, relation).

    Returns:
        The path with its new ends; None if the subgraph is full.
    """
    hop = path.hops[-1]
    room = triples - subgraph.num_triples
    if room <= 0:
        trace.add(Truncated(f"triples: {label}", 0, len(path.ends)))
        return None
    starts = path.ends[:frontier]
    if len(starts) < len(path.ends):
        trace.add(Truncated(f"frontier: {label}", len(starts), len(path.ends)))
        subgraph.cut.add(path.key)
    edges = graph.expand(starts, hop.relation, hop.direction, values)
    _note_calls(graph, starts, hop, label, trace)
    if subgraph.condition is not None:
        edges = _holding(graph, edges, subgraph.condition, trace)
    near, far = (edges.heads, edges.tails) if hop.direction is Direction.OUT else (edges.tails, edges.heads)
    trace.add(Expanded(len(path.hops), label, min(len(far), room), edges.total))
    ends: list[int] = []
    for anchor in dict.fromkeys(near.tolist()):
        found = far[near == anchor].tolist()
        total = len(found)
        if total >= values or (edges.total > len(edges) and is_function(graph, hop.relation)):
            total = graph.expand([anchor], hop.relation, hop.direction, 0).total
        kept = tuple(found[: room - len(ends)])
        if kept:
            subgraph.add(Fact(anchor, hop, kept, total, path.key))
            ends += kept
        else:
            subgraph.cut.add(path.key)
    return Path(path.topic, path.hops, np.unique(np.array(ends, np.int64)))


def _note_calls(graph: Graph, starts: IntArray, hop: Hop, label: str, trace: Trace) -> None:
    """Record which functions were called; what one does not return is a fact that is missing."""
    if hop.direction is Direction.OUT and is_function(graph, hop.relation):
        wanted = calls_at(graph, starts.tolist(), hop.relation)
        made = [call for call in wanted if call is not None]
        for call in made:
            trace.add(Called(call.function, call.argument, call.error))
        trace.note_cut(f"calls: {label}", len(made), len(wanted))


def _holding(graph: Graph, edges: Edges, condition: TimeCondition, trace: Trace) -> Edges:
    """The edges that hold at the time that the question is about."""
    rows = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
    kept = np.flatnonzero([condition.holds(graph, edge) for edge in rows])
    if len(kept) == len(edges):
        return edges
    Assists.note(trace, "time_conditions", condition.text, [f"{len(edges)} edges"], [f"{len(kept)} edges that hold"])
    return Edges(edges.heads[kept], edges.relations[kept], edges.tails[kept], len(kept))


def valid_numbers(what: str, numbers: Sequence[int], count: int, trace: Trace) -> list[int]:
    """The numbers that a model named and that exist, from 1 to `count`, each once; the trace records others."""
    found = [number for number in dict.fromkeys(numbers) if 1 <= number <= count]
    if len(found) < len(set(numbers)):
        trace.add(Checked(f"{what} numbers", False, f"there are {count} {what}s; other numbers were ignored"))
    return found


def normalised(scores: Mapping[int, float]) -> dict[int, float]:
    """The share of each number that a model chose; equal shares if it gave no usable scores."""
    total = sum(scores.values())
    if min(scores.values(), default=0.0) < 0 or not 0 < total < float("inf"):
        return dict.fromkeys(scores, 1 / max(1, len(scores)))
    return {n: score / total for n, score in scores.items()}
