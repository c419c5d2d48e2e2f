"""What a model reached in each form, on each graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import mean
from typing import Any

from triplecheck.evals.metrics import bootstrap_interval, mcnemar
from triplecheck.optimize.distil.lora.forms import Form, Reply
from triplecheck.optimize.distil.lora.verify import first_is_right, problem_of_answer, problem_of_reply
from triplecheck.optimize.traces import TraceRow


def problem_of(row: TraceRow, reply: Reply) -> str | None:
    """Why a reply to the inputs of a row is no training row; None: it is one."""
    if not reply.finished:
        return "cut"
    return "unreadable" if reply.outputs is None else problem_of_reply(row.inputs, reply.outputs, row.outputs)


def is_right(row: TraceRow, reply: Reply) -> bool:
    """Whether a reply has the right answer."""
    return (
        reply.finished and reply.outputs is not None and not problem_of_answer(row.inputs, reply.outputs, row.outputs)
    )


def hits_at_1(row: TraceRow, reply: Reply) -> bool:
    """Whether the first answer of a reply is right, even if others are missing or the reply is cut."""
    return reply.outputs is not None and first_is_right(row.inputs, reply.outputs, row.outputs)


@dataclass(frozen=True)
class Answered:
    """A form's replies to the test rows of a graph.

    Attributes:
        graph: name of the graph.
        form: name of the form.
        rows: that were asked.
        replies: to them, in order.
        seconds: that the replies took.
    """

    graph: str
    form: str
    rows: Sequence[TraceRow]
    replies: Sequence[Reply]
    seconds: float

    @property
    def scores(self) -> list[float]:
        """1 for each right answer, else 0."""
        return [float(is_right(row, reply)) for row, reply in zip(self.rows, self.replies, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Shares, intervals and costs, as plain data."""
        scores = self.scores
        problems = [problem_of(row, reply) for row, reply in zip(self.rows, self.replies, strict=True)]
        first = [float(hits_at_1(row, reply)) for row, reply in zip(self.rows, self.replies, strict=True)]
        proved = [problem is None for problem in problems]
        by_operation: dict[str, list[float]] = {}
        for row, score in zip(self.rows, scores, strict=True):
            by_operation.setdefault(operation_of(row), []).append(score)
        return {
            "graph": self.graph,
            "form": self.form,
            "questions": len(scores),
            "hits_at_1": round(mean(first), 4),
            "hits_at_1_interval": [round(end, 4) for end in bootstrap_interval(first)],
            "right": round(mean(scores), 4),
            "interval": [round(end, 4) for end in bootstrap_interval(scores)],
            "proved_and_reasoned": round(mean(proved), 4),
            "by_operation": {name: [len(own), round(mean(own), 4)] for name, own in sorted(by_operation.items())},
            "problems": dict(Counter(problem for problem in problems if problem).most_common()),
            "prompt_tokens": round(mean(reply.prefix for reply in self.replies), 1),
            "reply_tokens": round(mean(reply.tokens - reply.prefix for reply in self.replies), 1),
            "seconds": round(self.seconds, 1),
        }


def operation_of(row: TraceRow) -> str:
    """The operation of the right reply; `unanswerable` if there is no answer."""
    outputs = row.outputs
    return "unanswerable" if outputs["operation"] == "none" and not outputs["answers"] else str(outputs["operation"])


@dataclass
class LoraReport:
    """The course and the result of `distil_lora`.

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
        asked = [row for row, reply in zip(rows, given, strict=True) if reply is not None]
        if asked:
            replies = [reply for reply in given if reply is not None]
            self.answered.append(Answered(graph, form.name, asked, replies, seconds))

    @property
    def compared(self) -> list[dict[str, Any]]:
        """Each two forms on the same questions, by McNemar's exact test."""
        found = []
        for one, other in combinations(self.answered, 2):
            if one.graph != other.graph:
                continue
            theirs = {row.key: score for row, score in zip(other.rows, other.scores, strict=True)}
            pairs = [(s, theirs[r.key]) for r, s in zip(one.rows, one.scores, strict=True) if r.key in theirs]
            if pairs:
                first, second = (list(side) for side in zip(*pairs, strict=True))
                found.append(
                    {
                        "graph": one.graph,
                        "forms": [one.form, other.form],
                        "questions": len(pairs),
                        "right": [round(mean(first), 4), round(mean(second), 4)],
                        "p": mcnemar(first, second),
                    }
                )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.about,
            "chains": self.chains,
            "adapters": self.adapters,
            "seconds": {name: round(spent, 1) for name, spent in self.seconds.items()},
            "answered": [one.to_json() for one in self.answered],
            "compared": self.compared,
        }

    def table(self) -> str:
        """Right answers by graph and form, as a Markdown table."""
        rows = [one.to_json() for one in self.answered]
        head = (
            "graph",
            "form",
            "questions",
            "Hits@1",
            "95%",
            "all right",
            "95%",
            "proved and reasoned",
            "reply tokens",
        )
        lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for row in sorted(rows, key=lambda row: row["graph"]):
            cells = [row["graph"], row["form"], str(row["questions"]), f"{row['hits_at_1']:.3f}"]
            cells += ["{:.3f}-{:.3f}".format(*row["hits_at_1_interval"]), f"{row['right']:.3f}"]
            cells += ["{:.3f}-{:.3f}".format(*row["interval"]), f"{row['proved_and_reasoned']:.3f}"]
            lines.append(f"| {' | '.join((*cells, format(row['reply_tokens'], '.0f')))} |")
        return "\n".join(lines) + "\n"
