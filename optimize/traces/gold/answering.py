"""Answering from facts: the answer as the facts write it, and the facts that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.kg import Literal
from triplecheck.kg.values import Quantity, quantity
from triplecheck.lms.fact_paths import NOTHING_FOUND, FactPath, each, explain, follow
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.programs.subgraph import ARROWS
from triplecheck.signatures.notation import Hops, WrittenFact, WrittenHop, by_label, read_facts

Way = tuple[GoldPath, FactPath]
"""A gold path, and the facts that follow it."""
NO_ANSWER = GoldReply({"reasoning": NOTHING_FOUND, "cited": [], "operation": "none", "answers": []})


def answer_from_facts(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The answer as the facts write it, with the facts that prove it; none if the facts do not contain it."""
    ways = _whole(known, prompt)
    if not ways:
        return NO_ANSWER
    if known.gold.computed is not None:
        return _counted(ways[0])
    if known.measured:
        return _compared(known, ways)
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
    enough = topics >= {path.topic for path in known.gold.paths} or any(known.alone(path) for path, _ in found.values())
    return [way for _, way in found.values()] if enough else []


def _followed(prompt: Prompt, names: Sequence[str]) -> dict[tuple[str, Hops], FactPath]:
    facts = _facts(prompt)
    return {(path.topic, path.hops): path for path in follow(facts, sorted(set(names)))}


def _facts(prompt: Prompt) -> list[WrittenFact]:
    """The facts of a prompt, their relations by their labels alone."""
    return [replace(fact, hop=by_label(fact.hop)) for fact in read_facts(prompt.items("facts"))]


def _written(known: KnownGold, path: GoldPath) -> Hops:
    return tuple(WrittenHop(known.names[hop.relation], ARROWS[hop.direction]) for hop in path.hops)


def _counted(way: FactPath) -> GoldReply:
    return _reply(explain(way, then="count"), [fact.number for fact in way.facts], "count", [])


def _compared(known: KnownGold, ways: Sequence[FactPath]) -> GoldReply:
    """The greatest or the smallest value, depending on the answer."""
    facts = [fact for way in ways for fact in way.facts]
    sizes = [(size, known.is_answer(fact.anchor)) for fact in facts if (size := _size(fact.values)) is not None]
    if len({size.kind for size, _ in sizes}) != 1:
        return NO_ANSWER
    of_answer = {size for size, right in sizes if right}
    for operation, extreme in (("max", max(sizes)[0]), ("min", min(sizes)[0])):
        if of_answer == {extreme}:
            numbers = list(dict.fromkeys(fact.number for fact in facts))
            return _reply(each(ways[0].hops[-1].label, "compare"), numbers, operation, [])
    return NO_ANSWER


def _common(known: KnownGold, ways: Sequence[FactPath]) -> GoldReply:
    best = {way.topic: way for way in reversed(ways)}
    shared = [end for end in ways[0].ends if known.is_answer(end) and all(end in way.ends for way in best.values())]
    numbers = list(dict.fromkeys(fact.number for way in best.values() for fact in way.facts))
    return (
        _reply(explain(*best.values(), then="take what they share"), numbers, "common", shared) if shared else NO_ANSWER
    )


def _reply(reasoning: str, cited: Sequence[int], operation: str, answers: Sequence[str]) -> GoldReply:
    return GoldReply({"reasoning": reasoning, "cited": list(cited), "operation": operation, "answers": list(answers)})


def _size(values: Sequence[str]) -> Quantity | None:
    return next((size for value in values if (size := quantity(Literal(value))) is not None), None)
