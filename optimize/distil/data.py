"""Rows to train on, out of one or several directories of collected traces."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triplecheck.kg import UserError
from triplecheck.optimize.distil.options import DistilOptions
from triplecheck.optimize.distil.tokens import Encoded, Encoder
from triplecheck.optimize.traces import SOURCES, TraceRow, read_traces
from triplecheck.optimize.traces.rows import Split

TOO_LONG, NOT_IN_FORM = "too_long", "not_in_form"
EMPTY, NOT_MEASURED = "empty", "not_measured"


@dataclass(frozen=True)
class TrainingRow:
    """A row and its tokens."""

    row: TraceRow
    tokens: Encoded


@dataclass(frozen=True)
class TrainingData:
    """What a model is trained on.

    Attributes:
        train: rows that it learns.
        dev: rows of other questions, that its loss is measured on.
        left_out: rows that are in neither, by reason: `duplicate` (another row has the same prompt), `too_long`,
            `not_in_form` (the engine's guide would not let a model write that reply), `empty` (over the share of
            replies that may list nothing), `not_measured` (held out, over the number that is measured).
    """

    train: tuple[TrainingRow, ...]
    dev: tuple[TrainingRow, ...]
    left_out: Mapping[str, int]

    @property
    def sha256(self) -> str:
        """A hash of the tokens, in order."""
        digest = hashlib.sha256()
        for part in (self.train, self.dev):
            digest.update(f"{len(part)}\n".encode())
            for one in part:
                digest.update(f"{one.tokens.prompt} {' '.join(map(str, one.tokens.ids))}\n".encode())
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """What it holds, as plain data."""
        rows = [one.row for one in (*self.train, *self.dev)]
        lengths = [len(one.tokens.ids) for one in self.train]
        return {
            "sha256": self.sha256,
            "train": len(self.train),
            "dev": len(self.dev),
            "by_step": _counts(row.signature for row in rows),
            "by_source": _counts(row.source for row in rows),
            "by_program": _counts(row.program for row in rows),
            "left_out": dict(self.left_out),
            "tokens": sum(lengths),
            "longest": max(lengths, default=0),
        }


def read_rows(traces: Sequence[Path | str], steps: Sequence[str] = ()) -> list[TraceRow]:
    """The rows of several directories of traces.

    Args:
        traces: directories that `collect` wrote.
        steps: names of signatures; none for all.

    Raises:
        UserError: there is no such step, or nothing at all.
        ReadError: a directory is damaged.
    """
    if not traces:
        raise UserError("no traces are named; `triplecheck collect` writes them")
    rows = [row for place in traces for row in read_traces(place)]
    there = sorted({row.signature for row in rows})
    unknown = sorted(set(steps) - set(there))
    if unknown:
        raise UserError(f"no rows of step {', '.join(unknown)}; there are: {', '.join(there)}")
    return [row for row in rows if not steps or row.signature in steps]


def prepare(rows: Sequence[TraceRow], encoder: Encoder, options: DistilOptions) -> TrainingData:
    """Leave out what cannot be taught, and hold some questions out.

    Raises:
        UserError: a row is no chat that ends in a reply, or nothing is left to train on; the message counts why.
    """
    for number, row in enumerate(rows, start=1):
        _check(row, number)
    left_out: Counter[str] = Counter()
    train: list[TrainingRow] = []
    dev: list[TrainingRow] = []
    for row in _split(_distinct(rows, left_out), options):
        tokens = encoder.encode(row.messages)
        if tokens is None:
            left_out[NOT_IN_FORM] += 1
        elif len(tokens.ids) > options.max_length:
            left_out[TOO_LONG] += 1
        else:
            (dev if row.split == "dev" else train).append(TrainingRow(row, tokens))
    train = _not_too_empty(train, options, left_out)
    if not train:
        why = ", ".join(f"{reason} {count}" for reason, count in left_out.items()) or f"held out {len(dev)}"
        raise UserError(f"of {len(rows)} rows none is left to train on ({why}); collect more, or allow longer ones")
    if len(dev) > options.dev_rows:
        left_out[NOT_MEASURED] = len(dev) - options.dev_rows
        dev = random.Random(options.seed).sample(dev, options.dev_rows)
    return TrainingData(tuple(train), tuple(dev), dict(left_out))


def _not_too_empty(rows: Sequence[TrainingRow], options: DistilOptions, left_out: Counter[str]) -> list[TrainingRow]:
    """The rows without those that list nothing, as far as they are too many among those of their step."""
    steps: dict[str, list[int]] = {}
    for at, one in enumerate(rows):
        steps.setdefault(one.row.signature, []).append(at)
    over: set[int] = set()
    for step, own in steps.items():
        empty = [at for at in own if rows[at].tokens.empty]
        most = int((len(own) - len(empty)) * options.empty_share / (1 - options.empty_share))
        over.update(random.Random(f"{options.seed}:{step}").sample(empty, max(0, len(empty) - most)))
    if over:
        left_out[EMPTY] = len(over)
    return [one for at, one in enumerate(rows) if at not in over]


def _check(row: TraceRow, number: int) -> None:
    roles = [message.get("role") for message in row.messages]
    texts = [message.get("content") for message in row.messages]
    if len(roles) < 2 or roles[-1] != "assistant" or roles[-2] != "user":
        raise UserError(f"row {number} ({row.id}): is no chat that ends in a request and its reply, but {roles}")
    if not all(isinstance(text, str) for text in texts) or not str(texts[-1]).strip():
        raise UserError(f"row {number} ({row.id}): a message is no text, or the reply is empty")


def _distinct(rows: Sequence[TraceRow], left_out: Counter[str]) -> list[TraceRow]:
    """One row per prompt, that of the preferred source; held out if one of them is."""
    best: dict[str, TraceRow] = {}
    held_out = {row.prompt for row in rows if row.split == "dev"}
    for row in sorted(rows, key=lambda row: SOURCES.index(row.source)):
        if best.setdefault(row.prompt, row) is not row:
            left_out["duplicate"] += 1
    kept = {id(row) for row in best.values()}
    return [replace(row, split="dev") if row.prompt in held_out else row for row in rows if id(row) in kept]


def _split(rows: Sequence[TraceRow], options: DistilOptions) -> list[TraceRow]:
    """Questions held out by a hash of their id, where none is held out yet."""
    if any(row.split == "dev" for row in rows) or not options.dev_rows:
        return list(rows)
    return [replace(row, split=_lot(row.id, options.dev_share)) for row in rows]


def _lot(id: str, dev_share: float) -> Split:
    lot = hashlib.sha256(f"held out\0{id}".encode("utf-8", "surrogatepass")).digest()
    return "dev" if int.from_bytes(lot[:8]) < dev_share * 2**64 else "train"


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def chat_row(messages: Sequence[Mapping[str, str]], step: str = "chat") -> TraceRow:
    """A row of a chat alone, as DSPy hands them out."""
    text = json.dumps([dict(message) for message in messages], sort_keys=True, default=str)
    key = hashlib.sha256(text.encode()).hexdigest()[:24]
    prompt = hashlib.sha256(json.dumps([dict(m) for m in messages[:-1]], sort_keys=True, default=str).encode())
    return TraceRow(key, prompt.hexdigest()[:24], key, "", step, "", "verified", "", tuple(messages))
