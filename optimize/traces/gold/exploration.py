"""Planning and exploration: the topics, relations, entities and facts on the gold paths."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from triplecheck.evals.gold import linker_names
from triplecheck.kg import Graph, Words, normalize
from triplecheck.kg.encode import load_encoder
from triplecheck.lms.prompt import Prompt, known_names
from triplecheck.lms.resolve import baseline_reply
from triplecheck.optimize.traces.derivations import Asked
from triplecheck.optimize.traces.gold.answering import NO_ANSWER, answer_from_facts, leading_facts
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.optimize.traces.gold_paths import GoldPath
from triplecheck.optimize.traces.queries import NONE, is_right
from triplecheck.programs.subgraph import noted_names
from triplecheck.signatures.notation import (
    by_label,
    read_facts,
    read_path,
    read_reached,
    read_topic,
    split_note,
    without_note,
    write_path,
)


def write_query(known: KnownGold, prompt: Prompt) -> GoldReply | None:
    """The query that gives the answers, or none if a look-up is enough or there are none. None: it is not known."""
    query = known.query if known.query == NONE else _by_rules(known, prompt) or known.query
    return None if query is None else GoldReply({"query": query})


def _by_rules(known: KnownGold, prompt: Prompt) -> str | None:
    """The query of the rule-based baseline if it gives the answers; it leaves no word of the question out."""
    asked = known.asked
    if asked is None or asked.question.plan is not None:
        return None
    prompt = replace(prompt, language=asked.sources.language)
    query = str(baseline_reply(prompt, load_encoder(), None)["query"])
    return query if query != NONE and is_right(asked, query, _noted_topics(asked, prompt)) else None


def _noted_topics(asked: Asked, prompt: Prompt) -> dict[str, list[int]]:
    """The nodes of the topics in a prompt whose names have notes that tell homonyms apart."""
    names, graph = linker_names(asked.sources.linker), asked.graph
    noted = (name for line in prompt.items("topics") if split_note(name := read_topic(line).name)[1])
    return {name: [node for node in names(split_note(name)[0]) if name in noted_names(graph, node)] for name in noted}


def name_topics(known: KnownGold, prompt: Prompt) -> GoldReply | None:
    """The known names of the topics; else the label of a topic, if it is in the question. None: they are not known.

    A question whose answers and topics are not in the graph has the known names that stand in it.
    """
    if not known.has_topics and known_names(prompt):
        return None if known.query is None else GoldReply({"topics": _standing(prompt), "domain": "unknown"})
    types = prompt.items("types")
    named = named_topics(known, prompt)
    domain = "unknown"
    for topic, _ in named:
        of = [known.graph.type_label(type) for type in known.graph.types(topic)]
        domain = next((kind for kind in of if kind in types), domain) if domain == "unknown" else domain
    return GoldReply({"topics": list(dict.fromkeys(name for _, name in named)), "domain": domain})


def extract_keywords(known: KnownGold, prompt: Prompt) -> GoldReply | None:
    """The question with its topics spelt as in the graph, and their names. None: they are not known."""
    if not known.has_topics and known_names(prompt):
        return None if known.query is None else GoldReply({"proofread": known.mended, "keywords": _standing(prompt)})
    names = [name for _, name in named_topics(known, prompt)]
    return GoldReply({"proofread": known.mended, "keywords": list(dict.fromkeys(names))})


def _standing(prompt: Prompt) -> list[str]:
    """The known names that stand in the question."""
    question = Words(prompt.text("question"))
    return [known.name for known in known_names(prompt) if known.name in question]


def select_paths(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The offered paths that a gold path begins with or is."""
    return GoldReply({"keep": leading(known, prompt)})


def leading(known: KnownGold, prompt: Prompt, field: str = "paths", topics: Collection[int] | None = None) -> list[int]:
    """Numbers of the paths in a field that a gold path begins with or is. Paths from `topics` count; None: from any."""
    lines = prompt.items(field)
    found: list[int] = []
    for name, path in known.starts(prompt):
        for length in range(1, len(path.hops) + 1) if topics is None or path.topic in topics else ():
            text = known.path_text(name, path.hops[:length])
            found += [n for n, line in enumerate(lines, 1) if text in (without_note(line), _by_label(line))]
    return list(dict.fromkeys(found))


def _by_label(line: str) -> str:
    path = read_path(line)
    return write_path(replace(path, hops=tuple(map(by_label, path.hops)), note=""))


def named_topics(known: KnownGold, prompt: Prompt) -> list[tuple[int, str]]:
    """The topics with their names in a prompt: a known name, else the label if all of its words are in the question."""
    listed = [known.name for known in known_names(prompt)]
    question = Words(known.mended)
    named = []
    for topic in known.topics:
        entity = known.graph.entity(topic)
        wanted = {normalize(name) for name in (entity.label, *entity.aliases)}
        name = next((name for name in listed if normalize(name) in wanted), None)
        if name is None and all(word in question for word in entity.label.split()):
            name = entity.label
        if name is not None:
            named.append((topic, name))
    return named


def mended(graph: Graph, question: str, topics: Collection[int]) -> str:
    """A question with the misspelt names of its topics spelt as in the graph; aliases stay."""
    from rapidfuzz.fuzz import ratio

    words = question.split()
    for topic in topics:
        entity = graph.entity(topic)
        text = Words(" ".join(words))
        if any(name in text for name in (entity.label, *entity.aliases)):
            continue
        length = len(entity.label.split())
        spans = [(at, at + size) for size in (length, length + 1) for at in range(len(words) - size + 1)]
        alike = [(ratio(_bare(" ".join(words[a:b])).casefold(), entity.label.casefold()), a, b) for a, b in spans]
        best, start, end = max(alike, default=(0.0, 0, 0))
        if best >= _MISSPELT:
            written = " ".join(words[start:end])
            words[start:end] = [written.replace(_bare(written), entity.label)]
    return " ".join(words)


_MISSPELT = 78.0
"""Least similarity of a misspelt name, in percent."""


def _bare(text: str) -> str:
    """A name without the punctuation of the sentence around it."""
    text = text.strip("\"'“”‘’«»,;:.?!()")
    return text.removesuffix("'s").removesuffix("’s")


_UNKNOWN = "unknown"
_FOUND = 3  # names in a finding


def score_relations(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The offered paths that lead to an answer, with equal scores."""
    numbers = leading(known, prompt)[: _most(prompt)]
    return GoldReply({"relations": _shares(numbers)})


def score_entities(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The entities through which a gold path leads to an answer, with equal scores."""
    lines = prompt.items("reached")
    numbers: list[int] = []
    for path, chain in known.chains.items():
        for name in _names(known, path.topic, lines):
            for length in range(1, len(path.hops) + 1):
                text = known.path_text(name, path.hops[:length])
                reached = ((n, *read_reached(line)) for n, line in enumerate(lines, 1))
                ends = [(n, entity) for n, start, entity in reached if text in (start, _by_label(start))]
                numbers += [n for n, entity in ends if known.is_called(entity, chain[length])]
    numbers = list(dict.fromkeys(numbers))[: _most(prompt)]
    return GoldReply({"entities": _shares(numbers)})


def filter_triples(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The facts that lie on a gold path."""
    return GoldReply({"relevant": leading_facts(known, prompt)})


def judge_sufficiency(known: KnownGold, prompt: Prompt) -> GoldReply:
    """Whether the facts hold the gold paths to their ends."""
    return GoldReply({"sufficient": _sufficient(known, prompt)})


def judge_and_go_on(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The facts on gold paths, whether they suffice, and the paths to follow if not."""
    sufficient = _sufficient(known, prompt)
    follow = [] if sufficient else leading(known, prompt)[: _most(prompt)]
    return GoldReply({"relevant": leading_facts(known, prompt), "sufficient": sufficient, "follow": follow})


def name_sub_goals(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The relations of the gold paths in order; without paths the reply is not for training."""
    goals = [goal for goal, _, _ in _goals(known, known.starts(prompt))]
    return GoldReply({"goals": goals}, taught=bool(goals))


def update_memory(known: KnownGold, prompt: Prompt) -> GoldReply:
    """For each sub-goal, the entities on the gold path that the facts name."""
    facts, goals = prompt.items("facts"), prompt.items("goals")
    named = [(name, path) for path in known.paths for name in _names(known, path.topic, goals)]
    found = {goal: _found(known, facts, nodes) for goal, nodes, _ in _goals(known, named)}
    return GoldReply({"findings": [found.get(goal, _UNKNOWN) for goal in goals]})


def reflect(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The set-aside paths that lead to an answer, from topics without such a followed path."""
    on_the_way = {topic for topic in known.topics if leading(known, prompt, "followed", [topic])}
    return GoldReply({"revisit": leading(known, prompt, topics=set(known.topics) - on_the_way)})


def _sufficient(known: KnownGold, prompt: Prompt) -> bool:
    return answer_from_facts(known, prompt) is not NO_ANSWER


def _goals(known: KnownGold, named: Sequence[tuple[str, GoldPath]]) -> list[tuple[str, frozenset[int], int]]:
    """The sub-goals along one gold path per topic: text, nodes, and number of hops."""
    goals = []
    first = {path.topic: (name, path) for name, path in reversed(named)}
    for name, path in reversed(first.values()):
        for length, nodes in enumerate(known.chains[path][1:], 1):
            goals.append((known.path_text(name, path.hops[:length]), nodes, length))
    return sorted(goals, key=lambda goal: goal[2])


def _found(known: KnownGold, facts: Sequence[str], nodes: frozenset[int]) -> str:
    """The first of some nodes that the facts name as a value."""
    values = dict.fromkeys(value for fact in read_facts(facts) for value in fact.values)
    return ", ".join([value for value in values if known.is_called(value, nodes)][:_FOUND]) or _UNKNOWN


def _names(known: KnownGold, topic: int, lines: Sequence[str]) -> list[str]:
    """The names of a topic at the start of some paths."""
    starts = dict.fromkeys(read_path(line).topic for line in lines)
    return [name for name in starts if known.is_called(name, [topic])]


def _most(prompt: Prompt) -> int:
    return int(prompt.text("most"))


def _shares(numbers: Sequence[int]) -> dict[int, float]:
    return {number: round(1 / len(numbers), 2) for number in numbers}
