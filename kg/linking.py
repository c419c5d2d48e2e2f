"""Entity linking: from a piece of text to nodes of the graph, with sources and scores.

Candidates come from the exact index, the typo-tolerant one, parts of names and, where name vectors
were built, from those; homonyms stay apart. Relation-aware grounding (AnchorRAG, arXiv 2509.01238)
then prefers the candidate whose own relations fit the question, popularity breaks ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kg.encode import Encoder
from kg.fuzzy import TrigramIndex, similarity
from kg.graph import Graph
from kg.mentions import Mention, MentionDetector
from kg.names import NamedNode, NameIndex, normalize
from kg.relation_vectors import RelationVectors
from kg.vectors import VectorIndex

_DENSE_CANDIDATES, _LEAST_COSINE = 10, 0.6
# For parts of names: the share of trigrams that a name must have in common with the text, and how
# alike a misspelt word must be; shorter words than this are not taken for misspelt.
_LEAST_OVERLAP, _LEAST_SPELLING, _SHORTEST_MISSPELT = 0.4, 0.75, 4
_SOURCE_WEIGHT = {"label": 1.0, "alias": 0.97, "value": 0.9}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that a text may mean.

    Attributes:
        node, id, label: the node.
        source: how it was found: label, alias, value, typo, partial or dense.
        lexical: how well its name fits the text, 0 to 1.
        grounding: how well its relations fit the question (mean cosine of the best), or 0.
        popularity: log(1 + degree), scaled to 0..1.
        score: what candidates are ranked by.
    """

    node: int
    id: str
    label: str
    source: str
    lexical: float
    grounding: float = 0.0
    popularity: float = 0.0
    score: float = 0.0


class Linker(Protocol):
    """What a program needs to find the entities of a question."""

    def mentions(self, question: str) -> list[Mention]:
        """Parts of the question that name something in the graph, most salient first."""
        ...

    def candidates(self, text: str | Mention, question: str | None = None, limit: int = 10) -> list[Candidate]:
        """Nodes that a text or a mention may mean, best first, grounded in the question where one is given."""
        ...


class GraphLinker:
    """Links text to one graph through its name indices.

    Args:
        graph: the graph.
        names: its exact names.
        trigrams: its typo-tolerant names, or None to link exactly only.
        relations: relation vectors, or None to do without grounding.
        name_vectors: vectors of the entity labels (row = node), or None to do without dense candidates.
        encoder: made the vectors.
        top_k: relations averaged by grounding (k of AnchorRAG's Score(e, q)).
    """

    def __init__(
        self,
        graph: Graph,
        names: NameIndex,
        trigrams: TrigramIndex | None = None,
        relations: RelationVectors | None = None,
        name_vectors: VectorIndex | None = None,
        encoder: Encoder | None = None,
        top_k: int = 5,
    ) -> None:
        self._graph = graph
        self._names = names
        self._trigrams = trigrams
        self._relations = relations
        self._name_vectors = name_vectors
        self._encoder = encoder
        self._top_k = top_k
        self._detector = MentionDetector(names, trigrams, _relation_words(graph))

    def mentions(self, question: str) -> list[Mention]:
        """Parts of the question that name something in the graph, most salient first."""
        return self._detector.detect(question)

    def candidates(self, text: str | Mention, question: str | None = None, limit: int = 10) -> list[Candidate]:
        """Nodes that the text may mean, best first.

        Args:
            text: a mention of `mentions`, whose names are known already, or any text.
            question: where given, candidates are grounded in it.
            limit: how many at most; homonyms of one name are all looked at before the cut.
        """
        if isinstance(text, Mention):
            if text.forms:
                return self.ground(self._of_mention(text), question)[:limit]
            text = text.text
        form = normalize(text)
        found: dict[int, Candidate] = {}
        for named in self._names.nodes(form):
            self._keep(found, named, named.source, _SOURCE_WEIGHT[named.source])
        if not found and self._trigrams is not None:
            for similar in self._trigrams.similar(form):
                for named in self._names.nodes_of(similar.number):
                    self._keep(found, named, "typo", similar.similarity * _SOURCE_WEIGHT[named.source])
            if not found:
                for named, share in self._partial(form):
                    self._keep(found, named, "partial", 0.6 * share * _SOURCE_WEIGHT[named.source])
            if self._name_vectors is not None and self._encoder is not None:
                rows, cosines = self._name_vectors.search(self._encoder.encode([text])[0], _DENSE_CANDIDATES)
                for node, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
                    if cosine >= _LEAST_COSINE:
                        self._keep(found, NamedNode(node, "label"), "dense", 0.8 * cosine)
        return self.ground(list(found.values()), question)[:limit]

    def _of_mention(self, mention: Mention) -> list[Candidate]:
        found: dict[int, Candidate] = {}
        written = normalize(mention.text)
        for form in mention.forms:
            exact = mention.similarity == 1.0
            fit = 1.0 if exact else similarity(written, form)
            for named in self._names.nodes(form):
                self._keep(found, named, named.source if exact else "typo", fit * _SOURCE_WEIGHT[named.source])
        return list(found.values())

    def _partial(self, form: str) -> list[tuple[NamedNode, float]]:
        """Names of which all words of the text are a part ("Obama"), or that are a part of it, and how well each fits.

        Where there are none, names of which the words of the text are a misspelt part ("Obana").
        """
        assert self._trigrams is not None
        words = set(form.split())
        whole, misspelt = [], []
        for number, name in self._trigrams.overlapping(form, _LEAST_OVERLAP):
            other = set(name.split())
            share = min(len(name), len(form)) / max(len(name), len(form))
            if words <= other or (other <= words and len(name) > 3):
                whole.append((number, share))
            elif (spelling := _least_similarity(words, other)) >= _LEAST_SPELLING:
                misspelt.append((number, share * spelling))
        return [(named, fit) for number, fit in whole or misspelt for named in self._names.nodes_of(number)]

    def _keep(self, found: dict[int, Candidate], named: NamedNode, source: str, lexical: float) -> None:
        known = found.get(named.node)
        if known is None or known.lexical < lexical:
            found[named.node] = Candidate(named.node, "", "", source, lexical)

    def ground(self, candidates: Sequence[Candidate], question: str | None) -> list[Candidate]:
        """Rank candidates by name, fit of their relations to the question, and popularity.

        Score(e, q) = mean of the top-k cosines between the question and the relations of e
        (AnchorRAG, section 3.2), added to the lexical score so that it decides between like names.
        """
        scores = self._relations.against(question) if self._relations is not None and question else None
        ranked = []
        for candidate in candidates:
            node = candidate.node
            grounding = 0.0
            if scores is not None and len(candidates) > 1:
                seen = np.array([c.relation for c in self._graph.relations_of(node)], np.int64)
                if len(seen):
                    best = np.sort(scores[seen])[::-1][: self._top_k]
                    grounding = float(best.mean())
            popularity = min(1.0, float(np.log1p(self._graph.degree(node))) / 16)
            ranked.append(
                replace(
                    candidate,
                    id=self._graph.node_id(node),
                    label=self._graph.label(node),
                    grounding=grounding,
                    popularity=popularity,
                    score=candidate.lexical + 0.3 * grounding + 0.1 * popularity,
                )
            )
        return sorted(ranked, key=lambda c: (-c.score, c.node))


def _least_similarity(words: set[str], name: set[str]) -> float:
    """How like its likest word of a name the least like word of a text is; a short word must be the same."""
    return min(
        max(similarity(word, other) if len(word) >= _SHORTEST_MISSPELT else float(word == other) for other in name)
        for word in words
    )


def _relation_words(graph: Graph) -> frozenset[str]:
    relations = (graph.relation(number) for number in range(graph.num_relations))
    return frozenset(word for r in relations for text in (r.label, *r.aliases) for word in text.lower().split())
