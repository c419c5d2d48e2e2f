"""What all questions with plans have in common: a draft, and conditions in words and in a plan."""

from __future__ import annotations

from dataclasses import dataclass

from triplecheck.optimize.synth.english import clause
from triplecheck.optimize.synth.facets import Facet, Kind, Lot, bounded

NONE = "none"
"""In place of a plan: the graph cannot tell."""


@dataclass(frozen=True)
class PlanDraft:
    """A question with a plan, before it is run.

    Attributes:
        plan: in the notation of `kg.plans`, or `none`.
        topics: things that it names.
        expects: what the plan must give: `some` (things, not all), `value` (one that is not 0), `zero`, `yes`, `no`,
            `any` (also nothing), `none` (nothing: the plan asks whether the graph could tell).
        universe: the number of things that could be the answer; 0: not known.
    """

    question: str
    plan: str
    topics: tuple[int, ...] = ()
    expects: str = "some"
    universe: int = 0


@dataclass(frozen=True)
class Condition:
    """A condition of things of a class: as a clause, in a plan, the topics, and the things that meet it, if known."""

    text: str
    plan: str
    topics: tuple[int, ...] = ()
    met_by: frozenset[int] = frozenset()


def condition(at: Lot, kind: Kind, other: Facet | None = None, head: int | None = None) -> Condition | None:
    """A condition by another relation; if a thing is given, one that it meets."""
    link = at.link(kind, other)
    if link is None:
        return None
    facet, _, tail = link
    if head is not None:
        tails = facet.tails[facet.heads == head].tolist()
        tail = int(at.lot.choice(tails)) if tails else -1
        if not tails or not at.around.is_named(tail):
            return None
    name, written = at.name(tail)
    met_by = frozenset(facet.heads[facet.tails == tail].tolist())
    return Condition(clause(facet.wording, name, many=True), f"{facet.name} {written}", (tail,), met_by)


def bound(at: Lot, kind: Kind) -> Condition | None:
    """A condition by a number or a year."""
    facet = at.facet(kind, "number", "year")
    if facet is None:
        return None
    said, written, _ = at.value(facet)
    comparison = at.lot.choice(("<", ">") if facet.sort == "year" else ("<", ">", ">=", "<="))
    return Condition(bounded(facet, comparison, said), f"{facet.name} ?n . FILTER(?n {comparison} {written})")


def perhaps(at: Lot, kind: Kind, other: Facet, head: int | None = None) -> Condition | None:
    """A condition in half of the cases, which several things with the other relation meet if no thing is given."""
    found = condition(at, kind, other, head) if at.lot.random() < 0.5 else None
    several = found is not None and (head is not None or len(found.met_by.intersection(other.heads.tolist())) > 1)
    return found if several else None


def select(kind: Kind, rest: str, after: str = "") -> str:
    """A plan that selects things of a class."""
    return f"SELECT {kind.variable} {{ {kind.pattern()}{rest} }}{after}"
