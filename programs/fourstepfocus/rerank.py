"""Reranking: a language model scores candidates for a question, in a few calls or each in its own.

Source: the LLM reranker of STaRK (arXiv 2404.13207), which asks once per candidate (`each`);
`listwise` puts many into one prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import dspy

from triplecheck.kg import TriplecheckError
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.base import Ask
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import ScoreCandidate, ScoreCandidates

Reranking = Literal["listwise", "each", "none"]

_NUMBER = r"(?P<score>[+-]?(?:\d+(?:\.\d*)?|\.\d+))\b(?P<reason>.*)$"
_VERDICT = re.compile(r"^\D{0,12}?(?P<number>\d+)\s*(?:[:)\]=]+|\.(?!\d)|\s[-–—]\s)\s*" + _NUMBER)
_SCORE = re.compile("^" + _NUMBER)


@dataclass(frozen=True)
class CandidateScore:
    """A model's score of a candidate.

    Attributes:
        value: from 0 to 1; None if it gave no score or an invalid one.
    """

    value: float | None = None
    reason: str = ""


class Reranker(dspy.Module):
    """Scores candidates. An error with one does not affect the scores of the others.

    Args:
        mode: `listwise`: many in one prompt; `each`: a call per candidate, at the same time; `none`: no scores.
    """

    def __init__(self, mode: Reranking = "listwise") -> None:
        super().__init__()
        self.mode = mode
        if mode == "listwise":
            self.score_candidates = RolePredict(ScoreCandidates, role="rerank")
        elif mode == "each":
            self.score_candidate = RolePredict(ScoreCandidate, role="rerank")

    def forward(
        self, question: str, candidates: Sequence[str], trace: Trace, ask: Ask, batches: int = 2
    ) -> list[CandidateScore]:
        """A score for each candidate, in order.

        Args:
            batches: prompts of a listwise ranking at most.

        Raises:
            TriplecheckError: a budget is spent or a model is not available.
        """
        if self.mode == "none" or not candidates:
            return [CandidateScore()] * len(candidates)
        size = 1 if self.mode == "each" else -(-len(candidates) // max(batches, 1))
        parts = [candidates[at : at + size] for at in range(0, len(candidates), size)]

        score = self._one if self.mode == "each" else self._list
        tasks = [partial(score, ask, question, part) for part in parts]
        scores: list[CandidateScore] = []
        for part, result in zip(parts, concurrently(tasks, trace), strict=True):
            if isinstance(result, TriplecheckError):
                if not isinstance(result, ModelReplyError | PromptTooLongError):
                    raise result
                trace.add(Checked(f"scores of {len(part)} candidates", False, str(result)))
                result = [CandidateScore()] * len(part)
            scores += result
        return scores

    def _list(self, ask: Ask, question: str, candidates: Sequence[str], trace: Trace) -> list[CandidateScore]:
        reply = ask(trace, self.score_candidates, question=question, candidates=list(candidates))
        read = read_verdicts(reply.verdicts, len(candidates))
        return [_checked(read.get(number), number, trace) for number in range(1, len(candidates) + 1)]

    def _one(self, ask: Ask, question: str, candidates: Sequence[str], trace: Trace) -> list[CandidateScore]:
        (candidate,) = candidates
        reply = ask(trace, self.score_candidate, question=question, candidate=candidate)
        return [_checked(CandidateScore(float(reply.score), reply.reason), None, trace)]


def with_places(scores: Sequence[CandidateScore], weight: float) -> list[float]:
    """Scores of candidates in the order of a search, with STaRK's term of the place: `weight` for the first."""
    return [(score.value or 0.0) + weight * (1 - place / len(scores)) for place, score in enumerate(scores)]


def cut_texts(texts: Sequence[str], characters: int, trace: Trace) -> list[str]:
    """The beginnings of texts; the trace records how many are whole."""
    whole = sum(len(text) <= characters for text in texts)
    trace.note_cut("texts of candidates shown whole", whole, len(texts))
    return [text[:characters] for text in texts]


def read_verdicts(lines: Sequence[str], count: int) -> dict[int, CandidateScore]:
    """The scores of a list, by number of the candidate from 1; of repeated numbers the first counts.

    Lines without numbers are taken in order if there is exactly one per candidate.
    """
    numbered = [match for line in lines if (match := _VERDICT.match(line.strip()))]
    if not numbered and len(lines) == count:
        plain = {at: match for at, line in enumerate(lines, 1) if (match := _SCORE.match(line.strip()))}
        return {at: CandidateScore(float(match["score"]), _reason(match)) for at, match in plain.items()}
    found: dict[int, CandidateScore] = {}
    for match in numbered:
        found.setdefault(int(match["number"]), CandidateScore(float(match["score"]), _reason(match)))
    return found


def _reason(match: re.Match[Any]) -> str:
    return str(match["reason"]).strip(" ,;:|-–—().")


def _checked(score: CandidateScore | None, number: int | None, trace: Trace) -> CandidateScore:
    """The score if it is one from 0 to 1."""
    what = "score" if number is None else f"score of candidate {number}"
    if score is None:
        trace.add(Checked(what, False, "the model gave none"))
        return CandidateScore()
    if score.value is None or not 0 <= score.value <= 1:
        trace.add(Checked(what, False, f"{score.value} is not from 0 to 1"))
        return CandidateScore(None, score.reason)
    return score
