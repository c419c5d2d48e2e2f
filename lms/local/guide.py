"""Guided decoding: a small model fills in the fields of a reply and cannot break its form.

Headers are inserted. A field of numbers accepts numbers; a field of items, prefixes of items; a choice, one of its
options; a field of copies, texts of the selected items. Within these limits the model decides.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from triplecheck.lms.local.form import NONE, Field, as_items
from triplecheck.lms.prompt import COMPLETED, HEADER

_RESERVED = 8
"""Tokens reserved for the value of each remaining field."""


class Guide:
    """The allowed next tokens of one reply, of at most `limit` tokens, `longest` in a field."""

    def __init__(self, fields: Sequence[Field], vocabulary: TokenVocabulary, limit: int, longest: int) -> None:
        self._fields = list(fields)
        self._vocabulary = vocabulary
        self._left = limit
        self._longest = longest
        self._at = -1
        self._value: list[int] = []
        self._forced: deque[int] = deque()
        self._options: list[list[int]] = []
        self._or_none = True
        self._pointed_at: dict[str, list[int]] = {}
        self._computes = False
        self._needed = 0
        self._none = vocabulary.encode(NONE)
        self._break = vocabulary.encode("\n")[0]
        if self._fields:
            self._next_field()

    def allowed(self, best: Callable[[Sequence[int] | None], int]) -> list[int] | None:
        """The allowed next tokens; None for any.

        Args:
            best: the likeliest of some tokens, or of all for None. A field ends if that token would end it.
        """
        if not self._forced and 0 <= self._at < len(self._fields) and self._is_over(best):
            self._next_field()
        if self._forced:
            return [self._forced[0]]
        return self._free()

    def took(self, token: int) -> None:
        """Record the chosen token."""
        self._left -= 1
        if self._forced:
            self._forced.popleft()
        else:
            self._value.append(token)

    def put_in(self) -> list[int]:
        """Record and return the next forced tokens; none where the model decides."""
        forced = list(self._forced)
        for token in forced:
            self.took(token)
        return forced

    def _next_field(self) -> None:
        """Force the text between this field and the next, or the end."""
        breaks = "" if self._at < 0 else "\n" if self._after_break() else "\n\n"
        if self._at >= 0:
            self._keep_in_mind()
        self._at += 1
        if self._at == len(self._fields):
            self._forced.extend(self._vocabulary.encode(f"{breaks}{COMPLETED}"))
            return
        field = self._fields[self._at]
        self._needed = self._count_needed()
        self._forced.extend(self._vocabulary.encode(f"{breaks}{HEADER.format(name=field.name)}\n"))
        self._value = []
        pointed_at = self._pointed_at.get(field.source, [])
        self._or_none = field.kind != "copies" or not pointed_at or self._computes
        options = _copies(field, pointed_at) if field.kind == "copies" else field.options
        self._options = [self._vocabulary.encode(option) for option in options]

    def _keep_in_mind(self) -> None:
        """Remember what constrains later fields: the selected items, and whether something is computed."""
        field = self._fields[self._at]
        if field.kind == "items":
            before, line = self._lines()
            self._pointed_at[field.name] = [at for at, one in enumerate(self._options) if one in (*before, line)]
        elif field.kind == "choice" and NONE in field.options:
            self._computes = self._computes or self._value != self._none

    def _free(self) -> list[int] | None:
        """The tokens that the current field accepts."""
        words = self._vocabulary
        match self._fields[self._at].kind if 0 <= self._at < len(self._fields) else "text":
            case "choice":
                return sorted({option[len(self._value)] for option in _going_on(self._options, self._value)})
            case "items" | "copies":
                return sorted(self._pointing())
            case "numbers" if self._in_none():
                rest = self._none[len(self._value)]
                return [rest] if self._value else sorted({rest, *words.digits})
            case "numbers":
                return sorted(words.digits | words.commas)
            case "number":
                if not self._value:
                    return sorted(words.digits | words.minus)
                point = words.point if self._ends_in_digit() and words.point.isdisjoint(self._value) else frozenset()
                return sorted(words.digits | point)
        return None

    def _is_over(self, best: Callable[[Sequence[int] | None], int]) -> bool:
        """Whether the field is complete: nothing can follow, or the model would end it."""
        kind = self._fields[self._at].kind
        if kind == "choice":
            whole = self._value in self._options
            return not _going_on(self._options, self._value) or (whole and self._would_end(best(None)))
        if kind in ("items", "copies"):
            return self._has_pointed(best)
        if kind == "numbers" and (self._in_none() or self._value == self._none):
            return self._value == self._none
        if kind == "number" and not self._ends_in_digit():
            return False
        if self._value and (len(self._value) >= self._longest or self._left <= self._needed):
            return True
        return self._would_end(best(None))

    def _would_end(self, token: int) -> bool:
        """Whether a token ends the field: the end token, a header, a blank line, or one that no value contains."""
        words, kind = self._vocabulary, self._fields[self._at].kind
        if token in words.ends:
            return True
        if kind not in ("text", "lines"):
            return token not in words.digits | words.commas | words.point
        before = words.text(self._value[-1]) if self._value else ""
        text = words.text(token)
        return "[[" in before[-1:] + text or (not text.strip() and "\n" in text and self._after_break())

    def _lines(self) -> tuple[list[list[int]], list[int]]:
        """The complete items, and the current, possibly incomplete one."""
        lines: list[list[int]] = [[]]
        for token in self._value:
            if token == self._break:
                lines.append([])
            else:
                lines[-1].append(token)
        return lines[:-1], lines[-1]

    def _pointing(self) -> set[int]:
        """The tokens that continue an unused item, or end one."""
        before, line = self._lines()
        left = [option for option in self._options if option not in before]
        allowed = {option[len(line)] for option in _going_on(left, line)}
        if self._in_none():
            allowed.add(self._none[len(self._value)])
        if line in left:
            allowed.add(self._break)
        return allowed

    def _has_pointed(self, best: Callable[[Sequence[int] | None], int]) -> bool:
        """Whether the list of items ends: all are used, there is no room, or the model would end it."""
        before, line = self._lines()
        if self._value == self._none:
            return True
        if not self._value or (line and line not in self._options):
            return False
        if all(option in before or option == line for option in self._options) or self._left <= self._needed:
            return True
        token = best(None)
        text = self._vocabulary.text(token)
        blank = text.count("\n") + self._after_break() > 1
        return token in self._vocabulary.ends or "[[" in text or blank

    def _in_none(self) -> bool:
        """Whether the value may still become `none`.

        Copies are `none` if no item was selected or a choice names a computation, and only then.
        """
        return self._or_none and len(self._value) < len(self._none) and self._none[: len(self._value)] == self._value

    def _ends_in_digit(self) -> bool:
        return bool(self._value) and self._value[-1] in self._vocabulary.digits

    def _after_break(self) -> bool:
        return bool(self._value) and self._vocabulary.text(self._value[-1]).endswith("\n")

    def _count_needed(self) -> int:
        """Minimum number of tokens for the rest of the reply."""
        rest = self._fields[self._at + 1 :]
        frame = "".join(f"\n\n{HEADER.format(name=field.name)}\n" for field in rest) + f"\n\n{COMPLETED}"
        return len(self._vocabulary.encode(frame)) + _RESERVED * len(rest)


def likeliest(scores: Any, some: Sequence[int] | None) -> int:
    """The likeliest of some tokens, or of all for None.

    Args:
        scores: of each token, an array of NumPy or torch.
    """
    return int(scores.argmax()) if some is None else some[int(scores[list(some)].argmax())]


def _copies(field: Field, pointed_at: Sequence[int]) -> list[str]:
    """The texts that may be copied from the selected items; none if no item is selected."""
    held = [text for at in pointed_at for text in field.copied[at]]
    return list(dict.fromkeys([*held, *field.besides])) if held else []


def _going_on(options: Sequence[list[int]], start: list[int]) -> list[list[int]]:
    """The options that continue this prefix."""
    length = len(start)
    return [option for option in options if option[:length] == start and len(option) > length]


def dictated(
    fields: Sequence[Field], values: Sequence[str], vocabulary: TokenVocabulary, limit: int, longest: int
) -> list[int] | None:
    """The tokens of a guided reply with these values; None if the guide does not allow them.

    Args:
        values: as text, one per field; items by their numbers.
        limit, longest: see `Guide`.
    """
    guide = Guide(fields, vocabulary, limit, longest)
    end = min(vocabulary.ends)
    tokens: list[int] = []
    field, rest = -1, deque[int]()
    while field < len(fields) or guide._forced:
        allowed = guide.allowed(lambda _: rest[0] if rest else end)
        if guide._at != field:
            if rest:
                return None
            field = guide._at
            written = _written(fields[field], values[field], vocabulary) if field < len(fields) else []
            if written is None:
                return None
            rest.extend(written)
        if guide._forced:
            token = guide._forced[0]
        elif rest and (allowed is None or rest[0] in allowed):
            token = rest.popleft()
        else:
            return None
        tokens.append(token)
        guide.took(token)
    return tokens


def _written(field: Field, value: str, vocabulary: TokenVocabulary) -> list[int] | None:
    if field.kind not in ("items", "copies"):
        return vocabulary.encode(value)
    items = as_items(field, value) if field.kind == "items" else value.split("\n")
    if items is None:
        return None
    first, *others = (vocabulary.encode(item) for item in items)
    return first + [token for item in others for token in (*vocabulary.encode("\n"), *item)]


class TokenVocabulary(ABC):
    """What a guide needs of a tokenizer. Sets hold token ids; `ends` are the tokens that end a message."""

    def __init__(self, ends: frozenset[int]) -> None:
        self.ends = ends

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""

    @functools.cached_property
    @abstractmethod
    def _texts(self) -> list[str]:
        """The text of each token, by id."""

    def text(self, token: int) -> str:
        """The text of a token."""
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
        eos: the model's own end tokens.
    """

    def __init__(self, tokenizer: Any, eos: int | list[int] | None) -> None:
        own = eos if isinstance(eos, list) else [eos]
        super().__init__(frozenset(token for token in (*own, tokenizer.eos_token_id) if token is not None))
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    @functools.cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        return texts


class LlamaVocabulary(TokenVocabulary):
    """Of a model that llama.cpp has loaded."""

    def __init__(self, model: Any) -> None:
        from llama_cpp import llama_model_get_vocab, llama_vocab_is_eog

        vocabulary = llama_model_get_vocab(model.model)
        super().__init__(frozenset(token for token in range(model.n_vocab()) if llama_vocab_is_eog(vocabulary, token)))
        self._model = model

    def encode(self, text: str) -> list[int]:
        """A text as token ids, without marks of its beginning or end."""
        return list(self._model.tokenize(text.encode(), add_bos=False, special=False))

    @functools.cached_property
    def _texts(self) -> list[str]:
        pieces = (self._model.detokenize([token], special=True) for token in range(self._model.n_vocab()))
        return [piece.decode(errors="replace") for piece in pieces]
