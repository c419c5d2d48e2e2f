"""Metrics: pure functions, strict. An empty text and a part of a text never match anything.

Two families. On text, those of SQuAD (Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine
Comprehension of Text", and its evaluation script): `exact_match` and `token_f1` compare the answer as
one text. On answers, those of question answering over knowledge graphs: `hits_at_1`, `hit` and
`set_scores` compare predicted answers with gold answers by node, or by name where there is no node.
Outcomes are those of CRAG (Yang et al. 2024, arXiv 2406.04744).
"""

from __future__ import annotations

import re
import string
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accurate", "hallucinated", "missing"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


# --- on text ---------------------------------------------------------------------------------------
def squad_normalize(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, words one space apart (SQuAD's `normalize_answer`)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(text: str, gold: Iterable[str]) -> float:
    """1 where the normalised text is one of the normalised gold texts, else 0."""
    own = squad_normalize(text)
    return float(bool(own) and any(own == squad_normalize(other) for other in gold))


def token_f1(text: str, gold: Iterable[str]) -> float:
    """The best F1 of the words of the normalised text with those of a gold text."""
    own = Counter(squad_normalize(text).split())
    return max((_overlap(own, Counter(squad_normalize(other).split())) for other in gold), default=0.0)


def _overlap(own: Counter[str], other: Counter[str]) -> float:
    common = (own & other).total()
    return 2 * common / (own.total() + other.total()) if common else 0.0


# --- on answers ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Predicted:
    """An answer that a program gave.

    Attributes:
        node: the entity of the graph that it is; None for a value or a text.
        forms: what it is called, comparable (`evals.gold.comparable`), without empty texts.
    """

    node: int | None
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One correct answer.

    Attributes:
        nodes: nodes of the graph that it may be; empty where it names none.
        forms: what it is called, comparable, without empty texts.
    """

    nodes: frozenset[int]
    forms: frozenset[str]


def matches(predicted: Predicted, gold: GoldAnswer) -> bool:
    """Whether a predicted answer is this gold answer.

    An entity is, if it is one of its nodes; its name decides only where the gold answer has no node. A
    value or a text is, if one of its forms is one of the gold answer's.
    """
    if predicted.node is not None and gold.nodes:
        return predicted.node in gold.nodes
    return not predicted.forms.isdisjoint(gold.forms)


def hits_at_1(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> float:
    """1 where the first predicted answer is a gold answer, else 0."""
    return float(bool(predicted) and any(matches(predicted[0], one) for one in gold))


def hit(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> float:
    """1 where any predicted answer is a gold answer, else 0."""
    return float(any(matches(answer, one) for answer in predicted for one in gold))


@dataclass(frozen=True, slots=True)
class SetScores:
    """Precision, recall and their harmonic mean over sets of answers."""

    precision: float
    recall: float
    f1: float


def set_scores(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> SetScores:
    """Compare the set of predicted answers with the set of gold answers.

    Each gold answer counts once and each predicted answer is used for one gold answer at most: correct
    ones are a largest matching between the two. A repeated predicted answer counts once.
    """
    distinct = list(dict.fromkeys(predicted))
    correct = _largest_matching([[i for i, one in enumerate(gold) if matches(p, one)] for p in distinct])
    if not correct:
        return SetScores(0.0, 0.0, 0.0)
    return SetScores(correct / len(distinct), correct / len(gold), 2 * correct / (len(distinct) + len(gold)))


def _largest_matching(options: list[list[int]]) -> int:
    """Size of a largest bipartite matching (augmenting paths): row i may take one of `options[i]`."""
    taken: dict[int, int] = {}
    held: dict[int, int] = {}
    dead: set[int] = set()  # no search that comes here can succeed: one has failed
    for row in range(len(options)):
        came_from: dict[int, int] = {}
        waiting, free = deque([row]), None
        while waiting and free is None:
            at = waiting.popleft()
            for option in options[at]:
                if option in came_from or option in dead:
                    continue
                came_from[option] = at
                if option not in taken:
                    free = option
                    break
                waiting.append(taken[option])
        if free is None:
            dead.update(came_from)
        while free is not None:
            at = came_from[free]
            taken[free], before = at, held.get(at)
            held[at], free = free, before
    return len(taken)


# --- outcomes --------------------------------------------------------------------------------------
def crag_outcome(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Outcome:
    """What CRAG calls a reply: accurate, hallucinated or missing.

    Accurate where the first answer is right; missing where there is none; hallucinated otherwise. A
    question without gold answers is unanswerable: no answer is accurate, any answer is hallucinated.
    """
    if not gold:
        return "hallucinated" if predicted else "accurate"
    if not predicted:
        return "missing"
    return "accurate" if hits_at_1(predicted, gold) else "hallucinated"


def truthfulness(outcomes: Collection[Outcome]) -> float | None:
    """Accuracy - hallucination: +1 for each accurate reply, -1 for each hallucinated one, 0 for missing; the mean."""
    worth = {"accurate": 1, "hallucinated": -1, "missing": 0}
    return sum(worth[outcome] for outcome in outcomes) / len(outcomes) if outcomes else None


# --- stages ----------------------------------------------------------------------------------------
def retrieval_recall(retrieved: Collection[int] | None, gold: Sequence[GoldAnswer]) -> float | None:
    """Share of the gold answers that stand in the retrieved triples (KERAG, arXiv 2509.04716).

    Args:
        retrieved: nodes of the retrieved triples; None where the program does not say.
        gold: those without a node cannot be retrieved and are left out; None where none is left.
    """
    present = [one for one in gold if one.nodes]
    if retrieved is None or not present:
        return None
    nodes = retrieved if isinstance(retrieved, set | frozenset) else frozenset(retrieved)
    return sum(not one.nodes.isdisjoint(nodes) for one in present) / len(present)


def link_recall(linked: Collection[int], topics: Sequence[frozenset[int]]) -> float | None:
    """Share of the gold topics that were linked; None where no topic is known.

    Args:
        linked: nodes that the program linked.
        topics: nodes that each gold topic may be. A topic that is not in the graph is never linked.
    """
    if not topics:
        return None
    nodes = frozenset(linked)
    return sum(not topic.isdisjoint(nodes) for topic in topics) / len(topics)
