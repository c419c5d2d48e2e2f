"""From the records of all passes to `traces.jsonl` and the manifest that says what is in it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes, write_text
from triplecheck.optimize.traces.records import Record, read_records, rejections
from triplecheck.optimize.traces.rows import SOURCES, TraceRow, split_of

FORMAT, VERSION = "triplecheck-traces", 1
TRACES, MANIFEST = "traces.jsonl", "manifest.json"


@dataclass(frozen=True)
class Manifest:
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
) -> Manifest:
    """Write the rows of all passes and their manifest; see `Manifest` for the arguments.

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
    manifest = Manifest(
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
