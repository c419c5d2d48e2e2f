"""From the records of all passes to `traces.jsonl` and its manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question
from triplecheck.kg import normalize
from triplecheck.kg._atomic import write_bytes, write_text
from triplecheck.kg.values import parse_json
from triplecheck.optimize.traces.collector import VERIFIED, refusal
from triplecheck.optimize.traces.kinds import balanced, by_kind, selecting
from triplecheck.optimize.traces.manifest import TraceManifest, Verification, scores_of
from triplecheck.optimize.traces.reading import CARD, MANIFEST, TRACES
from triplecheck.optimize.traces.records import SOURCES, Record, Source, TraceRow, counts, read_records, split_of

_ALIKE = 0.7
"""Share of common words from which two reasonings are the same."""


@dataclass(frozen=True)
class Pass:
    """One run over the questions.

    Attributes:
        folder: of its evaluation and its records.
        kind: `VERIFIED` or `GOLD`.
        sample: number of the sample, from 1; 0: the models are called as they are.
        temperature: of the sample.
        stopped: why it stopped early; None: it did not.
    """

    name: str
    folder: Path
    kind: Source = VERIFIED
    sample: int = 0
    temperature: float = 0.0
    stopped: str | None = None

    @property
    def sampled(self) -> bool:
        """Whether it is one of several samples, which may agree."""
        return self.kind == VERIFIED


@dataclass(frozen=True)
class Selection:
    """Which rows are kept.

    Attributes:
        verify: how answers are verified.
        agree: samples of a question that must prove the same answer; None: more than half of them.
        steps: names of signatures; empty: all.
        cap: maximum rows per question.
        dev_share: share of the questions held out.
        least_share: least share of each kind of question in the rows of a step (`kinds.balanced`).
    """

    verify: Verification = "gold"
    agree: int | None = None
    steps: Sequence[str] = ()
    cap: int = 12
    dev_share: float = 0.1
    least_share: float = 0.1


@dataclass(frozen=True)
class LeftOut:
    """A step that is not learnt.

    Attributes:
        run: name of the pass.
        step: name of the signature.
        score: by the step's own metric; None: it was not scored.
        told: by the metric, in words.
        outputs: of the step, by field.
    """

    id: str
    run: str
    step: str
    reason: str
    score: float | None
    told: str
    outputs: Mapping[str, Any]

    @classmethod
    def of(cls, row: TraceRow, reason: str) -> LeftOut:
        """A row that another one, or the number of rows, leaves no room for."""
        return cls(row.id, row.source, row.signature, reason, None, "", row.outputs)


@dataclass
class _Chosen:
    """The rows of one question."""

    kept: list[Record] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    """Reason by pass."""
    rows: list[TraceRow] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    base: list[TraceRow] = field(default_factory=list)

    def judge(self, run: str, record: Record, whole: str | None, *, by_metric: bool) -> None:
        """Keep or leave out each step of a pass."""
        for step in record.steps:
            reason = refusal(step, whole, assisted=record.assisted, by_metric=by_metric)
            if reason is None and step.row is not None:
                self.rows.append(step.row)
            else:
                about = step.signature, reason or "", step.score, step.told, step.outputs
                self.left_out.append(LeftOut(record.id, run, *about))

    def reasons(self, base: TraceRow) -> bool:
        """Whether a step that is learnt has reasoning for this answering step."""
        return any(row.signature == base.signature for row in self.rows)


def assemble(
    out: Path,
    program: str,
    questions: Sequence[Question],
    passes: Sequence[Pass],
    how: Selection,
    rationalized: Mapping[str, TraceRow | str] | None = None,
    rejected: Path | None = None,
    graph: str | None = None,
) -> TraceManifest:
    """Write the rows of all passes and their manifest; see `TraceManifest`.

    Args:
        passes: in the order of preference.
        rationalized: by question, the row that was written with the known answer, or why there is none.
        rejected: a file for the steps that are left out, as JSON lines (`LeftOut`).
        graph: content hash of the graph.
    """
    ids = [question.id for question in questions]
    records = {one.name: read_records(one.folder, ids) for one in passes}
    chosen = {id: _choose(id, passes, records, how) for id in ids}
    extra = {id: row for id, row in (rationalized or {}).items() if isinstance(row, TraceRow)}
    left_out = [one for id in ids for one in chosen[id].left_out]
    rows: list[TraceRow] = []
    for question in questions:
        own = list(_rows_of(chosen[question.id], extra.get(question.id), how, left_out))
        split = split_of(question, how.dev_share)
        rows += [replace(row, split=split) for row in own]
    rows, surplus = selecting(rows)
    left_out += [LeftOut.of(row, "selects_nothing") for row in surplus]
    rows = balanced(rows, how.least_share)
    if rejected is not None:
        lines = [json.dumps(vars(one), ensure_ascii=False, default=str) for one in left_out]
        write_bytes(rejected, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    content = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
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
        kinds=by_kind(rows),
        left_out=_most_first(one.reason for one in left_out),
        scores=scores_of([step for run in records.values() for one in run.values() for step in one.steps], rows),
        graph=graph,
        cap=how.cap,
        dev_share=how.dev_share,
        sha256=hashlib.sha256(data).hexdigest(),
    )
    write_text(out / MANIFEST, json.dumps(manifest.to_json(), indent=1) + "\n")
    write_text(out / CARD, manifest.card())
    return manifest


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
        chosen.judge(name, record, why, by_metric=how.verify == "gold")
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
    chosen: _Chosen, rationalized: TraceRow | None, how: Selection, left_out: list[LeftOut]
) -> Iterator[TraceRow]:
    """The rows of one question, at most `cap`: of more, the first ones and the last, which gives the answer."""
    rows = list(chosen.rows)
    if rationalized is not None:
        rows.append(rationalized)
    reasoned = {row.signature for row in rows}
    rows += [row for row in chosen.base if row.signature not in reasoned]
    if how.steps:
        left_out += [LeftOut.of(row, "other_step") for row in rows if row.signature not in how.steps]
        rows = [row for row in rows if row.signature in how.steps]
    rows = _distinct(rows, left_out)
    left_out += [LeftOut.of(row, "over_cap") for row in rows[how.cap - 1 : -1]]
    yield from rows if len(rows) <= how.cap else [*rows[: how.cap - 1], rows[-1]]


def _distinct(rows: Sequence[TraceRow], left_out: list[LeftOut]) -> list[TraceRow]:
    """Of the replies to one prompt those of the preferred source, if their reasonings differ; in order."""
    of: dict[str, list[TraceRow]] = {}
    for row in sorted(rows, key=lambda row: SOURCES.index(row.source)):
        there = of.setdefault(row.prompt, [])
        if all(row.source == other.source and _differ(row, other) for other in there):
            there.append(row)
        else:
            left_out.append(LeftOut.of(row, "duplicate"))
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
