"""Which predicates describe nodes instead of joining them: labels, aliases, descriptions, types.

The RDF reader and `SparqlGraph` share it, so that a file and an endpoint with the same triples give the same graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
FOAF = "http://xmlns.com/foaf/0.1/"
DCTERMS = "http://purl.org/dc/terms/"
DC = "http://purl.org/dc/elements/1.1/"
OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
SCHEMA = ("http://schema.org/", "https://schema.org/")

ENGLISH = "en"
"""The language where none is given."""
_SHOWN = 12  # tags of languages


def fallbacks(language: str) -> tuple[str, ...]:
    """A language tag and the shorter ones that it falls back to (RFC 4647, 3.4), in lower case.

    "zh-Hant-TW" -> "zh-hant-tw", "zh-hant", "zh". Of the name of a spaCy pipeline the first part is the tag.
    """
    parts = language.partition("_")[0].lower().split("-")
    # A single letter introduces what follows it, and is no tag without it.
    lengths = (length for length in range(len(parts), 0, -1) if length == len(parts) or len(parts[length - 1]) > 1)
    return tuple("-".join(parts[:length]) for length in lengths)


def missing_language(language: str, tags: Iterable[str]) -> list[str]:
    """The note that no text has a language, a variety of it or one that it falls back to, and which languages there
    are; none if there is one, or English was asked for."""
    wanted, there = fallbacks(language), sorted(tag for tag in tags if tag)
    if language == ENGLISH or not there or any(tag_rank(tag, wanted) < 2 * len(wanted) for tag in there):
        return []
    shown = ", ".join(there[:_SHOWN]) + (f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else "")
    return [f"no label, alias or description is tagged {language!r}; the tags there are: {shown} (--language TAG)"]


def tag_rank(language: str, tags: Sequence[str]) -> int:
    """How well a tag fits tags in order of preference: twice the place, and one more for a variety of it."""
    tag = language.lower().replace("_", "-")
    for place, wanted in enumerate(tags):
        if tag == wanted:
            return 2 * place
        if tag.startswith(wanted + "-"):
            return 2 * place + 1
    return 2 * len(tags)


@dataclass(frozen=True)
class Vocabulary:
    """Predicates that describe. None of them is an edge of the graph.

    Of several values that of the earlier predicate counts; see `best_first` for languages.

    Attributes:
        types: from an entity to its class.
        labels: its name; further names become aliases.
        aliases: its other names.
        descriptions: a sentence about it.
        domains, ranges: from a relation to the class of its heads, of its tails.
        classes: types whose members are classes.
        properties: types whose members are relations.
        axioms: from class to class and from relation to relation. Edges in a file that is about its schema (see
            `readers.rdf`), else left out, as are domains and ranges.
        ignored: predicates to leave out (page links).
        meta: where the IRIs of the schema languages begin; a type of theirs is not a class of the graph.
        language: preferred language tag, in any case; "en-US" falls back to "en". Texts without a tag rank equally.
    """

    types: tuple[str, ...] = (RDF + "type",)
    labels: tuple[str, ...] = (RDFS + "label", SKOS + "prefLabel", *(s + "name" for s in SCHEMA), FOAF + "name")
    labels += (DC + "title", DCTERMS + "title")
    aliases: tuple[str, ...] = (SKOS + "altLabel", *(s + "alternateName" for s in SCHEMA), SKOS + "hiddenLabel")
    aliases += (OBO_IN_OWL + "hasExactSynonym",)
    descriptions: tuple[str, ...] = (
        RDFS + "comment",
        *(s + "description" for s in SCHEMA),
        DCTERMS + "description",
        DC + "description",
        SKOS + "definition",
        OBO + "IAO_0000115",
    )
    domains: tuple[str, ...] = (RDFS + "domain", *(s + "domainIncludes" for s in SCHEMA))
    ranges: tuple[str, ...] = (RDFS + "range", *(s + "rangeIncludes" for s in SCHEMA))
    classes: tuple[str, ...] = (RDFS + "Class", OWL + "Class")
    properties: tuple[str, ...] = (
        RDF + "Property",
        OWL + "ObjectProperty",
        OWL + "DatatypeProperty",
        OWL + "AnnotationProperty",
        OWL + "SymmetricProperty",
    )
    axioms: tuple[str, ...] = (
        RDFS + "subClassOf",
        RDFS + "subPropertyOf",
        OWL + "inverseOf",
        OWL + "equivalentProperty",
    )
    ignored: tuple[str, ...] = (RDFS + "isDefinedBy",)
    meta: tuple[str, ...] = (RDF, RDFS, OWL)
    language: str = "en"

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The preferred tag and those that it falls back to, in lower case; see `fallbacks`."""
        return fallbacks(self.language)

    @cached_property
    def described(self) -> tuple[str, ...]:
        """Predicates that make their subject an entity even without edges."""
        return self.types + self.labels + self.aliases + self.descriptions

    @cached_property
    def not_edges(self) -> tuple[str, ...]:
        """All predicates that are not relations of the graph."""
        return self.described + self.domains + self.ranges + self.axioms + self.ignored

    def language_rank(self, language: str) -> int:
        """0 for no tag or the preferred one, 1 for a variety of it ("en-GB"), then its fallbacks, then others."""
        return tag_rank(language, self.tags) if language else 0

    def best_first(self, texts: Iterable[tuple[int, str, str]]) -> list[str]:
        """Texts in order of preference, without duplicates.

        Args:
            texts: (index of the predicate in its list, language tag or "", text).
        """
        order = sorted(texts, key=lambda t: (self.language_rank(t[1]), t[0], t[1], t[2]))
        return list(dict.fromkeys(text for _, _, text in order if text))
