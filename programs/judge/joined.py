"""Whether a proof joins its answers with all topics that the question joins."""

from __future__ import annotations

from triplecheck.kg import Direction, normalize
from triplecheck.language.operations import Join
from triplecheck.programs.judge.proof import Proof
from triplecheck.programs.steps import Linked

_MOST_JOINED = 20  # answers
_MOST_REACHED = 200  # things, of one topic
_MOST_UNLISTED = 3
_EQUAL = 0.05  # things whose names fit worse than the name of one that is used by more than this are not meant


def unjoined(proof: Proof) -> list[str]:
    """The topics that "and" joins, without a triple between them and each answer."""
    if proof.computed or len(proof.topics) < 2 or not _joins(proof):
        return []
    answers = proof.found.answers[:_MOST_JOINED]
    return [name for name in proof.mentions if any(not _ways(proof, name, answer) for answer in answers)]


def mixed(proof: Proof) -> list[str]:
    """Topics that "and" joins to one whole, if they and an answer are joined by different relations."""
    spelt = {normalize(name): name for name in proof.mentions}
    for join in _joins(proof):
        names = [spelt[normalize(member)] for member in join.members if normalize(member) in spelt]
        for answer in proof.found.answers[:_MOST_JOINED] if len(names) > 1 else ():
            ways = [_ways(proof, name, answer) for name in names]
            if all(ways) and not set.intersection(*ways):
                return names
    return []


def _joins(proof: Proof) -> list[Join]:
    """What "and" joins in the question, unless it asks whether something is so."""
    return [] if proof.parsed.asks_whether else [join for join in proof.parsed.joins if join.kind == "and"]


def unlisted(proof: Proof) -> list[str]:
    """What is joined with all topics of a question as the first answer is, and yet is no answer."""
    if (
        proof.computed
        or unjoined(proof)
        or len(proof.mentions) < 2
        or not proof.found.answers
        or proof.parsed.asks_whether
    ):
        return []
    first, answers = proof.found.answers[0], set(proof.found.answers)
    hops: dict[str, set[int]] = {}
    for head, relation, tail in proof.found.evidence:
        topic, direction = (head, Direction.OUT) if tail == first else (tail, Direction.IN)
        if first in (head, tail) and topic in proof.topics:
            reached = proof.graph.neighbors(topic, relation, direction, _MOST_REACHED)
            hops.setdefault(proof.topics[topic], set()).update(reached.tolist())
    if len(hops) < len(proof.mentions):
        return []
    return proof.graph.labels(sorted(set.intersection(*hops.values()) - answers - proof.topics.keys())[:_MOST_UNLISTED])


def namesakes(proof: Proof) -> list[str]:
    """The names that several things have, where one of these proves the answer and another has the same relations."""
    return [step.mention for step in proof.linked if len(step.chosen) > 1 and _has_namesake(proof, step)]


def _has_namesake(proof: Proof, step: Linked) -> bool:
    fits = {one["id"]: (one.get("source"), one["score"]) for one in step.candidates}
    nodes = {node: fits[id] for id in step.chosen if id in fits and (node := proof.graph.find(id)) is not None}
    out = {(head, relation, Direction.OUT) for head, relation, _ in proof.found.evidence if head in nodes}
    own = out | {(tail, relation, Direction.IN) for _, relation, tail in proof.found.evidence if tail in nodes}
    used = {node for node, _, _ in own}
    others = [
        node
        for node, (source, score) in nodes.items()
        if node not in used and any(source == nodes[i][0] and score >= nodes[i][1] - _EQUAL for i in used)
    ]
    ways = {(relation, direction) for _, relation, direction in own}
    return any(len(proof.graph.neighbors(node, *way, 1)) for node in others for way in ways)


def _ways(proof: Proof, mention: str, answer: int) -> set[tuple[int, bool]]:
    """The relations, and whether they lead to the answer, of the triples between a topic and an answer."""
    meant = proof.mentions[mention]
    to = {(relation, True) for head, relation, tail in proof.found.evidence if head in meant and tail == answer}
    return to | {(relation, False) for head, relation, tail in proof.found.evidence if tail in meant and head == answer}
