"""The values of pattern matching: patterns on node numbers, and what was left out on the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from triplecheck.kg.graph import IntArray
from triplecheck.kg.types import Direction

Domain = IntArray | None
"""What a variable may stand for: nodes, shape (n,), int64, ascending, each once; None: any node."""


@dataclass(frozen=True, slots=True)
class Link:
    """What joins the two ends of a pattern.

    Attributes:
        relations: any of these; None: any relation of the graph.
        directions: how an edge may run, seen from the head of the pattern.
    """

    relations: tuple[int, ...] | None
    directions: tuple[Direction, ...] = (Direction.OUT,)

    @property
    def reverse(self) -> Link:
        """The same, seen from the tail."""
        return Link(self.relations, tuple(direction.reverse for direction in self.directions))


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A pattern whose relation is a number. Its ends are variables; a constant is one with a given domain.

    Attributes:
        head, tail: names of two different variables.
        link: what joins them.
        text: the pattern as it was written.
    """

    head: str
    link: Link
    tail: str
    text: str

    def other(self, variable: str) -> str:
        """The variable at the other end."""
        return self.tail if variable == self.head else self.head

    def link_from(self, variable: str) -> Link:
        """The link, seen from one end."""
        return self.link if variable == self.head else self.link.reverse

    def loosened(self, *, any_direction: bool = False, any_relation: bool = False) -> BoundPattern:
        """The same, satisfied by edges in both directions, or of all relations."""
        link = Link(
            None if any_relation else self.link.relations,
            tuple(Direction) if any_direction else self.link.directions,
        )
        return replace(self, link=link)

    @property
    def order(self) -> tuple[str, ...]:
        """A key to sort by, which does not depend on how patterns are listed."""
        return (self.text, self.head, self.tail, repr(self.link))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pattern that could not be used, as written, and why."""

    pattern: str
    reason: str


@dataclass(frozen=True)
class Query:
    """Patterns that are all to hold.

    Attributes:
        patterns: on node numbers.
        given: domain of each constant, by its variable; homonyms are all in it.
        types: type id that restricts a variable, for those that have one.
        dropped: patterns that could not be used.
        warnings: what was taken otherwise than written.
    """

    patterns: tuple[BoundPattern, ...]
    given: Mapping[str, IntArray] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, constants among them, in order of appearance."""
        return tuple(dict.fromkeys(end for pattern in self.patterns for end in (pattern.head, pattern.tail)))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables without the constants."""
        return tuple(name for name in self.names if name not in self.given)

    def only(self, patterns: Sequence[BoundPattern]) -> Query:
        """The same with some of its patterns."""
        return Query(tuple(patterns), self.given, self.types, self.dropped, self.warnings)

    def around(self, variable: str) -> tuple[BoundPattern, ...]:
        """The patterns that are connected with a variable, directly or by way of others."""
        reached, found = {variable}, set[int]()
        while True:
            new = {
                at
                for at, pattern in enumerate(self.patterns)
                if at not in found and (pattern.head in reached or pattern.tail in reached)
            }
            if not new:
                return tuple(pattern for at, pattern in enumerate(self.patterns) if at in found)
            found |= new
            reached |= {end for at in new for end in (self.patterns[at].head, self.patterns[at].tail)}

    @property
    def is_forest(self) -> bool:
        """Whether no variables form a cycle, so that domains that are consistent hold nothing else."""
        root = {name: name for name in self.names}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        for pattern in self.patterns:
            head, tail = find(pattern.head), find(pattern.tail)
            if head == tail:
                return False
            root[head] = tail
        return True
