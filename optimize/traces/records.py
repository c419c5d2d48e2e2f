"""Records of steps: listening to a question's steps, rows for fine-tuning, and the files that hold them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import dspy
from dspy.utils.callback import BaseCallback, callback_context
from pydantic import TypeAdapter

from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import complete_lines
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes, write_text
from triplecheck.kg.values import parse_json
from triplecheck.lms import RolePredict, TolerantAdapter
from triplecheck.lms.metering import model_name, reply_was_cut
from triplecheck.programs import Program

# Recording the steps of one question: every finished call of a `RolePredict`.
#
# The recorder uses DSPy's callbacks in `dspy.settings`, which belong to the context: it gets only the steps of this
# question, including those on other threads that run in a copy of the context.


@dataclass(frozen=True)
class StepRecord:
    """One finished step, including a second reply if the first could not be parsed.

    Attributes:
        signature: of the step.
        role: of the step.
        model: the model of the role.
        inputs, outputs: by field; outputs are those of the last reply.
        replies: number of replies; 2 if the first could not be parsed.
        cut: whether the last reply ended at its length limit.
    """

    signature: type[dspy.Signature]
    role: str
    model: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    replies: int = 1
    cut: bool = False


@dataclass
class _Open:
    step: RolePredict
    inputs: dict[str, Any]
    models: list[str] = field(default_factory=list)
    cut: bool = False


class Recorder(BaseCallback):  # type: ignore[misc]  # DSPy is not typed
    """Records the steps of one question, and the prediction of the program.

    Attributes:
        calls: in the order in which they ended.
        prediction: of the outermost program; None if it raised an error.
    """

    def __init__(self) -> None:
        self.calls: list[StepRecord] = []
        self.prediction: dspy.Prediction | None = None
        self._open: dict[str, _Open] = {}
        self._programs: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember a step or a program that starts."""
        if isinstance(instance, RolePredict):
            given = inputs.get("kwargs", inputs)
            self._open[call_id] = _Open(instance, {name: given[name] for name in instance.signature.input_fields})
        elif isinstance(instance, Program):
            self._programs.add(call_id)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Record whether the reply was cut, which is known only here."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None and exception is None:
            call.cut = reply_was_cut()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Record the model of a call."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None:
            call.models.append(model_name(instance))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Record a finished step, or the prediction. Failed steps have no outputs and are dropped."""
        call = self._open.pop(call_id, None)
        if call is not None and exception is None and call.models:
            signature = call.step.signature
            written = {name: outputs[name] for name in signature.output_fields}
            self.calls.append(
                StepRecord(signature, call.step.role, call.models[-1], call.inputs, written, len(call.models), call.cut)
            )
        elif call_id in self._programs and exception is None:
            self.prediction = outputs


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record the steps in this context; other callbacks stay active."""
    recorder = Recorder()
    with dspy.context(callbacks=[*dspy.settings.get("callbacks", []), recorder]):
        yield recorder


# Rows of fine-tuning data: chats whose last message is the reply to learn.

Source = Literal["verified", "gold", "base"]
"""Source of the reply of a row:

`verified`: written by a model, and the question was answered correctly; `gold`: computed from the graph and the
known answer, and verified in the same way; `base`: computed, for a question that a model answered incorrectly
although the facts in its prompt contain the answer.
"""
SOURCES: tuple[Source, ...] = ("verified", "gold", "base")
"""In order of preference, for several replies to the same prompt."""
SplitName = Literal["train", "dev"]

Message = Mapping[str, str]


@dataclass(frozen=True)
class TraceRow:
    """One row.

    Attributes:
        key: hash of the messages.
        prompt: hash of the messages but the last.
        id: of the question.
        program: name of the program.
        signature: name of the step's signature.
        role: of the step.
        source: of the reply.
        model: that wrote the reply.
        messages: system, user, assistant.
        split: the same for all rows of a question, and of its group if it has one.
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

    def to_json(self) -> dict[str, Any]:
        """The object of a line."""
        return asdict(self) | {"messages": [dict(message) for message in self.messages]}

    @classmethod
    def from_json(cls, row: Any) -> TraceRow:
        """From the object of a line.

        Raises:
            ValueError: a field is missing, unknown or of the wrong type.
        """
        found: TraceRow = _of_rows().validate_python(row)
        return found


def trace_row(call: StepRecord, question: Question, program: str, source: Source, model: str | None = None) -> TraceRow:
    """The row of a step: its prompt without demonstrations and retries, and its well-formed reply.

    Raises:
        UserError: parsing the reply would give other values.
    """
    data = TolerantAdapter().format_finetune_data(call.signature, [], call.inputs, call.outputs)
    messages = tuple({"role": str(m["role"]), "content": str(m["content"])} for m in data["messages"])
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
    )


def split_of(question: Question, dev_share: float) -> SplitName:
    """The split of a question, by a hash of its `group` if it has one, else of its id.

    Synthetic questions with the same answer path share a group: with one of them in the training data, the others
    would not be unseen.
    """
    return hashed_split(f"split\0{question.extra.get('group', question.id)}", dev_share)


def hashed_split(key: str, dev_share: float) -> SplitName:
    """The split of a key, by its hash."""
    value = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return "dev" if int.from_bytes(value[:8]) < dev_share * 2**64 else "train"


@functools.cache
def _of_rows() -> TypeAdapter[Any]:
    return TypeAdapter(TraceRow)


@functools.cache
def _of_records() -> TypeAdapter[Any]:
    return TypeAdapter(Record)


def messages_key(messages: Sequence[Message]) -> str:
    """A hash of messages."""
    text = json.dumps([dict(message) for message in messages], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


FILE = "records.jsonl"


@dataclass(frozen=True)
class Record:
    """The rows of one question, or why it has none.

    Attributes:
        id: of the question.
        key: of its row in the evaluation.
        rejected: why its steps are rejected; None: they are kept.
        rows: in the order of the steps.
        left_out: steps of a kept question without a row, by reason.
    """

    id: str
    key: str
    rejected: str | None
    rows: tuple[TraceRow, ...]
    left_out: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """The object of a line."""
        return {
            "id": self.id,
            "key": self.key,
            "rejected": self.rejected,
            "left_out": dict(self.left_out),
            "rows": [row.to_json() for row in self.rows],
        }


def read_records(folder: Path, ids: Sequence[str]) -> list[Record]:
    """The last record of each of these questions, in this order; incomplete lines are skipped."""
    found: dict[str, Record] = {}
    wanted = set(ids)
    for _, row in complete_lines(folder / FILE):
        if row is not None and row.get("id") in wanted:
            try:
                record: Record = _of_records().validate_python(row)
            except ValueError as error:
                raise ReadError(folder / FILE, None, f"the record of {row['id']!r} is damaged ({error})") from error
            found[record.id] = record
    return [found[id] for id in ids if id in found]


def rejections(records: Sequence[Record]) -> dict[str, int]:
    """Numbers of rejected questions by reason, most frequent first."""
    return dict(Counter(record.rejected for record in records if record.rejected is not None).most_common())


# `traces.jsonl`, made from the records of all passes, and its manifest.

FORMAT, VERSION = "triplecheck-traces", 1
TRACES, MANIFEST = "traces.jsonl", "manifest.json"


@dataclass(frozen=True)
class TraceManifest:
    """The manifest of a directory of fine-tuning data.

    Attributes:
        program: name of the program.
        questions: number of questions.
        passes: by name: numbers of questions `asked`, `kept` and `rejected` (by reason), `stopped` (why the pass
            stopped early, or null), and the `configuration` that the steps depend on.
        rows: number of rows.
        by_source, by_signature, by_split: numbers of rows.
        left_out: numbers of rows left out, by reason: `duplicate` (another reply to the same prompt), `over_cap`,
            `not_read_back` (parsing the reply gives other values), `beyond_prompt` (a gold reply that does not
            follow from the prompt).
        cap: maximum rows per question.
        dev_share: share of the questions held out.
        sha256: of `traces.jsonl`.
    """

    program: str
    questions: int
    passes: Mapping[str, Mapping[str, Any]]
    rows: int
    by_source: Mapping[str, int]
    by_signature: Mapping[str, int]
    by_split: Mapping[str, int]
    left_out: Mapping[str, int]
    cap: int
    dev_share: float
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Contents of `manifest.json`."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


def assemble(
    out: Path,
    program: str,
    questions: Sequence[Question],
    folders: Mapping[str, Path],
    *,
    cap: int,
    dev_share: float,
    stopped: Mapping[str, str],
) -> TraceManifest:
    """Write the rows of all passes and their manifest; see `TraceManifest` for the arguments.

    Args:
        out: directory to write to.
        folders: directory of each pass.
        stopped: why a pass stopped early, by name.
    """
    ids = [question.id for question in questions]
    records = {name: read_records(folder, ids) for name, folder in folders.items()}
    left_out: Counter[str] = Counter()
    rows: list[TraceRow] = []
    by_question = {question.id: question for question in questions}
    for row in _kept(ids, [record for of_pass in records.values() for record in of_pass], cap, left_out):
        rows.append(replace(row, split=split_of(by_question[row.id], dev_share)))
    content = "".join(json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows)
    data = content.encode("utf-8", "backslashreplace")
    write_bytes(out / TRACES, data)
    manifest = TraceManifest(
        program=program,
        questions=len(ids),
        passes={name: _about(folders[name], found, stopped.get(name)) for name, found in records.items()},
        rows=len(rows),
        by_source=counts(row.source for row in rows),
        by_signature=counts(row.signature for row in rows),
        by_split=counts(row.split for row in rows),
        left_out=dict(left_out),
        cap=cap,
        dev_share=dev_share,
        sha256=hashlib.sha256(data).hexdigest(),
    )
    write_text(out / MANIFEST, json.dumps(manifest.to_json(), indent=1) + "\n")
    return manifest


def read_traces(out: Path | str) -> list[TraceRow]:
    """The rows that `collect` wrote into a directory.

    Raises:
        UserError: the directory holds no traces.
        ReadError: the traces do not match the manifest.
    """
    path = Path(out) / TRACES
    if not path.is_file() or not (Path(out) / MANIFEST).is_file():
        raise UserError(f"{out}: holds no collected traces; `triplecheck collect` writes them")
    data = path.read_bytes()
    try:
        about = parse_json((Path(out) / MANIFEST).read_text("utf-8"))
        if hashlib.sha256(data).hexdigest() != about["sha256"]:
            raise ReadError(path, None, f"does not match {MANIFEST}; collect again")
        return [TraceRow.from_json(parse_json(line)) for line in data.decode("utf-8").split("\n") if line]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(path, None, f"it or {MANIFEST} is damaged ({error}); collect again") from error


def _kept(ids: Sequence[str], records: Sequence[Record], cap: int, left_out: Counter[str]) -> Iterator[TraceRow]:
    """One reply per prompt, from the preferred source; at most `cap` per question."""
    best: dict[str, TraceRow] = {}
    for source in SOURCES:
        for row in (row for record in records for row in record.rows if row.source == source):
            if best.setdefault(row.prompt, row) is not row:
                left_out["duplicate"] += 1
    of: dict[str, list[TraceRow]] = {id: [] for id in ids}
    for row in best.values():
        of[row.id].append(row)
    for record in records:
        left_out.update(record.left_out)
    for rows in of.values():
        left_out["over_cap"] += max(0, len(rows) - cap)
        # The last step gives the answer.
        yield from rows if len(rows) <= cap else [*rows[: cap - 1], rows[-1]]
    for reason in [reason for reason, count in left_out.items() if not count]:
        del left_out[reason]


def _about(folder: Path, records: Sequence[Record], stopped: str | None) -> dict[str, Any]:
    run = parse_json((folder / "evaluation" / "run.json").read_text("utf-8"))
    return {
        "asked": len(records),
        "kept": sum(record.rejected is None for record in records),
        "rejected": rejections(records),
        "stopped": stopped,
        "configuration": run["configuration"],
    }


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, sorted by value."""
    return dict(sorted(Counter(values).items()))
