"""`Plan`: a query that was read and whose names were looked up; see `kg.plans.notation` for how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.names import PlanNames
from triplecheck.kg.plans.notation import encode, parse
from triplecheck.kg.plans.shape import apart, bridges, compared, contradicted, doubled, has_cycle, stated
from triplecheck.kg.plans.translate import translate
from triplecheck.kg.plans.write import aggregated, spine, with_aggregates, write_expression, write_pattern
from triplecheck.kg.values import valid

_STAR = re.compile(r"\bSELECT\s+(?:DISTINCT\s+|REDUCED\s+)?\*", re.IGNORECASE)
_VARIABLE = re.compile(r"[?$](\w+)")
_COMPARED = frozenset(("=", "!=", "<", ">", "<=", ">=", "in", "not in"))
_COMPUTED = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a plan.

    Attributes:
        text: as it is written there, in angle brackets, or as a value.
        place: relation, class, node or value.
        relations, classes, nodes: what it stands for; only those of its place are given.
        negated: it stands in MINUS or NOT EXISTS.
    """

    text: str
    place: str
    relations: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a plan does besides matching triples.

    Attributes:
        name: a comparison (`>=`), an aggregate (`count`, `sum`, `avg`, `min`, `max`, `sample`, `group_concat`), a
            computation (`plus`, `minus`, `times`, `divided by`), a function (`regex`), or one of `not exists`,
            `exists`, `minus pattern`, `union`, `optional`, `group`, `having`, `distinct`, `order`, `limit`, `offset`,
            `values`, `or`, `not`, and `cycle` where its triples join variables in a cycle.
        text: what it applies to, as it is written in a plan.
        variables: the variables in it.
        values: the values in it as they are written, such as "18"; "desc" or "asc" of `order`; the number of `limit`.
    """

    name: str
    text: str
    variables: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A query about one graph.

    Attributes:
        text: as it was written, or what SPARQL has in place of the short notation.
        kind: select or ask.
        variables: the columns of its result; none of an ask.
        names: what it names, in order of appearance, each once per place.
        operations: what it does besides matching triples.
        algebra: what it computes.
    """

    text: str
    kind: str
    variables: tuple[str, ...]
    names: tuple[Named, ...]
    operations: tuple[Operation, ...]
    algebra: of.Select = field(repr=False)

    @property
    def relations(self) -> tuple[Named, ...]:
        """The relations that it names."""
        return tuple(one for one in self.names if one.place == "relation")

    @property
    def classes(self) -> tuple[Named, ...]:
        """The classes that it names."""
        return tuple(one for one in self.names if one.place == "class")

    @property
    def nodes(self) -> tuple[Named, ...]:
        """The things that it names."""
        return tuple(one for one in self.names if one.place == "node")

    @property
    def bridges(self) -> list[tuple[int, ...]]:
        """The relations of the triples that a variable joins which nothing else in the plan speaks of."""
        return bridges(self.algebra)

    @property
    def stated(self) -> list[tuple[int, ...]]:
        """The relations of the triples whose two ends are things that the query names; empty for ASK."""
        return [] if self.kind == "ask" else stated(self.algebra)

    @property
    def apart(self) -> list[str]:
        """The variables that nothing joins to the selected ones; empty for ASK."""
        return [] if self.kind == "ask" else apart(self.algebra)

    @property
    def triples(self) -> int:
        """The number of its triples that have a relation."""
        triples = (one for one in of.parts(self.algebra) if isinstance(one, of.TriplePattern))
        return sum(not isinstance(one.predicate, of.IsA | of.Labelled) for one in triples)

    @property
    def is_contradicted(self) -> bool:
        """Whether it excludes what it requires."""
        return not self.has("union", "optional") and contradicted(self.algebra)

    @property
    def doubled(self) -> list[tuple[of.Constant, of.Constant]]:
        """The pairs of names that one variable must have by the same relation; none of a union."""
        return [] if self.has("union", "optional") else doubled(self.algebra)

    @property
    def compared(self) -> list[tuple[of.End, of.End, tuple[int, ...]]]:
        """The things that its filters compare, the one with the greater value first, and the relation to the values;
        none of a plan with a negation."""
        return [] if self.has("not", "not exists", "minus pattern") else compared(self.algebra)

    def has(self, *names: str) -> bool:
        """Whether it does any of these operations."""
        return any(one.name in names for one in self.operations)


def read_plan(text: str, names: PlanNames) -> Plan:
    """Read a query and look up its names.

    Args:
        text: a SELECT or ASK, in the notation of `kg.plans.notation`.
        names: of the graph that it is about.

    Raises:
        PlanError: it is no query, cannot be read, writes, or names what the graph does not have.
    """
    text, found = parse(valid(text))
    masked = encode(text).masked
    shown = dict.fromkeys(_VARIABLE.findall(masked)) if _STAR.search(masked) else ()
    algebra = translate(found, names, tuple(shown))
    kind = "ask" if found.name == "AskQuery" else "select"
    variables = () if kind == "ask" else algebra.names
    listed = tuple(dict.fromkeys(_named(algebra, False)))
    return Plan(text, kind, variables, listed, tuple(dict.fromkeys(_operations(algebra))), algebra)


# --- what it names -------------------------------------------------------------------------------
def _named(node: object, negated: bool) -> Iterator[Named]:
    if isinstance(node, of.Minus):
        yield from _named(node.left, negated)
        yield from _named(node.right, True)
    elif isinstance(node, of.Exists):
        yield from _named(node.pattern, negated or node.negated)
    elif isinstance(node, of.Relations):
        yield Named(node.text, "relation", relations=node.numbers, negated=negated)
    elif isinstance(node, of.Classes):
        yield Named(node.text, "class", classes=node.ids, negated=negated)
    elif isinstance(node, of.Constant):
        yield Named(node.text, "node" if node.literal is None else "value", nodes=node.nodes, negated=negated)
    else:
        for part in of.inside(node):
            yield from _named(part, negated)


# --- what it does --------------------------------------------------------------------------------
def _operations(node: object) -> Iterator[Operation]:
    match node:
        case of.Select():
            yield from _of_select(node)
        case of.Group(inner, keys, aggregates):
            if keys:
                yield _operation("group", *keys)
            for one in aggregates:
                if one.name != "sample" or one.of not in keys:
                    yield _aggregate(one)
            yield from _operations(inner)
        case of.Filter(inner, conditions, having):
            yield from _operations(inner)
            for condition in conditions:
                if having:
                    yield _operation("having", condition)
                yield from _operations(condition)
        case of.Exists(pattern, negated):
            yield Operation("not exists" if negated else "exists", write_pattern(pattern), tuple(_variables(pattern)))
            yield from _operations(pattern)
        case of.Minus(left, right):
            yield from _operations(left)
            yield Operation("minus pattern", write_pattern(right), tuple(_variables(right)))
            yield from _operations(right)
        case of.Union():
            yield Operation("union", write_pattern(node), tuple(_variables(node)))
            yield from _operations((node.left, node.right))
        case of.LeftJoin(left, right, condition):
            yield from _operations(left)
            yield Operation("optional", write_pattern(right), tuple(_variables(right)))
            yield from _operations((right, condition))
        case of.Basic(patterns) if has_cycle(patterns):
            yield Operation("cycle", write_pattern(node), tuple(_variables(node)))
        case of.Values():
            yield Operation("values", write_pattern(node), node.names)
        case of.Call(name, arguments):
            if name != "and":
                yield _operation(_COMPUTED.get(name, name), node)
            yield from _operations(arguments)
        case _:
            for part in of.inside(node):
                yield from _operations(part)


def _of_select(node: of.Select) -> Iterator[Operation]:
    results = spine(node.of)
    for one in _operations(node.of):
        yield replace(one, text=with_aggregates(one.text, results))
    if node.distinct:
        yield Operation("distinct", "", node.names)
    for expression, descending in node.order:
        way = "desc" if descending else "asc"
        text = with_aggregates(write_expression(expression), results)
        yield Operation("order", text, tuple(_variables(expression)), (way,))
    if node.start:
        yield Operation("offset", str(node.start), values=(str(node.start),))
    if node.length is not None:
        yield Operation("limit", str(node.length), values=(str(node.length),))


def _operation(name: str, *expressions: of.Expression) -> Operation:
    text = ", ".join(map(write_expression, expressions))
    return Operation(name, text, tuple(_variables(expressions)), _values(expressions))


def _aggregate(one: of.Aggregate) -> Operation:
    return Operation(one.name, aggregated(one), tuple(_variables(one.of)), _values(one.of))


def _variables(node: object) -> Iterator[str]:
    return iter(dict.fromkeys(one.name for one in of.parts(node) if isinstance(one, of.Var) and one.name[0] != "_"))


def _values(node: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.text for one in of.parts(node) if isinstance(one, of.Constant)))
