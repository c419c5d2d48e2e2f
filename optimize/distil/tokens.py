"""From a chat to the tokens that are trained on: those that the embedded engine reads and writes, to the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from triplecheck.lms.local import LocalConfig
from triplecheck.lms.local.form import LISTS, NONE, Field, fields_of, shown
from triplecheck.lms.local.guide import TokenizerVocabulary, dictated
from triplecheck.lms.local.transformers_backend import prompt_tokens
from triplecheck.lms.prompt import split_fields


@dataclass(frozen=True)
class Encoded:
    """One row as tokens."""

    ids: tuple[int, ...]
    prompt: int
    """How many of them are the prompt; the others are to be learnt."""
    family: str
    """Hash of the first message: rows of one family begin alike."""
    empty: bool = False
    """Whether every list of the reply says that there is nothing."""


class Encoder:
    """Turns chats into tokens.

    Args:
        tokenizer: of the base model.
        config: how the engine will write: a reply that it could not write is not taught.
    """

    def __init__(self, tokenizer: Any, config: LocalConfig | None = None) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = TokenizerVocabulary(tokenizer, tokenizer.eos_token_id)
        self._config = config or LocalConfig()

    def encode(self, messages: Sequence[Mapping[str, str]]) -> Encoded | None:
        """The tokens of a chat whose last message is to be learnt.

        Returns:
            None where the reply is not one that the engine's guide lets a model write: a field is missing,
            of another kind than asked for, or longer than it may be.
        """
        asked = [(message["role"], message["content"]) for message in messages[:-1]]
        prompt = prompt_tokens(self._tokenizer, shown(asked))
        fields = fields_of(asked)
        values = split_fields(messages[-1]["content"], [field.name for field in fields])
        reply = self._reply(fields, values) if fields else self._vocabulary.encode(messages[-1]["content"].strip())
        if not reply:
            return None
        lists = [values[field.name] for field in fields if field.kind in LISTS]
        family = hashlib.sha256(messages[0]["content"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        empty = bool(lists) and all(value.strip().casefold() == NONE for value in lists)
        # A model that runs without a guide has to know where to end.
        return Encoded((*prompt, *reply, self._tokenizer.eos_token_id), len(prompt), family, empty)

    def _reply(self, fields: Sequence[Field], values: Mapping[str, str]) -> list[int] | None:
        if len(values) < len(fields):
            return None
        config, wanted = self._config, [values[field.name] for field in fields]
        return dictated(fields, wanted, self._vocabulary, config.max_new_tokens, config.longest_field)


def shared_length(rows: Sequence[Encoded]) -> int:
    """Tokens with which all these rows begin, less than the shortest prompt; 0 for a single row."""
    if len(rows) < 2:
        return 0
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*(row.ids for row in rows), strict=False))
    return min(sum(1 for _ in alike), min(row.prompt for row in rows) - 1)
