"""Trains a reader of answers and measures it.

On one graph it learns the graph's own wordings: its ranker of paths is trained, too, and the network learns from scores
of rankers that have not seen the question. On several graphs it is a general reader: the network alone is trained, over
the ranker in the package, and each graph is left out in turn to measure it there.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.configuration import digest
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import replaced_directory, write_text
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, PathRanker, load_ranker
from triplecheck.lms.kinds import STUDENT
from triplecheck.lms.reader.model import CARD, FORMAT, Reader, for_reading, load_reader, save_reader
from triplecheck.optimize.distil.path_ranker import (
    LEAST_QUESTIONS,
    check_installed,
    marginal,
    one_thread,
    train_further,
)
from triplecheck.optimize.distil.reader.examples import Example, examples_of
from triplecheck.optimize.distil.reader.measure import measured
from triplecheck.optimize.distil.reader.recorded import RECORDED, record_answers
from triplecheck.optimize.distil.report import OF_TRACES, Learnt, Score, StudentReport
from triplecheck.optimize.distil.tasks import LEAST_ROWS, Task, tasks_of
from triplecheck.optimize.distil.trace_ranker import path_questions
from triplecheck.optimize.traces import TraceRow, read_traces
from triplecheck.signatures.notation import wordings

_MADE_WITH = "the sentence encoder all-MiniLM-L6-v2 (Apache-2.0) and the ranker of paths in Triplecheck"
READER, LEFT_OUT = "reader", "reader, graph left out"
"""Who reads, in reports."""
_LIMIT = 1_500  # rows of a graph to learn from, drawn at random
_HIDDEN = 24
_BATCH, _EPOCHS, _LEAST_STEPS = 32, 30, 300
_RATE, _DECAY = 5e-3, 1e-2


def distil_reader(
    rows: Mapping[Path, Sequence[TraceRow]],
    out: Path,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> StudentReport:
    """Train a reader and write it, with its report as its card.

    Args:
        rows: by their folder, see `tasks_of`; of one graph, or of several for a general reader.
        out: the folder of the reader; an older reader there is replaced, unless it learnt from the same rows.

    Raises:
        UserError: as `tasks_of`; too few rows have a reading that gives the reply; or `out` is something else.
        MissingExtraError: torch is not installed.
    """
    check_installed()
    tasks, there = tasks_of(rows), check_place(out)
    began, encoder = time.monotonic(), load_encoder()
    drawn = _drawn(tasks, seed)
    held_out = {task.name: [row.key for row in task.test] for task in tasks}
    taught_with = {graph: [row.key for row in own] for graph, own in drawn.items()}
    options = {"limit": _LIMIT, "seed": seed}
    data = digest([FORMAT, options, encoder.fingerprint, taught_with, held_out])

    def told(about: Mapping[str, Any]) -> StudentReport:
        learnt = Learnt.of(list(rows), [row for task in tasks for row in task.train])
        scores, licence = tuple(map(Score.from_json, about["scores"])), f"{_MADE_WITH}; {OF_TRACES}"
        return StudentReport("reader", f"{STUDENT}{out}", out, learnt, scores, about["seconds"], licence, about)

    if there is not None and there.about.get("data") == data:
        return told(there.about)
    course = _Course(encoder, seed, progress)
    readers: dict[str, dict[str, Reader]] = {graph: {} for graph in drawn}
    if len(drawn) == 1:
        ((graph, own),) = drawn.items()
        weights, paths, taught = course.specialised(graph, own)
    else:
        examples = {graph: course.read(graph, own, load_ranker(GENERAL)) for graph, own in drawn.items()}
        taught = sum(map(len, examples.values()))
        for graph in drawn:
            others = [one for name, of in examples.items() if name != graph for one in of]
            readers[graph][LEFT_OUT] = course.reader(course.network(others), None)
        weights, paths = course.network([one for of in examples.values() for one in of]), None
    for named in readers.values():
        named[READER] = course.reader(weights, paths)
    scores = [one for task in tasks for one in measured(task, readers[task.graph], encoder, seed, progress)]
    about: dict[str, Any] = {
        "graphs": sorted(drawn),
        "teachers": dict(Counter(row.model for own in drawn.values() for row in own).most_common()),
        "replies": sum(map(len, drawn.values())),
        "examples": taught,
        "seed": seed,
        "data": data,
        "scores": [score.to_json() for score in scores],
        "seconds": round(time.monotonic() - began, 1),
    }
    report = told(about)
    with replaced_directory(out) as folder:
        save_reader(weights, paths, encoder.fingerprint, about, folder)
        write_text(folder / CARD, report.markdown())
        write_text(folder / "card.json", json.dumps(about, indent=1) + "\n")
    return report


def train_reader(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    out: Path,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> StudentReport:
    """Record the answering step on a graph, with right replies, and train a reader on it.

    Args:
        kb, questions: see `record_answers`; what is recorded is kept in `recorded`, beside `out`.
        out, seed, progress: see `distil_reader`.

    Raises:
        UserError: as `record_answers` and `distil_reader`.
    """
    recorded = record_answers(kb, questions, out.parent / RECORDED, seed=seed, progress=progress)
    return distil_reader({folder: read_traces(folder) for folder in recorded}, out, seed, progress)


def _drawn(tasks: Sequence[Task], seed: int) -> dict[str, list[TraceRow]]:
    """The rows to learn from, by graph."""
    chance, rows = random.Random(seed), dict[str, list[TraceRow]]()
    for task in tasks:
        rows.setdefault(task.graph, []).extend(task.train)
    return {graph: chance.sample(own, min(len(own), _LIMIT)) for graph, own in rows.items()}


def check_place(out: Path) -> Reader | None:
    """The reader that is there already, if there is one.

    Raises:
        UserError: the place holds something else than a reader.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    if not (out / CARD).is_file():
        raise UserError(f"{out}: is not empty and holds no reader; choose another folder")
    return load_reader(out)


@dataclass(frozen=True)
class _Course:
    encoder: Encoder
    seed: int
    progress: ProgressCallback

    def read(self, graph: str, rows: Sequence[TraceRow], ranker: PathRanker) -> list[Example]:
        chance = random.Random(self.seed)
        return examples_of(graph, rows, self.encoder, for_reading(ranker), chance, self.progress)

    def network(self, examples: Sequence[Example]) -> dict[str, FloatArray]:
        if len(examples) < LEAST_ROWS:
            raise UserError(
                f"in {len(examples)} right replies alone the answers follow from the facts as a reader reads them; at "
                f"least {LEAST_ROWS} are needed: collect more with `triplecheck collect kerag --pass gold`"
            )
        return _train_network(examples, self.seed, self.progress)

    def reader(self, weights: Mapping[str, FloatArray], paths: Mapping[str, FloatArray] | None) -> Reader:
        ranker = load_ranker(GENERAL) if paths is None else self._ranker(paths)
        return Reader(weights, for_reading(ranker), self.encoder.fingerprint, "", {})

    def specialised(
        self, graph: str, rows: Sequence[TraceRow]
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray] | None, int]:
        """The network, the weights of the ranker, and how many examples there were.

        The network learns from the scores that a ranker gives to questions that it was not trained on, as it will be.
        """
        halves = [rows[::2], rows[1::2]]
        trained = [self._paths(half) for half in (*halves, rows)]
        if any(one is None for one in trained):
            examples = self.read(graph, rows, load_ranker(GENERAL))
            return self.network(examples), None, len(examples)
        rankers = [self._ranker(one) for one in trained if one is not None]
        examples = self.read(graph, halves[0], rankers[1]) + self.read(graph, halves[1], rankers[0])
        return self.network(examples), trained[2], len(examples)

    def _paths(self, rows: Sequence[TraceRow]) -> dict[str, FloatArray] | None:
        """A ranker of paths that these rows cite; None if they are too few."""
        labels: dict[str, int] = {}
        asked = [question for row in rows for question in path_questions(row, labels)]
        if len(asked) < LEAST_QUESTIONS:
            return None
        return train_further(asked, [wordings(label) for label in labels], self.seed, self.progress)

    def _ranker(self, weights: Mapping[str, FloatArray]) -> PathRanker:
        return PathRanker(weights, self.encoder.fingerprint, "own", {})


@one_thread()
def _train_network(examples: Sequence[Example], seed: int, progress: ProgressCallback) -> dict[str, FloatArray]:
    """Train a network; its weights, see `lms.reader.model.Reader`. Each graph counts the same.

    The loss is the cross-entropy of the right readings among all of a prompt.
    """
    import torch

    torch.manual_seed(seed)
    chance = random.Random(seed)
    mean, scale = _normal(examples)
    size = len(mean)
    first = {
        "hidden": torch.randn(_HIDDEN, size) / size**0.5,
        "bias": torch.zeros(_HIDDEN),
        "out": torch.randn(_HIDDEN) / _HIDDEN**0.5,
    }
    weights = {name: tensor.requires_grad_() for name, tensor in first.items()}
    counts = Counter(example.graph for example in examples)
    # Drawn with replacement, so that a graph with few questions counts as much as the others.
    chances = [1 / counts[example.graph] for example in examples]
    steps = max(_LEAST_STEPS, _EPOCHS * len(examples) // _BATCH)
    optimizer = torch.optim.AdamW(weights.values(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    normal = [(example.features - mean) / scale for example in examples]
    for step in range(steps):
        batch = chance.choices(range(len(examples)), chances, k=_BATCH)
        most = max(len(normal[at]) for at in batch)
        x = torch.zeros(len(batch), most, size)
        there, right = (torch.zeros(len(batch), most, dtype=torch.bool) for _ in range(2))
        for row, at in enumerate(batch):
            count = len(normal[at])
            x[row, :count] = torch.from_numpy(normal[at])
            there[row, :count] = True
            right[row, :count] = torch.from_numpy(examples[at].right)
        scores = torch.tanh(x @ weights["hidden"].T + weights["bias"]) @ weights["out"]
        loss = marginal(scores.masked_fill(~there, -1e9), right)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        progress("training", step + 1, steps)
    trained: dict[str, FloatArray] = {name: tensor.detach().numpy() for name, tensor in weights.items()}
    return trained | {"mean": mean, "scale": scale}


def _normal(examples: Sequence[Example]) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; 1 for a constant one."""
    rows = np.concatenate([example.features for example in examples])
    deviation = rows.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1.0)
    return rows.mean(axis=0).astype(np.float32), scale.astype(np.float32)
