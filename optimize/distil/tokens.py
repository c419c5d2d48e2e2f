"""From a chat to the tokens that are trained on: those that the embedded engine reads and writes, to the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from lms.local import LocalConfig
from lms.local.form import fields_of
from lms.local.guide import dictated
from lms.local.transformers_backend import prompt_tokens
from lms.local.vocabulary import TokenizerVocabulary
from lms.sections import split_fields


@dataclass(frozen=True)
class Encoded:
    """One row as tokens."""

    ids: tuple[int, ...]
    prompt: int
    """How many of them are the prompt; the others are to be learnt."""
    family: str
    """Hash of the first message: rows of one family begin alike."""


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
        prompt = prompt_tokens(self._tokenizer, asked)
        reply = self._reply(asked, messages[-1]["content"])
        if reply is None:
            return None
        family = hashlib.sha256(messages[0]["content"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        # A model that runs without a guide has to know where to end.
        return Encoded((*prompt, *reply, self._tokenizer.eos_token_id), len(prompt), family)

    def _reply(self, asked: Sequence[tuple[str, str]], reply: str) -> list[int] | None:
        fields = fields_of(asked)
        if not fields:
            return self._vocabulary.encode(reply.strip()) or None
        found = split_fields(reply, [field.name for field in fields])
        if len(found) < len(fields):
            return None
        values = [found[field.name] for field in fields]
        config = self._config
        return dictated(fields, values, self._vocabulary, config.max_new_tokens, config.longest_field)


def shared_length(rows: Sequence[Encoded]) -> int:
    """Tokens with which all these rows begin, less than the shortest prompt; 0 for a single row."""
    if len(rows) < 2:
        return 0
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*(row.ids for row in rows), strict=False))
    return min(sum(1 for _ in alike), min(row.prompt for row in rows) - 1)
