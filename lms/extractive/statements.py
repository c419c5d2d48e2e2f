"""Triples out of sentences by rules: two names and the few words between them, and what something is.

Modest: it reads statements in the active or passive voice with their parts close together, "the R of A is B" and
"A's R is B", and resolves a pronoun at the beginning of a sentence to the title of the passage or the last subject.
English.
"""

from __future__ import annotations

import itertools
import re

from triplecheck.lms.extractive.sentences import Span, passage_sentences, salient_spans
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import TripleTexts, write_triple

_MOST = 8  # statements of one text
_LONGEST_RELATION = 6  # words
_PRONOUN = re.compile(r"^(?:He|She|It|They)\b(?!['’])")
_POSSESSIVE = re.compile(r"^(?:His|Her|Its|Their)\b")
_BRACKETS = re.compile(r"\s*\(([^()]*)\)")
_BORN = re.compile(r"^\s*(?:\S+[;,] )?born\b")
_IS = re.compile(r"\b(is|was|are|were) (?:an?|the|one of the) ([^,.;()]+)")
_OF = re.compile(r"^((?:[\w'’-]+ ){0,4}?[\w'’-]+) (of|in|for|by) (?:the )?(?=[^\W\d_a-z])")
_TAIL_END = re.compile(r"\s+(?:who|that|which|and|where|whose|when|but|from|at|on|with|to|as)\b.*$")
_ARTICLES = re.compile(r"\s+(?:an?|the|its|his|her|their)$")
_BETWEEN = re.compile(rf"^(?:[a-z'’-]+\s+){{0,{_LONGEST_RELATION - 1}}}[a-z'’-]+$")
_POSSESSED = re.compile(r"^['’]s (.+?) (?:is|was|are|were)$")
_THE_OF = re.compile(r"\b[Tt]he ((?:[\w'’-]+ ){0,3}?[\w'’-]+) of (?:the )?$")
_COPULA = re.compile(r"^\s+(?:is|was|are|were)\s+(?:the\s+)?$")
_LEADING = re.compile(r"^(?:who|which|that|and|also|later|then|first|he|she|it|they)\s+")
# Nothing by themselves, and what a pair of names with a copula between them says is read otherwise.
_NO_RELATION = re.compile(
    r"^(?:and|or|but|the|an?|s|of|in|on|at|by|to|for|from|with|as|is|was|are|were|(?:is|was|are|were) (?:an?|the)\b.*)$"
)
_CLAUSE = re.compile(r",\s+(?:who|which)\b")
_NEW_CLAUSE = re.compile(r"^,?\s*(?:and|but|while|where|when)\b")


def extract_triples(prompt: Prompt) -> dict[str, object]:
    """What the texts state, each line with the number of its text."""
    return {"triples": triple_lines(prompt.items("texts"), None)}


def triple_lines(texts: list[str], numbers: set[int] | None) -> list[str]:
    """Lines "number | head | relation | tail" of some texts, numbered from 1; of all for None."""
    chosen = ((number, text) for number, text in enumerate(texts, 1) if numbers is None or number in numbers)
    return [write_triple(parts, number) for number, text in chosen for parts in statements(text)]


def statements(text: str) -> list[TripleTexts]:
    """Head, relation and tail of what a text states, in order, each once."""
    found: dict[TripleTexts, None] = {}
    subject = ""
    for sentence in passage_sentences(text):
        about = subject or sentence.title
        plain = sentence.text
        if about:
            plain = _PRONOUN.sub(about, plain)
            plain = _POSSESSIVE.sub(f"{about}'s", plain)
        spans = salient_spans(_BRACKETS.sub("", plain))
        if spans and spans[0].kind == "name" and spans[0].start < 5:
            subject = spans[0].text
        for statement in _of_sentence(plain, sentence.title or subject):
            if all(part and "|" not in part for part in statement) and statement[0] != statement[2]:
                found[statement] = None
    return list(found)[:_MOST]


def _of_sentence(sentence: str, title: str) -> list[TripleTexts]:
    found: list[TripleTexts] = []
    for inside in _BRACKETS.findall(sentence):
        if title and _BORN.match(inside):
            for span in salient_spans(inside):
                found.append((title, "born in" if span.kind == "name" else "born", span.text))
    plain = _BRACKETS.sub("", sentence)
    spans = salient_spans(plain)
    found += _what_it_is(plain, spans)
    for first, second in itertools.pairwise(spans):
        between = plain[first.end : second.start]
        relation = _relation(between)
        if between.startswith(",") and _CLAUSE.search(plain[: first.start]):
            first = spans[0]  # the clause is over
        if first.kind == "name" and relation and not _NO_RELATION.match(relation) and not _NEW_CLAUSE.match(between):
            found.append((first.text, relation, second.text))
        owner = _THE_OF.search(plain[: first.start])
        if first.kind == "name" and owner and _COPULA.match(between):
            found.append((first.text, owner[1], second.text))
    if spans and spans[0].kind == "name":
        found += _of_subject(plain, spans)
    return found


def _of_subject(sentence: str, spans: list[Span]) -> list[TripleTexts]:
    """The verb of the subject with what stands after it, past a first object: "was born in X and died in Y"."""
    subject = spans[0]
    found = []
    for at in range(1, len(spans) - 1):
        between = sentence[spans[at].end : spans[at + 1].start].strip()
        match = re.match(r"^,?\s*and\s+(.+)$", between) or re.match(r"^((?:on|in|at)\b.*)$", between)
        relation = _relation(match[1]) if match else ""
        if match and relation:
            verb = _relation(sentence[subject.end : spans[1].start]) if relation in ("on", "in", "at") else ""
            base = re.sub(r"\s+(?:on|in|at|by|for|of|to)$", "", verb)
            whole = f"{base} {relation}".strip()
            if not _NO_RELATION.match(whole):
                found.append((subject.text, whole, spans[at + 1].text))
    return found


def _what_it_is(sentence: str, spans: list[Span]) -> list[TripleTexts]:
    match = _IS.search(sentence)
    subject = next((span for span in spans if match and span.end <= match.start() and span.kind == "name"), None)
    if match is None or subject is None:
        return []
    rest = match[2]
    of = _OF.match(rest)
    named = next((s for s in spans if s.start >= match.start(2) + (of.end() if of else 0) - 1), None)
    if of and named is not None and named.start < match.end():
        return [(subject.text, f"{of[1]} {of[2]}", named.text)]
    what = _TAIL_END.sub("", rest).strip()
    return [(subject.text, match[1], what)]


def _relation(between: str) -> str:
    """The words between two names if they make a relation, without articles at their end."""
    text = _LEADING.sub("", between.strip(" ,"))
    text = _ARTICLES.sub("", f" {text}").strip()
    text = _POSSESSED.sub(r"\1", text)
    if not text or "," in between.strip(" ,") or not _BETWEEN.match(text):
        return ""
    return text
