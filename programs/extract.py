"""Statements of documents, each with the sentence that says it: the triples of a graph that is built from text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.kg.documents import Document
from triplecheck.kg.plausibility import TextTriple
from triplecheck.language.pipeline import ENGLISH, pipeline, read_text
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.assists import EVERY
from triplecheck.programs.assists.know3rag import near_relations, stated_triples
from triplecheck.programs.base import Sources
from triplecheck.programs.know3rag.generation import names_in
from triplecheck.signatures import ExtractTriples

_READ_AT_ONCE = 3_000
"""Characters of sentences in one call."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A triple as a text states it.

    Attributes:
        triple: head, relation and tail in words.
    """

    triple: TextTriple
    sentence: str


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What was read in a document.

    Attributes:
        stated: the statements, in order.
        problems: parts that could not be read, and lines of the model that are no triples.
    """

    stated: tuple[Stated, ...]
    sentences: int
    problems: tuple[str, ...] = ()


class TripleExtractor:
    """Reads documents by the step `ExtractTriples` (role `extract`): sentences are numbered, triples cite them.

    Args:
        base: offers its names and relations to the model; None: the title of the document alone.
        language: of the documents; None: that of the base, else English.
    """

    def __init__(self, base: Sources | None = None, language: str | None = None) -> None:
        self.base = base
        self.language = language or (ENGLISH if base is None else base.language)
        self.extract_triples = RolePredict(ExtractTriples, role="extract")

    def read(self, document: Document) -> ReadDocument:
        """The statements of a document.

        Raises:
            TriplecheckError: a budget is spent or the model is not available. A reply that cannot be read is a problem
                of the document.
        """
        sentences = pipeline(self.language).sentences(" ".join(document.text.split()))
        title = " ".join(document.title.split())
        stated: list[Stated] = []
        problems: list[str] = []
        for part in in_parts(sentences, _READ_AT_ONCE):
            texts = [f"{title}: {sentence}" if title else sentence for sentence in part]
            try:
                relations = [] if self.base is None else near_relations(EVERY, self.base, part)
                reply = self.extract_triples(texts=texts, entities=self._names(title, part), relations=relations)
            except (ModelReplyError, PromptTooLongError) as error:
                problems.append(str(error))
                continue
            found, refused = stated_triples(reply.triples, texts, language=self.language)
            problems += [f"no triple that the text states: {line}" for line in refused]
            for sentence, triples in zip(part, found, strict=True):
                stated += [Stated(triple, sentence) for triple in triples]
        return ReadDocument(tuple(stated), len(sentences), tuple(problems))

    def _names(self, title: str, sentences: Sequence[str]) -> list[str]:
        names = [title] if title else []
        if self.base is not None:
            names += names_in(self.base.graph, self.base.linker, read_text(" ".join(sentences), self.language))
        return list(dict.fromkeys(names))


def in_parts(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """Texts in parts of at most so many characters, or of one longer text."""
    part: list[str] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > most:
            yield part
            part = []
        part.append(text)
    if part:
        yield part
