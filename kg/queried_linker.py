"""`QueriedLinker`: entity linking by names that a store is asked for; stores with an index use `GraphLinker`."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache

from triplecheck.kg.linking import Candidate, spelling_fit
from triplecheck.kg.mentions import CONNECTORS, Mention, MentionDetector, ReadText
from triplecheck.kg.names import composed, may_be_misspelt, normalize, respelt, similarity
from triplecheck.kg.queried import RemoteGraph, chunks

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


class QueriedLinker:
    """Implements `kg.linking.Linker` by queries for names. Thread-safe.

    All runs of words of a question are queried together: as written and with capitals. A name that is written
    differently is looked up in the server's text index, if there is one. All homonyms are returned, those with more
    edges first.
    """

    def __init__(self, graph: RemoteGraph) -> None:
        self._graph = graph
        self._known: LRUCache[str, _CachedName] = LRUCache(_REMEMBERED)
        self._lock = threading.Lock()

    def mentions(self, question: ReadText) -> list[Mention]:
        """Parts of the question that are names in the graph, most salient first."""
        words = list(_WORD.finditer(question.text))[:_MOST_WORDS]
        spans = [
            question.text[first.start() : last.end()]
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
        """(source, fit) of the nodes that the text index finds, by node."""
        if len(form) > _LONGEST_TEXT or not _WORD.search(written):
            return {}
        fits: dict[int, tuple[str, float]] = {}
        for name, node in self._graph.nodes_like(written, _MOST_SIMILAR):
            fit = _fit(form, normalize(name))
            if fit[1] > fits.get(node, ("", 0.0))[1]:
                fits[node] = fit
        return fits

    def _look_up(self, texts: Iterable[str]) -> dict[str, dict[int, str]]:
        """Source (label or alias) by node, for each normalised text; texts are cached."""
        forms = {text: normalize(text) for text in texts}
        with self._lock:
            known = {form: self._known.get(form, _CachedName()) for form in forms.values()}
        new = [text for text, form in forms.items() if text not in known[form].looked_up]
        found: dict[str, dict[int, str]] = {form: dict(name.nodes) for form, name in known.items()}
        meant: dict[str, set[str]] = {}
        for text in new:
            for other in (text, *respelt(text)):
                meant.setdefault(normalize(other), set()).add(forms[text])
        for part in chunks(list(dict.fromkeys(v for text in new for v in _variants(text))), _TEXTS_PER_QUERY):
            for name, node, source in self._graph.nodes_named(part):
                for form in meant.get(normalize(name), ()):
                    nodes = found[form]
                    nodes[node] = source if source == "label" else nodes.get(node, source)
        with self._lock:
            for text in new:
                form = forms[text]
                before = self._known.get(form, _CachedName())
                self._known[form] = _CachedName(before.looked_up | {text}, {**before.nodes, **found[form]})
        return found


def _fit(form: str, name: str) -> tuple[str, float]:
    """How a name fits a text that it is not equal to: as a misspelling, or as a longer name with the same words."""
    same = similarity(form, name)
    if same >= _LEAST_SIMILARITY and may_be_misspelt(form, name):
        return "typo", spelling_fit(same)
    longer = min(len(form), len(name)) / max(len(form), len(name), 1)
    return "partial", _PARTIAL * (0.9 + 0.1 * longer)


def _variants(text: str) -> list[str]:
    """Spellings of a name in the graph: as given, first letter capital, words capitalised; with other characters."""
    text = composed(text)
    words = text.split(" ")
    title = [w if at and w in CONNECTORS else w[:1].upper() + w[1:] for at, w in enumerate(words)]
    variants = [text, text[:1].upper() + text[1:], " ".join(title), *respelt(text)]
    if not text.isascii():
        variants += [unicodedata.normalize("NFD", one) for one in variants]
    return [v for v in dict.fromkeys(variants) if not any("\ud800" <= c <= "\udfff" for c in v)]
