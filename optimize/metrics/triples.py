"""Metrics of triples and patterns that a model writes, linked to the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.kg import Direction, Variable
from triplecheck.kg.types import Edge
from triplecheck.language.pipeline import read_text
from triplecheck.optimize.metrics.case import Case, StepCall, StepMetric, StepScore, listed, overlap
from triplecheck.programs.assists.know3rag import stated_triples
from triplecheck.programs.triplets import read_triplets

_MENTIONED = 40
_EDGES = 200


def extracts_triples(output: str, texts: str) -> StepMetric:
    """F1 of extracted triples against the graph's triples between the entities that the texts name.

    Triples that cannot be linked do not count: texts may state more than the graph. Those that `stated_triples`
    refuses do not count either.

    Args:
        texts: input field with what they were extracted from.
    """

    def score(call: StepCall, case: Case) -> StepScore | None:
        given = call.inputs.get(texts) or ()
        sources = [str(text) for text in ([given] if isinstance(given, str) else given)]
        linked = _linked(case, sources)
        lines = [str(line) for line in call.outputs.get(output) or ()]
        around = (case.question.question, *(call.inputs.get("entities") or ()))
        read, refused = stated_triples(lines, sources, around)
        grounded = [one for found in read for one in case.grounder.ground(found, case.question.question)]
        placed = {one.edge for one in grounded if one.edge is not None}
        if not linked and not placed:
            return None
        right = {edge for edge in placed if case.graph.contains(*edge)}
        unplaced = [f"{' | '.join(one.text)} ({one.reason})" for one in grounded if one.reason is not None]
        return StepScore(
            overlap(placed, linked | right),
            listed("Missing triples that the text states and the graph contains", _lines(case, linked - placed))
            + listed("Extracted, but not in the graph", _lines(case, placed - right))
            + listed("Could not be linked", unplaced)
            + listed("No triple that the text states", refused)
            or "All triples were found and linked. ",
        )

    return score


def writes_patterns(output: str) -> StepMetric:
    """Mean of the F1 of the patterns' relations against the gold paths, and of 1 if they name a topic."""

    def score(call: StepCall, case: Case) -> StepScore | None:
        if not case.paths:
            return None
        schema = case.sources.schema_names
        lines = [str(line) for line in call.outputs.get(output) or ()]
        triplets = read_triplets(lines, str(call.outputs.get("answer", "")), schema)
        relations = {n for p in triplets.patterns if isinstance(p.relation, str) for n in schema.relations(p.relation)}
        wanted = {hop.relation for path in case.paths for hop in path}
        ends = [end for pattern in triplets.patterns for end in (pattern.head, pattern.tail)]
        names = {str(getattr(end, "text", end)) for end in ends if not isinstance(end, Variable)}
        meant = {node for name in names for node in _nodes(case, name)}
        label = [case.graph.relation(number).label for number in sorted(wanted - relations)]
        return StepScore(
            (overlap(relations, wanted) + float(bool(meant & case.topics))) / 2,
            listed("Relations that lead to the answer but are in no pattern", label)
            + listed(
                "Topics that no pattern names",
                [case.graph.label(n) for n in sorted(case.topics)] if not meant & case.topics else [],
            )
            + listed("Could not be parsed", [f"{one.pattern}: {one.reason}" for one in triplets.dropped])
            or "The patterns have the correct relations and names. ",
        )

    return score


def _nodes(case: Case, name: str) -> list[int]:
    return [candidate.node for candidate in case.sources.linker.candidates(name, None, 1)]


def _linked(case: Case, texts: Sequence[str]) -> set[Edge]:
    """The graph's triples between entities that one text names."""
    found: set[Edge] = set()
    for text in texts:
        mentions = case.sources.linker.mentions(read_text(text, case.sources.language))[:_MENTIONED]
        nodes = {node for mention in mentions if mention.similarity == 1 for node in _nodes(case, mention.text)}
        for node in nodes:
            edges = case.graph.expand([node], None, Direction.OUT, _EDGES)
            ends = zip(edges.relations.tolist(), edges.tails.tolist(), strict=True)
            found.update((node, relation, tail) for relation, tail in ends if tail in nodes)
    return found


def _lines(case: Case, edges: Iterable[Edge]) -> list[str]:
    graph = case.graph
    return [f"{graph.label(h)} | {graph.relation(r).label} | {graph.label(t)}" for h, r, t in sorted(edges)]
