"""RDF terms, and how they are escaped in a query so that no text can break out of its quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from triplecheck.kg.types import XSD

STRING = XSD + "string"

# Grammar rule IRIREF of SPARQL 1.1; surrogates cannot be encoded in UTF-8.
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_LANGUAGE = re.compile(r"[A-Za-z]+(-[A-Za-z0-9]+)*")
_SURROGATE = re.compile("[\ud800-\udfff]")
# In a backslash before a "u" the letter is escaped too: some engines replace \uXXXX before they parse quotes, so
# that "\\u0022" would end the string.
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"})
_BACKSLASH_U = re.compile(r"\\([uU])")


class TermKind(Enum):
    """The three kinds of RDF terms."""

    IRI = "iri"
    BLANK = "blank"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class Term:
    """An RDF term.

    Attributes:
        value: the IRI, the label of a blank node (without `_:`), or the lexical form.
        datatype: datatype IRI of a literal, `xsd:string` if it has a language.
        language: language tag of a literal.
    """

    kind: TermKind
    value: str
    datatype: str = ""
    language: str = ""


def is_iri(text: str) -> bool:
    """Whether the text is valid between `<` and `>` in a query."""
    return _IRI.fullmatch(text) is not None


def is_language(text: str) -> bool:
    """Whether the text is valid behind `@` in a query."""
    return _LANGUAGE.fullmatch(text) is not None


def iri(text: str) -> str:
    """`<text>`.

    Raises:
        ValueError: the text contains a character that is not allowed in an IRI.
    """
    if not is_iri(text):
        raise ValueError(f"not an IRI: {text!r}")
    return f"<{text}>"


def literal(lexical: str, datatype: str = STRING, language: str = "") -> str:
    """A quoted, escaped literal with its language or datatype.

    Raises:
        ValueError: a lone surrogate in the text, a datatype that is not an IRI, a malformed language tag.
    """
    if _SURROGATE.search(lexical):
        raise ValueError(f"not valid Unicode: {lexical!r}")
    pieces = _BACKSLASH_U.split(lexical)
    quoted = pieces[0].translate(_ESCAPED)
    for letter, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        quoted += f"\\\\\\U{ord(letter):08X}{rest.translate(_ESCAPED)}"
    if language:
        if not is_language(language):
            raise ValueError(f"not a language tag: {language!r}")
        return f'"{quoted}"@{language}'
    return f'"{quoted}"' if datatype == STRING else f'"{quoted}"^^{iri(datatype)}'


_NUMBER = r"[+-]?\d+"
_FORMS = {
    "integer": _NUMBER,
    "decimal": r"[+-]?(\d+\.?\d*|\.\d+)",
    "double": r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN",
    "boolean": "true|false|0|1",
    "date": r"-?\d{4,}-\d\d-\d\d(Z|[+-]\d\d:\d\d)?",
    "dateTime": r"-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d.*",
    "gYear": r"-?\d{4,}.*",
    "gYearMonth": r"-?\d{4,}-\d\d.*",
}
_FORMS |= {"float": _FORMS["double"]}
_FORMS |= {
    sign + size: _NUMBER for sign in ("", "unsigned") for size in ("int", "long", "short", "byte", "Int", "Long")
}


def may_be(lexical: str, datatype: str) -> bool:
    """Whether the text can be a value of the datatype; some engines refuse a query with one that cannot."""
    form = _FORMS.get(datatype.removeprefix(XSD)) if datatype.startswith(XSD) else None
    return form is None or re.fullmatch(form, lexical) is not None


def string_variants(lexical: str, languages: tuple[str, ...]) -> list[str]:
    """All terms that are one string in the graph: plain, typed, and in each language."""
    plain = literal(lexical)
    return [plain, f"{plain}^^{iri(STRING)}", *(literal(lexical, language=tag) for tag in languages)]
