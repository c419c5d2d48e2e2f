"""Knowledge-enhanced reference generation: related entities of a query, and passages for the query.

Source: Know³-RAG (arXiv 2505.12662), section 4.3 and Algorithm 1. Any number of knowledge models write passages, and
at most one corpus is searched, for the query and for the query with its related entities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal

import dspy
import numpy as np

from triplecheck.kg import Direction, Linker, TriplecheckError, UserError, Words, normalize
from triplecheck.kg.documents import Documents
from triplecheck.kg.graph import Graph, RelationCount
from triplecheck.kg.linking import Candidate
from triplecheck.kg.mentions import Mention, ReadText
from triplecheck.language.pipeline import read_text
from triplecheck.lms import ModelReplyError, ModelUnavailableError, PromptTooLongError, RolePredict
from triplecheck.lms.values import NOTHING
from triplecheck.programs.base import Ask, Sources
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.know3rag.reliability import NameLinker
from triplecheck.programs.steps import Checked, Linked, Trace, Truncated
from triplecheck.signatures import WritePassage, WritePassages

# Ordinary words that are also names of the graph have a lower salience.
_LEAST_SALIENCE = 0.25
_LONGEST_DESCRIPTION = 120  # characters


@dataclass(frozen=True)
class Know3RAGLimits:
    """Limits of related entities per query (Algorithm 1), and of a prompt. The trace records what a limit cuts off.

    Attributes:
        linked: entities that the query names.
        local: neighbours of each, by the relation most similar to the query.
        predicted: tails of each that the embeddings score best.
        relations: k, the relations most similar to the query, for which tails are predicted.
        compared: relations of one entity compared with the query, those with the fewest edges.
        checked: references that one call checks; the others are checked by further calls.
    """

    linked: int = 3
    local: int = 3
    predicted: int = 1
    relations: int = 3
    compared: int = 64
    checked: int = 20


@dataclass(frozen=True)
class Related:
    """E_t: entities of three kinds as nodes, each once."""

    linked: tuple[int, ...] = ()
    local: tuple[int, ...] = ()
    predicted: tuple[int, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """All of them."""
        return self.linked + self.local + self.predicted


def linked_entities(sources: Sources, query: str, top_k: int, trace: Trace) -> tuple[int, ...]:
    """The entities that a query names, the most salient first.

    A name that the documents have is not taken for a misspelt name of the graph: the graph may not have its entity.
    """
    found: dict[int, Linked] = {}
    for mention, candidates in _named(sources.graph, sources.linker, read_text(query, sources.language)):
        if candidates[0].source == "typo" and _written_in(sources.documents, mention.text):
            continue
        rows = [{"id": c.id, "label": c.label, "source": c.source, "score": round(c.score, 4)} for c in candidates]
        found.setdefault(candidates[0].node, Linked(mention.text, rows, [candidates[0].id]))
    kept = tuple(found)[:top_k]
    for node in kept:
        trace.add(found[node])
    trace.note_cut("entities of the query", len(kept), len(found))
    return kept


def names_in(graph: Graph, linker: Linker, text: ReadText, top_k: int = 20) -> list[str]:
    """Names of the graph that a text has word for word, for a prompt (Figure 9: possible entities as a reference)."""
    words = Words(text.text)
    named = islice(_named(graph, linker, text), top_k)
    labels = dict.fromkeys(graph.label(candidates[0].node) for _, candidates in named)
    return [label for label in labels if label in words]


def _named(graph: Graph, linker: Linker, query: ReadText) -> Iterator[tuple[Mention, list[Candidate]]]:
    """The mentions of a query that entities have as a name, the most salient first, and these entities."""
    names = NameLinker(linker)
    for mention in names.mentions(query):
        if mention.salience >= _LEAST_SALIENCE:
            candidates = [c for c in names.candidates(mention, query.text) if graph.literal(c.node) is None]
            if candidates:
                yield mention, candidates


def _written_in(documents: Documents | None, name: str) -> bool:
    """Whether the document that fits a name best has it word for word."""
    hits = [] if documents is None else documents.search(name, 1)
    return any(name in Words(f"{hit.title} {hit.text}") for hit in hits)


def related_entities(sources: Sources, query: str, limits: Know3RAGLimits, trace: Trace) -> Related:
    """Algorithm 1: entities that the query names, their neighbours, and tails that the embeddings predict.

    An entity without a vector has local neighbours only.
    """
    graph = sources.graph
    linked = linked_entities(sources, query, limits.linked, trace)
    listed = dict.fromkeys(linked)
    local: list[int] = []
    predicted: list[int] = []
    for node in linked:
        relations = _by_similarity(sources, node, query, limits, trace)
        for node_there in _neighbours(graph, node, relations, limits.local):
            if node_there not in listed:
                listed[node_there] = None
                local.append(node_there)
        outgoing = [r.relation for r in relations if r.direction is Direction.OUT][: limits.relations]
        for tail in _predicted(sources, node, outgoing, limits.predicted, listed):
            listed[tail] = None
            predicted.append(tail)
    return Related(linked, tuple(local), tuple(predicted))


def described(graph: Graph, nodes: tuple[int, ...]) -> list[str]:
    """Entities for a prompt: label, and description if there is one."""
    lines = []
    for node in nodes:
        entity = graph.entity(node)
        about = entity.description[:_LONGEST_DESCRIPTION]
        lines.append(f"{graph.label(node)}: {about}" if about else graph.label(node))
    return lines


def _by_similarity(
    sources: Sources, node: int, query: str, limits: Know3RAGLimits, trace: Trace
) -> list[RelationCount]:
    """Relations of a node by the cosine of "entity relation" with the query; without an encoder, fewest edges first."""
    graph = sources.graph
    relations = sorted(graph.relations_of(node), key=lambda count: count.edges)
    if len(relations) > limits.compared:
        trace.add(Truncated(f"relations of {graph.label(node)}", limits.compared, len(relations)))
        relations = relations[: limits.compared]
    encoder = None if sources.knowledge_base is None else sources.knowledge_base.encoder
    if encoder is None or not relations:
        return relations
    label = graph.label(node)
    vectors = encoder.encode([query, *(f"{label} {graph.relation(r.relation).label}" for r in relations)])
    order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
    return [relations[i] for i in order.tolist()]


def _neighbours(graph: Graph, node: int, relations: list[RelationCount], top_k: int) -> list[int]:
    if not relations or top_k <= 0:
        return []
    best = relations[0]
    found: list[int] = graph.neighbors(node, best.relation, best.direction, top_k).tolist()
    return found


def _predicted(sources: Sources, node: int, relations: list[int], top_k: int, listed: dict[int, None]) -> list[int]:
    """The tails that the embeddings score best for some relations, without the head and those already listed."""
    base = sources.knowledge_base
    embeddings = None if base is None else base.embeddings
    if embeddings is None or top_k <= 0 or not embeddings.knows(node):
        return []
    scored: dict[int, float] = {}
    for relation in relations:
        for tail, score in embeddings.best_tails(node, relation, top_k, [node, *listed]):
            scored[tail] = max(score, scored.get(tail, -np.inf))
    return sorted(scored, key=lambda tail: (-scored[tail], tail))[:top_k]


CorpusSearch = Literal["bm25", "dense", "none"]

WITH_ENTITIES = " + entities"
# Errors that lose one call and not the question.
_OF_ONE_CALL = (ModelReplyError, ModelUnavailableError, PromptTooLongError)


@dataclass(frozen=True)
class Reference:
    """A passage that may help to answer a question; may be empty.

    Attributes:
        origin: the role of the knowledge model, or `corpus`; `+ entities` for the enriched query.
    """

    text: str
    origin: str

    @property
    def key(self) -> str:
        """The key by which duplicate passages are found."""
        return normalize(self.text)


@dataclass(frozen=True)
class ReferenceQuery:
    """A query for passages.

    Attributes:
        entities: its related entities with their descriptions.
        labels: of the same entities, for a search by words.
        raw: also ask the query without entities.
    """

    text: str
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    raw: bool = True

    @property
    def alone(self) -> bool:
        """Whether to ask the query without entities: if `raw`, or if there are no entities."""
        return self.raw or not self.entities


class Corpus:
    """The documents of a knowledge base as a source of references.

    Args:
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
    def _documents(self) -> Documents | None:
        return None if self._search == "none" else self._sources.documents

    @property
    def exists(self) -> bool:
        """Whether there are documents to search."""
        return self._documents is not None

    def find(self, query: ReferenceQuery) -> list[Reference]:
        """Documents for the query, then those for the query with its entities; none without documents."""
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
        self.write_both = [RolePredict(WritePassages, role=role) for role in roles if one_call]

    def forward(self, query: ReferenceQuery, trace: Trace, ask: Ask) -> list[Reference]:
        """Their passages, those that are empty included, model by model. What fails loses its own passages only.

        Raises:
            TriplecheckError: a budget is spent, or no model at all could be reached.
        """
        tasks = [task for number in range(len(self.write_one)) for task in self._calls(number, query, ask)]
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

    def _calls(self, number: int, query: ReferenceQuery, ask: Ask) -> list[Callable[[Trace], list[Reference]]]:
        if self.one_call and query.alone and query.entities:
            return [partial(self._both, number, query, ask)]
        kinds = ([()] if query.alone else []) + ([query.entities] if query.entities else [])
        return [partial(self._one, number, query.text, entities, ask) for entities in kinds]

    def _one(self, number: int, text: str, entities: Sequence[str], ask: Ask, trace: Trace) -> list[Reference]:
        step = self.write_one[number]
        reply = ask(trace, step, question=text, entities=list(entities))
        return [Reference(clean_answer(reply.passage), step.role + (WITH_ENTITIES if entities else ""))]

    def _both(self, number: int, query: ReferenceQuery, ask: Ask, trace: Trace) -> list[Reference]:
        step = self.write_both[number]
        reply = ask(trace, step, question=query.text, entities=list(query.entities))
        passages = ((reply.passage, ""), (reply.passage_with_entities, WITH_ENTITIES))
        return [Reference(clean_answer(text), step.role + how) for text, how in passages]


def clean_answer(text: str | None) -> str:
    """A model's text on one line; empty if it says "none", "unknown" or the like."""
    plain = " ".join((text or "").split())
    return "" if plain.strip(" .").casefold() in NOTHING | {"unknown"} else plain
