"""`Plan`: a query that was read and whose names were looked up; see `kg.plans.notation` for how it is written."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.names import PlanNames
from triplecheck.kg.plans.notation import encode, parse
from triplecheck.kg.plans.translate import translate
from triplecheck.kg.plans.write import aggregated, with_aggregates, write_expression, write_pattern
from triplecheck.kg.values import valid

_STAR = re.compile(r"\bSELECT\s+(?:DISTINCT\s+|REDUCED\s+)?\*", re.IGNORECASE)
_VARIABLE = re.compile(r"[?$](\w+)")
_ORDERED = frozenset((">", ">=", "<", "<="))
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
        """The relations of the triples at a variable that joins two triples and stands nowhere else, in no order."""
        used = Counter(one.name for one in of.parts(self.algebra) if isinstance(one, of.Var))
        used.update(self.algebra.names)
        at = Counter(end.name for one in self._patterns for end in _joined(one))
        middle = {name for name, count in at.items() if count == 2 and used[name] == 2}
        return [numbers for one, numbers in self._related if middle & {end.name for end in _joined(one)}]

    def leading_to(self, variables: Iterable[str]) -> list[tuple[int, ...]]:
        """The relations of the triples whose tail is one of some variables."""
        names = set(variables)
        return [numbers for one, numbers in self._related if isinstance(one.tail, of.Var) and one.tail.name in names]

    @property
    def stated(self) -> list[tuple[int, ...]]:
        """The relations of the triples whose two ends are things that the query names; empty for ASK."""
        related = self._related if self.kind == "select" else []
        return [
            numbers
            for one, numbers in related
            if isinstance(one.head, of.Constant) and isinstance(one.tail, of.Constant)
        ]

    @property
    def apart(self) -> list[str]:
        """The variables that no triple or expression joins to the selected ones; empty for ASK.

        They only say that something exists: `?author` in { ?novel a <novel> . VALUES ?author { <Jane Austen> } }. Those
        of triples first, in their order.
        """
        if self.kind == "ask":
            return []
        together = [names for one in of.parts(self.algebra) if len(names := _together(one)) > 1]
        reached, before = set(self.algebra.names), set[str]()
        while reached != before:
            before = reached
            reached = reached.union(*(names for names in together if not names.isdisjoint(reached)))
        ends = [end.name for one in of.positive(self.algebra) for end in one.ends if isinstance(end, of.Var)]
        listed = [name for one in of.parts(self.algebra) for name in _listed(one)]
        return [name for name in dict.fromkeys((*ends, *listed)) if name not in reached]

    @property
    def triples(self) -> int:
        """The number of its triples that have a relation."""
        return sum(not isinstance(one.predicate, of.IsA | of.Labelled) for one in self._patterns)

    @property
    def is_contradicted(self) -> bool:
        """Whether it requires the triples that it excludes: { ?x <p> <A> . FILTER NOT EXISTS { ?x <p> <A> } }."""
        if self.has("union", "optional"):
            return False
        required = set(of.positive(self.algebra))
        denied = (one.pattern for one in of.parts(self.algebra) if isinstance(one, of.Exists) and one.negated)
        return any(isinstance(one, of.Basic) and one.patterns and required.issuperset(one.patterns) for one in denied)

    @property
    def doubled(self) -> list[tuple[of.Constant, of.Constant]]:
        """The pairs of names that one variable must have by the same relation, as in { ?x <p> <A> . ?x <p> <B> };
        none of a union."""
        if self.has("union", "optional"):
            return []
        named: dict[tuple[str, of.Predicate], dict[of.Constant, None]] = {}
        for one in of.positive(self.algebra):
            if isinstance(one.head, of.Var) and isinstance(one.tail, of.Constant):
                named.setdefault((one.head.name, one.predicate), {})[one.tail] = None
        return [pair for names in named.values() for pair in itertools.combinations(names, 2)]

    @property
    def compared(self) -> list[tuple[of.End, of.End, tuple[int, ...]]]:
        """The things whose values by one relation its filters compare, the one with the greater value first, and the
        numbers of the relation; none of a plan with a negation."""
        if self.has("not", "not exists", "minus pattern"):
            return []
        told = {one.tail.name: (one.head, numbers) for one, numbers in self._related if isinstance(one.tail, of.Var)}
        found = []
        for call in (one for one in of.parts(self.algebra) if isinstance(one, of.Call) and one.name in _ORDERED):
            values = [told[one.name] for one in call.arguments if isinstance(one, of.Var) and one.name in told]
            if len(values) == 2 and values[0][1] == values[1][1]:
                greater, smaller = values[:: 1 if call.name.startswith(">") else -1]
                found.append((greater[0], smaller[0], greater[1]))
        return found

    @property
    def _patterns(self) -> list[of.TriplePattern]:
        return [one for one in of.parts(self.algebra) if isinstance(one, of.TriplePattern)]

    @property
    def _related(self) -> list[tuple[of.TriplePattern, tuple[int, ...]]]:
        """The triples that have relations, with the numbers of these."""
        return [(one, one.predicate.numbers) for one in self._patterns if isinstance(one.predicate, of.Relations)]

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
                    yield Operation(one.name, aggregated(one), _variables(one.of), _values(one.of))
            yield from _operations(inner)
        case of.Filter(inner, conditions, having):
            yield from _operations(inner)
            for condition in conditions:
                if having:
                    yield _operation("having", condition)
                yield from _operations(condition)
        case of.Exists(pattern, negated):
            yield Operation("not exists" if negated else "exists", write_pattern(pattern), _variables(pattern))
            yield from _operations(pattern)
        case of.Minus(left, right):
            yield from _operations(left)
            yield Operation("minus pattern", write_pattern(right), _variables(right))
            yield from _operations(right)
        case of.Union():
            yield Operation("union", write_pattern(node), _variables(node))
            yield from _operations((node.left, node.right))
        case of.LeftJoin(left, right, condition):
            yield from _operations(left)
            yield Operation("optional", write_pattern(right), _variables(right))
            yield from _operations((right, condition))
        case of.Basic(patterns) if _has_cycle(patterns):
            yield Operation("cycle", write_pattern(node), _variables(node))
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
    for one in _operations(node.of):
        yield replace(one, text=with_aggregates(one.text, node.of))
    if node.distinct:
        yield Operation("distinct", "", node.names)
    for expression, descending in node.order:
        way = "desc" if descending else "asc"
        text = with_aggregates(write_expression(expression), node.of)
        yield Operation("order", text, _variables(expression), (way,))
    if node.start:
        yield Operation("offset", str(node.start), values=(str(node.start),))
    if node.length is not None:
        yield Operation("limit", str(node.length), values=(str(node.length),))


def _operation(name: str, *expressions: of.Expression) -> Operation:
    text = ", ".join(map(write_expression, expressions))
    return Operation(name, text, _variables(expressions), _values(expressions))


def _variables(node: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.name for one in of.parts(node) if isinstance(one, of.Var) and one.name[0] != "_"))


def _values(node: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.text for one in of.parts(node) if isinstance(one, of.Constant)))


# --- its shape ---------------------------------------------------------------------------------
def _has_cycle(patterns: Iterable[of.TriplePattern]) -> bool:
    """Whether triples join variables in a cycle: two triples between the same two, or one from an end to itself."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.get(name, name) != name:
            name = group[name]
        return name

    for pattern in patterns:
        if pattern.head == pattern.tail:
            return True
        ends = [end.name for end in pattern.ends if isinstance(end, of.Var)]
        if len(ends) == 2:
            one, other = map(root, ends)
            if one == other:
                return True
            group[one] = other
    return False


def _together(node: object) -> set[str]:
    """The names of the variables that one part of a plan relates to each other."""
    if isinstance(node, of.Group):
        rows = [node.of] if any(one.of is None for one in node.aggregates) else []  # COUNT(*) is of all that they say
        return {one.result for one in node.aggregates}.union(*map(of.variables, (*node.keys, *rows)))
    if isinstance(node, of.Extend):
        return {node.name} | of.variables(node.value)
    return of.variables(node) if isinstance(node, of.TriplePattern | of.Call | of.Aggregate | of.Values) else set()


def _listed(node: object) -> tuple[str, ...]:
    """The names of the variables to which VALUES or BIND gives constants."""
    if isinstance(node, of.Extend):
        return (node.name,) if isinstance(node.value, of.Constant) else ()
    return node.names if isinstance(node, of.Values) else ()


def _joined(pattern: of.TriplePattern) -> Sequence[of.Var]:
    """The variables at the ends of a triple that says no class."""
    return () if isinstance(pattern.tail, of.Classes) else [end for end in pattern.ends if isinstance(end, of.Var)]
