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

# Text metrics: the answer as one text against gold texts; the best match counts.
#
# `exact_match` and `token_f1` are strict and follow SQuAD (Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for
# Machine Comprehension of Text", section 6.1, and its `evaluate-v1.1.py`); the maximum over gold texts is
# that script's `metric_max_over_ground_truths`. The rule for yes, no and noanswer follows HotpotQA (Yang
# et al. 2018, arXiv 1809.09600, `hotpot_evaluate_v1.py`). One difference from the scripts: a text that is empty
# after normalisation scores 0, even against another empty text.
#
# `lenient_match` is what Think-on-Graph (Sun et al. 2023, arXiv 2307.07697, `exact_match` in its
# `eval/utils.py`) and Plan-on-Graph (Chen et al. 2024, arXiv 2410.23875) report as exact match.


CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})
"""Normalised answers that HotpotQA compares as a whole, not by word."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normalize(text: str) -> str:
    """Normalise as SQuAD's `normalize_answer`: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(text: str, gold: Iterable[str]) -> float:
    """Return 1 if the normalised text equals a normalised gold text, else 0."""
    own = squad_normalize(text)
    return float(bool(own) and any(own == squad_normalize(other) for other in gold))


def token_f1(text: str, gold: Iterable[str]) -> float:
    """Return the best word F1 between the normalised text and a normalised gold text.

    A gold text yes, no or noanswer counts as a whole: 1 if the texts are equal, else 0.
    """
    own = squad_normalize(text)
    words = Counter(own.split())
    return max((_f1(own, words, squad_normalize(other)) for other in gold), default=0.0)


def _f1(own: str, words: Counter[str], other: str) -> float:
    if own == other:
        return float(bool(own))
    if other in CLOSED_ANSWERS:
        return 0.0
    others = Counter(other.split())
    common = (words & others).total()
    return 2 * common / (words.total() + others.total()) if common else 0.0


def lenient_match(text: str, gold: Iterable[str]) -> float:
    """Return 1 if the text is a substring of a gold text or the other way round, ignoring spaces and case; else 0.

    Not reliable: an empty text matches every gold text, "a" matches every gold text that contains an a, and a long
    reply matches if it names a gold answer among wrong ones. Reported beside strict scores only because published
    figures use it.
    """
    own = _squeezed(text)
    return float(any(own in other or other in own for other in map(_squeezed, gold)))


def _squeezed(text: str) -> str:
    return text.strip().replace(" ", "").lower()


@dataclass(frozen=True, slots=True)
class Predicted:
    """An answer that a program gave.

    Attributes:
        node: the entity's node; None for a literal or a text.
        forms: its names in comparable form (`evals.gold.comparable`), without empty texts.
    """

    node: int | None
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One gold answer.

    Attributes:
        nodes: nodes that it may refer to; empty: it names no node.
        forms: its names in comparable form, without empty texts.
    """

    nodes: frozenset[int]
    forms: frozenset[str]


def matches(predicted: Predicted, gold: GoldAnswer) -> bool:
    """Whether a predicted answer is this gold answer.

    An entity matches by node; by name only if the gold answer has no node. A literal or a text matches if the two
    share a form.
    """
    if predicted.node is not None and gold.nodes:
        return predicted.node in gold.nodes
    return not predicted.forms.isdisjoint(gold.forms)


def hits_at_1(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> float:
    """Return 1 if the first predicted answer is a gold answer, else 0."""
    return float(bool(predicted) and any(matches(predicted[0], one) for one in gold))


def hit(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> float:
    """Return 1 if any predicted answer is a gold answer, else 0."""
    return float(any(matches(answer, one) for answer in predicted for one in gold))


@dataclass(frozen=True, slots=True)
class SetScores:
    """Precision, recall and F1 over sets of answers."""

    precision: float
    recall: float
    f1: float


def set_scores(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> SetScores:
    """Compare the set of predicted answers with the set of gold answers.

    Each predicted answer matches at most one gold answer and the other way round: the number of correct answers is
    the size of a maximum matching. A repeated predicted answer counts once.
    """
    distinct = list(dict.fromkeys(predicted))
    correct = _largest_matching([[i for i, one in enumerate(gold) if matches(p, one)] for p in distinct])
    if not correct:
        return SetScores(0.0, 0.0, 0.0)
    return SetScores(correct / len(distinct), correct / len(gold), 2 * correct / (len(distinct) + len(gold)))


def _largest_matching(options: list[list[int]]) -> int:
    """Return the size of a maximum bipartite matching (augmenting paths); row i can match any of `options[i]`."""
    taken: dict[int, int] = {}
    held: dict[int, int] = {}
    dead: set[int] = set()  # already searched without success
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


# Accurate, hallucinated or missing: the outcomes of CRAG (Yang et al. 2024, arXiv 2406.04744, section 4.1).
#
# A wrong answer is worse than none: truthfulness is the mean of +1 for an accurate reply, 0 for a missing one and -1
# for a hallucinated one. Exact match decides.

Outcome = Literal["accurate", "hallucinated", "missing"]


def crag_outcome(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Outcome:
    """Return CRAG's outcome of a reply.

    Accurate if the first answer is correct, missing if there is no answer, hallucinated otherwise. A question
    without gold answers is unanswerable: no answer is accurate, any answer is hallucinated.
    """
    if not gold:
        return "hallucinated" if predicted else "accurate"
    if not predicted:
        return "missing"
    return "accurate" if hits_at_1(predicted, gold) else "hallucinated"


def truthfulness(outcomes: Collection[Outcome]) -> float | None:
    """Return CRAG's truthfulness: the mean of +1 (accurate), 0 (missing) and -1 (hallucinated)."""
    worth = {"accurate": 1, "hallucinated": -1, "missing": 0}
    return sum(worth[outcome] for outcome in outcomes) / len(outcomes) if outcomes else None
