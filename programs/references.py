"""References for a question: passages that knowledge models write, and passages of a corpus.

Source: Know³-RAG (arXiv 2505.12662), section 4.3. Any number of knowledge models and at most one corpus
are asked for the query, and for the query with its related entities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import dspy

from triplecheck.kg import TriplecheckError, UserError, normalize
from triplecheck.kg.documents import DocumentStore
from triplecheck.lms import ModelReplyError, ModelUnavailableError, PromptTooLongError, RolePredict
from triplecheck.lms.values import NOTHING
from triplecheck.programs.base import Sources
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.rerank import Wrote
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import WritePassage, WritePassages

CorpusSearch = Literal["bm25", "dense", "none"]

WITH_ENTITIES = " + entities"
# What loses one call and not the question.
_OF_ONE_CALL = (ModelReplyError, ModelUnavailableError, PromptTooLongError)


@dataclass(frozen=True)
class Reference:
    """A passage that may help to answer a question; an empty one says nothing.

    Attributes:
        text: the passage.
        origin: the role of the knowledge model, or `corpus`; `+ entities` for the enriched query.
    """

    text: str
    origin: str

    @property
    def key(self) -> str:
        """What tells passages apart."""
        return normalize(self.text)


@dataclass(frozen=True)
class Query:
    """What passages are wanted for.

    Attributes:
        text: the query; asked as it is where `raw`.
        entities: its related entities with their descriptions; the query is asked with them where there are some.
        labels: of the same entities, for a search by words.
        raw: also, or without entities only, ask the query by itself.
    """

    text: str
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    raw: bool = True

    @property
    def alone(self) -> bool:
        """Whether it is asked by itself: also where it was to be asked with entities and there are none."""
        return self.raw or not self.entities


class Corpus:
    """The documents of a knowledge base as a source of references.

    Args:
        sources: what may hold documents.
        search: by words, by meaning, or not at all.
        passages: documents per query.

    Raises:
        UserError: search by meaning, and the documents have no vectors.
    """

    def __init__(self, sources: Sources, search: CorpusSearch, passages: int) -> None:
        self._sources = sources
        self._search = search
        self._passages = passages
        documents = self._documents
        if search == "dense" and documents is not None and not documents.has_vectors:
            raise UserError("the documents have no vectors for a dense search; use the corpus by bm25")

    @property
    def _documents(self) -> DocumentStore | None:
        return None if self._search == "none" else self._sources.documents

    def find(self, query: Query) -> list[Reference]:
        """Documents for the query, then those for the query with its entities; none where there are no documents."""
        found = self.search(query.text, "corpus") if query.alone else []
        if query.entities:
            found += self.search(" ".join([query.text, *query.labels]), f"corpus{WITH_ENTITIES}")
        return found

    def search(self, text: str, origin: str = "corpus") -> list[Reference]:
        """The documents that fit a text best."""
        documents = self._documents
        if documents is None:
            return []
        dense = self._search == "dense"
        hits = documents.search_dense(text, self._passages) if dense else documents.search(text, self._passages)
        return [Reference(f"{hit.title}: {hit.text}" if hit.title else hit.text, origin) for hit in hits]


class KnowledgeModels(dspy.Module):
    """n models, each of which writes a passage for a query and one for the query with its related entities.

    Args:
        count: how many; they play the roles `knowledge.1` to `knowledge.n`.
        one_call: one call of a model for both of its passages; else one for each, as in the paper.
    """

    def __init__(self, count: int, *, one_call: bool = False) -> None:
        super().__init__()
        self.one_call = one_call
        roles = [f"knowledge.{number}" for number in range(1, count + 1)]
        self.write_one = [RolePredict(WritePassage, role=role) for role in roles]
        self.write_both = [RolePredict(WritePassages, role=role) for role in roles]

    def forward(self, query: Query, trace: Trace, wrote: Wrote) -> list[Reference]:
        """Their passages, those that are empty included, model by model. What fails loses its own passages only.

        Raises:
            TriplecheckError: a budget is spent, or no model at all could be reached.
        """
        tasks = [task for number in range(len(self.write_one)) for task in self._calls(number, query, wrote)]
        written: list[Reference] = []
        results = concurrently(tasks, trace)
        failed = [result for result in results if isinstance(result, TriplecheckError)]
        for error in failed:
            if not isinstance(error, _OF_ONE_CALL):
                raise error
            trace.add(Checked("passage", False, str(error)))
        if failed and len(failed) == len(results) and isinstance(failed[0], ModelUnavailableError):
            raise failed[0]
        for result in results:
            if not isinstance(result, TriplecheckError):
                written += result
        return written

    def _calls(self, number: int, query: Query, wrote: Wrote) -> list[Callable[[Trace], list[Reference]]]:
        if self.one_call and query.alone and query.entities:
            return [partial(self._both, number, query, wrote)]
        kinds = ([()] if query.alone else []) + ([query.entities] if query.entities else [])
        return [partial(self._one, number, query.text, entities, wrote) for entities in kinds]

    def _one(self, number: int, text: str, entities: Sequence[str], wrote: Wrote, trace: Trace) -> list[Reference]:
        step = self.write_one[number]
        reply = step(question=text, entities=list(entities))
        wrote(trace, step, reply)
        return [Reference(said(reply.passage), step.role + (WITH_ENTITIES if entities else ""))]

    def _both(self, number: int, query: Query, wrote: Wrote, trace: Trace) -> list[Reference]:
        step = self.write_both[number]
        reply = step(question=query.text, entities=list(query.entities))
        wrote(trace, step, reply)
        passages = ((reply.passage, ""), (reply.passage_with_entities, WITH_ENTITIES))
        return [Reference(said(text), step.role + how) for text, how in passages]


def said(text: str | None) -> str:
    """What a model wrote in a field of text; empty where it wrote that there is nothing."""
    plain = " ".join((text or "").split())
    return "" if plain.strip(" .").casefold() in NOTHING | {"unknown"} else plain
