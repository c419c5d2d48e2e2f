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

from triplecheck.kg.encode import Encoder
from triplecheck.kg.fuzzy import TrigramIndex, similarity
from triplecheck.kg.graph import Graph
from triplecheck.kg.mentions import Mention, MentionDetector
from triplecheck.kg.names import NamedNode, NameIndex, normalize
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.vectors import VectorIndex

_DENSE_CANDIDATES, _LEAST_COSINE = 10, 0.6
# For parts of names: the share of trigrams that a name must have in common with the text, and how
# alike a misspelt word must be; shorter words than this are not taken for misspelt.
_LEAST_OVERLAP, _LEAST_SPELLING, _SHORTEST_MISSPELT = 0.4, 0.75, 4
# A misspelt name counts so much less for each tenth of its letters; part of a name for as much as a
# whole one with two typing errors in fifteen letters, however long the rest of it is.
_MISSPELT_COST, _PART_OF_NAME, _LENGTH_MATTERS = 2.5, 0.64, 0.03
# Where a name fits like this, nothing looser is looked for.
_SURE = 0.75
_LONGEST_PART = 100  # characters
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

    def candidates(
        self,
        text: str | Mention,
        question: str | None = None,
        limit: int = 10,
        *,
        top_k: int | None = None,
        union: bool = False,
    ) -> list[Candidate]:
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

    def candidates(
        self,
        text: str | Mention,
        question: str | None = None,
        limit: int = 10,
        *,
        top_k: int | None = None,
        union: bool = False,
    ) -> list[Candidate]:
        """Nodes that the text may mean, best first.

        Args:
            text: a mention of `mentions`, whose names are known already, or any text.
            question: where given, candidates are grounded in it.
            limit: how many at most; homonyms of one name are all looked at before the cut.
            top_k: relations averaged by grounding, where other than the linker's own.
            union: look for misspelt names, parts of names and names of like meaning in any case, not only
                where nothing tighter fits.
        """
        if isinstance(text, Mention) and text.forms:
            written, found = normalize(text.text), self._of_mention(text)
        else:
            written = normalize(text.text if isinstance(text, Mention) else text)
            found = {}
            for named in self._names.nodes(written):
                self._keep(found, named, named.source, _SOURCE_WEIGHT[named.source])
        if union or not found:
            self._add_similar(written, found)
        if union or max((c.lexical for c in found.values()), default=0.0) < _SURE:
            self._add_loose(written, found)
        return self.ground(list(found.values()), question, top_k)[:limit]

    def _of_mention(self, mention: Mention) -> dict[int, Candidate]:
        found: dict[int, Candidate] = {}
        written = normalize(mention.text)
        for form in mention.forms:
            exact = mention.similarity == 1.0
            fit = 1.0 if exact else spelling_fit(similarity(written, form))
            for named in self._names.nodes(form):
                self._keep(found, named, named.source if exact else "typo", fit * _SOURCE_WEIGHT[named.source])
        return found

    def _add_similar(self, form: str, found: dict[int, Candidate]) -> None:
        if self._trigrams is not None:
            for similar in self._trigrams.similar(form):
                for named in self._names.nodes_of(similar.number):
                    self._keep(found, named, "typo", spelling_fit(similar.similarity) * _SOURCE_WEIGHT[named.source])

    def _add_loose(self, form: str, found: dict[int, Candidate]) -> None:
        """Names of which the text is a part, or that mean the same."""
        if self._trigrams is not None and len(form) <= _LONGEST_PART:
            for named, fit in self._partial(form):
                self._keep(found, named, "partial", _PART_OF_NAME * fit * _SOURCE_WEIGHT[named.source])
        if self._name_vectors is not None and self._encoder is not None:
            rows, cosines = self._name_vectors.search(self._encoder.encode([form])[0], _DENSE_CANDIDATES)
            for node, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
                if cosine >= _LEAST_COSINE:
                    self._keep(found, NamedNode(node, "label"), "dense", 0.8 * cosine)

    def _partial(self, form: str) -> list[tuple[NamedNode, float]]:
        """Names of which all words of the text are a part ("Obama"), or that are a part of it, and how well each fits.

        Where there are none, names of which the words of the text are a misspelt part ("Obana").
        """
        assert self._trigrams is not None
        words = set(form.split())
        whole, misspelt = [], []
        for number, name in self._trigrams.overlapping(form, _LEAST_OVERLAP):
            other = set(name.split())
            share = _LENGTH_MATTERS * min(len(name), len(form)) / max(len(name), len(form)) + 1 - _LENGTH_MATTERS
            if words <= other or (other <= words and len(name) > 3):
                whole.append((number, share))
            elif (spelling := _least_similarity(words, other)) >= _LEAST_SPELLING:
                misspelt.append((number, share * spelling_fit(spelling)))
        return [(named, fit) for number, fit in whole or misspelt for named in self._names.nodes_of(number)]

    def _keep(self, found: dict[int, Candidate], named: NamedNode, source: str, lexical: float) -> None:
        known = found.get(named.node)
        if known is None or known.lexical < lexical:
            found[named.node] = Candidate(named.node, "", "", source, lexical)

    def ground(
        self, candidates: Sequence[Candidate], question: str | None, top_k: int | None = None
    ) -> list[Candidate]:
        """Rank candidates by name, fit of their relations to the question, and popularity.

        Score(e, q) = mean of the top-k cosines between the question and the relations of e
        (AnchorRAG, section 3.2), added to the lexical score so that it decides between like names.
        """
        scores = None
        if self._relations is not None and question and len(candidates) > 1:  # one alone needs no ranking
            scores = self._relations.against(question)
        ranked = []
        for candidate in candidates:
            node = candidate.node
            grounding = 0.0
            if scores is not None:
                seen = np.array([c.relation for c in self._graph.relations_of(node)], np.int64)
                if len(seen):
                    best = np.sort(scores[seen])[::-1][: top_k or self._top_k]
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


def spelling_fit(similarity: float) -> float:
    """How well a misspelt name fits: a second typing error makes it far less likely than a first.

    Args:
        similarity: 1 - edit distance / length of the longer.

    Returns:
        `lexical` of a candidate whose label is misspelt so.
    """
    return max(0.05, 1 - _MISSPELT_COST * (1 - similarity))


def _least_similarity(words: set[str], name: set[str]) -> float:
    """How like its likest word of a name the least like word of a text is; 0 where one is not like enough.

    A short word must be the same.
    """
    least = 1.0
    for word in words:
        if word not in name:
            short = len(word) < _SHORTEST_MISSPELT
            least = min(least, 0.0 if short else max(similarity(word, other, _LEAST_SPELLING) for other in name))
            if least == 0.0:
                break
    return least


def _relation_words(graph: Graph) -> frozenset[str]:
    relations = (graph.relation(number) for number in range(graph.num_relations))
    return frozenset(word for r in relations for text in (r.label, *r.aliases) for word in text.lower().split())
