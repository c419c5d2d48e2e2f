"""Scoring anyone's released predictions again: strict scores, and the lenient one beside them.

No graph is needed: answers are compared by name. What the predictions were scored with when they were
published is often only described in a word ("exact match"); here everybody's are scored alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from triplecheck.evals.gold import comparable
from triplecheck.evals.metrics import (
    GoldAnswer,
    Predicted,
    bootstrap_interval,
    exact_match,
    hits_at_1,
    lenient_match,
    set_scores,
    token_f1,
)
from triplecheck.evals.metrics.text import ClosedRule
from triplecheck.evals.questions import Question
from triplecheck.evals.released import Fields, Format, Released, Unscored, read_released
from triplecheck.kg import UserError, normalize

STRICT = ("exact_match", "token_f1", "hits_at_1", "f1")
LENIENT = "lenient_match"
_BRACES = re.compile(r"\{(.*?)\}", re.DOTALL)


@dataclass(frozen=True)
class Score:
    """A mean over the scored rows and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Rescored:
    """What predictions are worth.

    Attributes:
        path: their file.
        read: rows in it.
        scored: rows that are in the scores.
        empty: scored rows whose prediction is empty.
        lenient_on_empty: those of `empty` that the lenient score counts as right.
        without_braces: scored rows without an answer in braces where one was looked for; their whole text counts.
        unpredicted: gold questions without a row; they are in no score.
        scores: by metric: `exact_match`, `token_f1`, `hits_at_1`, `f1`, `lenient_match`.
        unscored: the other rows, each with why.
    """

    path: str
    read: int
    scored: int
    empty: int
    lenient_on_empty: int
    without_braces: int
    unpredicted: int
    scores: dict[str, Score]
    unscored: tuple[Unscored, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def rescore(
    path: Path,
    fields: Fields | None = None,
    *,
    form: Format | None = None,
    gold: Iterable[Question] | None = None,
    one_answer: bool = False,
    braces: bool = False,
    closed: ClosedRule = "gold",
) -> Rescored:
    """Score a file of predictions.

    Args:
        path: the file.
        fields: where things stand in it.
        form: of the file; None: as its name ends.
        gold: questions with their answers, joined by id or else by the text of the question; None: the
            file's own.
        one_answer: whether the correct answers of each question are spellings of one.
        braces: take what stands in the first braces as the answer; in the second where the first say yes
            (Think-on-Graph's `extract_content`).
        closed: where yes, no and noanswer are compared as a whole (`evals.metrics.token_f1`).

    Raises:
        ReadError: the file as a whole cannot be read.
        UserError: no row can be scored.
    """
    key = None if gold is None else _Key(gold)
    unscored: list[Unscored] = []
    rows: list[dict[str, float]] = []
    empty = lenient_on_empty = without = read = 0
    for row in read_released(path, fields or Fields(), form):
        read += 1
        if isinstance(row, Unscored):
            unscored.append(row)
            continue
        right = _right(row, key, one_answer=one_answer)
        if isinstance(right, Unscored):
            unscored.append(right)
            continue
        said = row.prediction
        if braces:
            found = [braced(text) for text in said]
            without += bool(said) and all(one is None for one in found)
            said = tuple(text if one is None else one for text, one in zip(said, found, strict=True))
        said = tuple(text.strip() for text in said if text.strip())
        scores = _scores(said, right, closed)
        rows.append(scores)
        empty += not said
        lenient_on_empty += not said and scores[LENIENT] == 1
    if not rows:
        why = "; ".join(f"{reason} ({n}x)" for reason, n in Counter(one.reason for one in unscored).most_common(3))
        raise UserError(f"{path}: no row could be scored: {why or 'it holds none'}")
    return Rescored(
        str(path),
        read,
        len(rows),
        empty,
        lenient_on_empty,
        without,
        0 if key is None else key.left,
        {name: _score([row[name] for row in rows]) for name in (*STRICT, LENIENT)},
        tuple(unscored),
    )


def braced(text: str) -> str | None:
    """The answer in braces; None where there are none."""
    found: list[str] = [one.strip() for one in _BRACES.findall(text)]
    if not found:
        return None
    return found[1] if len(found) > 1 and found[0].lower() == "yes" else found[0]


@dataclass(frozen=True)
class _Right:
    """The correct answers of a question, and their texts."""

    answers: list[GoldAnswer]
    texts: list[str]


class _Key:
    """Gold questions, found by id or by text; each is used once."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._by_id: dict[str, Question] = {}
        self._by_text: dict[str, list[str]] = {}
        for question in questions:
            self._by_id[question.id] = question
            self._by_text.setdefault(normalize(question.question), []).append(question.id)
        self._taken: dict[str, str] = {}

    @property
    def left(self) -> int:
        """How many were not asked for."""
        return len(self._by_id) - len(self._taken)

    def question(self, row: Released) -> Question | Unscored:
        """The gold question of a row, or why there is none."""
        id = row.id if row.id in self._by_id else None
        if id is None:
            ids = self._by_text.get(normalize(row.question), []) if row.question else []
            if len(ids) != 1:
                what = f"{len(ids)} gold questions read like it" if ids else "no gold question has its id or its text"
                return Unscored(row.place, what)
            id = ids[0]
        if id in self._taken:
            return Unscored(row.place, f"the question of {self._taken[id]} again")
        self._taken[id] = row.place
        return self._by_id[id]


def _right(row: Released, key: _Key | None, *, one_answer: bool) -> _Right | Unscored:
    if key is None:
        names: list[Sequence[str]] = [[text] for text in row.gold if text]
    else:
        question = key.question(row)
        if isinstance(question, Unscored):
            return question
        one_answer = one_answer or question.one_answer
        names = _names(question)
    if one_answer and names:
        names = [[name for one in names for name in one]]
    if not names:
        return Unscored(row.place, "has no correct answer to compare with")
    answers = [GoldAnswer(frozenset(), frozenset(filter(None, map(comparable, one)))) for one in names]
    return _Right(answers, [name for one in names for name in one])


def _names(question: Question) -> list[Sequence[str]]:
    """What each answer is called."""
    none: tuple[tuple[str, ...], ...] = ((),) * len(question.answers)
    labels = question.answer_labels
    parallel = [(label,) for label in labels] if len(labels) == len(question.answers) else none
    aliases = question.answer_aliases or none
    rows = zip(question.answers, parallel, aliases, strict=True)
    return [[answer, *filter(None, label), *others] for answer, label, others in rows]


def _scores(said: Sequence[str], right: _Right, closed: ClosedRule) -> dict[str, float]:
    text = ", ".join(said)
    predicted = [Predicted(None, frozenset([form])) for one in said if (form := comparable(one))]
    return {
        "exact_match": exact_match(text, right.texts),
        "token_f1": token_f1(text, right.texts, closed=closed),
        "hits_at_1": hits_at_1(predicted, right.answers),
        "f1": set_scores(predicted, right.answers).f1,
        LENIENT: lenient_match(text, right.texts),
    }


def _score(values: Sequence[float]) -> Score:
    return Score(sum(values) / len(values), *bootstrap_interval(values))
