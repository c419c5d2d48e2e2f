"""Paths of facts, and reasonings that describe them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from triplecheck.signatures.notation import Hops, WrittenFact, WrittenHop, WrittenPath, write_path

NOTHING_FOUND = "The facts do not tell it."
_NUMBER = re.compile(r"^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$")
_DATE = re.compile(r"^-?\d{3,4}-\d{2}(?:-\d{2})?$")
_TIME = re.compile(r"\b[12]\d{3}\b|^-?\d{3,4}(?:-\d{2}(?:-\d{2})?)?$")
_MOST_HOPS = 3


@dataclass
class FactPath:
    """Facts that lead from a topic along the same relations.

    Attributes:
        topic: where the path starts.
        facts: the facts of its last hop.
        before: the path without its last hop, None for the first.
    """

    topic: str
    hops: Hops
    facts: list[WrittenFact] = field(default_factory=list)
    before: FactPath | None = None

    @property
    def written(self) -> str:
        """In the notation of facts: topic → relation ← relation."""
        return write_path(WrittenPath(self.topic, self.hops))

    @property
    def ends(self) -> list[str]:
        """Values at the end, each once, in order."""
        return list(dict.fromkeys(value for fact in self.facts for value in fact.values))

    @property
    def measured(self) -> bool:
        """Whether everything at the end is a number or a date."""
        return all(is_quantity(value) for value in self.ends)

    @property
    def dated(self) -> bool:
        """Whether everything at the end is a date."""
        return all(map(_DATE.match, self.ends))

    def numbers(self, ends: set[str] | None = None) -> list[int]:
        """Numbers of the facts that lead to these ends (or all), those of earlier hops first."""
        facts = [f for f in self.facts if ends is None or ends & set(f.values)]
        before = self.before.numbers({f.anchor for f in facts}) if self.before else []
        return list(dict.fromkeys([*before, *(f.number for f in facts)]))


def is_quantity(value: str) -> bool:
    """Whether a value is written as a number or a date."""
    return bool(_NUMBER.match(value) or _DATE.match(value))


def misfits(asked: str, path: FactPath) -> bool:
    """Whether a path ends at no time for a question that asks when, or at numbers for one that asks who or where."""
    if asked == "time":
        return not any(_TIME.search(end) for end in path.ends)
    return asked in ("person", "place") and path.measured


def follow(facts: Sequence[WrittenFact], topics: Sequence[str]) -> list[FactPath]:
    """All paths of up to three hops that the facts form from the topics."""
    by_anchor: dict[str, list[WrittenFact]] = {}
    for fact in facts:
        by_anchor.setdefault(fact.anchor, []).append(fact)
    found: list[FactPath] = []
    for topic in topics:
        frontier: list[tuple[FactPath | None, list[str]]] = [(None, [topic])]
        for _ in range(_MOST_HOPS):
            reached: list[tuple[FactPath | None, list[str]]] = []
            for before, nodes in frontier:
                for path in _extend(topic, before, nodes, by_anchor):
                    found.append(path)
                    reached.append((path, path.ends))
            frontier = reached
    return found


def _extend(
    topic: str, before: FactPath | None, nodes: Sequence[str], by_anchor: dict[str, list[WrittenFact]]
) -> list[FactPath]:
    paths: dict[WrittenHop, FactPath] = {}
    for node in nodes:
        for fact in by_anchor.get(node, ()):
            if before is not None and _turns_back(before, fact):
                continue
            hops = (*(before.hops if before else ()), fact.hop)
            paths.setdefault(fact.hop, FactPath(topic, hops, [], before)).facts.append(fact)
    return list(paths.values())


def _turns_back(before: FactPath, fact: WrittenFact) -> bool:
    """Whether a fact is the inverse of the fact that led to it."""
    last = before.hops[-1]
    if last.label != fact.hop.label or last.arrow == fact.hop.arrow:
        return False
    sources = {f.anchor for f in before.facts if fact.anchor in f.values}
    return set(fact.values) <= sources


def explain(*paths: FactPath, then: str = "") -> str:
    """A reasoning: the path that the facts show, and the operation on it.

    All these sentences have the same start, so a student decides at one word whether there is an answer.
    """
    return _reasoning(" and ".join(path.written for path in paths), then)


def each(measure: str, then: str) -> str:
    """A reasoning: the facts show a number or date of several entities, and the operation on these."""
    return _reasoning(f"each {measure}", then)


def _reasoning(what: str, then: str) -> str:
    return f"The facts tell {what}: {then}." if then else f"The facts tell {what}."
