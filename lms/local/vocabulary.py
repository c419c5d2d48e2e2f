"""What guided decoding has to know of a tokenizer."""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from typing import Any


class TokenVocabulary(ABC):
    """The tokens of a model as `lms.local.guide.Vocabulary`; they are sorted when first asked for.

    Args:
        ends: tokens that end a message.
    """

    def __init__(self, ends: frozenset[int]) -> None:
        self.ends = ends

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""

    @abstractmethod
    def _every_text(self) -> list[str]:
        """What each token reads, in the order of their ids."""

    @functools.cached_property
    def _texts(self) -> list[str]:
        return self._every_text()

    def text(self, token: int) -> str:
        """What a token reads."""
        return self._texts[token]

    @functools.cached_property
    def digits(self) -> frozenset[int]:
        """Tokens of digits alone."""
        return self._of("[0-9]+")

    @functools.cached_property
    def commas(self) -> frozenset[int]:
        """Tokens of a comma, blanks, or both."""
        return self._of(",? ?")

    @functools.cached_property
    def point(self) -> frozenset[int]:
        """The token of a full stop."""
        return self._of("[.]")

    @functools.cached_property
    def minus(self) -> frozenset[int]:
        """The token of a minus."""
        return self._of("-")

    def _of(self, form: str) -> frozenset[int]:
        return frozenset(token for token, text in enumerate(self._texts) if text and re.fullmatch(form, text))


class TokenizerVocabulary(TokenVocabulary):
    """Of a Hugging Face tokenizer.

    Args:
        tokenizer: of `transformers`.
        eos: the model's own end tokens.
    """

    def __init__(self, tokenizer: Any, eos: int | list[int] | None) -> None:
        own = eos if isinstance(eos, list) else [eos]
        super().__init__(frozenset(token for token in (*own, tokenizer.eos_token_id) if token is not None))
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _every_text(self) -> list[str]:
        texts: list[str] = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        return texts


class LlamaVocabulary(TokenVocabulary):
    """Of a model that llama.cpp has loaded.

    Args:
        model: of `llama_cpp`.
        end: the text that ends a message, besides the model's own end token.
    """

    def __init__(self, model: Any, end: str) -> None:
        own = model.tokenize(end.encode(), add_bos=False, special=True)
        super().__init__(frozenset({model.token_eos(), *(own if len(own) == 1 else [])}))
        self._model = model

    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""
        return list(self._model.tokenize(text.encode(), add_bos=False, special=False))

    def _every_text(self) -> list[str]:
        pieces = (self._model.detokenize([token], special=True) for token in range(self._model.n_vocab()))
        return [piece.decode(errors="replace") for piece in pieces]
