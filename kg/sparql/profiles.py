"""`Profile`: what is special about a public graph or an engine, and how it is recognised."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from triplecheck.kg.sparql.terms import iri, literal
from triplecheck.kg.types import XSD
from triplecheck.kg.vocabulary import DCTERMS, FOAF, OWL, RDF, RDFS, SKOS, Vocabulary

WIKIDATA = "http://www.wikidata.org/"
DBPEDIA = "http://dbpedia.org/"
_DIRECT = WIKIDATA + "prop/direct/"
_WORDS = re.compile(r"\w+")
_PAGE_FACTS = "WikiLink ExternalLink ID RevisionID Length Redirects Disambiguates"

STATEMENTS = ("wikidata", "reification", "rdf-1.2")
"""Wikidata's qualifiers; statements with rdf:subject, rdf:predicate and rdf:object; and those with rdf:reifies."""

_GENERAL = Vocabulary()

TextSearch = Callable[[str, Vocabulary, int], str]
"""(text, vocabulary, limit) -> a query with rows (?x, ?p, ?v): nodes with a name like the text, ?p its predicate."""


@dataclass(frozen=True)
class Profile:
    """How one graph or engine is queried.

    Attributes:
        vocabulary: the predicates that describe.
        edges: prefixes of the predicates that are edges; empty: all that the vocabulary does not name.
        relations: a query with rows (?p) of all relations, where the general one takes too long.
        described_as: (prefix of a relation, prefix of the IRI with its label), where they differ.
        label_service: whether `SERVICE wikibase:label` gives labels in the best language in one request.
        statements: how statements about edges are written, one of `STATEMENTS`; empty: there are none.
        text_search: finds names in the server's text index; None: it has none that works without a configuration.
        literal_kinds: (datatype, language) of the values; None: asked of the server, over the whole store.
        counted: whether the server can count the whole graph within a query's limits.
        texts_apart: texts with a language are asked for apart from other values: Virtuoso 7 never answers a query that
            makes both one column by `IF`.
    """

    name: str
    vocabulary: Vocabulary = _GENERAL
    edges: tuple[str, ...] = ()
    relations: str | None = None
    described_as: tuple[str, str] | None = None
    label_service: bool = False
    statements: str = ""
    text_search: TextSearch | None = None
    literal_kinds: tuple[tuple[str, str], ...] | None = None
    counted: bool = True
    texts_apart: bool = False


def _predicates(words: Vocabulary) -> str:
    return f"VALUES ?p {{ {' '.join(iri(p) for p in words.labels + words.aliases)} }}"


def _virtuoso(text: str, words: Vocabulary, limit: int) -> str:
    """`bif:contains`; its argument has a syntax of its own, so only words are passed on."""
    terms = " AND ".join(f"'{word}'" for word in _WORDS.findall(text))
    return (
        f"SELECT DISTINCT ?x ?p ?v WHERE {{ {_predicates(words)} ?x ?p ?v . "
        f"?v <bif:contains> {literal(terms)} }} LIMIT {limit}"
    )


def _blazegraph(text: str, words: Vocabulary, limit: int) -> str:
    bds = "http://www.bigdata.com/rdf/search#"
    return (
        f'SELECT DISTINCT ?x ?p ?v WHERE {{ ?v <{bds}search> {literal(text)} ; <{bds}matchAllTerms> "true" ; '
        f"<{bds}maxRank> {limit} . {_predicates(words)} ?x ?p ?v }}"
    )


def _wikidata(text: str, words: Vocabulary, limit: int) -> str:
    """The search box of Wikidata; it knows labels and aliases, and beginnings of them."""
    return (
        "SELECT DISTINCT ?x ?p ?v WHERE { SERVICE <http://wikiba.se/ontology#mwapi> { "
        '<http://www.bigdata.com/rdf#serviceParam> <http://wikiba.se/ontology#endpoint> "www.wikidata.org" ; '
        '<http://wikiba.se/ontology#api> "EntitySearch" ; '
        f"<https://www.mediawiki.org/ontology#API/search> {literal(text)} ; "
        f"<https://www.mediawiki.org/ontology#API/language> {literal(words.language)} ; "
        f'<https://www.mediawiki.org/ontology#API/limit> "{min(limit, 50)}" . '
        "?x <http://wikiba.se/ontology#apiOutputItem> <https://www.mediawiki.org/ontology#API/item> . "
        "?v <http://wikiba.se/ontology#apiOutput> <https://www.mediawiki.org/ontology#API/label> } "
        f"BIND({iri(words.labels[0])} AS ?p) }}"
    )


def _fuseki(text: str, words: Vocabulary, limit: int) -> str:
    """Jena's text index, which a data set may have for `rdfs:label`."""
    terms = " AND ".join(_WORDS.findall(text))
    return (
        f"SELECT DISTINCT ?x ?p ?v WHERE {{ (?x ?score ?v) <http://jena.apache.org/text#query> "
        f"({iri(words.labels[0])} {literal(terms)} {limit}) BIND({iri(words.labels[0])} AS ?p) }}"
    )


def _graphdb(text: str, words: Vocabulary, limit: int) -> str:
    """GraphDB's simple full-text index (10.1 and later), which a repository may have."""
    terms = " AND ".join(_WORDS.findall(text))
    return (
        f'SELECT DISTINCT ?x ?p ?v WHERE {{ ?v <http://www.ontotext.com/fts> ({literal(terms)} "" {limit}) . '
        f"{_predicates(words)} ?x ?p ?v }}"
    )


_COMMON = (
    *((XSD + name, "") for name in ("string", "integer", "decimal", "double", "float", "date", "dateTime", "gYear")),
    (XSD + "string", "en"),
)

_WIKIDATA = Profile(
    "wikidata",
    vocabulary=Vocabulary(
        types=(_DIRECT + "P31",),
        labels=(RDFS + "label",),
        aliases=(SKOS + "altLabel",),
        descriptions=("http://schema.org/description",),
        domains=(),
        ranges=(),
        classes=(),
        properties=(),
        ignored=(),
    ),
    edges=(_DIRECT,),
    relations=(
        "SELECT ?p WHERE { ?property a <http://wikiba.se/ontology#Property> ; "
        "<http://wikiba.se/ontology#directClaim> ?p ; <http://wikiba.se/ontology#propertyType> ?type "
        "FILTER(?type != <http://wikiba.se/ontology#ExternalId>) }"
    ),
    described_as=(_DIRECT, WIKIDATA + "entity/"),
    statements="wikidata",
    literal_kinds=_COMMON,
    counted=False,
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("general"),
        replace(_WIKIDATA, label_service=True, text_search=_wikidata),
        replace(_WIKIDATA, name="wikidata-qlever"),
        Profile(
            "dbpedia",
            vocabulary=replace(
                _GENERAL,
                labels=(RDFS + "label", FOAF + "name"),
                aliases=(DBPEDIA + "ontology/alias", FOAF + "nick"),
                descriptions=(RDFS + "comment", DBPEDIA + "ontology/abstract"),
                ignored=(
                    *_GENERAL.ignored,
                    OWL + "sameAs",
                    OWL + "differentFrom",
                    DCTERMS + "subject",
                    FOAF + "isPrimaryTopicOf",
                    "http://purl.org/linguistics/gold/hypernym",
                    "http://www.w3.org/ns/prov#wasDerivedFrom",
                    *(f"{DBPEDIA}ontology/wikiPage{name}" for name in _PAGE_FACTS.split()),
                    DBPEDIA + "ontology/thumbnail",
                    DBPEDIA + "property/wikiPageUsesTemplate",
                ),
            ),
            edges=(DBPEDIA + "ontology/",),
            relations=f"SELECT ?p WHERE {{ ?p <{RDF}type> ?kind VALUES ?kind {{ <{OWL}ObjectProperty> "
            f"<{OWL}DatatypeProperty> }} FILTER(STRSTARTS(STR(?p), '{DBPEDIA}ontology/')) }}",
            text_search=_virtuoso,
            literal_kinds=_COMMON,
            counted=False,
            texts_apart=True,
        ),
        Profile("virtuoso", text_search=_virtuoso, texts_apart=True),
        Profile("blazegraph", text_search=_blazegraph),
        Profile("qlever"),
        Profile("oxigraph"),
        Profile("fuseki", text_search=_fuseki),
        Profile("graphdb", text_search=_graphdb),
    )
}

_BY_PLACE = (
    (re.compile(r"(^|\.)query\.wikidata\.org/|wikidata.*/bigdata/"), "wikidata"),
    (re.compile(r"qlever\..*/wikidata"), "wikidata-qlever"),
    (re.compile(r"(^|\.)dbpedia\.org/"), "dbpedia"),
    (re.compile(r"/(bigdata|blazegraph)/"), "blazegraph"),
    (re.compile(r"/repositories/[^/]+/?$"), "graphdb"),
    (re.compile(r"qlever"), "qlever"),
)
_TELLING = ("server", "x-powered-by", "fuseki-request-id", "via")
_BY_HEADER = (
    ("virtuoso", re.compile(r"virtuoso", re.I)),
    ("oxigraph", re.compile(r"oxigraph", re.I)),
    ("fuseki", re.compile(r"fuseki|jena", re.I)),
    ("graphdb", re.compile(r"graphdb", re.I)),
    ("qlever", re.compile(r"qlever", re.I)),
    ("blazegraph", re.compile(r"blazegraph|bigdata", re.I)),
)


def detect(url: str, headers: Mapping[str, str]) -> Profile:
    """The profile of an endpoint, `general` if nothing tells."""
    parts = urllib.parse.urlsplit(url)
    place = f"{parts.hostname or ''}{parts.path}"
    for pattern, name in _BY_PLACE:
        if pattern.search(place):
            return PROFILES[name]
    told = " ".join(f"{key}={value}" for key, value in headers.items() if key.lower() in _TELLING)
    return next((PROFILES[name] for name, pattern in _BY_HEADER if pattern.search(told)), PROFILES["general"])
