"""The values that `kg` takes and returns.

Ids are strings at the edge of the library. Inside a graph every node (entity or literal value) and every relation has a
dense integer, which the look-ups of `kg.graph.Graph` take and return.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

XSD = "http://www.w3.org/2001/XMLSchema#"

TRUTHS = {"true": "true", "1": "true", "false": "false", "0": "false"}
"""The canonical form of each form of `xsd:boolean`."""

Edge = tuple[int, int, int]
"""(head, relation, tail) in a graph's integers."""


class Direction(IntEnum):
    """Direction in which an edge is followed: from head to tail, or from tail to head."""

    OUT = 0
    IN = 1

    @property
    def reverse(self) -> Direction:
        """The opposite direction."""
        return Direction.IN if self is Direction.OUT else Direction.OUT


@dataclass(frozen=True, slots=True)
class Literal:
    """A value, not an entity: a number, a date, a string.

    Attributes:
        lexical: the value as written ("1895", "2014-07-13").
        datatype: IRI of its XSD datatype; `xsd:string` if none was given.
    """

    lexical: str
    datatype: str = XSD + "string"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a `Pattern`; `type` optionally restricts its nodes."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A constant of a `Pattern` that is given by name; `type` optionally restricts its nodes."""

    text: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Triple:
    """One statement of the graph in ids: (head, relation, tail). A literal tail keeps its datatype."""

    head: str
    relation: str
    tail: str | Literal


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple whose head, relation and tail may be variables; head and tail may also be names."""

    head: str | Name | Variable
    relation: str | Variable
    tail: str | Literal | Name | Variable


@dataclass(frozen=True, slots=True)
class Entity:
    """The description of a node, without its edges."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """The description of a relation. `domain` and `range` are type ids, if declared."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    domain: str | None = None
    range: str | None = None
