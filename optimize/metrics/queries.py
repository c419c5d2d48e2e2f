"""Metrics of what a model writes in the terms of the graph: queries, triples and patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from triplecheck.kg import Direction, Graph, Variable
from triplecheck.kg.plans import Answers, Cell, Plan, PlanError, read_plan, run_plan
from triplecheck.kg.plans.algebra import Classes, Constant, End, Relations, TriplePattern, parts
from triplecheck.kg.plans.write import write_triple
from triplecheck.kg.types import Edge, Literal
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.pipeline import read_text
from triplecheck.optimize.metrics.case import Case, StepCall, StepScore, listed, overlap
from triplecheck.optimize.traces.queries import plan_names
from triplecheck.programs.assists.know3rag import stated_triples
from triplecheck.programs.triplets import read_triplets

_PARTLY = 0.5
"""Factor for a query that can be read, but gives other answers."""
_NONE = ("", "none")
_MENTIONED = 40
_EDGES = 200


def writes_query(call: StepCall, case: Case) -> StepScore | None:
    """1 if the query gives the same answers as the plan of the question, or the known ones; or if both are none.

    A query that can be read but gives other answers scores half the share of the plan's triple patterns and operations
    that it has; one that cannot be read scores 0. None, no score, if no plan of the question is known (`Case.query`),
    or its plan does not fit the graph.
    """
    gold = case.query
    if gold is None:
        return None
    reply = str(call.outputs.get("query") or "").strip()
    if _is_none(gold):
        why = "The graph does not have what is asked for" if not case.gold.answers else "A look-up is enough"
        if _is_none(reply):
            return StepScore(1.0, f"{why}, so no query is correct. ")
        if case.answered_by(reply):
            return StepScore(1.0, f"{why}, and the query gives the correct answers, too. ")
        return StepScore(0.0, f"{why}: the query must be none. ")
    names = plan_names(case.sources)
    try:
        wanted = read_plan(gold, names)
        right = run_plan(case.graph, wanted).with_ties()
    except PlanError:
        return None  # of another graph
    if _is_none(reply):
        return StepScore(0.0, f"The question needs a query, such as {gold}. ")
    try:
        plan = read_plan(reply, names)
    except PlanError as error:
        return StepScore(0.0, f"The query cannot be read: {error}. ")
    try:
        found, problem = run_plan(case.graph, plan).with_ties(), ""
    except PlanError as error:
        found, problem = None, f"The query cannot be run: {error}. "
    if found is not None and _same(case.graph, found, right):
        return StepScore(1.0, "The query gives the correct answers. ")
    return _partly(plan, wanted, problem or f"The answers are {_said(found)}, not {_said(right)}. ")


def _partly(plan: Plan, wanted: Plan, problem: str) -> StepScore:
    has, needs = _parts(plan), _parts(wanted)
    held = sum(min(count, has[0][part]) for part, count in needs[0].items())
    total = sum(needs[0].values())
    missing = [text for part, text in needs[1].items() if part not in has[0]]
    needless = [text for part, text in has[1].items() if part not in needs[0]]
    feedback = problem + listed("The query lacks", missing) + listed("The query has, and should not", needless)
    return StepScore(_PARTLY * held / total if total else 0.0, feedback)


def _is_none(query: str) -> bool:
    return query.casefold().rstrip(".") in _NONE


# --- answers -------------------------------------------------------------------------------------
def _same(graph: Graph, found: Answers, right: Answers) -> bool:
    """Whether two plans have the same answers: yes or no, or the nodes and values of the first column."""
    if found.boolean is not None or right.boolean is not None:
        return found.boolean is right.boolean
    return set(_cells(graph, found)) == set(_cells(graph, right))


def _cells(graph: Graph, answers: Answers) -> Iterator[Hashable]:
    for row in answers.rows:
        yield _cell(graph, row[0])


def _cell(graph: Graph, cell: Cell) -> Hashable:
    """A cell so that equal values are equal, whether they stand in the graph or were computed."""
    if cell is None:
        return None
    value = cell if isinstance(cell, Literal) else value_of(graph, cell)
    size = quantity(value)
    if size is not None:
        return size.kind, size.size
    return value.lexical if isinstance(cell, Literal) else cell


def _said(answers: Answers | None) -> str:
    if answers is None:
        return "unknown"
    if answers.boolean is not None:
        return "yes" if answers.boolean else "no"
    texts = list(dict.fromkeys(row[0] for row in answers.texts()))
    return (", ".join(texts[:5]) + " ..." * (len(texts) > 5)) or "none"


# --- parts of plans ------------------------------------------------------------------------------
def _parts(plan: Plan) -> tuple[Counter[Hashable], dict[Hashable, str]]:
    """The triple patterns and the operations of a plan, whatever its variables are called, with their texts."""
    found: list[tuple[Hashable, str]] = [
        ((_end(one.head), _predicate(one), _end(one.tail)), write_triple(one))
        for one in parts(plan.algebra)
        if isinstance(one, TriplePattern)
    ]
    found += [((one.name, one.values), " ".join((one.name, *one.values))) for one in plan.operations]
    return Counter(part for part, _ in found), dict(found)


def _predicate(pattern: TriplePattern) -> Hashable:
    predicate = pattern.predicate
    return predicate.numbers if isinstance(predicate, Relations) else type(predicate).__name__


def _end(end: End | Classes) -> Hashable:
    match end:
        case Classes(_, ids):
            return ids
        case Constant():
            return end.nodes or end.text
    return "?"


# --- triples and patterns --------------------------------------------------------------------------
def extracts_triples(call: StepCall, case: Case) -> StepScore | None:
    """F1 of extracted `triples` against the graph's triples between the entities that the `texts` name.

    Triples that cannot be linked do not count: texts may state more than the graph. Those that `stated_triples`
    refuses do not count either.
    """
    given = call.inputs.get("texts") or ()
    texts = [str(text) for text in ([given] if isinstance(given, str) else given)]
    linked = _linked(case, texts)
    lines = [str(line) for line in call.outputs.get("triples") or ()]
    around = (case.question.question, *(call.inputs.get("entities") or ()))
    read, refused = stated_triples(lines, texts, around)
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


def writes_patterns(call: StepCall, case: Case) -> StepScore | None:
    """Mean of the F1 of the patterns' relations against the gold paths, and of 1 if they name a topic."""
    if not case.paths:
        return None
    schema = case.sources.schema_names
    lines = [str(line) for line in call.outputs.get("triplets") or ()]
    triplets = read_triplets(lines, str(call.outputs.get("answer", "")), schema)
    relations = {n for p in triplets.patterns if isinstance(p.relation, str) for n in schema.relations(p.relation)}
    wanted = {hop.relation for path in case.paths for hop in path}
    ends = [end for pattern in triplets.patterns for end in (pattern.head, pattern.tail)]
    names = {str(getattr(end, "text", end)) for end in ends if not isinstance(end, Variable)}
    meant = {node for name in names for node in _nodes(case, name)}
    label = [case.graph.relation(number).label for number in sorted(wanted - relations)]
    unnamed = [] if meant & case.topics else [case.graph.label(node) for node in sorted(case.topics)]
    return StepScore(
        (overlap(relations, wanted) + float(bool(meant & case.topics))) / 2,
        listed("Relations that lead to the answer but are in no pattern", label)
        + listed("Topics that no pattern names", unnamed)
        + listed("Could not be parsed", [f"{one.pattern}: {one.reason}" for one in triplets.dropped])
        or "The patterns have the correct relations and names. ",
    )


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
