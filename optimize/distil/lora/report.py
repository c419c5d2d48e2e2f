"""What a model reached in each form, on each graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from triplecheck.optimize.distil.lora.forms import BASE, CHAIN, LEFT_OUT, LEFT_OUT_BASE, TUNED, TUNED_BASE, Form, Reply
from triplecheck.optimize.distil.lora.verify import first_is_right, problem_of_answer, problem_of_reply
from triplecheck.optimize.distil.report import Score, interval
from triplecheck.optimize.traces import TraceRow


def problem_of(row: TraceRow, reply: Reply) -> str | None:
    """Why a reply to the inputs of a row is no training row; None: it is one."""
    if not reply.finished:
        return "cut"
    return "unreadable" if reply.outputs is None else problem_of_reply(row, reply.outputs)


def _is_right(row: TraceRow, reply: Reply) -> bool:
    """Whether all answers of a reply are right and none is missing."""
    return reply.finished and reply.outputs is not None and problem_of_answer(row, reply.outputs) is None


def _hits(row: TraceRow, reply: Reply) -> bool:
    """Whether the first answer of a reply is right, even if others are missing or the reply is cut."""
    return reply.outputs is not None and first_is_right(row, reply.outputs)


@dataclass(frozen=True)
class Answered:
    """The replies of a form to the test rows of a graph, and the seconds that they took."""

    graph: str
    form: str
    replies: Sequence[tuple[TraceRow, Reply]]
    seconds: float

    @property
    def scores(self) -> list[float]:
        """1 for each right answer, else 0."""
        return [float(_is_right(row, reply)) for row, reply in self.replies]

    def to_json(self) -> dict[str, Any]:
        """Shares, intervals and costs, as plain data."""
        scores, replies = self.scores, [reply for _, reply in self.replies]
        problems = [problem_of(row, reply) for row, reply in self.replies]
        first = [float(_hits(row, reply)) for row, reply in self.replies]
        by_operation: dict[str, list[float]] = {}
        for (row, _), score in zip(self.replies, scores, strict=True):
            by_operation.setdefault(_operation(row), []).append(score)
        return {
            "graph": self.graph,
            "form": self.form,
            "questions": len(scores),
            "hits_at_1": round(mean(first), 4),
            "hits_at_1_interval": list(interval(first)),
            "right": round(mean(scores), 4),
            "interval": list(interval(scores)),
            "proved_and_reasoned": round(problems.count(None) / len(problems), 4),
            "by_operation": {name: [len(own), round(mean(own), 4)] for name, own in sorted(by_operation.items())},
            "problems": dict(Counter(problem for problem in problems if problem).most_common()),
            "prompt_tokens": round(mean(reply.prefix for reply in replies), 1),
            "reply_tokens": round(mean(reply.tokens - reply.prefix for reply in replies), 1),
            "seconds": round(self.seconds, 1),
        }


def _operation(row: TraceRow) -> str:
    """The operation of the right reply; `unanswerable` if there is no answer."""
    outputs = row.outputs
    return "unanswerable" if outputs["operation"] == "none" and not outputs["answers"] else str(outputs["operation"])


@dataclass
class LoraReport:
    """The course and the result of `distil_lora`: the details of its `StudentReport`.

    Attributes:
        about: model, device, options.
        chains: rows by what became of them: `chain` (its own verified chain), or why it has none.
        adapters: by name (`all`, or the graph that was left out): manifest of the adapter.
        seconds: by phase.
        answered: on the test rows.
    """

    about: dict[str, Any]
    chains: dict[str, Any] = field(default_factory=dict)
    adapters: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    answered: list[Answered] = field(default_factory=list)

    def add(
        self, graph: str, form: Form, rows: Sequence[TraceRow], given: Sequence[Reply | None], seconds: float
    ) -> None:
        """Add the replies of a form; rows that were not asked are left out."""
        replies = [(row, reply) for row, reply in zip(rows, given, strict=True) if reply is not None]
        if replies:
            self.answered.append(Answered(graph, form.name, replies, seconds))

    @property
    def scores(self) -> tuple[Score, ...]:
        """Each fine-tuned form beside the same prompt before, on the rows that both were asked."""
        found = {(one.graph, one.form): one for one in self.answered}
        pairs = ((found.get((one.graph, _BEFORE.get(one.form, ""))), one) for one in self.answered)
        scores = (_compared(before, after) for before, after in pairs if before is not None)
        return tuple(score for score in scores if score is not None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.about,
            "chains": self.chains,
            "adapters": self.adapters,
            "seconds": {name: round(spent, 1) for name, spent in self.seconds.items()},
            "answered": [one.to_json() for one in self.answered],
        }


_BEFORE = {
    form.name: before.name
    for form, before in ((TUNED, CHAIN), (TUNED_BASE, BASE), (LEFT_OUT, CHAIN), (LEFT_OUT_BASE, BASE))
}


def _compared(one: Answered, other: Answered) -> Score | None:
    theirs = {row.key: score for (row, _), score in zip(other.replies, other.scores, strict=True)}
    own = [(row.key, score) for (row, _), score in zip(one.replies, one.scores, strict=True) if row.key in theirs]
    before, after = [score for _, score in own], [theirs[key] for key, _ in own]
    return Score.of(one.graph, "all answers right", (one.form, before), (other.form, after))
