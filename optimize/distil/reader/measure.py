"""How well rules and readers read the facts of held-out questions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from triplecheck.evals.metrics.statistics import mcnemar, write_p
from triplecheck.kg.encode import Encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.lms.reader.model import Reader
from triplecheck.lms.reader.readings import readings
from triplecheck.lms.resolve import baseline_reply
from triplecheck.optimize.distil.lora.verify import first_is_right, problem_of_answer
from triplecheck.optimize.distil.reader.examples import without_answers
from triplecheck.optimize.distil.reader.tasks import ReaderTask
from triplecheck.optimize.distil.report import Score
from triplecheck.optimize.distil.trace_ranker import answered
from triplecheck.optimize.traces import TraceRow

RULES = "rules"
MOST = 200
"""Held-out rows of a folder that are measured, at most."""


@dataclass
class Measured:
    """Replies to the held-out rows of one folder, by who read.

    Attributes:
        name: of the folder.
        graph: of its questions.
        rows: number of rows.
        first: whether the first answer is right, for each row.
        whole: whether all answers are right and none is missing, for each row.
        withheld: whether nothing is answered where the facts that hold an answer are taken away.
    """

    name: str
    graph: str
    rows: int
    first: dict[str, list[bool]] = field(default_factory=dict)
    whole: dict[str, list[bool]] = field(default_factory=dict)
    withheld: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, who: str, row: TraceRow, reply: Mapping[str, Any]) -> None:
        """Add a reply to a row."""
        self.first.setdefault(who, []).append(first_is_right(row.inputs, reply, row.outputs))
        self.whole.setdefault(who, []).append(problem_of_answer(row.inputs, reply, row.outputs) is None)

    def scores(self) -> list[Score]:
        """The first answer of each reader beside that of the rules."""
        rules = (RULES, [*map(float, self.first.get(RULES, ()))])
        others = [(who, [*map(float, right)]) for who, right in self.first.items() if who != RULES]
        return [score for one in others if (score := Score.of(self.name, "Hits@1", rules, one)) is not None]

    def to_json(self) -> dict[str, Any]:
        """Shares, and each reader against the rules by McNemar's exact test, as plain data."""
        return {
            "folder": self.name,
            "graph": self.graph,
            "questions": self.rows,
            "short": len(self.withheld.get(RULES, ())),
            "read_by": {
                who: {
                    "hits_at_1": _share(self.first[who]),
                    "all_right": _share(self.whole[who]),
                    "withheld": _share(self.withheld.get(who, ())),
                    "p": round(mcnemar([*map(float, self.first[who])], [*map(float, self.first[RULES])]), 4),
                }
                for who in self.first
            },
        }


def measured(
    task: ReaderTask,
    readers: Mapping[str, Reader],
    encoder: Encoder,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Measured:
    """What the rules and some readers reply to the held-out rows of a folder.

    Args:
        task: the folder.
        readers: by name.
        encoder: makes the vectors.
        seed: of the sample of rows.
        progress: called with what is done, rows done and in all.
    """
    rows = random.Random(seed).sample(task.test, min(len(task.test), MOST))
    general = load_ranker(GENERAL)
    found = Measured(task.name, task.graph, len(rows))
    for done, row in enumerate(rows):
        progress(f"measuring {task.graph}", done, len(rows))
        prompt = answered(row).prompt
        short = without_answers(prompt, row.outputs)
        for one in (prompt, short):
            if one is None:
                continue
            replies = {RULES: baseline_reply(one, encoder, general)}
            by_ranker = {
                ranker.fingerprint: readings(one, encoder.encode, ranker)
                for ranker in {reader.ranker.fingerprint: reader.ranker for reader in readers.values()}.values()
            }
            for name, reader in readers.items():
                replies[name] = reader.choose(by_ranker[reader.ranker.fingerprint]).conclusion.fields()
            for who, reply in replies.items():
                if one is prompt:
                    found.add(who, row, reply)
                else:
                    nothing = not reply["answers"] and reply["operation"] == "none"
                    found.withheld.setdefault(who, []).append(nothing)
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Shares by folder and reader, as a Markdown table."""
    head = ("facts", "questions", "read by", "Hits@1", "all right", "p", "withheld without the answer")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        for who, scores in row["read_by"].items():
            p = "-" if who == RULES else write_p(scores["p"])
            cells = (f"{scores['hits_at_1']:.3f}", f"{scores['all_right']:.3f}", p, f"{scores['withheld']:.3f}")
            lines.append(f"| {' | '.join((row['folder'], str(row['questions']), who, *cells))} |")
    return "\n".join(lines) + "\n"


def _share(values: Sequence[bool]) -> float:
    return round(mean(values), 4) if values else 0.0
