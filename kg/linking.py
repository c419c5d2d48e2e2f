"""Entity linking: from a piece of text to nodes of the graph, with sources and scores.

Candidates come from the exact name index, the typo-tolerant index, parts of names, and name vectors if built;
homonyms are separate candidates. Relation-aware grounding (AnchorRAG, arXiv 2509.01238) then prefers candidates whose
relations fit the question; popularity breaks ties.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from triplecheck.kg.encode import Encoder
from triplecheck.kg.graph import Graph
from triplecheck.kg.mentions import CONNECTORS, Mention, MentionDetector, ReadText
from triplecheck.kg.names import (
    LEGAL_FORMS,
    SOURCES,
    NamedNode,
    NameIndex,
    TrigramIndex,
    may_be_misspelt,
    normalize,
    respelt,
    similarity,
)
from triplecheck.kg.relation_vectors import RelationVectors, relation_texts
from triplecheck.kg.vectors import VectorIndex
from triplecheck.kg.vocabulary import Vocabulary
from triplecheck.kg.words import common_words

_PROPERTIES = frozenset(Vocabulary().properties)
_DENSE_CANDIDATES, _LEAST_COSINE = 10, 0.6
_AVERAGED = 5  # relations whose fit to a question is averaged
# For parts of names: minimum share of trigrams that a name shares with the text, minimum similarity of a misspelt
# word, and minimum length of a word that may be misspelt.
_LEAST_OVERLAP, _LEAST_SPELLING, _SHORTEST_MISSPELT = 0.4, 0.75, 4
# Cost per share of wrong letters; a part of a name counts as much as a whole name with two typing errors in fifteen
# letters, almost independent of the length of the rest.
_MISSPELT_COST, _PART_OF_NAME, _LENGTH_MATTERS = 2.5, 0.64, 0.03
# From this fit on, no looser candidates are searched.
_SURE = 0.75
_LONGEST_PART = 100  # characters
# Words of relation names that say nothing by themselves.
_SMALL = CONNECTORS | {"has", "have", "is", "are", "be"}
_LANGUAGES = 4  # whose base forms of relation names are kept
_SOURCE_WEIGHT = {"label": 1.0, "alias": 0.97, "value": 0.9}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that a text may refer to.

    Attributes:
        node, id, label: the node.
        source: how it was found: label, alias, value, typo, partial or dense.
        lexical: fit of its name to the text, 0 to 1.
        grounding: fit of its relations to the question (mean cosine of the best), or 0.
        popularity: log(1 + degree), scaled to 0..1.
        score: rank score, higher is better.
    """

    node: int
    id: str
    label: str
    source: str
    lexical: float
    grounding: float = 0.0
    popularity: float = 0.0
    score: float = 0.0

    @property
    def is_named(self) -> bool:
        """Whether the text is its label or one of its aliases."""
        return self.source in ("label", "alias")

    @property
    def is_exact(self) -> bool:
        """Whether the text is its label, one of its aliases or, of a literal, its value."""
        return self.source in SOURCES


class Linker(Protocol):
    """Finds the entities of a question."""

    def mentions(self, question: ReadText) -> list[Mention]:
        """Parts of the question that name something in the graph, most salient first.

        `language.pipeline.read_text` reads a question.
        """
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
        """Nodes that a text or a mention may refer to, best first, grounded in the question if one is given."""
        ...


class GraphLinker:
    """Links text to one graph through its name indices.

    Args:
        trigrams: None for exact linking only.
        relations: None for no grounding.
        name_vectors: vectors of the entity labels (row = node), or None for no dense candidates.
    """

    def __init__(
        self,
        graph: Graph,
        names: NameIndex,
        trigrams: TrigramIndex | None = None,
        relations: RelationVectors | None = None,
        name_vectors: VectorIndex | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._graph, self._names, self._trigrams = graph, names, trigrams
        self._relations, self._name_vectors, self._encoder = relations, name_vectors, encoder
        words = (word for text in _relation_texts(graph) for word in text.lower().split())
        self._detector = MentionDetector(names, trigrams, frozenset(words))
        self._relation_names = functools.lru_cache(_LANGUAGES)(self._named_relations)

    def _named_relations(self, base_form: Callable[[str], str]) -> frozenset[str]:
        return frozenset(_content(text, base_form) for text in _relation_texts(self._graph)) - {""}

    def mentions(self, question: ReadText) -> list[Mention]:
        """Parts of the question that name something in the graph, most salient first.

        A common noun that names a relation ("the antonym of happy") is none where something else is mentioned, or where
        the relation itself is all that it names, in a graph with an ontology.
        """
        found = [self._narrowed(mention, question) for mention in self._detector.detect(question)]
        base_form = question.base_form

        def names_relation(text: str) -> bool:
            return not text[:1].isupper() and _content(text, base_form) in self._relation_names(base_form)

        found = [one for one in found if not (names_relation(one.text) and self._is_relation(one))]
        others = [mention for mention in found if not mention.forms or not names_relation(mention.text)]
        return others if any(mention.forms for mention in others) else found

    def _is_relation(self, mention: Mention) -> bool:
        """Whether a mention names only relations: nodes that an ontology declares as such, and that the graph uses."""
        graph, nodes = self._graph, {named.node for form in mention.forms for named in self._names.nodes(form)}
        return bool(nodes) and all(
            graph.find_relation(graph.node_id(node)) is not None and not _PROPERTIES.isdisjoint(graph.types(node))
            for node in nodes
        )

    def _narrowed(self, mention: Mention, question: ReadText) -> Mention:
        """A mention that no name has, or the longest part of it, of two words or more, that is a part of a name:
        "dorrin & pell" of "dorrin & pell build" for Dorrin & Pell Ltd."""
        tokens = [token for token in question.tokens if mention.start <= token.start < mention.end]
        if mention.forms or not any(token.lower in common_words() for token in (*tokens[:1], *tokens[-1:])):
            return mention
        if self._trigrams is None or self._is_part_of_name(mention.text):
            return mention
        for size in range(len(tokens) - 1, 1, -1):
            for start in range(len(tokens) - size + 1):
                first, last = tokens[start], tokens[start + size - 1]
                text = question.text[first.start : last.end]
                rest = (*tokens[:start], *tokens[start + size :])
                is_rest_ordinary = all(token.lower in common_words() for token in rest)
                if is_rest_ordinary and not (first.is_stop or last.is_stop) and self._is_part_of_name(text):
                    return replace(mention, text=text, start=first.start, end=last.end)
        return mention

    def _is_part_of_name(self, text: str) -> bool:
        """Whether a name has all words of a text, of which there are several."""
        form = normalize(text)
        words = set(form.split())
        assert self._trigrams is not None
        return len(words) > 1 and any(
            words <= set(name.split()) for _, name in self._trigrams.overlapping(form, _LEAST_OVERLAP)
        )

    def candidates(
        self,
        text: str | Mention,
        question: str | None = None,
        limit: int = 10,
        *,
        top_k: int | None = None,
        union: bool = False,
    ) -> list[Candidate]:
        """Nodes that the text may refer to, best first.

        Args:
            text: a mention from `mentions`, whose names are known, or any text.
            question: candidates are grounded in it, if given.
            limit: maximum number; all homonyms are scored before the cut.
            top_k: number of relations averaged by grounding (k in AnchorRAG's Score(e, q)); default: 5.
            union: AnchorRAG's candidates: exact and misspelt names, and the ten names of most similar meaning. Parts
                of names are added only if there is none of these; without `union`, if nothing fits well.
        """
        if isinstance(text, Mention) and text.forms:
            written, found = normalize(text.text), self._of_mention(text)
        else:
            found = {}
            said = text.text if isinstance(text, Mention) else text
            forms = [written := normalize(said), *map(normalize, respelt(said))]
            known = next((one for one in forms if one in self._names), written)
            for named in self._names.nodes(known):
                self._keep(found, named, named.source, _SOURCE_WEIGHT[named.source])
        if union or not found:
            self._add_similar(written, found)
        is_unsure = max((c.lexical for c in found.values()), default=0.0) < _SURE
        if union or is_unsure:
            self._add_dense(written, found)
        if not found or (is_unsure and not union):
            self._add_partial(written, found)
        return self.ground(list(found.values()), question, top_k, even_alone=union)[:limit]

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
                if not may_be_misspelt(form, similar.form):
                    continue
                for named in self._names.nodes_of(similar.number):
                    self._keep(found, named, "typo", spelling_fit(similar.similarity) * _SOURCE_WEIGHT[named.source])

    def _add_partial(self, form: str, found: dict[int, Candidate]) -> None:
        """Names that contain the text."""
        if self._trigrams is not None and len(form) <= _LONGEST_PART:
            for named, fit in self._partial(form):
                if not form.isdigit() or self._has_number(named, form):
                    self._keep(found, named, "partial", _PART_OF_NAME * fit * _SOURCE_WEIGHT[named.source])

    def _add_dense(self, form: str, found: dict[int, Candidate]) -> None:
        """Names that are similar in meaning."""
        if self._name_vectors is not None and self._encoder is not None:
            rows, cosines = self._name_vectors.search(self._encoder.encode([form])[0], _DENSE_CANDIDATES)
            for node, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
                if cosine >= _LEAST_COSINE:
                    self._keep(found, NamedNode(node, "label"), "dense", 0.8 * cosine)

    def _has_number(self, named: NamedNode, form: str) -> bool:
        """Whether a number is a word of a name, 747 of Boeing 747, and not the year of a day or the 10 of S-10."""
        return named.source != "value" and form in self._graph.label(named.node).split()

    def _partial(self, form: str) -> list[tuple[NamedNode, float]]:
        """Names that contain all words of the text ("Obama"), or are contained in it, with the fit of each.

        If a name has all words and a legal form besides, such names alone. If there are none, names that contain all
        words of the text misspelt ("Obana").
        """
        assert self._trigrams is not None
        words = set(form.split())
        firms, whole, misspelt = [], [], []
        for number, name in self._trigrams.overlapping(form, _LEAST_OVERLAP):
            other = set(name.split())
            share = _LENGTH_MATTERS * min(len(name), len(form)) / max(len(name), len(form)) + 1 - _LENGTH_MATTERS
            if words <= other or (other <= words and len(name) > 3):
                whole.append((number, share))
                if words < other and other - words <= LEGAL_FORMS:
                    firms.append((number, share))
            elif (spelling := _least_similarity(words, other)) >= _LEAST_SPELLING:
                misspelt.append((number, share * spelling_fit(spelling)))
        return [(named, fit) for number, fit in firms or whole or misspelt for named in self._names.nodes_of(number)]

    def _keep(self, found: dict[int, Candidate], named: NamedNode, source: str, lexical: float) -> None:
        known = found.get(named.node)
        if known is None or known.lexical < lexical:
            found[named.node] = Candidate(named.node, "", "", source, lexical)

    def ground(
        self,
        candidates: Sequence[Candidate],
        question: str | None,
        top_k: int | None = None,
        *,
        even_alone: bool = False,
    ) -> list[Candidate]:
        """Rank candidates by name, fit of their relations to the question, and popularity.

        Score(e, q) = mean of the top-k cosines between the question and the relations of e
        (AnchorRAG, section 3.3, Eq. 1 and 2), added to the lexical score so that it decides between similar names.

        Args:
            candidates: of one text.
            question: what their relations are compared with, if given.
            top_k: number of relations averaged; default: 5.
            even_alone: also score a single candidate, which is compared with those of other texts.
        """
        scores = None
        if self._relations is not None and question and len(candidates) > (0 if even_alone else 1):
            scores = self._relations.against(question)
        ranked = []
        for candidate in candidates:
            node = candidate.node
            grounding = 0.0
            if scores is not None:
                seen = np.array([c.relation for c in self._graph.relations_of(node)], np.int64)
                if len(seen):
                    best = np.sort(scores[seen])[::-1][: top_k or _AVERAGED]
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
    """`Candidate.lexical` of a name by its `names.similarity`: each further typing error makes it much less likely."""
    return max(0.05, 1 - _MISSPELT_COST * (1 - similarity))


def _least_similarity(words: set[str], name: set[str]) -> float:
    """Similarity of the worst matching word of a text to its best match in a name; 0 if below the minimum.

    Short words, and those with digits, must match exactly.
    """
    least = 1.0
    for word in words:
        if word not in name:
            exactly = len(word) < _SHORTEST_MISSPELT or any(map(str.isdigit, word))
            others = () if exactly else (other for other in name if len(other) >= _SHORTEST_MISSPELT)
            least = min(least, max((similarity(word, other, _LEAST_SPELLING) for other in others), default=0.0))
            if least == 0.0:
                break
    return least


def _content(text: str, base_form: Callable[[str], str]) -> str:
    """The base forms of the words of a relation, without small words: "has parts" and "part of" -> "part"."""
    return " ".join(base_form(word) for word in normalize(text).split() if word not in _SMALL)


def _relation_texts(graph: Graph) -> Iterator[str]:
    for number in range(graph.num_relations):
        yield from relation_texts(graph.relation(number))
