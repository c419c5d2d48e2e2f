"""Readable labels from identifiers, for graphs without labels; nouns without plural; counts on one line.

An IRI gives its local name, an identifier its words: `http://ex.org/birthPlace` -> "birth place",
`plays_in_club` -> "plays in club". A path of slashes and dots, as in Freebase
(`/film/film/starring./film/performance/actor`), gives the last word of each part: "starring actor".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from triplecheck.kg.types import XSD
from triplecheck.kg.vocabulary import OWL, RDF, RDFS, SKOS

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[_\s]+")
PLURAL = re.compile(r"(?<=\w)(?<!time)(?<!duration)\(e?s\)", re.IGNORECASE)
"""The mark of a plural, as in "Director(s)". In "lap time(s)" the (s) means seconds, so it is no such mark."""

STANDARD: dict[str, tuple[str, ...]] = {
    RDF + "type": ("instance of", "type"),
    RDFS + "subClassOf": ("subclass of", "superclass", "kind of"),
    RDFS + "subPropertyOf": ("subproperty of", "superproperty"),
    RDFS + "domain": ("domain", "property of"),
    RDFS + "range": ("range", "has values of"),
    RDFS + "seeAlso": ("see also",),
    OWL + "inverseOf": ("inverse of", "inverse"),
    OWL + "equivalentClass": ("equivalent class", "same class as"),
    OWL + "equivalentProperty": ("equivalent property", "same property as"),
    OWL + "disjointWith": ("disjoint with",),
    OWL + "sameAs": ("same as",),
    SKOS + "broader": ("broader", "broader concept", "kind of"),
    SKOS + "narrower": ("narrower", "narrower concept"),
    SKOS + "related": ("related", "related concept"),
    SKOS + "inScheme": ("in scheme",),
    SKOS + "topConceptOf": ("top concept of",),
    SKOS + "exactMatch": ("exact match", "same as"),
    **{
        f"{scheme}://schema.org/{name}": names
        for scheme in ("http", "https")
        for name, names in (
            ("domainIncludes", ("domain includes", "domain", "property of")),
            ("rangeIncludes", ("range includes", "range", "has values of")),
            ("inverseOf", ("inverse of", "inverse")),
        )
    },
}
"""Label and aliases of relations of the schema languages."""

_DATATYPES = {
    XSD + name: label
    for label, names in {
        "date and time": "dateTime dateTimeStamp",
        "year": "gYear",
        "month": "gMonth gYearMonth",
        "day": "gDay gMonthDay",
        "duration": "dayTimeDuration yearMonthDuration",
        "integer": "nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
        "unsignedLong unsignedInt unsignedShort unsignedByte",
        "string": "normalizedString NCName NMTOKEN",
        "address": "anyURI",
        "name": "QName",
        "binary": "hexBinary base64Binary",
    }.items()
    for name in names.split()
} | {RDF + "langString": "string"}
"""Labels of datatypes whose names are no plain words."""


def local_name(id: str) -> str:
    """The part of an IRI after the last `#`, `/` or `:`, percent-decoded; any other id unchanged."""
    if "://" not in id and not id.startswith("urn:"):
        return id
    tail = re.split(r"[#/:]", id.rstrip("#/:"))[-1]
    return unquote(tail)


def entity_label(id: str) -> str:
    """A label for an entity id: underscores become spaces, an IRI becomes its local name, `_:b0` becomes "b0"."""
    name = local_name(id.removeprefix("_:"))
    label = name if " " in name else name.replace("_", " ").strip()
    return label or id


def split_name(id: str, label: str) -> str | None:
    """The words of an IRI's local name that is also the label: "FoodEstablishment" -> "Food Establishment".

    None if the label is not the local name, or is one word.
    """
    if label != local_name(id) and label != entity_label(id):
        return None
    words = _JOINTS.sub(" ", _CAMEL.sub(" ", label)).strip()
    return words if words != label and " " in words else None


def class_label(id: str) -> str:
    """A label for a class id: that of an entity in words, "Food Stall" for `http://ex.org/FoodStall`; "year" for
    `xsd:gYear`."""
    label = entity_label(id)
    return _DATATYPES.get(id) or split_name(id, label) or label


def relation_label(id: str) -> str:
    """A label for a relation id: its words in lower case, repeated words once."""
    if id.startswith("/"):
        words = " ".join(part.rstrip("/").rsplit("/", 1)[-1] for part in id.split("."))
    else:
        words = local_name(id)
    return _distinct_words(words) or id


def relation_alias(id: str) -> str | None:
    """All words of a path-like relation id, for matching, including those of domain and range."""
    if not id.startswith("/") or id.count("/") < 3:
        return None
    words = _distinct_words(re.sub(r"[/.]", " ", id))
    return words if words != relation_label(id) else None


def _distinct_words(text: str) -> str:
    words = _JOINTS.sub(" ", _CAMEL.sub(" ", PLURAL.sub("", text))).replace("-", " ").strip().split()
    return " ".join(dict.fromkeys(w if w.isupper() and len(w) > 1 else w.lower() for w in words))


_OF_F = ("shelves", "halves", "leaves", "loaves", "wolves", "thieves", "scarves", "calves")


def singular(word: str) -> str:
    """A noun without the ending of an English plural."""
    if word.endswith(_OF_F):
        return word.removesuffix("ves") + "f"
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def counted(counts: Mapping[str, int]) -> str:
    """Names with their counts on one line: `one 3, two 1`."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
