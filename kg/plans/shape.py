"""The shape of a plan: cycles of its triples, things that only join two of them, and parts that nothing joins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from triplecheck.kg.plans import algebra as of

_ORDERED = frozenset((">", ">=", "<", "<="))


def has_cycle(patterns: Iterable[of.TriplePattern]) -> bool:
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


def bridges(select: of.Select) -> list[tuple[int, ...]]:
    """The relations of each triple at a variable that joins two triples and stands nowhere else.

    Returns:
        The numbers of the relation of each such triple, in no order.
    """
    patterns = [one for one in of.parts(select) if isinstance(one, of.TriplePattern)]
    used = Counter(one.name for one in of.parts(select) if isinstance(one, of.Var))
    used.update(select.names)
    at = Counter(end.name for one in patterns for end in _joined(one))
    middle = {name for name, count in at.items() if count == 2 and used[name] == 2}
    return [
        one.predicate.numbers
        for one in patterns
        if isinstance(one.predicate, of.Relations) and middle & {end.name for end in _joined(one)}
    ]


def stated(select: of.Select) -> list[tuple[int, ...]]:
    """The relations of the triples whose two ends are things that the query names.

    Returns:
        The numbers of the relations, one tuple for each of these triples, in no order.
    """
    patterns = (one for one in of.parts(select) if isinstance(one, of.TriplePattern))
    return [
        one.predicate.numbers
        for one in patterns
        if isinstance(one.predicate, of.Relations)
        and not isinstance(one.tail, of.Classes)
        and not any(isinstance(end, of.Var) for end in one.ends)
    ]


def apart(select: of.Select) -> list[str]:
    """The variables that no triple or expression joins to the selected ones: they only say that something exists.

    Returns:
        Their names, in the order of the triples.
    """
    together = [names for one in of.parts(select) if len(names := _together(one)) > 1]
    reached, before = set(select.names), set[str]()
    while reached != before:
        before = reached
        reached = reached.union(*(names for names in together if not names.isdisjoint(reached)))
    ends = [end.name for one in of.positive(select) for end in one.ends if isinstance(end, of.Var)]
    return [name for name in dict.fromkeys(ends) if name not in reached]


def compared(select: of.Select) -> list[tuple[of.End, of.End, tuple[int, ...]]]:
    """The pairs of things whose values by one relation a filter compares.

    Returns:
        Of each pair the thing with the greater value, the other one, and the numbers of the relation.
    """
    patterns = (one for one in of.parts(select) if isinstance(one, of.TriplePattern))
    told = {
        one.tail.name: (one.head, one.predicate.numbers)
        for one in patterns
        if isinstance(one.tail, of.Var) and isinstance(one.predicate, of.Relations)
    }
    found = []
    for call in (one for one in of.parts(select) if isinstance(one, of.Call) and one.name in _ORDERED):
        values = [told[one.name] for one in call.arguments if isinstance(one, of.Var) and one.name in told]
        if len(values) == 2 and values[0][1] == values[1][1]:
            greater, smaller = values[:: 1 if call.name.startswith(">") else -1]
            found.append((greater[0], smaller[0], greater[1]))
    return found


def contradicted(select: of.Select) -> bool:
    """Whether a plan requires the triples that it excludes: { ?x <p> <A> . FILTER NOT EXISTS { ?x <p> <A> } }."""
    required = set(of.positive(select))
    denied = (one.pattern for one in of.parts(select) if isinstance(one, of.Exists) and one.negated)
    return any(isinstance(one, of.Basic) and one.patterns and required.issuperset(one.patterns) for one in denied)


def doubled(select: of.Select) -> list[tuple[of.Constant, of.Constant]]:
    """The pairs of names that one variable must have by the same relation: { ?x <p> <A> . ?x <p> <B> }."""
    named: dict[tuple[str, of.Predicate], dict[of.Constant, None]] = {}
    for one in of.positive(select):
        if isinstance(one.head, of.Var) and isinstance(one.tail, of.Constant):
            named.setdefault((one.head.name, one.predicate), {})[one.tail] = None
    return [pair for names in named.values() for pair in itertools.combinations(names, 2)]


def _together(node: object) -> set[str]:
    """The names of the variables that one part of a plan relates to each other."""
    if isinstance(node, of.Group):
        rows = [node.of] if any(one.of is None for one in node.aggregates) else []  # COUNT(*) is of all that they say
        return {one.result for one in node.aggregates}.union(*map(of.variables, (*node.keys, *rows)))
    return of.variables(node) if isinstance(node, of.TriplePattern | of.Call | of.Extend | of.Aggregate) else set()


def _joined(pattern: of.TriplePattern) -> Sequence[of.Var]:
    """The variables at the ends of a triple that says no class."""
    return () if isinstance(pattern.tail, of.Classes) else [end for end in pattern.ends if isinstance(end, of.Var)]
