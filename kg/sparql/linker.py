"""`SparqlLinker`: entity linking by label and alias queries to a SPARQL endpoint."""

from __future__ import annotations

import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from triplecheck.kg.linking import Candidate
from triplecheck.kg.mentions import CONNECTORS, Mention, MentionDetector
from triplecheck.kg.names import normalize
from triplecheck.kg.sparql._lookup import chunks
from triplecheck.kg.sparql.client import SparqlClient
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.terms import TermKind, iri, literal
from triplecheck.kg.vocabulary import Vocabulary

_LONGEST_NAME = 8  # words
_MOST_WORDS = 80  # of a question; later words are not searched
_TEXTS_PER_QUERY = 100
_REMEMBERED = 4096  # names
_WORD = re.compile(r"\w+")
_WEIGHT = {"label": 1.0, "alias": 0.97}


@dataclass(frozen=True)
class _CachedName:
    """A cached normalised name: the spellings that were queried, and the source of each node of that name."""

    looked_up: frozenset[str] = frozenset()
    nodes: Mapping[int, str] = field(default_factory=dict)


class SparqlLinker:
    """Implements `kg.linking.Linker` by label and alias queries. Thread-safe.

    All runs of words of a question are queried together: as written and with capitals, without a language and in the
    language of the vocabulary. A store has no index of similar names, so misspelt names are not found. All homonyms
    are returned, those with more edges first.

    Args:
        graph: numbers the nodes.
        client: answers the queries; may be the client of the graph.
        vocabulary: predicates of labels and aliases.
    """

    def __init__(self, graph: SparqlGraph, client: SparqlClient, vocabulary: Vocabulary | None = None) -> None:
        self._graph = graph
        self._client = client
        self._words = vocabulary or Vocabulary()
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
        sources = self._look_up([written])[normalize(written)]
        found = []
        for node, source in sources.items():
            # Popularity only decides between several nodes.
            edges = self._graph.degree(node) if len(sources) > 1 else 0
            popularity, weight = min(1.0, math.log1p(edges) / 16), _WEIGHT[source]
            id, label = self._graph.node_id(node), self._graph.label(node)
            found.append(Candidate(node, id, label, source, weight, 0.0, popularity, weight + 0.1 * popularity))
        return sorted(found, key=lambda c: (-c.score, c.id))[:limit]

    def _look_up(self, texts: Iterable[str]) -> dict[str, dict[int, str]]:
        """Source (label or alias) by node, for each normalised text; texts are cached."""
        forms = {text: normalize(text) for text in texts}
        with self._lock:
            known = {form: self._known.get(form, _CachedName()) for form in forms.values()}
        new = [text for text, form in forms.items() if text not in known[form].looked_up]
        found: dict[str, dict[int, str]] = {form: dict(name.nodes) for form, name in known.items()}
        numbers: dict[str, int | None] = {}
        for part in chunks(list(dict.fromkeys(v for text in new for v in _variants(text))), _TEXTS_PER_QUERY):
            for row in self._client.select(self._query(part)):
                named, id = found.get(normalize(row["v"].value)), row["x"].value
                if named is None or row["x"].kind is not TermKind.IRI:
                    continue
                if id not in numbers:
                    numbers[id] = self._graph.find(id)
                node = numbers[id]
                if node is not None:  # not a class or a relation
                    is_label = row["p"].value in self._words.labels
                    named[node] = "label" if is_label else named.get(node, "alias")
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


def _variants(text: str) -> list[str]:
    """Spellings of a name in the graph: as given, first letter capital, words capitalised."""
    words = text.split(" ")
    title = [w if at and w in CONNECTORS else w[:1].upper() + w[1:] for at, w in enumerate(words)]
    variants = (text, text[:1].upper() + text[1:], " ".join(title))
    return [v for v in dict.fromkeys(variants) if not any("\ud800" <= c <= "\udfff" for c in v)]
