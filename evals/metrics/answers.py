"""Predicted answers against gold answers: by node, or by name if there is no node.

`hits_at_1`, `hit` and the F1 of `set_scores`, averaged over questions, are what papers on question
answering over knowledge graphs report as Hits@1, Hit and F1 (Saxena et al. 2020, "Improving Multi-hop
Question Answering over Knowledge Graphs using Knowledge Base Embeddings"; Yih et al. 2016, "The Value of
Semantic Parse Labeling for Knowledge Base Question Answering", section 4).
"""

from __future__ import annotations

import re
import string
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

# On text: the answer as one text against gold texts, of which the best counts.
#
# Strict are `exact_match` and `token_f1`, of SQuAD (Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for
# Machine Comprehension of Text", section 6.1, and its `evaluate-v1.1.py`); the maximum over gold texts is
# that script's `metric_max_over_ground_truths`. The rule on yes, no and noanswer is that of HotpotQA (Yang
# et al. 2018, arXiv 1809.09600, `hotpot_evaluate_v1.py`). They depart from the scripts in one thing: a text
# of which the normalisation leaves nothing scores 0, even against another such.
#
# `lenient_match` is what Think-on-Graph (Sun et al. 2023, arXiv 2307.07697, `exact_match` in its
# `eval/utils.py`) and Plan-on-Graph (Chen et al. 2024, arXiv 2410.23875) report as exact match.


CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})
"""Normalised answers that HotpotQA does not compare word by word."""
ClosedRule = Literal["gold", "always", "never"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normalize(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, words one space apart (SQuAD's `normalize_answer`)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(text: str, gold: Iterable[str]) -> float:
    """1 where the normalised text is one of the normalised gold texts, else 0."""
    own = squad_normalize(text)
    return float(bool(own) and any(own == squad_normalize(other) for other in gold))


def token_f1(text: str, gold: Iterable[str], *, closed: ClosedRule = "gold") -> float:
    """The best F1 of the words of the normalised text with those of a gold text.

    Args:
        text: the answer.
        gold: what it may be.
        closed: where HotpotQA's rule holds, that a pair with a yes, no or noanswer in it scores 0 unless
            both are equal. `gold`: against gold texts that are such a word; `always`: also where only
            the answer is, as HotpotQA's script has it; `never`: nowhere, as SQuAD's has it.
    """
    own = squad_normalize(text)
    words = Counter(own.split())
    return max((_f1(own, words, squad_normalize(other), closed) for other in gold), default=0.0)


def _f1(own: str, words: Counter[str], other: str, closed: ClosedRule) -> float:
    if own == other:
        return float(bool(own))
    if (closed != "never" and other in CLOSED_ANSWERS) or (closed == "always" and own in CLOSED_ANSWERS):
        return 0.0
    others = Counter(other.split())
    common = (words & others).total()
    return 2 * common / (words.total() + others.total()) if common else 0.0


def lenient_match(text: str, gold: Iterable[str]) -> float:
    """1 where the text is a part of a gold text or a gold text a part of it, spaces and case apart, else 0.

    Not to be relied on: an empty text is a part of every gold text and counts as right, and so does "a"
    wherever some gold text has an a in it; so does a long reply that names a right answer among wrong ones.
    It is here only to stand beside strict scores, where published figures were made with it.
    """
    own = _squeezed(text)
    return float(any(own in other or other in own for other in map(_squeezed, gold)))


def _squeezed(text: str) -> str:
    return text.strip().replace(" ", "").lower()


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


# Right, wrong or missing: the outcomes of CRAG (Yang et al. 2024, arXiv 2406.04744, section 4.1).
#
# An answer that is not right is worse than none: the truthfulness of a system is the mean of +1 for each
# accurate reply, 0 for each missing and -1 for each hallucinated one. As in CRAG, an exact comparison
# decides first; a model may then judge what it did not find right (`evals.judge`).

Outcome = Literal["accurate", "hallucinated", "missing"]


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
