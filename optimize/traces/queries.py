"""The query that answers a question: given with it, or written of its derivation and checked on the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from triplecheck.evals.gold import comparable
from triplecheck.kg import Direction, Graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.plans import Answers, PlanError, PlanNames, read_plan, run_plan, write_label, write_value
from triplecheck.kg.types import Literal
from triplecheck.optimize.traces.derivations import Asked, Derivation
from triplecheck.optimize.traces.derive import derive
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.programs import Sources

NONE = "none"
_ANSWER, _VALUE = "?x", "?v"
_SECONDS = 5.0
_CLASSES = 20
_HOPS = 2  # between a topic and an answer of a query, at least
_ORDER = {"max": "DESC", "min": "ASC"}
_names: WeakKeyDictionary[Graph, tuple[Linker, PlanNames]] = WeakKeyDictionary()


def plan_names(sources: Sources) -> PlanNames:
    """Looks up the names of queries in a graph; made once for each."""
    graph, linker = sources.graph, sources.linker
    known = _names.get(graph)
    if known is None or known[0] is not linker:
        known = _names[graph] = linker, PlanNames(graph, linker)
    return known[1]


def right_query(asked: Asked, derivation: Derivation | None) -> str | None:
    """The query that gives the answers of a question; None if it is not known.

    It is `none` if a look-up from one topic that goes as far as the program is enough, or if there is no answer.

    Args:
        derivation: how its answers follow from the graph; None: not known, or there are none.
    """
    if asked.question.plan is not None:
        return asked.question.plan
    if not asked.question.answers:
        return NONE if asked.question.answers_known else None
    if derivation is None and asked.hops < _HOPS:
        derivation = derive(replace(asked, hops=_HOPS))
    if derivation is None:
        return None
    computed = derivation.operation != "none" or derivation.said or derivation.beyond
    is_near = all(len(path.hops) <= asked.hops for path in derivation.paths)
    if not computed and is_near and len(derivation.topics) == 1:
        return NONE
    return next((query for query in _written(asked.graph, derivation) if is_right(asked, query)), None)


def is_right(asked: Asked, query: str, topics: Mapping[str, Sequence[int]] | None = None) -> bool:
    """Whether a query gives exactly the known answers.

    Args:
        topics: nodes of names in it that only its prompt explains.
    """
    sources = asked.sources
    names = PlanNames(asked.graph, sources.linker, topics=topics) if topics else plan_names(sources)
    try:
        found = run_plan(asked.graph, read_plan(query, names), seconds=_SECONDS)
    except PlanError:
        return False  # a name is read in another way, or it takes too long
    if found.boolean is not None:
        return asked.computed == ("yes" if found.boolean else "no")
    return _gives(asked, found)


def _gives(asked: Asked, found: Answers) -> bool:
    cells = {row[0] for row in found.with_ties().rows if row}
    if asked.computed:
        texts = [cell.lexical if isinstance(cell, Literal) else asked.graph.label(cell or 0) for cell in cells]
        return [comparable(text) for text in texts] == [comparable(asked.computed)]
    nodes = {cell for cell in cells if isinstance(cell, int)}
    return nodes <= asked.answers and not any(nodes.isdisjoint(answer) for answer in asked.each_answer)


def _written(graph: Graph, derivation: Derivation) -> Iterator[str]:
    """Queries of a derivation, first without the class of its ends, then with each class that they may have."""
    first = {path.topic: path for path in reversed(derivation.paths)}
    paths = [first[topic] for topic in derivation.topics]
    sides = derivation.beyond and len(paths) > 1
    if derivation.operation == "same" or derivation.said:
        yield from _asking(graph, derivation, paths)
        return
    if derivation.beyond and derivation.operation == "none":
        yield from _bounded(graph, derivation)
        return
    body = _choice(graph, paths) if sides else " . ".join(_patterns(graph, paths, beyond=derivation.beyond))
    types = dict.fromkeys(type for node in sorted(derivation.ends)[:_CLASSES] for type in graph.types(node))
    for type in (None, *types):
        where = f"{{ {body}{'' if type is None else f' . {_ANSWER} a {write_label(graph.type_label(type))}'} }}"
        match derivation.operation:
            case "count":
                yield f"SELECT (COUNT(DISTINCT {_ANSWER}) AS ?n) {where}"
            case "sum":
                yield f"SELECT (SUM({_ANSWER}) AS ?n) {where}"
            case "max" | "min":
                yield f"SELECT {_ANSWER} {where} ORDER BY {_ORDER[derivation.operation]}({_VALUE}) LIMIT 1"
            case _:
                yield f"SELECT DISTINCT {_ANSWER} {where}"


def _asking(graph: Graph, derivation: Derivation, paths: list[GoldPath]) -> Iterator[str]:
    if derivation.ends:  # a relation between two topics
        for end in sorted(derivation.ends):
            yield f"ASK {{ {_triple(graph, _name(graph, paths[0].topic), paths[0], 0, _name(graph, end))} }}"
        return
    same = derivation.operation == "same"
    values = [_VALUE if same else f"{_VALUE}{at}" for at in range(len(paths))]
    body = " . ".join(
        _triple(graph, _name(graph, path.topic), path, 0, value) for path, value in zip(paths, values, strict=True)
    )
    for condition in ("",) if same else (f" . FILTER({values[0]} {sign} {values[1]})" for sign in "<>"):
        yield f"ASK {{ {body}{condition} }}"


def _bounded(graph: Graph, derivation: Derivation) -> Iterator[str]:
    """For each value of one of the answers, the query for what has this value."""
    *_, last = derivation.paths[0].hops
    body = " . ".join(_patterns(graph, list(derivation.paths[:1]), beyond=True))
    for node in sorted(derivation.ends)[:1]:
        for value in graph.neighbors(node, last.relation, last.direction, _CLASSES).tolist():
            literal = graph.literal(value)
            written = _name(graph, value) if literal is None else write_value(literal)
            yield f"SELECT DISTINCT {_ANSWER} {{ {body.replace(_VALUE, written)} }}"


def _choice(graph: Graph, paths: list[GoldPath]) -> str:
    """The topics as values of the variable, and what is compared of them."""
    listed = " ".join(_name(graph, path.topic) for path in paths)
    return f"VALUES {_ANSWER} {{ {listed} }} {_triple(graph, _ANSWER, paths[0], 0, _VALUE)}"


def _patterns(graph: Graph, paths: list[GoldPath], *, beyond: bool) -> Iterator[str]:
    """The triple patterns along paths that end in one variable, or in the value of it."""
    for number, path in enumerate(paths):
        between = [f"?y{number}{at}" for at in range(1, len(path.hops))]
        ends = [*between[:-1], _ANSWER, _VALUE] if beyond else [*between, _ANSWER]
        for at, (start, end) in enumerate(zip([_name(graph, path.topic), *ends], ends, strict=False)):
            yield _triple(graph, start, path, at, end)


def _triple(graph: Graph, start: str, path: GoldPath, at: int, end: str) -> str:
    hop = path.hops[at]
    head, tail = (start, end) if hop.direction is Direction.OUT else (end, start)
    return f"{head} {write_label(graph.relation(hop.relation).label)} {tail}"


def _name(graph: Graph, node: int) -> str:
    return write_label(graph.label(node))
