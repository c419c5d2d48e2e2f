"""Questions with a plan whose answer is a value, yes or no, nothing, or at the end of two relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from triplecheck.optimize.synth.english import WordingKind, article, clause
from triplecheck.optimize.synth.facets import Facet, Lot, is_it
from triplecheck.optimize.synth.plan_parts import PlanDraft, bound, condition, perhaps, select


# --- values --------------------------------------------------------------------------------------
def _count(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    met = condition(at, kind) if at.lot.random() < 0.6 else bound(at, kind)
    if met is None:
        return None
    plan = f"SELECT (COUNT(DISTINCT {kind.variable}) AS ?total) {{ {kind.pattern()}{met.plan} }}"
    return PlanDraft(f"How many {kind.many} {met.text}?", plan, met.topics, "value")


def _total(at: Lot, function: str, word: str) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "number")
    if facet is None or len(set(facet.heads.tolist())) < 2:
        return None
    more = perhaps(at, kind, facet)
    whose = f"the {kind.many}" if more is None else f"the {kind.many} that {more.text}"
    unit = f" in {facet.wording.unit}" if facet.wording.unit else ""
    rest = (f"{more.plan} ; " if more else "") + f"{facet.name} ?n"
    plan = f"SELECT ({function}(?n) AS ?total) {{ {kind.pattern()}{rest} }}"
    text = f"What is the {word} {facet.wording.text}{unit} of {whose}?"
    return PlanDraft(text, plan, () if more is None else more.topics, "value")


def _two(at: Lot) -> tuple[Facet, list[tuple[int, int]]] | None:
    """A relation of numbers with two edges of things with names, the larger value first."""
    facet = at.facet(at.kind(), "number")
    if facet is None:
        return None
    found: dict[int, int] = {}
    for _ in range(4):
        if (edge := at.edge(facet)) is not None and (facet.heads == edge[0]).sum() == 1:
            found[edge[0]] = edge[1]
    sizes = dict(zip(facet.tails.tolist(), facet.sizes, strict=True))
    pair = sorted(list(found.items())[:2], key=lambda edge: -sizes[edge[1]])
    return (facet, pair) if len(pair) == 2 and sizes[pair[0][1]] != sizes[pair[1][1]] else None


def _sum(at: Lot) -> PlanDraft | None:
    found = _two(at) if at.lot.random() < 0.3 else None
    if found is None:
        return _total(at, "SUM", "total")
    facet, ((one, _), (other, _)) = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"What is the total {facet.wording.text} of {name} and {name2} together?"
    plan = f"SELECT (SUM(?n) AS ?total) {{ ?x {facet.name} ?n . VALUES ?x {{ {written} {written2} }} }}"
    return PlanDraft(text, plan, (one, other), "value")


def _difference(at: Lot) -> PlanDraft | None:
    found = _two(at)
    if found is None:
        return None
    facet, ((one, _), (other, _)) = found
    (name, written), (name2, written2) = at.name(one), at.name(other)
    text = f"By how much is the {facet.wording.text} of {name} higher than that of {name2}?"
    if facet.adjectives and at.lot.random() < 0.7:
        text = f"How much {facet.adjectives[0]} is {name} than {name2}?"
    plan = f"SELECT (?m - ?n AS ?total) {{ {written} {facet.name} ?m . {written2} {facet.name} ?n }}"
    return PlanDraft(text, plan, (one, other), "value")


# --- yes and no, 0 and nothing -------------------------------------------------------------------
def _yesno(at: Lot) -> PlanDraft | None:
    expects = at.lot.choice(("yes", "no"))
    if at.lot.random() < 0.3 and (found := _two(at)) is not None:
        sized, pair = found
        (one, _), (other, _) = pair if expects == "yes" else pair[::-1]
        (name, written), (name2, written2) = at.name(one), at.name(other)
        text = f"Is the {sized.wording.text} of {name} higher than that of {name2}?"
        if sized.adjectives:
            text = f"Is {name} {sized.adjectives[0]} than {name2}?"
        plan = f"ASK {{ {written} {sized.name} ?m . {written2} {sized.name} ?n . FILTER(?m > ?n) }}"
        return PlanDraft(text, plan, (one, other), expects)
    facet = at.facet(at.kind(), "thing")
    edge, other_edge = (None, None) if facet is None else (at.edge(facet), at.edge(facet))
    if facet is None or edge is None or other_edge is None:
        return None
    head, tail = edge[0], edge[1] if expects == "yes" else other_edge[1]
    (name, written), (name2, written2) = at.name(head), at.name(tail)
    plan = f"ASK {{ {written} {facet.name} {written2} }}"
    return PlanDraft(is_it(facet, name, name2), plan, (head, tail), expects)


def _zero(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    if not kind.label or facet is None or not facet.ends:
        return None
    free = sorted(set(at.kind(facet.ends).nodes.tolist()) - set(facet.tails.tolist()))
    end = at.lot.choice(free) if free else None
    if end is None or not at.around.is_named(end):
        return None
    name, written = at.name(end)
    if at.lot.random() < 0.5:
        text = f"Is there {article(kind.one)} that {clause(facet.wording, name)}?"
        return PlanDraft(text, f"ASK {{ {kind.pattern()}{facet.name} {written} }}", (end,), "no")
    plan = f"SELECT (COUNT(DISTINCT {kind.variable}) AS ?total) {{ {kind.pattern()}{facet.name} {written} }}"
    return PlanDraft(f"How many {kind.many} {clause(facet.wording, name, many=True)}?", plan, (end,), "zero")


def _path(at: Lot) -> PlanDraft | None:
    kind = at.kind()
    facet = at.facet(kind, "thing")
    if facet is None or (kind.label and not facet.ends):
        return None
    middle = at.kind(facet.ends)
    further = at.facet(middle, "thing", other=facet)
    reached = set(facet.tails.tolist())
    if further is None or (edge := at.edge(further)) is None or edge[0] not in reached:
        return None
    by_noun = facet.wording.kind is WordingKind.NOUN
    if by_noun and further.wording.kind is WordingKind.NOUN and at.lot.random() < 0.5:
        heads = facet.heads[facet.tails == edge[0]]
        start = int(at.lot.choice(heads.tolist()))
        if not at.around.is_named(start):
            return None
        name, written = at.name(start)
        text = f"What is the {further.wording.text} of the {facet.wording.text} of {name}?"
        plan = f"SELECT ?end {{ {written} {facet.name} ?middle . {middle.pattern('?middle')}{further.name} ?end }}"
        return PlanDraft(text, plan, (start,))
    name, written = at.name(edge[1])
    that = clause(further.wording, name)
    via = f"have {article(facet.wording.text)}" if by_noun else clause(facet.wording, article(middle.one), many=True)
    plan = select(kind, f"{facet.name} ?middle . {middle.pattern('?middle')}{further.name} {written}")
    return PlanDraft(f"Which {kind.many} {via} that {that}?", plan, (edge[1],), universe=len(kind.nodes))


def _unknown(at: Lot) -> PlanDraft | None:
    kind, other = at.kind(), at.kind()
    facet = at.facet(other, "thing", "number", "year")
    if facet is None or not kind.label or kind is other or facet.wording.kind is not WordingKind.NOUN:
        return None
    node = int(at.lot.choice(kind.nodes.tolist()))
    if not at.around.is_named(node) or any(one.label == facet.label for one in kind.facets):
        return None
    text = f"What is the {facet.wording.text} of {at.name(node)[0]}?"
    return PlanDraft(text, f"ASK {{ {kind.pattern()}{facet.name} ?end }}", (node,), "none")


VALUE_SHAPES: Mapping[str, Callable[[Lot], PlanDraft | None]] = {
    "count": _count,
    "sum": _sum,
    "average": partial(_total, function="AVG", word="average"),
    "difference": _difference,
    "yesno": _yesno,
    "zero": _zero,
    "path": _path,
    "unknown": _unknown,
}
"""Kinds of questions: how one is drawn."""
