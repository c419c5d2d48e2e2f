"""The algebra of plans: frozen values that say what a query computes, with all names looked up.

It is SPARQL's algebra (SPARQL 1.1, section 18), in which a name stands for the relations, classes or nodes that it
names in one graph. `kg.plans.translate` makes it of what rdflib parsed, `kg.plans.execute` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeAlias

from triplecheck.kg.types import Literal

HIDDEN = ("=", "_:", "#")
"""What the columns begin with that are no variables of a plan: constants, unnamed nodes, numbers of groups."""


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. The name of an unnamed node (`[]`) begins with `_:`."""

    name: str

    @property
    def column(self) -> str:
        """The name of its column in tables of solutions."""
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A name or a value.

    Attributes:
        text: as it is written in a plan.
        nodes: the nodes that it stands for, ascending; of a value those with its text.
        literal: the value; None for a name.
    """

    text: str
    nodes: tuple[int, ...] = ()
    literal: Literal | None = None

    @property
    def column(self) -> str:
        """The name of its column in tables of solutions."""
        return f"={self.text}"


End: TypeAlias = Var | Constant


# --- triple patterns -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Relations:
    """A predicate: the relations of one name, which is written in a plan as `text`."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IsA:
    """The predicate `a`: from a node to its class."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The predicate `rdfs:label`: from a node to its label."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The object of `a`: the classes of one name, which is written in a plan as `text`."""

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A property path that is no sequence: `*`, `+`, `?`, `!` and `|` over predicates."""

    operator: str
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Inverse:
    """A predicate in the other direction, inside a `Path`."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class Chain:
    """Predicates one after the other, inside a `Path`."""

    parts: tuple[Predicate, ...]


Predicate: TypeAlias = Relations | IsA | Labelled | Var | Path | Inverse | Chain


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """One triple of a plan. The tail of `IsA` may be `Classes`."""

    head: End
    predicate: Predicate
    tail: End | Classes

    @property
    def ends(self) -> tuple[End, ...]:
        """Head and tail, without classes."""
        return (self.head,) if isinstance(self.tail, Classes) else (self.head, self.tail)


# --- expressions ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function with its arguments: `>=`, `and`, `not`, `+`, `in`, `bound`, `regex` ..."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether a pattern has a solution for a row; `negated` asks whether it has none."""

    pattern: Operator
    negated: bool


Expression: TypeAlias = Var | Constant | Call | Exists | Relations | IsA | Labelled
"""A predicate is compared with a variable that stands for predicates."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value over the rows of a group.

    Attributes:
        name: count, sum, avg, min, max, sample or group_concat.
        of: what is aggregated; None: whole rows, as in `COUNT(*)`.
        distinct: each value once.
        separator: of group_concat.
    """

    name: str
    of: Expression | None
    distinct: bool
    result: str
    separator: str = " "


# --- operators -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Basic:
    """Triple patterns that must all hold; none at all has one solution without variables."""

    patterns: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Solutions of both that agree on the variables that they share."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """Solutions of the left, each with those of the right that agree and satisfy the condition, if there are any."""

    left: Operator
    right: Operator
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Minus:
    """Solutions of the left that agree with none of the right on the variables that they share."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class Union:
    """Solutions of either."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class Filter:
    """Solutions for which the conditions are true; `having` marks conditions on groups."""

    of: Operator
    conditions: tuple[Expression, ...]
    having: bool = False


@dataclass(frozen=True, slots=True)
class Extend:
    """Solutions with one more variable, unbound where its expression is an error."""

    of: Operator
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Group:
    """One row for each distinct values of the keys; without keys one row for all."""

    of: Operator
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that the query lists; None is unbound."""

    names: tuple[str, ...]
    rows: tuple[tuple[Constant | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Select:
    """A query, or a query in a query.

    Attributes:
        of: the pattern, with groups and computed variables.
        names: the variables of the result, in order.
        order: what rows are sorted by, with whether descending.
        distinct: each row once.
        start, length: the part of the rows that is wanted; None: all from `start`.
    """

    of: Operator
    names: tuple[str, ...]
    order: tuple[tuple[Expression, bool], ...] = ()
    distinct: bool = False
    start: int = 0
    length: int | None = None


Operator: TypeAlias = Basic | Join | LeftJoin | Minus | Union | Filter | Extend | Group | Values | Select


# --- walks ---------------------------------------------------------------------------------------
def inside(node: object) -> Iterator[object]:
    """The values directly inside a value of the algebra, in the order of their fields."""
    if isinstance(node, tuple):
        yield from node
    elif is_dataclass(node) and not isinstance(node, Literal):
        for one in fields(node):
            yield getattr(node, one.name)


def parts(node: object) -> Iterator[object]:
    """A value of the algebra and all values inside it, from the outside in."""
    yield node
    for one in inside(node):
        yield from parts(one)


def positive(node: object) -> Iterator[TriplePattern]:
    """The triple patterns that hold for a solution: not those of MINUS, EXISTS and NOT EXISTS."""
    if isinstance(node, TriplePattern):
        yield node
    elif isinstance(node, Minus):
        yield from positive(node.left)
    elif not isinstance(node, Exists):
        for one in inside(node):
            yield from positive(one)


def group_of(node: Operator) -> Group | None:
    """The groups of a query, below what is computed with them and asked of them; None without groups."""
    while isinstance(node, Extend | Filter):
        node = node.of
    return node if isinstance(node, Group) else None


def variables(node: object) -> set[str]:
    """The names of all variables in a value of the algebra, also of those that it only computes with."""
    found: set[str] = set()
    for one in parts(node):
        if isinstance(one, Var | Extend):
            found.add(one.name)
        elif isinstance(one, Values | Select):
            found.update(one.names)
        elif isinstance(one, Aggregate):
            found.add(one.result)
    return found
