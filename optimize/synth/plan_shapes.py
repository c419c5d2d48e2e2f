"""Questions with a plan: one function per kind draws one from a graph, or raises `DrawError`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from triplecheck.kg.plans import write_label
from triplecheck.optimize.synth.english import WordingKind, article, clause
from triplecheck.optimize.synth.facets import Facet, Kind, Lot, bounded, has_many, is_it, noun, timed
from triplecheck.optimize.synth.shapes import DrawError, require

P = ParamSpec("P")
T = TypeVar("T")

NONE = "none"
"""In place of a plan: the graph cannot tell."""
_IN_VAIN = 0.05  # of the draws that find nothing with two ends
_ORDINALS = {1: "second", 2: "third"}


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


def optional(draw: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | None:
    """What a function draws; None if it raises `DrawError`."""
    try:
        return draw(*arguments, **options)
    except DrawError:
        return None


def condition(at: Lot, kind: Kind, other: Facet | None = None, head: int | None = None) -> Condition:
    """A condition by another relation; if a thing is given, one that it meets."""
    facet, _, tail = at.link(kind, other)
    if head is not None:
        tails = facet.tails[facet.heads == head].tolist()
        require(tails)
        tail = int(at.lot.choice(tails))
    name, written = at.name(tail)
    met_by = frozenset(facet.heads[facet.tails == tail].tolist())
    return Condition(clause(facet.wording, name, many=True), f"{facet.name} {written}", (tail,), met_by)


def bound(at: Lot, kind: Kind) -> Condition:
    """A condition by a number or a year."""
    facet = at.facet(kind, "number", "year")
    said, written, _ = at.value(facet)
    comparison = at.lot.choice(("<", ">") if facet.sort == "year" else ("<", ">", ">=", "<="))
    return Condition(bounded(facet, comparison, said), f"{facet.name} ?n . FILTER(?n {comparison} {written})")


def perhaps(at: Lot, kind: Kind, other: Facet, head: int | None = None) -> Condition | None:
    """A condition in half of the cases, which several things with the other relation meet if no thing is given."""
    found = optional(condition, at, kind, other, head) if at.lot.random() < 0.5 else None
    several = found is not None and (head is not None or len(found.met_by.intersection(other.heads.tolist())) > 1)
    return found if several else None


def select(kind: Kind, rest: str, after: str = "") -> str:
    """A plan that selects things of a class."""
    return f"SELECT {kind.variable} {{ {kind.pattern()}{rest} }}{after}"


# --- conditions ----------------------------------------------------------------------------------
def _negation(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet, head, tail = at.link(kind)
    name, written = at.name(tail)
    said = clause(facet.wording, name, many=True, negated=True)
    require(kind.label and said)
    without = f"FILTER NOT EXISTS {{ {kind.variable} {facet.name} {written} }}"
    more = perhaps(at, kind, facet, head)
    if more is not None:
        text, plan = f"Which {kind.many} {more.text} and {said}?", select(kind, f"{more.plan} . {without}")
        return PlanDraft(text, plan, (*more.topics, tail), universe=len(kind.nodes))
    plan = f"SELECT {kind.variable} {{ {kind.variable} a {write_label(kind.label)} . {without} }}"
    return PlanDraft(f"Which {kind.many} {said}?", plan, (tail,), universe=len(kind.nodes))


def _two_ends(at: Lot, together: bool) -> tuple[Kind, Facet, int, int]:
    kind = at.kind()
    facet, head, tail = at.link(kind)
    tails = facet.tails[facet.heads == head] if together else facet.tails
    others = sorted(set(tails.tolist()) - {tail})
    require(others)
    return kind, facet, tail, at.around.named(at.lot.choice(others))


def _both(at: Lot) -> PlanDraft:
    found, expects = optional(_two_ends, at, together=True), "some"
    if found is None:
        require(at.lot.random() < _IN_VAIN)
        found, expects = _two_ends(at, together=False), "any"  # nothing need have both
    kind, facet, one, other = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"Which {kind.many} {clause(facet.wording, f'both {name} and {name2}', many=True)}?"
    plan = select(kind, f"{facet.name} {written} ; {facet.name} {written2}")
    return PlanDraft(text, plan, (one, other), expects, len(kind.nodes))


def _either(at: Lot) -> PlanDraft:
    kind, facet, one, other = _two_ends(at, together=False)
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"Which {kind.many} {clause(facet.wording, f'{name} or {name2}', many=True)}?"
    plan = select(kind, f"{facet.name} ?end . VALUES ?end {{ {written} {written2} }}")
    return PlanDraft(text, plan, (one, other), universe=len(kind.nodes))


def _and(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet, head, tail = at.link(kind)
    more = condition(at, kind, facet, head) if at.lot.random() < 0.5 else bound(at, kind)
    name, written = at.name(tail)
    text = f"Which {kind.many} {clause(facet.wording, name, many=True)} and {more.text}?"
    plan = select(kind, f"{facet.name} {written} ; {more.plan}")
    return PlanDraft(text, plan, (tail, *more.topics), universe=len(kind.nodes))


def _threshold(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = optional(at.facet, kind, "thing")
    if facet is not None and facet.ends and at.lot.random() < 0.25:
        least = at.lot.randrange(1, 4)
        text = has_many(facet, f"more than {least} {kind.many if least > 1 else kind.one}", noun(facet.ends))
        return PlanDraft(text, _grouped(kind, facet, f" HAVING(COUNT(DISTINCT {kind.variable}) > {least})"))
    limit = bound(at, kind)
    return PlanDraft(f"Which {kind.many} {limit.text}?", select(kind, limit.plan), universe=len(kind.nodes))


def _between(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = at.facet(kind, "number", "year")
    (said, low, size), (said2, high, size2) = sorted((at.value(facet), at.value(facet)), key=lambda one: one[2])
    require(size != size2)
    how = f"between {said} and {said2}"
    text = f"Which {kind.many} {bounded(facet, how, '').strip()}?"
    plan = select(kind, f"{facet.name} ?n . FILTER(?n >= {low} && ?n <= {high})")
    return PlanDraft(text, plan, universe=len(kind.nodes))


# --- order ---------------------------------------------------------------------------------------
def _grouped(kind: Kind, facet: Facet, after: str) -> str:
    end, of = "?end", write_label(facet.ends)
    return f"SELECT {end} {{ {end} a {of} . {kind.pattern()}{facet.name} {end} }} GROUP BY {end}{after}"


def _extreme(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = optional(at.facet, kind, "thing")
    if facet is not None and facet.ends and at.lot.random() < 0.4:
        most = at.lot.random() < 0.5
        text = has_many(facet, f"the {'most' if most else 'fewest'} {kind.many}", noun(facet.ends))
        count = f"COUNT(DISTINCT {kind.variable})"
        order = f" ORDER BY {f'DESC({count})' if most else f'ASC({count})'} LIMIT 1"
        return PlanDraft(text, _grouped(kind, facet, order), universe=len(set(facet.tails.tolist())))
    facet = at.facet(kind, "number", "year")
    require(len(set(facet.sizes)) > 1)
    most, more = at.lot.random() < 0.5, perhaps(at, kind, facet)
    which = f"Which {kind.one}" if more is None else f"Which of the {kind.many} that {more.text}"
    plan = select(kind, (f"{more.plan} ; " if more else "") + f"{facet.name} ?n", f" ORDER BY {_by(most)} LIMIT 1")
    topics = () if more is None else more.topics
    return PlanDraft(f"{which} {_is_most(at, facet, most)}?", plan, topics, universe=len(kind.nodes))


def _is_most(at: Lot, facet: Facet, most: bool, place: str = "") -> str:
    """What follows "Which thing" of an extreme."""
    if facet.sort == "year" and facet.wording.kind is WordingKind.PASSIVE:
        return f"{timed(facet, False)} {place}{'last' if most else 'first'}"
    if facet.adjectives and facet.sort == "number":
        return f"is the {place}{facet.adjectives[2 if most else 3]}"
    pairs = (("latest", "earliest"),) if facet.sort == "year" else (("highest", "lowest"), ("largest", "smallest"))
    word = at.lot.choice(pairs)[not most]
    return f"has the {place}{word} {facet.wording.text}"


def _by(most: bool) -> str:
    return "DESC(?n)" if most else "ASC(?n)"


def _ordinal(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = at.facet(kind, "number", "year")
    require(facet.sort == "number" or facet.wording.kind is WordingKind.NOUN)
    most, place = at.lot.random() < 0.5, at.lot.choice(list(_ORDINALS))
    require(len(set(facet.sizes)) > place + 1)
    text = f"Which {kind.one} {_is_most(at, facet, most, f'{_ORDINALS[place]} ')}?"
    plan = select(kind, f"{facet.name} ?n", f" ORDER BY {_by(most)} OFFSET {place} LIMIT 1")
    return PlanDraft(text, plan, universe=len(kind.nodes))


# --- values --------------------------------------------------------------------------------------
def _count(at: Lot) -> PlanDraft:
    kind = at.kind()
    met = condition(at, kind) if at.lot.random() < 0.6 else bound(at, kind)
    plan = f"SELECT (COUNT(DISTINCT {kind.variable}) AS ?total) {{ {kind.pattern()}{met.plan} }}"
    return PlanDraft(f"How many {kind.many} {met.text}?", plan, met.topics, "value")


def _total(at: Lot, function: str, word: str) -> PlanDraft:
    kind = at.kind()
    facet = at.facet(kind, "number")
    require(len(set(facet.heads.tolist())) > 1)
    more = perhaps(at, kind, facet)
    whose = f"the {kind.many}" if more is None else f"the {kind.many} that {more.text}"
    unit = f" in {facet.wording.unit}" if facet.wording.unit else ""
    rest = (f"{more.plan} ; " if more else "") + f"{facet.name} ?n"
    plan = f"SELECT ({function}(?n) AS ?total) {{ {kind.pattern()}{rest} }}"
    text = f"What is the {word} {facet.wording.text}{unit} of {whose}?"
    return PlanDraft(text, plan, () if more is None else more.topics, "value")


def _two(at: Lot) -> tuple[Facet, list[tuple[int, int]]]:
    """A relation of numbers with two edges of things with names, the larger value first."""
    facet = at.facet(at.kind(), "number")
    found: dict[int, int] = {}
    for _ in range(4):
        if (edge := optional(at.edge, facet)) is not None and (facet.heads == edge[0]).sum() == 1:
            found[edge[0]] = edge[1]
    sizes = dict(zip(facet.tails.tolist(), facet.sizes, strict=True))
    pair = sorted(list(found.items())[:2], key=lambda edge: -sizes[edge[1]])
    require(len(pair) == 2 and sizes[pair[0][1]] != sizes[pair[1][1]])
    return facet, pair


def _sum(at: Lot) -> PlanDraft:
    found = optional(_two, at) if at.lot.random() < 0.3 else None
    if found is None:
        return _total(at, "SUM", "total")
    facet, ((one, _), (other, _)) = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"What is the total {facet.wording.text} of {name} and {name2} together?"
    plan = f"SELECT (SUM(?n) AS ?total) {{ ?x {facet.name} ?n . VALUES ?x {{ {written} {written2} }} }}"
    return PlanDraft(text, plan, (one, other), "value")


def _difference(at: Lot) -> PlanDraft:
    facet, ((one, _), (other, _)) = _two(at)
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"By how much is the {facet.wording.text} of {name} higher than that of {name2}?"
    if facet.adjectives and at.lot.random() < 0.7:
        text = f"How much {facet.adjectives[0]} is {name} than {name2}?"
    plan = f"SELECT (?m - ?n AS ?total) {{ {written} {facet.name} ?m . {written2} {facet.name} ?n }}"
    return PlanDraft(text, plan, (one, other), "value")


# --- yes and no, 0 and nothing -------------------------------------------------------------------
def _yesno(at: Lot) -> PlanDraft:
    expects = at.lot.choice(("yes", "no"))
    if at.lot.random() < 0.3 and (found := optional(_two, at)) is not None:
        sized, pair = found
        (one, _), (other, _) = pair if expects == "yes" else pair[::-1]
        (name, written), (name2, written2) = at.name(one), at.name(other)
        text = f"Is the {sized.wording.text} of {name} higher than that of {name2}?"
        if sized.adjectives:
            text = f"Is {name} {sized.adjectives[0]} than {name2}?"
        plan = f"ASK {{ {written} {sized.name} ?m . {written2} {sized.name} ?n . FILTER(?m > ?n) }}"
        return PlanDraft(text, plan, (one, other), expects)
    facet = at.facet(at.kind(), "thing")
    edge, other_edge = optional(at.edge, facet), optional(at.edge, facet)
    if edge is None or other_edge is None:
        raise DrawError
    head, tail = edge[0], edge[1] if expects == "yes" else other_edge[1]
    (name, written), (name2, written2) = at.name(head), at.name(tail)
    plan = f"ASK {{ {written} {facet.name} {written2} }}"
    return PlanDraft(is_it(facet, name, name2), plan, (head, tail), expects)


def _zero(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    require(kind.label and facet.ends)
    free = sorted(set(at.kind(facet.ends).nodes.tolist()) - set(facet.tails.tolist()))
    require(free)
    end = at.lot.choice(free)
    name, written = at.name(end)
    if at.lot.random() < 0.5:
        text = f"Is there {article(kind.one)} that {clause(facet.wording, name)}?"
        return PlanDraft(text, f"ASK {{ {kind.pattern()}{facet.name} {written} }}", (end,), "no")
    plan = f"SELECT (COUNT(DISTINCT {kind.variable}) AS ?total) {{ {kind.pattern()}{facet.name} {written} }}"
    return PlanDraft(f"How many {kind.many} {clause(facet.wording, name, many=True)}?", plan, (end,), "zero")


def _path(at: Lot) -> PlanDraft:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    require(facet.ends or not kind.label)
    middle = at.kind(facet.ends)
    further = at.facet(middle, "thing", other=facet)
    edge = at.edge(further)
    require(edge[0] in facet.tails)
    by_noun = facet.wording.kind is WordingKind.NOUN
    if by_noun and further.wording.kind is WordingKind.NOUN and at.lot.random() < 0.5:
        heads = facet.heads[facet.tails == edge[0]]
        start = int(at.lot.choice(heads.tolist()))
        name, written = at.name(start)
        text = f"What is the {further.wording.text} of the {facet.wording.text} of {name}?"
        plan = f"SELECT ?end {{ {written} {facet.name} ?middle . {middle.pattern('?middle')}{further.name} ?end }}"
        return PlanDraft(text, plan, (start,))
    name, written = at.name(edge[1])
    that = clause(further.wording, name)
    via = f"have {article(facet.wording.text)}" if by_noun else clause(facet.wording, article(middle.one), many=True)
    plan = select(kind, f"{facet.name} ?middle . {middle.pattern('?middle')}{further.name} {written}")
    return PlanDraft(f"Which {kind.many} {via} that {that}?", plan, (edge[1],), universe=len(kind.nodes))


def _unknown(at: Lot) -> PlanDraft:
    kind, other = at.kind(), at.kind()
    facet = at.facet(other, "thing", "number", "year")
    require(kind.label and kind is not other and facet.wording.kind is WordingKind.NOUN)
    node = int(at.lot.choice(kind.nodes.tolist()))
    require(all(one.label != facet.label for one in kind.facets))
    text = f"What is the {facet.wording.text} of {at.name(node)[0]}?"
    return PlanDraft(text, f"ASK {{ {kind.pattern()}{facet.name} ?end }}", (node,), "none")


PLAN_SHAPES: Mapping[str, Callable[[Lot], PlanDraft]] = {
    "negation": _negation,
    "both": _both,
    "either": _either,
    "and": _and,
    "threshold": _threshold,
    "between": _between,
    "extreme": _extreme,
    "ordinal": _ordinal,
    "count": _count,
    "sum": _sum,
    "average": partial(_total, function="AVG", word="average"),
    "difference": _difference,
    "yesno": _yesno,
    "zero": _zero,
    "path": _path,
    "unknown": _unknown,
}
PLAN_KINDS = tuple(PLAN_SHAPES)
"""Names of all kinds of questions with plans."""
