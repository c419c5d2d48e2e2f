"""Rows as examples: the readings of their facts, and which of them give the teacher's reply."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg import normalize
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import Encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import PathRanker
from triplecheck.lms.prompt import Prompt
from triplecheck.lms.reader.readings import Reading, readings
from triplecheck.optimize.distil.lora.verify import answers_of, cited_of
from triplecheck.optimize.distil.trace_ranker import prompt_of
from triplecheck.optimize.traces import TraceRow
from triplecheck.signatures.notation import WrittenFact, read_facts, write_fact

_LEAST_F1 = 0.5  # of the answers of a reading against those of the teacher
_CITED = 0.1  # weight of the F1 of the cited facts: of readings with the same answers, the teacher's own
_SHORT = 0.2  # of the rows, those that are shown once more without the facts that hold an answer
_MOST = 100  # readings of an example


@dataclass(frozen=True)
class Example:
    """The readings of one prompt.

    Attributes:
        graph: of the question.
        features: shape (readings, `FEATURES`).
        right: which of them are right.
    """

    graph: str
    features: FloatArray
    right: npt.NDArray[np.bool_]


def examples_of(
    graph: str,
    rows: Sequence[TraceRow],
    encoder: Encoder,
    ranker: PathRanker,
    chance: random.Random,
    progress: ProgressCallback = no_progress,
) -> list[Example]:
    """The examples of some rows; rows of which no reading is right are left out.

    Some rows, drawn by `chance`, are shown once more without the facts that hold an answer: then nothing is told. Of
    many wrong readings some are drawn, too.
    """
    found = []
    for done, row in enumerate(rows):
        progress("reading", done, len(rows))
        prompt = prompt_of(row)
        shown = [(prompt, row.outputs)]
        short = without_answers(prompt, row.outputs)
        if short is not None and chance.random() < _SHORT:
            shown.append((short, NOTHING))
        for one, outputs in shown:
            read = readings(one, encoder.encode, ranker)
            right = right_readings(read, read_facts(one.items("facts")), outputs)
            if not right.any():
                break
            found.append(_drawn(graph, read, right, chance))
    return found


NOTHING: Mapping[str, Any] = {"cited": [], "operation": "none", "answers": []}
"""The reply where the facts tell nothing."""


def without_answers(prompt: Prompt, outputs: Mapping[str, Any]) -> Prompt | None:
    """The prompt without the facts that hold an answer; None if the answer is computed or there is none."""
    facts = read_facts(prompt.items("facts"))
    wanted = answers_of(facts, outputs)
    if outputs["operation"] != "none" or not outputs["answers"] or wanted <= {"yes", "no"}:
        return None
    kept = [fact for fact in facts if wanted.isdisjoint(map(normalize, (fact.anchor, *fact.values)))]
    lines = "\n".join(f"[{number}] {write_fact(fact)}" for number, fact in enumerate(kept, 1))
    return replace(prompt, inputs={**prompt.inputs, "facts": lines})


def right_readings(
    found: Sequence[Reading], facts: Sequence[WrittenFact], outputs: Mapping[str, Any]
) -> npt.NDArray[np.bool_]:
    """Which readings have the answers of a reply, as nearly as any; of these, those that cite the same facts best."""
    wanted = answers_of(facts, outputs)
    if not wanted:
        return np.array([reading.kind == "nothing" for reading in found])
    cited = {fact.number for fact in cited_of(facts, outputs)}
    replies = [reading.conclusion.fields() for reading in found]
    f1 = np.array([_f1(answers_of(facts, reply), wanted) for reply in replies])
    proof = np.array([_f1(set(reading.conclusion.cited), cited) for reading in found])
    scores = np.where(f1 >= _LEAST_F1, f1 + _CITED * proof, 0.0)
    right: npt.NDArray[np.bool_] = (scores > 0) & (scores >= scores.max() - 1e-6)
    return right


def _f1(given: set[Any] | frozenset[Any], wanted: set[Any] | frozenset[Any]) -> float:
    return 2 * len(given & wanted) / max(1, len(given) + len(wanted))


def _drawn(graph: str, read: Sequence[Reading], right: npt.NDArray[np.bool_], chance: random.Random) -> Example:
    """The first reading (nothing), the right ones, and others up to the most."""
    wrong = [at for at in range(1, len(read)) if not right[at]]
    room = max(0, _MOST - int(right.sum()) - 1)
    kept = sorted({0, *np.flatnonzero(right).tolist(), *chance.sample(wrong, min(len(wrong), room))})
    return Example(graph, np.stack([read[at].features for at in kept]), right[kept])
