"""From the records of all passes to `traces.jsonl` and its manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError, UserError, normalize
from triplecheck.kg._atomic import write_bytes, write_text
from triplecheck.kg.values import parse_json
from triplecheck.optimize.traces.records import SOURCES, Record, TraceRow, counts, read_records, split_of

Verification = Literal["gold", "agreement"]
"""How answers are verified.

`gold`: against the known answer. `agreement`: without it; most samples of a question give this answer, and in each of
them the graph proves it, by the verdict (self-consistency, Wang et al., arXiv 2203.11171, with the graph as a second
witness).
"""

FORMAT, VERSION = "triplecheck-traces", 2
TRACES, MANIFEST = "traces.jsonl", "manifest.json"
_ALIKE = 0.7
"""Share of common words from which two reasonings are the same."""


@dataclass(frozen=True)
class Pass:
    """One run over the questions.

    Attributes:
        name: in the manifest.
        folder: of its evaluation and its records.
        stopped: why it stopped early; None: it did not.
        sampled: whether it is one of several samples, which may agree.
    """

    name: str
    folder: Path
    stopped: str | None = None
    sampled: bool = True


@dataclass(frozen=True)
class TraceManifest:
    """The manifest of a directory of fine-tuning data.

    Attributes:
        program: name of the program.
        questions: number of questions.
        verified_by: how answers were verified.
        passes: by name: numbers of questions `asked`, `kept` and `rejected` (by reason), `stopped` (why the pass
            stopped early, or null), and the `configuration` that the steps depend on.
        agreement: by agreement of the samples: numbers of questions `asked`, `kept`, and of the kept ones with a known
            answer the `known` and the `right` ones; null if there is one sample.
        rows: number of rows.
        by_source, by_signature, by_split: numbers of rows.
        left_out: numbers of rows left out, by reason: `duplicate` (another reply to the same prompt, with much the same
            reasoning if it has one), `over_cap`, `not_read_back` (parsing the reply gives other values),
            `beyond_prompt` (a gold reply that does not follow from the prompt), `template` (a reply of the rule-based
            baseline beside those of a language model), `fact_not_named`, `answer_not_named`, `question_not_named`
            (the reasoning leaves out what the answer rests on), `corrected` (the program corrected the answer, or what
            was to be computed), `other_step` (not one of the steps asked for).
        cap: maximum rows per question.
        dev_share: share of the questions held out.
        sha256: of `traces.jsonl`.
    """

    program: str
    questions: int
    verified_by: str
    passes: Mapping[str, Mapping[str, Any]]
    agreement: Mapping[str, int] | None
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


@dataclass(frozen=True)
class Selection:
    """Which rows are kept.

    Attributes:
        verify: how answers are verified.
        agree: samples of a question that must prove the same answer; None: more than half of them.
        steps: names of signatures; empty: all.
        cap: maximum rows per question.
        dev_share: share of the questions held out.
    """

    verify: Verification = "gold"
    agree: int | None = None
    steps: Sequence[str] = ()
    cap: int = 12
    dev_share: float = 0.1


@dataclass
class _Chosen:
    """The rows of one question."""

    kept: list[Record] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    """Reason by pass."""
    base: list[TraceRow] = field(default_factory=list)

    def reasons(self, base: TraceRow) -> bool:
        """Whether a kept pass has reasoning for this answering step."""
        return any(row.signature == base.signature for record in self.kept for row in record.rows)


def assemble(
    out: Path,
    program: str,
    questions: Sequence[Question],
    passes: Sequence[Pass],
    how: Selection,
    rationalized: Mapping[str, TraceRow | str] | None = None,
) -> TraceManifest:
    """Write the rows of all passes and their manifest; see `TraceManifest`.

    Args:
        out: directory to write to.
        program: its name.
        questions: that were asked.
        passes: in the order of preference.
        how: which rows are kept.
        rationalized: by question, the row that was written with the known answer, or why there is none.
    """
    ids = [question.id for question in questions]
    records = {one.name: read_records(one.folder, ids) for one in passes}
    chosen = {id: _choose(id, passes, records, how) for id in ids}
    extra = {id: row for id, row in (rationalized or {}).items() if isinstance(row, TraceRow)}
    left_out: Counter[str] = Counter()
    rows: list[TraceRow] = []
    for question in questions:
        own = list(_rows_of(chosen[question.id], extra.get(question.id), how, left_out))
        split = split_of(question, how.dev_share)
        rows += [replace(row, split=split) for row in own]
    content = "".join(json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows)
    data = content.encode("utf-8", "backslashreplace")
    write_bytes(out / TRACES, data)
    about = {one.name: _about(one, records[one.name], chosen) for one in passes}
    if rationalized is not None:
        about["rationalized"] = {
            "asked": len(rationalized),
            "kept": len(extra),
            "rejected": _most_first(why for why in rationalized.values() if isinstance(why, str)),
            "stopped": None,
            "configuration": None,
        }
    manifest = TraceManifest(
        program=program,
        questions=len(ids),
        verified_by=how.verify,
        passes=about,
        agreement=_agreement([one for one in passes if one.sampled], ids, records, how),
        rows=len(rows),
        by_source=counts(row.source for row in rows),
        by_signature=counts(row.signature for row in rows),
        by_split=counts(row.split for row in rows),
        left_out={reason: count for reason, count in left_out.items() if count},
        cap=how.cap,
        dev_share=how.dev_share,
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


def unverified(
    questions: Sequence[Question], passes: Sequence[Pass], how: Selection
) -> list[tuple[Question, Sequence[TraceRow]]]:
    """The questions that no pass answers correctly with reasoning, with their answering steps without reasoning."""
    ids = [question.id for question in questions]
    records = {one.name: read_records(one.folder, ids) for one in passes}
    found = ((question, _choose(question.id, passes, records, how)) for question in questions)
    return [(question, chosen.base) for question, chosen in found if chosen.base and not chosen.reasons(chosen.base[0])]


def _choose(id: str, passes: Sequence[Pass], records: Mapping[str, Mapping[str, Record]], how: Selection) -> _Chosen:
    chosen = _Chosen()
    found = {one.name: records[one.name][id] for one in passes if id in records[one.name]}
    agreed = _agreed([found[one.name] for one in passes if one.sampled and one.name in found], how)
    for name, record in found.items():
        if how.verify == "gold":
            why = record.rejected
        else:
            why = _not_proved(record) or (None if record.answer == agreed else "disagreed")
        if why is None:
            chosen.kept.append(record)
        else:
            chosen.rejected[name] = why
        if how.verify == "gold":
            chosen.base += record.base
    return chosen


def _agreed(samples: Sequence[Record], how: Selection) -> tuple[str, ...] | None:
    """The answer that enough samples prove."""
    most = Counter(record.answer for record in samples if _not_proved(record) is None).most_common(1)
    needed = len(samples) // 2 + 1 if how.agree is None else how.agree
    return most[0][0] if most and most[0][1] >= needed else None


def _not_proved(record: Record) -> str | None:
    return record.unproved or (None if record.verdict == "proved" else "not_proved")


def _agreement(
    samples: Sequence[Pass], ids: Sequence[str], records: Mapping[str, Mapping[str, Record]], how: Selection
) -> dict[str, int] | None:
    if len(samples) < 2:
        return None
    by_agreement = replace(how, verify="agreement")
    asked = [id for id in ids if all(id in records[one.name] for one in samples)]
    chosen = [_choose(id, samples, records, by_agreement).kept for id in asked]
    kept = [chains[0] for chains in chosen if chains]
    known = [record for record in kept if record.right is not None]
    right = sum(bool(record.right) for record in known)
    return {"asked": len(asked), "kept": len(kept), "known": len(known), "right": right}


def _rows_of(
    chosen: _Chosen, rationalized: TraceRow | None, how: Selection, left_out: Counter[str]
) -> Iterator[TraceRow]:
    """The rows of one question, at most `cap`: of more, the first ones and the last, which gives the answer."""
    rows = [row for record in chosen.kept for row in record.rows]
    for record in chosen.kept:
        left_out.update(record.left_out)
    if rationalized is not None:
        rows.append(rationalized)
    reasoned = {row.signature for row in rows}
    rows += [row for row in chosen.base if row.signature not in reasoned]
    if how.steps:
        wanted = [row for row in rows if row.signature in how.steps]
        left_out["other_step"] += len(rows) - len(wanted)
        rows = wanted
    rows = _distinct(rows, left_out)
    left_out["over_cap"] += max(0, len(rows) - how.cap)
    yield from rows if len(rows) <= how.cap else [*rows[: how.cap - 1], rows[-1]]


def _distinct(rows: Sequence[TraceRow], left_out: Counter[str]) -> list[TraceRow]:
    """Of the replies to one prompt those of the preferred source, if their reasonings differ; in order."""
    of: dict[str, list[TraceRow]] = {}
    for row in sorted(rows, key=lambda row: SOURCES.index(row.source)):
        there = of.setdefault(row.prompt, [])
        if all(row.source == other.source and _differ(row, other) for other in there):
            there.append(row)
        else:
            left_out["duplicate"] += 1
    kept = {id(row) for alike in of.values() for row in alike}
    return [row for row in rows if id(row) in kept]


def _differ(row: TraceRow, other: TraceRow) -> bool:
    words, others = (set(normalize(str(one.outputs.get("reasoning", ""))).split()) for one in (row, other))
    return len(words & others) < _ALIKE * len(words | others)


def _about(one: Pass, records: Mapping[str, Record], chosen: Mapping[str, _Chosen]) -> dict[str, Any]:
    run = parse_json((one.folder / "evaluation" / "run.json").read_text("utf-8"))
    why = [found.rejected[one.name] for found in chosen.values() if one.name in found.rejected]
    return {
        "asked": len(records),
        "kept": len(records) - len(why),
        "rejected": _most_first(why),
        "stopped": one.stopped,
        "configuration": run["configuration"],
    }


def _most_first(reasons: Iterable[str]) -> dict[str, int]:
    return dict(Counter(reasons).most_common())
