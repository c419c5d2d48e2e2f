"""`SparqlLinker`: entity linking by label and alias queries to a SPARQL endpoint."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from triplecheck.kg.linking import Candidate, spelling_fit
from triplecheck.kg.mentions import CONNECTORS, Mention, MentionDetector
from triplecheck.kg.names import normalize, similarity
from triplecheck.kg.sparql._lookup import chunks
from triplecheck.kg.sparql.client import Binding, QueryRefusedError, SparqlClient
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.profiles import PROFILES, Profile
from triplecheck.kg.sparql.terms import TermKind, iri, literal
from triplecheck.kg.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

_LONGEST_NAME = 8  # words
_MOST_WORDS = 80  # of a question; later words are not searched
_TEXTS_PER_QUERY = 100
_REMEMBERED = 4096  # names
_WORD = re.compile(r"\w+")
_MOST_SIMILAR = 50  # names from the text index
_LONGEST_TEXT = 100  # characters that are looked up in the text index
_LEAST_SIMILARITY, _PARTIAL = 0.78, 0.64
_WEIGHT = {"label": 1.0, "alias": 0.97}


@dataclass(frozen=True)
class _CachedName:
    """A cached normalised name: the spellings that were queried, and the source of each node of that name."""

    looked_up: frozenset[str] = frozenset()
    nodes: Mapping[int, str] = field(default_factory=dict)


class SparqlLinker:
    """Implements `kg.linking.Linker` by label and alias queries. Thread-safe.

    All runs of words of a question are queried together: as written and with capitals, without a language and in the
    language of the vocabulary. A name that is written differently is looked up in the server's text index, if the
    profile has one. All homonyms are returned, those with more edges first.

    Args:
        graph: numbers the nodes.
        client: answers the queries; may be the client of the graph.
        vocabulary: predicates of labels and aliases.
        profile: what is special about the server.
    """

    def __init__(
        self,
        graph: SparqlGraph,
        client: SparqlClient,
        vocabulary: Vocabulary | None = None,
        profile: Profile = PROFILES["general"],
    ) -> None:
        self._graph = graph
        self._client = client
        self._words = vocabulary or profile.vocabulary or Vocabulary()
        self._text_search = profile.text_search
        self._known: OrderedDict[str, _CachedName] = OrderedDict()
        self._lock = threading.Lock()

    def mentions(self, question: str) -> list[Mention]:
        """Parts of the question that are names in the graph, most salient first."""
        words = list(_WORD.finditer(question))[:_MOST_WORDS]
        spans = [
            question[first.start() : last.end()]
            for at, first in enumerate(words)
            for last in words[at : at + _LONGEST_NAME]
        ]
        found = self._look_up(dict.fromkeys(spans))
        detected = MentionDetector({form for form, named in found.items() if named}, None).detect(question)
        return [mention for mention in detected if mention.forms]  # for the others, parts would not be found either

    def candidates(
        self, text: str | Mention, question: str | None = None, limit: int = 10, **_: Any
    ) -> list[Candidate]:
        """Nodes of that name, best first; the other settings have no effect."""
        written = text.text if isinstance(text, Mention) else text
        form = normalize(written)
        fits = {node: (source, _WEIGHT[source]) for node, source in self._look_up([written])[form].items()}
        if not fits:
            fits = self._similar(written, form)
        nodes = list(fits)
        if len(nodes) > 1:
            self._graph.prefetch(nodes)
        found = []
        for node, label in zip(nodes, self._graph.labels(nodes), strict=True):
            source, fit = fits[node]
            # Popularity only decides between several nodes.
            edges = self._graph.degree(node) if len(nodes) > 1 else 0
            popularity = min(1.0, math.log1p(edges) / 16)
            id = self._graph.node_id(node)
            found.append(Candidate(node, id, label, source, fit, 0.0, popularity, fit + 0.1 * popularity))
        return sorted(found, key=lambda c: (-c.score, c.id))[:limit]

    def _similar(self, written: str, form: str) -> dict[int, tuple[str, float]]:
        """(source, fit) of the nodes that the server's text index finds, by node."""
        if self._text_search is None or len(form) > _LONGEST_TEXT or not _WORD.search(written):
            return {}
        try:
            rows = self._client.select(self._text_search(written, self._words, _MOST_SIMILAR))
        except QueryRefusedError as error:
            _log.warning("The text index is not used: %s", error)
            self._text_search = None
            return {}
        fits: dict[str, tuple[str, float]] = {}
        for row in rows:
            if row.get("x") is None or row["x"].kind is not TermKind.IRI or "v" not in row:
                continue
            id, fit = row["x"].value, _fit(form, normalize(row["v"].value))
            if fit[1] > fits.get(id, ("", 0.0))[1]:
                fits[id] = fit
        return {number: fits[id] for id, number in self._graph.find_entities(fits).items()}

    def _look_up(self, texts: Iterable[str]) -> dict[str, dict[int, str]]:
        """Source (label or alias) by node, for each normalised text; texts are cached."""
        forms = {text: normalize(text) for text in texts}
        with self._lock:
            known = {form: self._known.get(form, _CachedName()) for form in forms.values()}
        new = [text for text, form in forms.items() if text not in known[form].looked_up]
        found: dict[str, dict[int, str]] = {form: dict(name.nodes) for form, name in known.items()}
        rows: list[Binding] = []
        for part in chunks(list(dict.fromkeys(v for text in new for v in _variants(text))), _TEXTS_PER_QUERY):
            rows += [row for row in self._client.select(self._query(part)) if row["x"].kind is TermKind.IRI]
        named = [(row, found[form]) for row in rows if (form := normalize(row["v"].value)) in found]
        numbers = self._graph.find_entities(row["x"].value for row, _ in named)
        for row, nodes in named:
            node = numbers.get(row["x"].value)
            if node is not None:  # not a class or a relation
                nodes[node] = "label" if row["p"].value in self._words.labels else nodes.get(node, "alias")
        with self._lock:
            for text in new:
                form = forms[text]
                before = self._known.get(form, _CachedName())
                self._known[form] = _CachedName(before.looked_up | {text}, {**before.nodes, **found[form]})
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _query(self, texts: Iterable[str]) -> str:
        """Rows (?x, ?p, ?v) of everything with one of these names."""
        names = " ".join(f"{literal(t)} {literal(t, language=self._words.language)}" for t in texts)
        predicates = " ".join(iri(p) for p in self._words.labels + self._words.aliases)
        return f"SELECT DISTINCT ?x ?p ?v WHERE {{ VALUES ?v {{ {names} }} VALUES ?p {{ {predicates} }} ?x ?p ?v }}"


def _fit(form: str, name: str) -> tuple[str, float]:
    """How a name fits a text that it is not equal to: as a misspelling, or as a longer name with the same words."""
    same = similarity(form, name)
    if same >= _LEAST_SIMILARITY:
        return "typo", spelling_fit(same)
    longer = min(len(form), len(name)) / max(len(form), len(name), 1)
    return "partial", _PARTIAL * (0.9 + 0.1 * longer)


def _variants(text: str) -> list[str]:
    """Spellings of a name in the graph: as given, first letter capital, words capitalised."""
    words = text.split(" ")
    title = [w if at and w in CONNECTORS else w[:1].upper() + w[1:] for at, w in enumerate(words)]
    variants = (text, text[:1].upper() + text[1:], " ".join(title))
    return [v for v in dict.fromkeys(variants) if not any("\ud800" <= c <= "\udfff" for c in v)]
