"""Exploration: which relations, entities and facts lie on the gold paths, and whether these come to their end."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.answering import NO_ANSWER, answer_from_facts, leading_facts
from triplecheck.optimize.traces.gold.known import Known
from triplecheck.optimize.traces.gold.planning import leading
from triplecheck.optimize.traces.gold.reply import GoldReply
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.signatures.notation import read_facts, read_path, write_reached

_UNKNOWN = "unknown"
_FOUND = 3  # names in a finding


def score_relations(known: Known, prompt: Prompt) -> GoldReply:
    """The offered paths that lead on to an answer, all rated alike."""
    numbers = leading(known, prompt)[: _most(prompt)]
    return GoldReply({"relations": numbers, "scores": _shares(numbers)})


def score_entities(known: Known, prompt: Prompt) -> GoldReply:
    """The entities through which a gold path leads to an answer, all rated alike."""
    lines = prompt.items("reached")
    numbers: list[int] = []
    for path, chain in known.chains.items():
        for name in _names(known, path.topic, lines):
            for length in range(1, len(path.hops) + 1):
                start = write_reached(known.path_text(name, path.hops[:length]), "")
                reached = ((n, line.removeprefix(start)) for n, line in enumerate(lines, 1) if line.startswith(start))
                numbers += [n for n, entity in reached if known.is_called(entity, chain[length])]
    numbers = list(dict.fromkeys(numbers))[: _most(prompt)]
    return GoldReply({"entities": numbers, "scores": _shares(numbers)})


def filter_triples(known: Known, prompt: Prompt) -> GoldReply:
    """The facts that lie on a gold path."""
    return GoldReply({"relevant": leading_facts(known, prompt)})


def judge_sufficiency(known: Known, prompt: Prompt) -> GoldReply:
    """Whether the facts hold the gold paths to their ends."""
    return GoldReply({"sufficient": _sufficient(known, prompt)})


def judge_and_go_on(known: Known, prompt: Prompt) -> GoldReply:
    """All three in one: the facts on gold paths, whether these come to their end, and where they go on if not."""
    sufficient = _sufficient(known, prompt)
    follow = [] if sufficient else leading(known, prompt)[: _most(prompt)]
    return GoldReply({"relevant": leading_facts(known, prompt), "sufficient": sufficient, "follow": follow})


def name_sub_goals(known: Known, prompt: Prompt) -> GoldReply:
    """The relations of the gold paths, one after the other; without paths there is nothing to learn from."""
    goals = [goal for goal, _, _ in _goals(known, known.starts(prompt))]
    return GoldReply({"goals": goals}, taught=bool(goals))


def update_memory(known: Known, prompt: Prompt) -> GoldReply:
    """For each sub-goal the entities on the gold path, as far as the facts name them."""
    facts, goals = prompt.items("facts"), prompt.items("goals")
    named = [(name, path) for path in known.gold.paths for name in _names(known, path.topic, goals)]
    found = {goal: _found(known, facts, nodes) for goal, nodes, _ in _goals(known, named)}
    return GoldReply({"findings": [found.get(goal, _UNKNOWN) for goal in goals]})


def reflect(known: Known, prompt: Prompt) -> GoldReply:
    """The set-aside paths that lead on from a topic from which none that is followed does."""
    on_the_way = {topic for topic in known.gold.topics if leading(known, prompt, "followed", [topic])}
    return GoldReply({"revisit": leading(known, prompt, topics=set(known.gold.topics) - on_the_way)})


def _sufficient(known: Known, prompt: Prompt) -> bool:
    return answer_from_facts(known, prompt) is not NO_ANSWER


def _goals(known: Known, named: Sequence[tuple[str, GoldPath]]) -> list[tuple[str, frozenset[int], int]]:
    """What there is to find out along one gold path of each topic: in words, the nodes, after how many hops."""
    goals = []
    first = {path.topic: (name, path) for name, path in reversed(named)}
    for name, path in reversed(first.values()):
        for length, nodes in enumerate(known.chains[path][1:], 1):
            goals.append((known.path_text(name, path.hops[:length]), nodes, length))
    return sorted(goals, key=lambda goal: goal[2])


def _found(known: Known, facts: Sequence[str], nodes: frozenset[int]) -> str:
    """The first of some nodes that the facts name as a value."""
    values = dict.fromkeys(value for fact in read_facts(facts) for value in fact.values)
    return ", ".join([value for value in values if known.is_called(value, nodes)][:_FOUND]) or _UNKNOWN


def _names(known: Known, topic: int, lines: Sequence[str]) -> list[str]:
    """The names by which a topic goes at the beginning of some paths."""
    starts = dict.fromkeys(read_path(line).topic for line in lines)
    return [name for name in starts if known.is_called(name, [topic])]


def _most(prompt: Prompt) -> int:
    return int(prompt.text("most"))


def _shares(numbers: Sequence[int]) -> list[float]:
    return [round(1 / len(numbers), 2)] * len(numbers) if numbers else []
