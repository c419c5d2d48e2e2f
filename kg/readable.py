"""Readable labels from identifiers, for graphs without labels.

An IRI gives its local name, an identifier its words: `http://ex.org/birthPlace` -> "birth place",
`plays_in_club` -> "plays in club". A path of slashes and dots, as in Freebase
(`/film/film/starring./film/performance/actor`), gives the last word of each part: "starring actor".
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[_\s]+")


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
    words = _JOINTS.sub(" ", _CAMEL.sub(" ", text)).replace("-", " ").strip().split()
    return " ".join(dict.fromkeys(w if w.isupper() and len(w) > 1 else w.lower() for w in words))
