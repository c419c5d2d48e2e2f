"""The notation of plans: SPARQL's SELECT and ASK, in which a label may stand in angle brackets.

    SELECT ?boat { ?boat a <boat> ; <owned by> <Nordhav> ; <crew> ?n . FILTER(?n >= 18) }

A label may have spaces; one with characters that SPARQL reads otherwise is percent-encoded (`write_label`). Ids, full
IRIs and prefixed names stand as in SPARQL. `<` and `>` remain comparisons where no label can be meant.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from triplecheck.kg.errors import PlanError
from triplecheck.kg.plans.short import without_notes, written_out
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.vocabulary import RDF, RDFS

FORM = "a query is SPARQL, such as SELECT ?boat { ?boat <owned by> <Nordhav> }"

_NAME = "urn:triplecheck:name:"
_KEPT = (XSD, RDF, RDFS)
_PLAIN = re.compile(r"[^\W_](?:[\w .,:;/#@!*+~=&|()\[\]'-]*[\w.,:;/#@!*+~()\[\]'-])?")
_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')'''
    r"""|(?P<comment>\#[^\n]*)"""
    r"""|(?P<name><[^<>"{}?$^`\\\n\r\t]+>)""",
    re.DOTALL,
)
_LONGEST, _DEEPEST = 20_000, 32
_PROLOGUE = re.compile(r"\s*(?:(?:PREFIX\s+[\w.-]*:|BASE)\s+<[^<>]*>\s*)*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")
_UPDATES = frozenset("INSERT DELETE LOAD CLEAR DROP CREATE COPY MOVE ADD WITH UPDATE ALTER MERGE SET REMOVE".split())
_ELSEWHERE = re.compile(r"(?<![\w:?$-])(SERVICE|FROM|GRAPH)(?![\w:-])", re.IGNORECASE)
_SQL = re.compile(r"\s*SELECT\b[^{?$]*\bFROM\b", re.IGNORECASE)
_BARE_AGGREGATE = re.compile(r"\bSELECT\s+(?:DISTINCT\s+)?(?:[?$]\w+\s+)*(COUNT|SUM|AVG|MIN|MAX)\s*\(", re.IGNORECASE)


def write_label(label: str) -> str:
    """A label or id in angle brackets; reading it gives the same text, whatever its characters."""
    if _PLAIN.fullmatch(label) and _is_name(label):
        return f"<{label}>"
    is_iri = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", label)
    safe = ":/#?&=@!$'()*+,;~[]" if is_iri else ""
    return f"<{quote(label, safe=safe, errors='replace').replace('?', '%3F').replace('$', '%24')}>"


_BARE = {XSD + "integer": re.compile(r"[+-]?\d+"), XSD + "decimal": re.compile(r"(?<!\d)[+-]?\d*+\.\d+")}
_BARE |= {XSD + "boolean": re.compile("true|false")}
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def write_value(value: Literal) -> str:
    """A value as SPARQL writes it."""
    bare = _BARE.get(value.datatype)
    if bare is not None and bare.fullmatch(value.lexical):
        return value.lexical
    quoted = f'"{value.lexical.translate(_ESCAPED)}"'
    short = value.datatype.removeprefix(XSD)
    kind = "" if short == "string" else f"^^xsd:{short}" if short.isalnum() else f"^^<{value.datatype}>"
    return quoted + kind


def _is_name(text: str) -> bool:
    """Whether text between `<` and `>` is a name, not the middle of two comparisons."""
    if text != text.strip() or text[0] == "=" or "&&" in text or "||" in text:
        return False
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def name_of(iri: str) -> str:
    """What was written between the brackets, or the IRI of a prefixed name; still percent-encoded if it was."""
    return unquote(iri.removeprefix(_NAME)) if iri.startswith(_NAME) else iri


def spellings(name: str) -> tuple[str, ...]:
    """The name as it is written, and without its percent encoding."""
    return tuple(dict.fromkeys((name, unquote(name))))


@dataclass(frozen=True)
class Encoded:
    """A query that rdflib can parse.

    Attributes:
        text: with every name as an IRI.
        masked: the original, with strings, comments and names blanked; of the same length.
        places: (start of a part in `text`, its start in the original), ascending.
    """

    text: str
    masked: str
    places: tuple[tuple[int, int], ...]

    def origin(self, at: int) -> int:
        """The place in the original of a place in `text`."""
        start, origin = max(place for place in self.places if place[0] <= at)
        return origin + at - start


def encode(text: str) -> Encoded:
    """Write every name of a query as an IRI."""
    done: list[str] = []
    masked: list[str] = []
    places = [(0, 0)]
    at = length = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match and match["name"] and not _is_name(match[0][1:-1]):
            match = None
        original = match[0] if match else text[at]
        piece = shown = " " if original == "\t" else original
        if match:
            shown = " " * len(original)
            if match["name"] and not original[1:-1].startswith(_KEPT) and "".join(done[-2:]) != "^^":
                piece = f"<{_NAME}{quote(original[1:-1], safe='', errors='replace')}>"
        done.append(piece)
        masked.append(shown)
        at += len(original)
        length += len(piece)
        if len(piece) != len(original):
            places.append((length, at))
    return Encoded("".join(done), "".join(masked), tuple(places))


def parse(text: str) -> tuple[str, Any]:
    """A query as SPARQL, with what the short notation leaves out, and its algebra as rdflib has it.

    Raises:
        PlanError: it is no query, cannot be read, writes, or reads from elsewhere.
    """
    # pyparsing takes a tenth of a second to load, and few commands need it.
    from pyparsing import ParseBaseException

    if len(text) > _LONGEST:
        raise PlanError(f"the query has {len(text):,} characters; the longest that is read has {_LONGEST:,}")
    _refuse(text, encode(without_notes(text)).masked)
    problem = ""
    for query in (text, written_out(text)):
        encoded = encode(query)
        try:
            return query, parsed(encoded.text).algebra
        except ParseBaseException as error:
            problem = problem or _unreadable(text, encoded, error.loc)
        except RecursionError:
            raise PlanError("the query is nested too deeply") from None
        except Exception as error:  # noqa: BLE001 - rdflib raises plain exceptions for prefixes and scopes
            problem = problem or f"cannot read the query: {_said(error)}; {FORM}"
    raise PlanError(problem)


_PARSING = threading.Lock()  # rdflib's parser is not thread-safe


def parsed(text: str) -> Any:
    """A query as rdflib translates it."""
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    with _PARSING:
        return translateQuery(parseQuery(text))


def _said(error: Exception) -> str:
    said = str(error).strip() or type(error).__name__
    return re.sub(rf"{_NAME}([^\s>'\"]*)", lambda match: unquote(match[1]), said)


def _refuse(text: str, masked: str) -> None:
    """Refuse what is no SELECT or ASK over the one graph."""
    prologue = _PROLOGUE.match(text)
    word = _WORD.match(text, prologue.end() if prologue else 0)
    start = word[0].upper() if word else ""
    if start in _UPDATES:
        raise PlanError(f"{start} writes, and a query only reads: it is a SELECT or an ASK")
    if start in ("CONSTRUCT", "DESCRIBE"):
        raise PlanError(f"{start} makes a graph; a query is a SELECT or an ASK")
    if start not in ("SELECT", "ASK"):
        shown = " ".join(text.split())[:40]
        raise PlanError(f"{shown!r} is no query: it begins with neither SELECT nor ASK; {FORM}")
    if _SQL.match(masked, prologue.end() if prologue else 0):
        raise PlanError(f"this is SQL; {FORM}")
    if elsewhere := _ELSEWHERE.search(masked):
        raise PlanError(f"{elsewhere[1].upper()} is not supported: a query reads the one graph of the knowledge base")
    if "{" not in masked:
        raise PlanError(f"the query has no pattern in braces; {FORM}")
    depth = deepest = 0
    for character in masked:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise PlanError(f"the query is nested {deepest} deep; the deepest that is read is {_DEEPEST}")


def _unreadable(text: str, encoded: Encoded, at: int) -> str:
    if bare := _BARE_AGGREGATE.search(encoded.masked):
        name = bare[1].upper()
        return f"cannot read the query: what SELECT computes is named, as in ({name}(?x) AS ?n)"
    for opened, closed in ("{}", "()"):
        missing = encoded.masked.count(opened) - encoded.masked.count(closed)
        if missing:
            few = closed if missing > 0 else opened
            return f"cannot read the query: {abs(missing)} {few} missing; {FORM}"
    rest = " ".join(text[encoded.origin(min(at, len(encoded.text))) :].split())
    return f"cannot read the query from {rest[:40]!r} on; {FORM}" if rest else f"the query ends too early; {FORM}"
