"""Rows of fine-tuning data, and the file of a pass with what a program did with each question."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import dspy

from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import complete_lines
from triplecheck.kg import ReadError
from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.state import checker
from triplecheck.optimize.traces.recorder import StepRecord

# Rows of fine-tuning data: chats whose last message is the reply to learn.

Source = Literal["verified", "rationalized", "template", "gold", "base"]
"""Source of the reply of a row:

`verified`: written by a language model, and the question was answered correctly; `rationalized`: written by a language
model that was shown the correct answer; `template`: written by the rule-based baseline, and the question was answered
correctly; `gold`: computed from the graph and the known answer, and verified in the same way; `base`: computed, without
reasoning, for a question that a model answered wrongly although the facts in its prompt contain the answer.
"""
SOURCES: tuple[Source, ...] = get_args(Source)
"""In order of preference, for several replies to the same prompt."""
SplitName = Literal["train", "dev"]

Message = Mapping[str, str]


@dataclass(frozen=True)
class TraceRow:
    """One row.

    Attributes:
        key: hash of the messages.
        prompt: hash of the messages but the last.
        signature: name of the step's signature.
        model: that wrote the reply.
        messages: system, user, assistant.
        split: the same for all rows of a question, and of its group if it has one.
        inputs, outputs: of the step, by field.
        kinds: of the question, and whether the reply selects nothing (`optimize.traces.kinds`).
        times: how often a trainer reads it, so that no kind is rare.
    """

    key: str
    prompt: str
    id: str
    program: str
    signature: str
    role: str
    source: Source
    model: str
    messages: tuple[Message, ...]
    split: SplitName = "train"
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    times: int = 1

    @classmethod
    def from_json(cls, row: Any) -> TraceRow:
        """From the object of a line.

        Raises:
            ValueError: a field is missing, unknown or of the wrong type.
        """
        kind: Any = cls
        found: TraceRow = checker(kind).validate_python(row)
        return found


def trace_row(call: StepRecord, question: Question, program: str, source: Source, model: str | None = None) -> TraceRow:
    """The row of a step: its prompt without demonstrations and retries, and its well-formed reply.

    Raises:
        UserError: parsing the reply would give other values.
    """
    messages = row_messages(call.signature, call.inputs, call.outputs)
    return TraceRow(
        messages_key(messages),
        messages_key(messages[:-1]),
        question.id,
        program,
        call.signature.__name__,
        call.role,
        source,
        model or call.model,
        messages,
        inputs=call.inputs,
        outputs=call.outputs,
    )


def row_messages(
    signature: type[dspy.Signature], inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> tuple[Message, ...]:
    """The chat of a row, as the embedded engines are asked: without demonstrations.

    Raises:
        UserError: parsing the reply would give other values.
    """
    data = TolerantAdapter().format_finetune_data(signature, [], dict(inputs), dict(outputs))
    return tuple({"role": str(m["role"]), "content": str(m["content"])} for m in data["messages"])


def split_of(question: Question, dev_share: float) -> SplitName:
    """The split of a question, by a hash of its `group` if it has one, else of its id.

    Synthetic questions with the same answer path share a group: with one of them in the training data, the others
    would not be unseen.
    """
    return hashed_split(f"split\0{question.group}", dev_share)


def hashed_split(key: str, dev_share: float) -> SplitName:
    """The split of a key, by its hash."""
    value = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return "dev" if int.from_bytes(value[:8]) < dev_share * 2**64 else "train"


def with_held_out(rows: Sequence[TraceRow], share: float) -> list[TraceRow]:
    """The rows; if none of them is held out, with a share of the questions held out by a hash of their ids."""
    if any(row.split == "dev" for row in rows):
        return list(rows)
    return [replace(row, split=hashed_split(f"held out\0{row.id}", share)) for row in rows]


def messages_key(messages: Sequence[Message]) -> str:
    """A hash of messages."""
    text = json.dumps([dict(message) for message in messages], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


FILE = "records.jsonl"


@dataclass(frozen=True)
class JudgedStep:
    """One step of a question, and what speaks for and against learning it.

    Attributes:
        row: of the step; None: it has a problem.
        problem: what is wrong with it whatever the answer is; None: nothing.
        score: by the step's own metric, from 0 to 1; None: it cannot be scored.
        told: by the metric, in words.
    """

    signature: str
    model: str
    outputs: Mapping[str, Any]
    row: TraceRow | None
    problem: str | None
    score: float | None
    told: str


@dataclass(frozen=True)
class Record:
    """What a program did with one question, once.

    Attributes:
        key: of its row in the evaluation.
        rejected: why its steps are rejected, by the known answer; None: they are kept.
        unproved: why its steps are rejected without the known answer; None: the answer is supported by the graph.
        answer: what was answered: ids of nodes, sorted, or the normalized text; empty if nothing was.
        right: whether the answer is correct and complete; None: not known.
        verdict: on the answer (`Prediction.verdict`).
        steps: in their order.
        base: the answering steps without reasoning, with the correct answer.
        assisted: whether an assist changed something.
    """

    id: str
    key: str
    rejected: str | None
    unproved: str | None
    answer: tuple[str, ...]
    right: bool | None
    verdict: str
    steps: tuple[JudgedStep, ...]
    base: tuple[TraceRow, ...]
    assisted: bool


def read_records(folder: Path, ids: Sequence[str]) -> dict[str, Record]:
    """The last record of each of these questions by id, in this order; incomplete lines are skipped."""
    found: dict[str, Record] = {}
    wanted = set(ids)
    for _, row in complete_lines(folder / FILE):
        if row is not None and row.get("id") in wanted:
            try:
                record: Record = checker(Record).validate_python(row)
            except ValueError as error:
                problem = f"the record of {row['id']!r} is damaged or of another version; choose another directory"
                raise ReadError(folder / FILE, None, f"{problem} ({error})") from error
            found[record.id] = record
    return {id: found[id] for id in ids if id in found}


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, sorted by value."""
    return dict(sorted(Counter(values).items()))
