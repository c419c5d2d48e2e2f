"""One function per kind of question with a plan: draws one from a graph; None if the draw gives no valid one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from triplecheck.kg.plans import write_label
from triplecheck.optimize.synth.english import WordingKind, clause
from triplecheck.optimize.synth.facets import Facet, Kind, Lot, bounded, has_many, noun, timed
from triplecheck.optimize.synth.plan_parts import PlanDraft, bound, condition, perhaps, select
from triplecheck.optimize.synth.plan_values import VALUE_SHAPES

_IN_VAIN = 0.05  # of the draws that find nothing with two ends
_ORDINALS = {1: "second", 2: "third"}


# --- conditions ----------------------------------------------------------------------------------
def _negation(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    link = at.link(kind)
    if not kind.label or link is None:
        return None
    facet, head, tail = link
    name, written = at.name(tail)
    said = clause(facet.wording, name, many=True, negated=True)
    if not said:
        return None
    without = f"FILTER NOT EXISTS {{ {kind.variable} {facet.name} {written} }}"
    more = perhaps(at, kind, facet, head)
    if more is not None:
        text, plan = f"Which {kind.many} {more.text} and {said}?", select(kind, f"{more.plan} . {without}")
        return PlanDraft(text, plan, (*more.topics, tail), universe=len(kind.nodes))
    plan = f"SELECT {kind.variable} {{ {kind.variable} a {write_label(kind.label)} . {without} }}"
    return PlanDraft(f"Which {kind.many} {said}?", plan, (tail,), universe=len(kind.nodes))


def _two_ends(at: Lot, together: bool) -> tuple[Kind, Facet, int, int] | None:
    kind = at.kind()
    link = at.link(kind)
    if link is None:
        return None
    facet, head, tail = link
    tails = facet.tails[facet.heads == head] if together else facet.tails
    others = sorted(set(tails.tolist()) - {tail})
    if not others:
        return None
    other = at.lot.choice(others)
    return (kind, facet, tail, other) if at.around.is_named(other) else None


def _both(at: Lot) -> PlanDraft | None:
    found = _two_ends(at, together=True)
    expects = "some"
    if found is None and at.lot.random() < _IN_VAIN:  # nothing need have both
        found, expects = _two_ends(at, together=False), "any"
    if found is None:
        return None
    kind, facet, one, other = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"Which {kind.many} {clause(facet.wording, f'both {name} and {name2}', many=True)}?"
    plan = select(kind, f"{facet.name} {written} ; {facet.name} {written2}")
    return PlanDraft(text, plan, (one, other), expects, len(kind.nodes))


def _either(at: Lot) -> PlanDraft | None:
    found = _two_ends(at, together=False)
    if found is None:
        return None
    kind, facet, one, other = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"Which {kind.many} {clause(facet.wording, f'{name} or {name2}', many=True)}?"
    plan = select(kind, f"{facet.name} ?end . VALUES ?end {{ {written} {written2} }}")
    return PlanDraft(text, plan, (one, other), universe=len(kind.nodes))


def _and(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    link = at.link(kind)
    if link is None:
        return None
    facet, head, tail = link
    more = condition(at, kind, facet, head) if at.lot.random() < 0.5 else bound(at, kind)
    if more is None:
        return None
    name, written = at.name(tail)
    text = f"Which {kind.many} {clause(facet.wording, name, many=True)} and {more.text}?"
    plan = select(kind, f"{facet.name} {written} ; {more.plan}")
    return PlanDraft(text, plan, (tail, *more.topics), universe=len(kind.nodes))


def _threshold(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    if facet is not None and facet.ends and at.lot.random() < 0.25:
        least = at.lot.randrange(1, 4)
        text = has_many(facet, f"more than {least} {kind.many if least > 1 else kind.one}", noun(facet.ends))
        return PlanDraft(text, _grouped(kind, facet, f" HAVING(COUNT(DISTINCT {kind.variable}) > {least})"))
    limit = bound(at, kind)
    if limit is None:
        return None
    return PlanDraft(f"Which {kind.many} {limit.text}?", select(kind, limit.plan), universe=len(kind.nodes))


def _between(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "number", "year")
    if facet is None:
        return None
    (said, low, size), (said2, high, size2) = sorted((at.value(facet), at.value(facet)), key=lambda one: one[2])
    if size == size2:
        return None
    how = f"between {said} and {said2}"
    text = f"Which {kind.many} {bounded(facet, how, '').strip()}?"
    plan = select(kind, f"{facet.name} ?n . FILTER(?n >= {low} && ?n <= {high})")
    return PlanDraft(text, plan, universe=len(kind.nodes))


# --- order ---------------------------------------------------------------------------------------
def _grouped(kind: Kind, facet: Facet, after: str) -> str:
    end, of = "?end", write_label(facet.ends)
    return f"SELECT {end} {{ {end} a {of} . {kind.pattern()}{facet.name} {end} }} GROUP BY {end}{after}"


def _extreme(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    if facet is not None and facet.ends and at.lot.random() < 0.4:
        most = at.lot.random() < 0.5
        text = has_many(facet, f"the {'most' if most else 'fewest'} {kind.many}", noun(facet.ends))
        count = f"COUNT(DISTINCT {kind.variable})"
        order = f" ORDER BY {f'DESC({count})' if most else f'ASC({count})'} LIMIT 1"
        return PlanDraft(text, _grouped(kind, facet, order), universe=len(set(facet.tails.tolist())))
    facet = at.facet(kind, "number", "year")
    if facet is None or len(set(facet.sizes)) < 2:
        return None
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


def _ordinal(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "number", "year")
    if facet is None or (facet.sort == "year" and facet.wording.kind is not WordingKind.NOUN):
        return None
    most, place = at.lot.random() < 0.5, at.lot.choice(list(_ORDINALS))
    if len(set(facet.sizes)) <= place + 1:
        return None
    text = f"Which {kind.one} {_is_most(at, facet, most, f'{_ORDINALS[place]} ')}?"
    plan = select(kind, f"{facet.name} ?n", f" ORDER BY {_by(most)} OFFSET {place} LIMIT 1")
    return PlanDraft(text, plan, universe=len(kind.nodes))


PLAN_SHAPES: Mapping[str, Callable[[Lot], PlanDraft | None]] = {
    "negation": _negation,
    "both": _both,
    "either": _either,
    "and": _and,
    "threshold": _threshold,
    "between": _between,
    "extreme": _extreme,
    "ordinal": _ordinal,
    **VALUE_SHAPES,
}
PLAN_KINDS = tuple(PLAN_SHAPES)
"""Names of all kinds of questions with plans."""
