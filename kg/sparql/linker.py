"""`SparqlLinker`: entity linking by label and alias queries to a SPARQL endpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.sparql.client import QueryRefusedError, bound
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.terms import TermKind, iri, literal

_log = logging.getLogger(__name__)


class SparqlLinker(QueriedLinker):
    """A linker by label and alias queries: names without a language and in the language of the vocabulary."""

    def __init__(self, graph: SparqlGraph) -> None:
        super().__init__(graph)
        self._endpoint, self._words = graph, graph.vocabulary
        self._text_search = graph.profile.text_search

    def _named(self, texts: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        rows = bound(self._endpoint.select(self._query(texts)), "x", "p", "v")
        rows = [row for row in rows if row["x"].kind is TermKind.IRI]
        numbers = self._endpoint.find_entities(row["x"].value for row in rows)
        for row in rows:
            node = numbers.get(row["x"].value)
            if node is not None:  # not a class or a relation
                yield row["v"].value, node, "label" if row["p"].value in self._words.labels else "alias"

    def _like(self, text: str, limit: int) -> Iterable[tuple[str, int]]:
        if self._text_search is None:
            return ()
        try:
            rows = self._endpoint.select(self._text_search(text, self._words, limit))
        except QueryRefusedError as error:
            _log.warning("The text index is not used: %s", error)
            self._text_search = None
            return ()
        named = [(row["v"].value, row["x"]) for row in bound(rows, "x", "v")]
        numbers = self._endpoint.find_entities(term.value for _, term in named if term.kind is TermKind.IRI)
        return [(name, numbers[term.value]) for name, term in named if term.value in numbers]

    def _query(self, texts: Iterable[str]) -> str:
        """Rows (?x, ?p, ?v) of everything with one of these names."""
        tags = dict.fromkeys((self._words.language, *self._words.tags))
        names = " ".join(name for t in texts for name in (literal(t), *(literal(t, language=tag) for tag in tags)))
        predicates = " ".join(iri(p) for p in self._words.labels + self._words.aliases)
        return f"SELECT DISTINCT ?x ?p ?v WHERE {{ VALUES ?v {{ {names} }} VALUES ?p {{ {predicates} }} ?x ?p ?v }}"
