"""Training data of a language model, from rows of collected traces."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any, Literal, get_args

from triplecheck.kg import UserError
from triplecheck.lms.local.backend import LocalConfig
from triplecheck.lms.local.form import Field, fields_of, shown
from triplecheck.lms.local.guide import TokenizerVocabulary, dictated
from triplecheck.lms.local.transformers_backend import prompt_tokens
from triplecheck.lms.prompt import split_fields
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import counts, with_held_out

Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class DistilOptions:
    """Settings of a training run. All of them are hashed into the name of the model's directory.

    Raises:
        UserError: a setting is out of range.
    """

    rank: int = 16
    """Rank of the LoRA adapter, on all linear layers except the head."""
    alpha: int = 32
    """Scale of the adapter: `alpha / rank`."""
    batch: int = 8
    """Batch size."""
    learning_rate: float = 2e-4
    """Peak learning rate; after the warm-up it falls to 0 as a cosine does."""
    warmup: float = 0.03
    """Share of the steps for the warm-up."""
    epochs: int = 2
    max_steps: int | None = None
    """Maximum number of steps; None: no limit."""
    max_length: int = 2048
    """Maximum tokens of a row, prompt and reply together; longer rows are left out and counted."""
    dev_share: float = 0.05
    """Share of the questions to hold out, if the data has no held-out rows."""
    dev_rows: int = 64
    """Maximum number of held-out rows to measure the loss on."""
    evaluations: int = 2
    """Evaluations of the held-out loss per epoch."""
    patience: int = 3
    """Early stopping: evaluations without a better held-out loss. The best weights are kept."""
    precision: Precision = "auto"
    """Precision of the base model and of matrix products; the adapter is trained in float32. `auto`: bfloat16 if
    the hardware supports it."""
    side_by_side: int = 8
    """Number of consecutive rows of the same step in the data; their common prompt prefix is computed once."""
    piece_length: int = 768
    """Maximum tokens after the common prefix in one forward pass, except for a longer row. It limits memory; small
    pieces also fit the processor's cache."""
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "rank": 1,
            "alpha": 1,
            "batch": 1,
            "epochs": 1,
            "max_length": 16,
            "dev_rows": 0,
            "evaluations": 1,
            "patience": 1,
            "side_by_side": 1,
            "piece_length": 16,
        }
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise UserError(f"{name} is {getattr(self, name)}: give {bound} or more")
        if self.max_steps is not None and self.max_steps < 1:
            raise UserError(f"max_steps is {self.max_steps}: give 1 or more")
        if not 0 < self.learning_rate < 1:
            raise UserError(f"the learning rate is {self.learning_rate}: give a number between 0 and 1")
        for name in ("warmup", "dev_share"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}: give a share from 0 to below 1")
        if self.precision not in get_args(Precision):
            raise UserError(f"no precision {self.precision!r}; there are: {', '.join(get_args(Precision))}")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


# Tokens of a chat, exactly as the embedded engine reads and writes them.


@dataclass(frozen=True)
class Encoded:
    """One row as tokens."""

    ids: tuple[int, ...]
    prompt: int
    """Number of prompt tokens; the loss is computed on the others."""
    family: str
    """Hash of the first message: rows of a family have a common prefix."""


class ChatEncoder:
    """Turns chats into tokens of a model's tokenizer; replies that the engine could not write are left out."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = TokenizerVocabulary(tokenizer, tokenizer.eos_token_id)

    def encode(self, messages: Sequence[Mapping[str, str]]) -> Encoded | None:
        """The tokens of a chat whose last message is the reply to learn.

        Returns:
            None if guided generation could not produce the reply: a field is missing, has another type, or is too
            long.
        """
        asked = [(message["role"], message["content"]) for message in messages[:-1]]
        prompt = prompt_tokens(self._tokenizer, shown(asked))
        fields = fields_of(asked)
        values = split_fields(messages[-1]["content"], [field.name for field in fields])
        reply = self._reply(fields, values) if fields else self._vocabulary.encode(messages[-1]["content"].strip())
        if not reply:
            return None
        family = hashlib.sha256(messages[0]["content"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        # Without guided generation, the model must generate the end token itself.
        return Encoded((*prompt, *reply, self._tokenizer.eos_token_id), len(prompt), family)

    def _reply(self, fields: Sequence[Field], values: Mapping[str, str]) -> list[int] | None:
        if len(values) < len(fields):
            return None
        config, wanted = LocalConfig(), [values[field.name] for field in fields]
        return dictated(fields, wanted, self._vocabulary, config.max_new_tokens, config.longest_field)


def shared_length(rows: Sequence[Encoded]) -> int:
    """Length of the common prefix of these rows, shorter than the shortest prompt; 0 for a single row."""
    if len(rows) < 2:
        return 0
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*(row.ids for row in rows), strict=False))
    return min(sum(1 for _ in alike), min(row.prompt for row in rows) - 1)


TOO_LONG, NOT_IN_FORM, NOT_MEASURED = "too_long", "not_in_form", "not_measured"


@dataclass(frozen=True)
class TrainingRow:
    """A row and its tokens."""

    row: TraceRow
    tokens: Encoded


@dataclass(frozen=True)
class TrainingData:
    """Training and held-out rows.

    Attributes:
        train: rows to train on, those of rare kinds repeatedly (`TraceRow.times`).
        dev: rows of held-out questions, to measure the loss on.
        left_out: rows in neither, by reason: `duplicate` (another row is the same), `too_long`,
            `not_in_form` (guided generation could not produce the reply), `not_measured` (held out, over `dev_rows`).
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
        """Counts, as plain data."""
        rows = [one.row for one in (*self.train, *self.dev)]
        lengths = [len(one.tokens.ids) for one in self.train]
        return {
            "sha256": self.sha256,
            "train": len(self.train),
            "dev": len(self.dev),
            "by_step": counts(row.signature for row in rows),
            "by_source": counts(row.source for row in rows),
            "by_program": counts(row.program for row in rows),
            "left_out": dict(self.left_out),
            "tokens": sum(lengths),
            "longest": max(lengths, default=0),
        }


def prepare(rows: Sequence[TraceRow], encoder: ChatEncoder, options: DistilOptions) -> TrainingData:
    """Select the rows to train on, and hold out some questions.

    Raises:
        UserError: a row is not a chat that ends in a reply, or no row is left to train on; the message counts the
            reasons.
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
    train = [one for one in train for _ in range(one.row.times)]
    if not train:
        why = ", ".join(f"{reason} {count}" for reason, count in left_out.items() if count) or f"held out {len(dev)}"
        raise UserError(f"of {len(rows)} rows none is left to train on ({why}); collect more, or allow longer ones")
    if len(dev) > options.dev_rows:
        left_out[NOT_MEASURED] = len(dev) - options.dev_rows
        dev = random.Random(options.seed).sample(dev, options.dev_rows)
    return TrainingData(tuple(train), tuple(dev), {why: count for why, count in left_out.items() if count})


def _check(row: TraceRow, number: int) -> None:
    roles = [message.get("role") for message in row.messages]
    texts = [message.get("content") for message in row.messages]
    if len(roles) < 2 or roles[-1] != "assistant" or roles[-2] != "user":
        raise UserError(f"row {number} ({row.id}): the chat must end in a request and its reply; it has {roles}")
    if not all(isinstance(text, str) for text in texts) or not str(texts[-1]).strip():
        raise UserError(f"row {number} ({row.id}): a message is not text, or the reply is empty")


def _distinct(rows: Sequence[TraceRow], left_out: Counter[str]) -> list[TraceRow]:
    """Each row once; held out if any row with this prompt is."""
    held_out = {row.prompt for row in rows if row.split == "dev"}
    kept = {row.key: row for row in reversed(rows)}
    left_out["duplicate"] += len(rows) - len(kept)
    return [replace(row, split="dev") if row.prompt in held_out else row for row in reversed(kept.values())]


def _split(rows: Sequence[TraceRow], options: DistilOptions) -> list[TraceRow]:
    """Hold out questions by a hash of their id, if the data has no held-out rows."""
    return with_held_out(rows, options.dev_share) if options.dev_rows else list(rows)
