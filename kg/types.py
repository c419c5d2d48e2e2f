"""The values that the knowledge-graph library hands in and out.

Ids are strings at the edge. Inside a graph every node (entity or literal value) and every relation
has a dense integer, which is what the look-ups of `kg.graph.Graph` take and return.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

XSD = "http://www.w3.org/2001/XMLSchema#"

Edge = tuple[int, int, int]
"""(head, relation, tail) in a graph's integers."""


class Direction(IntEnum):
    """Which way an edge is followed: from head to tail, or from tail to head."""

    OUT = 0
    IN = 1

    @property
    def reverse(self) -> Direction:
        """The other one."""
        return Direction.IN if self is Direction.OUT else Direction.OUT


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is no entity: a number, a date, a string.

    Attributes:
        lexical: the value as written ("1895", "2014-07-13").
        datatype: IRI of its XSD datatype; `xsd:string` where none was given.
    """

    lexical: str
    datatype: str = XSD + "string"


@dataclass(frozen=True, slots=True)
class Variable:
    """An unknown of a `Pattern`; `type` optionally restricts what it may stand for."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """Something of a `Pattern` that is known by name only; `type` optionally says of what kind it is."""

    text: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Triple:
    """One statement of the graph, in ids: (head, relation, tail). A literal tail keeps its datatype."""

    head: str
    relation: str
    tail: str | Literal


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple in which head, relation and tail may be variables, and ends may be given by name."""

    head: str | Name | Variable
    relation: str | Variable
    tail: str | Literal | Name | Variable


@dataclass(frozen=True, slots=True)
class Entity:
    """What the graph says about a node apart from its edges."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """What the graph says about a relation. `domain` and `range` are type ids, where declared."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    domain: str | None = None
    range: str | None = None
