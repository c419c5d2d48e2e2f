"""Rows of fine-tuning data: one chat each, the last message of which is to be learnt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from triplecheck.evals.questions import Question
from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.traces.recording import Call

Source = Literal["verified", "gold", "base"]
"""Where the reply of a row is from:

`verified` a model wrote it, and the question it belongs to came out right; `gold` computed from the graph
and the right answer, and verified in the same way; `base` computed like that, for a question that a model
got wrong though the facts before it held the answer.
"""
SOURCES: tuple[Source, ...] = ("verified", "gold", "base")
"""In the order in which they are preferred, where several have a reply to the same prompt."""
Split = Literal["train", "dev"]

Message = Mapping[str, str]


@dataclass(frozen=True)
class TraceRow:
    """One row.

    Attributes:
        key: hash of the messages.
        prompt: hash of the messages but the last.
        id: of the question.
        program: name of the program.
        signature: name of what was asked.
        role: that it was asked of.
        source: where the reply is from.
        model: that gave the reply.
        messages: system, user, assistant.
        split: the same for all rows of a question, and of its group where it has one.
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
    split: Split = "train"

    def to_json(self) -> dict[str, Any]:
        """As it stands in a line."""
        return asdict(self) | {"messages": [dict(message) for message in self.messages]}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TraceRow:
        """From the object of a line."""
        return cls(**{**row, "messages": tuple(row["messages"])})


def trace_row(call: Call, question: Question, program: str, source: Source, model: str | None = None) -> TraceRow:
    """The row of a call: its prompt without demonstrations or attempts at repair, and its reply as it should be.

    Raises:
        UserError: the reply would not be read back as it is meant.
    """
    data = TolerantAdapter().format_finetune_data(call.signature, [], call.inputs, call.outputs)
    messages = tuple({"role": str(m["role"]), "content": str(m["content"])} for m in data["messages"])
    return TraceRow(
        _hash(messages),
        _hash(messages[:-1]),
        question.id,
        program,
        call.signature.__name__,
        call.role,
        source,
        model or call.model,
        messages,
    )


def split_of(question: Question, dev_share: float) -> Split:
    """Which split a question belongs to: that of its `group`, where it has one, else of its id.

    Made questions that are asked of the same thing share a group: one of them in the training data would
    give the others away.
    """
    group = str(question.extra.get("group", question.id))
    lot = hashlib.sha256(f"split\0{group}".encode("utf-8", "surrogatepass")).digest()
    return "dev" if int.from_bytes(lot[:8]) < dev_share * 2**64 else "train"


def _hash(messages: tuple[Message, ...]) -> str:
    text = json.dumps([dict(message) for message in messages], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
