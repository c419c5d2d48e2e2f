"""The file that a pass over questions appends to: one line per question, with its rows or why it has none."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import dspy
from dspy.utils.callback import BaseCallback, callback_context

from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import JsonLines, complete_lines
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes, write_text
from triplecheck.lms import RolePredict, TolerantAdapter
from triplecheck.lms.metering import model_name, reply_was_cut
from triplecheck.programs import Program

# What the language models did within one question: every step that a `RolePredict` took, as it ended.
#
# The recorder listens through DSPy's callbacks, which travel in `dspy.settings`: so it hears the steps of
# this question alone, also those that run on other threads in a copy of its context.


@dataclass(frozen=True)
class StepRecord:
    """One step that came to its end. A second reply that mended the first belongs to the same call.

    Attributes:
        signature: what was asked.
        role: who was asked.
        model: the model that played the role.
        inputs, outputs: by field; outputs are those of the last reply.
        replies: how many there were; 2 where the first could not be read.
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
    """Notes the calls of one question, and what the program returned.

    Attributes:
        calls: in the order in which they ended.
        prediction: of the outermost program; None where it raised an error.
    """

    def __init__(self) -> None:
        self.calls: list[StepRecord] = []
        self.prediction: dspy.Prediction | None = None
        self._open: dict[str, _Open] = {}
        self._programs: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A module begins: a step, a program, or something else."""
        if isinstance(instance, RolePredict):
            given = inputs.get("kwargs", inputs)
            self._open[call_id] = _Open(instance, {name: given[name] for name in instance.signature.input_fields})
        elif isinstance(instance, Program):
            self._programs.add(call_id)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A reply came; whether it was cut is known only here."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None and exception is None:
            call.cut = reply_was_cut()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A model is asked."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None:
            call.models.append(model_name(instance))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A module ends. Steps that failed are not kept: they have no outputs."""
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
    """Record what happens inside, beside whatever else listens."""
    recorder = Recorder()
    with dspy.context(callbacks=[*dspy.settings.get("callbacks", []), recorder]):
        yield recorder


# Rows of fine-tuning data: one chat each, the last message of which is to be learnt.

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


def trace_row(call: StepRecord, question: Question, program: str, source: Source, model: str | None = None) -> TraceRow:
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


FILE = "records.jsonl"


@dataclass(frozen=True)
class Record:
    """What one question gave.

    Attributes:
        id: of the question.
        key: of its row in the evaluation beside.
        rejected: why its steps are not kept; None: they are.
        rows: in the order of the steps.
        left_out: steps of a kept question that make no row, by reason.
    """

    id: str
    key: str
    rejected: str | None
    rows: tuple[TraceRow, ...]
    left_out: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """As it stands in a line."""
        return {
            "id": self.id,
            "key": self.key,
            "rejected": self.rejected,
            "left_out": dict(self.left_out),
            "rows": [row.to_json() for row in self.rows],
        }


class Records:
    """Appends records, each before the row of its evaluation: every question with a row has a record.

    Args:
        folder: of the pass; created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self._lines = JsonLines(folder / FILE)

    def append(self, record: Record) -> None:
        """Append a record."""
        self._lines.append(record.to_json())

    def __enter__(self) -> Self:
        self._lines.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.__exit__()


def read_records(folder: Path, ids: Sequence[str]) -> list[Record]:
    """The last record of each of these questions, in their order; a torn line and what has none is passed over."""
    found: dict[str, Record] = {}
    wanted = set(ids)
    for _, row in complete_lines(folder / FILE):
        if row is not None and row["id"] in wanted:
            found[row["id"]] = _record(row)
    return [found[id] for id in ids if id in found]


def rejections(records: Sequence[Record]) -> dict[str, int]:
    """Questions whose steps are not kept, by reason, most frequent first."""
    return dict(Counter(record.rejected for record in records if record.rejected is not None).most_common())


def _record(row: Mapping[str, Any]) -> Record:
    rows = tuple(TraceRow.from_json(inner) for inner in row["rows"])
    return Record(row["id"], row["key"], row["rejected"], rows, row["left_out"])


# From the records of all passes to `traces.jsonl` and the manifest that says what is in it.

FORMAT, VERSION = "triplecheck-traces", 1
TRACES, MANIFEST = "traces.jsonl", "manifest.json"


@dataclass(frozen=True)
class TraceManifest:
    """What a directory of fine-tuning data holds.

    Attributes:
        program: whose steps they are.
        questions: that were to be asked.
        passes: by name: `asked`, `kept` questions, those `rejected` by reason, `stopped` (why it did not
            come to its end, or null), and the `configuration` that the steps depend on.
        rows: in all.
        by_source, by_signature, by_split: rows.
        left_out: rows that are not there, by reason: `duplicate` (another reply to the same prompt is),
            `over_cap`, `not_read_back`, `beyond_prompt` (a right reply that cannot be told from its prompt).
        cap: rows per question.
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
        """As it is written."""
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
        out: where to.
        folders: of each pass.
        stopped: why a pass did not come to its end.
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
        by_source=_counts(row.source for row in rows),
        by_signature=_counts(row.signature for row in rows),
        by_split=_counts(row.split for row in rows),
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
        UserError: it holds none.
        ReadError: they are not those that the manifest speaks of.
    """
    path = Path(out) / TRACES
    if not path.is_file() or not (Path(out) / MANIFEST).is_file():
        raise UserError(f"{out}: holds no collected traces; `triplecheck collect` writes them")
    data = path.read_bytes()
    about = json.loads((Path(out) / MANIFEST).read_text("utf-8"))
    if hashlib.sha256(data).hexdigest() != about.get("sha256"):
        raise ReadError(path, None, f"is not what {MANIFEST} beside it speaks of; collect again")
    return [TraceRow.from_json(json.loads(line)) for line in data.decode("utf-8").split("\n") if line]


def _kept(ids: Sequence[str], records: Sequence[Record], cap: int, left_out: Counter[str]) -> Iterator[TraceRow]:
    """One reply per prompt, of the preferred source; of a question at most `cap`, question by question."""
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
        # The last step is the one that answers.
        yield from rows if len(rows) <= cap else [*rows[: cap - 1], rows[-1]]
    for reason in [reason for reason, count in left_out.items() if not count]:
        del left_out[reason]


def _about(folder: Path, records: Sequence[Record], stopped: str | None) -> dict[str, Any]:
    run = json.loads((folder / "evaluation" / "run.json").read_text("utf-8"))
    return {
        "asked": len(records),
        "kept": sum(record.rejected is None for record in records),
        "rejected": rejections(records),
        "stopped": stopped,
        "configuration": run["configuration"],
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
