"""Statistics of traces: the turn at which a loop stopped, and how references were used.

A breakdown maps groups (turns, sources) to measures. A share with denominator 0 is None.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Breakdown = dict[str, dict[str, float | None]]
Row = Mapping[str, Any]
"""The result of one question, one line of `rows.jsonl`; `evals.rows` lists its fields."""

TURN = 1
"""The turn whose references are counted: the first turn with references, as in the paper."""


def stopped_at(rows: Iterable[Row]) -> Breakdown:
    """Return the share of questions whose answer was output at each turn (Know³-RAG, Table 5).

    Args:
        rows: rows of an evaluation (`evals.rows`); rows without a weighed answer are not counted.
    """
    weighed = [[step for step in row["steps"] if step["kind"] == "weighed"] for row in rows]
    last = [steps[-1]["turn"] for steps in weighed if steps]
    return {f"t = {turn}": {"share": last.count(turn) / len(last)} for turn in range(max(last, default=-1) + 1)}


def reference_sources(rows: Iterable[Row]) -> Breakdown:
    """Return how the references of each source were used in the first turn with references (Know³-RAG, Figure 3).

    - `asked`: requested passages per question;
    - `declined`: share of requested passages that are empty: the source has no knowledge;
    - `repeated`: share of non-empty passages that duplicate one of an earlier source;
    - `relevant`: share of the remaining passages judged relevant (None if none was judged);
    - `kept`: share of the remaining passages that the answer was generated from.
    """
    sources: dict[str, list[Mapping[str, Any]]] = {}
    questions = 0
    for row in rows:
        consulted = [step for step in row["steps"] if step["kind"] == "consulted" and step["turn"] == TURN]
        questions += bool(consulted)
        for step in consulted:
            sources.setdefault(step["origin"], []).append(step)
    return {name: _usage(steps, questions) for name, steps in sorted(sources.items())}


def _usage(steps: Sequence[Mapping[str, Any]], questions: int) -> dict[str, float | None]:
    verdicts = Counter(step["verdict"] for step in steps)
    judged = [step["relevant"] for step in steps if step["relevant"] is not None]
    written = len(steps) - verdicts["empty"]
    return {
        "asked": len(steps) / questions,
        "declined": _share(verdicts["empty"], len(steps)),
        "repeated": _share(verdicts["repeated"], written),
        "relevant": _share(sum(judged), len(judged)),
        "kept": _share(verdicts["kept"], written - verdicts["repeated"]),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True)
class Supervision:
    """What the scores of triples said of answers and references (Know³-RAG, sections 4.2 and 4.4).

    Attributes:
        questions, answered: questions, and those of which an answer has a score.
        passages, scored: new references, and those that have a score.
        judged, relevant: references whose relevance was checked, and those that passed.
        missing: why nothing can have a score; empty if something can.
    """

    questions: int
    answered: int
    passages: int
    scored: int
    judged: int
    relevant: int
    missing: str

    @property
    def scores(self) -> bool:
        """Whether anything has a score."""
        return self.answered + self.scored > 0

    def __str__(self) -> str:
        checked = f"; {self.relevant} of {self.judged} passages are judged relevant" if self.judged else ""
        return (
            f"an answer to {self.answered} of {self.questions} questions and {self.scored} of {self.passages} passages "
            f"have a score{checked}"
        )


def supervision(rows: Iterable[Row]) -> Supervision | None:
    """Count the scores of answers and references; None if no answer was weighed."""
    steps = [row["steps"] for row in rows]
    weighed = [[step["score"] for step in own if step["kind"] == "weighed"] for own in steps]
    if not any(weighed):
        return None
    consulted = [step for own in steps for step in own if step["kind"] == "consulted"]
    fresh = [step for step in consulted if step["verdict"] not in ("empty", "repeated")]
    judged = [step["relevant"] for step in fresh if step["relevant"] is not None]
    checks = (step for own in steps for step in own if step["kind"] == "checked" and step["what"] == "embeddings")
    return Supervision(
        questions=len(steps),
        answered=sum(any(score is not None for score in own) for own in weighed),
        passages=len(fresh),
        scored=sum(step["score"] is not None for step in fresh),
        judged=len(judged),
        relevant=sum(judged),
        missing=next((step["reason"] for step in checks if not step["passed"]), ""),
    )


def cut_off(row: Row) -> bool:
    """Whether a limit cut something off."""
    return any(step["kind"] == "truncated" for step in row["steps"])


def theta_0(rows: Iterable[Row], c: float = 128.0) -> float | None:
    """theta_0 of Know³-RAG, from the threshold of turn 0 (section 4.2: theta_0 * c / (1 + e)); None without one."""
    weighed = (step for row in rows for step in row["steps"] if step["kind"] == "weighed" and step["turn"] == 0)
    first = next(weighed, None)
    return None if first is None else float(first["threshold"]) * (1 + math.e) / c


@dataclass(frozen=True)
class Kind:
    """A kind of breakdown.

    Attributes:
        measures: names of the measures, in order.
    """

    groups: str
    measures: tuple[str, ...]
    of: Callable[[Iterable[Row]], Breakdown]


BREAKDOWNS: Mapping[str, Kind] = {
    "turns": Kind("answer output at", ("share",), stopped_at),
    "sources": Kind("source", ("asked", "declined", "repeated", "relevant", "kept"), reference_sources),
}
