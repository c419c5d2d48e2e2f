"""Answering from facts: the answer as the facts write it, and the facts that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.kg import Literal
from triplecheck.kg.values import Quantity, quantity
from triplecheck.lms.fact_paths import NOTHING_FOUND, FactPath, each, explain, follow
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.derivations import Derivation
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.programs.subgraph import ARROWS
from triplecheck.signatures.notation import Hops, WrittenFact, WrittenHop, by_label, read_facts

Way = tuple[GoldPath, FactPath]
"""A gold path, and the facts that follow it."""
NO_ANSWER = GoldReply({"reasoning": NOTHING_FOUND, "cited": [], "operation": "none", "answers": []})


def answer_from_facts(known: KnownGold, prompt: Prompt) -> GoldReply | None:
    """The answer as the facts write it or as it is computed, with the facts that prove it.

    No answer if the facts do not contain it. None if they do, but no operation over them gives it, such as a count of
    some of the values of a fact.
    """
    ways, derivation = _whole(known, prompt), known.derivation
    if not ways or derivation is None:
        return NO_ANSWER
    match derivation.operation:
        case "count" | "sum":
            return _counted(known, ways, derivation)
        case "max" | "min":
            return _compared(known, ways, derivation)
        case "same":
            return _reply(explain(*ways, then="compare"), _numbers(ways), "same", [])
    if derivation.said:
        linked = {end for way in ways for end in way.ends if known.is_called(end, derivation.ends)}
        cited = dict.fromkeys(number for way in ways for number in way.numbers(linked or None))
        return _reply(explain(*ways), list(cited), "none", [derivation.said])
    if derivation.beyond:
        return _bounded(known, ways[0])
    if len({way.topic for way in ways}) > 1:
        return _common(known, ways)
    way = ways[0]
    ends = [end for end in way.ends if known.is_answer(end)]
    return _reply(explain(way), way.numbers(set(ends)), "none", ends) if ends else NO_ANSWER


def judge_proof(known: KnownGold, prompt: Prompt) -> GoldReply:
    """Whether the answer is right. Not taught: that says nothing of why."""
    text = prompt.text("answer")
    right = known.is_answer(text) or all(known.is_answer(part) for part in text.split(", "))
    return GoldReply({"reasoning": "The known answer decides.", "entails": right}, taught=False)


def leading_facts(known: KnownGold, prompt: Prompt) -> list[int]:
    """Numbers of the facts on a gold path that lead to or towards an answer.

    The facts may be those of a later hop only.
    """
    facts = _facts(prompt)
    found = {
        fact.number
        for path, chain in known.chains.items()
        for before, hop, after in zip(chain, _written(known, path), chain[1:], strict=False)
        for fact in facts
        if fact.hop == hop
        and known.is_called(fact.anchor, before)
        and any(known.is_called(value, after) for value in fact.values)
    }
    return sorted(found)


def _whole(known: KnownGold, prompt: Prompt) -> list[FactPath]:
    """The gold paths that the facts follow to their ends, if these are all conditions.

    If no single path leads to the answers only, there must be one from each topic.
    """
    followed = _followed(prompt, [name for name, _ in known.starts(prompt)])
    found: dict[tuple[str, Hops], Way] = {}
    for name, path in known.starts(prompt):
        key = (name, _written(known, path))
        if key in followed:
            found.setdefault(key, (path, followed[key]))
    topics = {path.topic for path, _ in found.values()}
    enough = topics >= {path.topic for path in known.paths} or any(known.alone(path) for path, _ in found.values())
    return [way for _, way in found.values()] if enough else []


def _followed(prompt: Prompt, names: Sequence[str]) -> dict[tuple[str, Hops], FactPath]:
    facts = _facts(prompt)
    return {(path.topic, path.hops): path for path in follow(facts, sorted(set(names)))}


def _facts(prompt: Prompt) -> list[WrittenFact]:
    """The facts of a prompt, their relations by their labels alone."""
    return [replace(fact, hop=by_label(fact.hop)) for fact in read_facts(prompt.items("facts"))]


def _written(known: KnownGold, path: GoldPath) -> Hops:
    return tuple(WrittenHop(known.names[hop.relation], ARROWS[hop.direction]) for hop in path.hops)


def _counted(known: KnownGold, ways: Sequence[FactPath], derivation: Derivation) -> GoldReply | None:
    """The operation over all values at the end of one path; None if only some of them count."""
    way = ways[0]
    if len({one.topic for one in ways}) > 1 or not all(known.is_called(end, derivation.ends) for end in way.ends):
        return None
    cited = [fact.number for fact in way.facts]
    return _reply(explain(way, then=derivation.operation), cited, derivation.operation, [])


def _compared(known: KnownGold, ways: Sequence[FactPath], derivation: Derivation) -> GoldReply | None:
    """The greatest or the smallest value of what is compared; None if the facts do not show that it is the answer's."""
    facts = [fact for way in ways for fact in way.facts if known.is_called(fact.anchor, derivation.ends)]
    sizes = [(size, known.is_answer(fact.anchor)) for fact in facts if (size := _size(fact.values)) is not None]
    if len({size.kind for size, _ in sizes}) != 1:
        return NO_ANSWER
    best = (max if derivation.operation == "max" else min)(size for size, _ in sizes)
    if {size for size, right in sizes if right} != {best}:
        return None
    numbers = list(dict.fromkeys(fact.number for fact in facts))
    return _reply(each(ways[0].hops[-1].label, "compare"), numbers, derivation.operation, [])


def _bounded(known: KnownGold, way: FactPath) -> GoldReply:
    """The things whose value the question asks for."""
    facts = [fact for fact in way.facts if known.is_answer(fact.anchor)]
    names = dict.fromkeys(fact.anchor for fact in facts)
    before = way.before.numbers(set(names)) if way.before else []
    return (
        _reply(explain(way), [*before, *(fact.number for fact in facts)], "none", list(names)) if facts else NO_ANSWER
    )


def _common(known: KnownGold, ways: Sequence[FactPath]) -> GoldReply:
    """The answers that the paths share. A path that is not shown whole may have them among the rest."""
    best = {way.topic: way for way in reversed(ways)}
    whole = [way for way in best.values() if not any(fact.more for fact in way.facts)]
    shown = dict.fromkeys(end for way in whole or best.values() for end in way.ends if known.is_answer(end))
    shared = [end for end in shown if all(end in way.ends for way in whole or best.values())]
    reasoning = explain(*best.values(), then="take what they share")
    return _reply(reasoning, _numbers(list(best.values())), "common", shared) if shared else NO_ANSWER


def _numbers(ways: Sequence[FactPath]) -> list[int]:
    return list(dict.fromkeys(fact.number for way in ways for fact in way.facts))


def _reply(reasoning: str, cited: Sequence[int], operation: str, answers: Sequence[str]) -> GoldReply:
    return GoldReply({"reasoning": reasoning, "cited": list(cited), "operation": operation, "answers": list(answers)})


def _size(values: Sequence[str]) -> Quantity | None:
    return next((size for value in values if (size := quantity(Literal(value))) is not None), None)
