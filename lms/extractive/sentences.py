"""Splits passages into sentences, and extracts names, dates, numbers, phrases and triples by rules. English only."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.language.names import find_names
from triplecheck.language.pipeline import Token, pipeline
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import TripleTexts, write_triple

_TITLE = re.compile(r"^([^:.!?\n]{1,80}(?:\.[^:.!?\n]{1,40})*): (?=\S)")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th)?|[^\W\d_](?:[\w’'&.-]*\w)?\.?|[^\w\s]")
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} (?:{_MONTH}),? \d{{3,4}}|(?:{_MONTH}) \d{{1,2}}, ?\d{{3,4}}|(?:{_MONTH}) \d{{3,4}}"
    rf"|1\d{{3}}|20\d{{2}})\b"
)
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?: (?:hundred|thousand|million|billion))?(?![\w])")
# Parts of speech of a phrase that may be an answer; without a trained pipeline a token has none.
_CONTENT = frozenset(("", "ADJ", "NOUN", "PROPN", "X"))


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a sentence: its text, its characters [start, end), and whether it is a name, date, number or phrase."""

    text: str
    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, the title of the passage that it is from (empty where it has none), and whether it is its first."""

    text: str
    title: str
    leads: bool = False


def passage_sentences(passage: str, language: str) -> list[Sentence]:
    """The sentences of a passage written "Title: text" or without a title."""
    match = _TITLE.match(passage)
    title, body = (match[1], passage[match.end() :]) if match else ("", passage)
    return [Sentence(text, title, at == 0) for at, text in enumerate(pipeline(language).sentences(body))]


def salient_spans(sentence: str, language: str) -> list[Span]:
    """Names, dates and numbers of a sentence in order, without overlaps."""
    found = [Span(m.group(), m.start(), m.end(), "date") for m in _DATE.finditer(sentence)]
    found += _apart(found, (Span(name.text, name.start, name.end, "name") for name in find_names(sentence, language)))
    numbers = (Span(m.group(), m.start(), m.end(), "number") for m in _NUMBER.finditer(sentence))
    found += _apart(found, numbers)
    return sorted(found, key=lambda span: span.start)


def phrase_spans(sentence: str, language: str) -> list[Span]:
    """Runs of at most four content words, one of them in lower case, and the last word of each."""
    found = []
    for run in _runs(pipeline(language).parse(sentence)):
        start, end = run[0].start, run[-1].end
        found.append(Span(sentence[start:end], start, end, "phrase"))
        if len(run) > 1:
            found.append(Span(run[-1].text, run[-1].start, end, "phrase"))
    return found


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [token.lower().rstrip(".") for token in _TOKEN.findall(text) if token[0].isalnum()]


def _runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    run: list[Token] = []
    for token in tokens:
        content = token.text[0].isalpha() and not token.is_stop and token.pos in _CONTENT
        if content and len(run) < 4 and (token.text[0].islower() or not run):
            run.append(token)
            continue
        if any(word.text[0].islower() for word in run):
            yield run
        run = [token] if content else []
    if any(word.text[0].islower() for word in run):
        yield run


def _apart(taken: Sequence[Span], spans: Iterator[Span] | Sequence[Span]) -> list[Span]:
    return [span for span in spans if all(span.end <= other.start or span.start >= other.end for other in taken)]


_MOST = 8  # statements of one text
_LONGEST_RELATION = 6  # words
_PRONOUN = re.compile(r"^(?:He|She|It|They)\b(?!['’])")
_POSSESSIVE = re.compile(r"^(?:His|Her|Its|Their)\b")
_BRACKETS = re.compile(r"(?:(?<!\s)\s++)?\(([^()]*)\)")
_BORN = re.compile(r"^\s*(?:\S+[;,] )?born\b")
_IS = re.compile(r"\b(is|was|are|were) (?:an?|the|one of the) ([^,.;()]+)")
_OF = re.compile(r"^((?:[\w'’-]+ ){0,4}?[\w'’-]+) (of|in|for|by) (?:the )?(?=[^\W\d_a-z])")
_TAIL_END = re.compile(r"(?<!\s)\s++(?:who|that|which|and|where|whose|when|but|from|at|on|with|to|as)\b(?s:.*)")
_TRAILING_ARTICLE = re.compile(r"(?<!\s)\s++(?:an?|the|its|his|her|their)$")
_BETWEEN = re.compile(rf"^(?:[a-z'’-]+\s+){{0,{_LONGEST_RELATION - 1}}}[a-z'’-]+$")
_POSSESSED = re.compile(r"^['’]s (.+?) (?:is|was|are|were)$")
_THE_OF = re.compile(r"\b[Tt]he ((?:[\w'’-]+ ){0,3}?[\w'’-]+) of (?:the )?$")
_COPULA = re.compile(r"^\s+(?:is|was|are|were)\s+(?:the\s+)?$")
_LEADING = re.compile(r"^(?:who|which|that|and|also|later|then|first|he|she|it|they)\s+")
# No relations by themselves; copulas are handled separately.
_NO_RELATION = re.compile(
    r"^(?:and|or|but|the|an?|s|of|in|on|at|by|to|for|from|with|as|is|was|are|were|(?:is|was|are|were) (?:an?|the)\b.*)$"
)
_CLAUSE = re.compile(r",\s+(?:who|which)\b")
_NEW_CLAUSE = re.compile(r"^,?\s*(?:and|but|while|where|when)\b")


def extract_triples(prompt: Prompt) -> dict[str, object]:
    """The triples of the texts, each with the number of its text."""
    return {"triples": triple_lines(prompt.items("texts"), None, prompt.language)}


def triple_lines(texts: list[str], numbers: set[int] | None, language: str) -> list[str]:
    """The triples of some texts as numbered lines; of all texts if `numbers` is None."""
    chosen = ((number, text) for number, text in enumerate(texts, 1) if numbers is None or number in numbers)
    return [write_triple(parts, number) for number, text in chosen for parts in statements(text, language)]


def statements(text: str, language: str) -> list[TripleTexts]:
    """The triples of a text, in order, without duplicates."""
    found: dict[TripleTexts, None] = {}
    subject = ""
    for sentence in passage_sentences(text, language):
        about = subject or sentence.title
        plain = sentence.text
        if about:
            plain = _PRONOUN.sub(about, plain)
            plain = _POSSESSIVE.sub(f"{about}'s", plain)
        spans = salient_spans(_BRACKETS.sub("", plain), language)
        if spans and spans[0].kind == "name" and spans[0].start < 5:
            subject = spans[0].text
        for statement in _of_sentence(plain, sentence.title or subject, language):
            if all(part and "|" not in part for part in statement) and statement[0] != statement[2]:
                found[statement] = None
    return list(found)[:_MOST]


def _of_sentence(sentence: str, title: str, language: str) -> list[TripleTexts]:
    found: list[TripleTexts] = []
    for inside in _BRACKETS.findall(sentence):
        if title and _BORN.match(inside):
            for span in salient_spans(inside, language):
                found.append((title, "born in" if span.kind == "name" else "born", span.text))
    plain = _BRACKETS.sub("", sentence)
    spans = salient_spans(plain, language)
    found += _what_it_is(plain, spans)
    for first, second in itertools.pairwise(spans):
        between = plain[first.end : second.start]
        relation = _relation(between)
        if between.startswith(",") and _CLAUSE.search(plain[: first.start]):
            first = spans[0]  # the relative clause ended
        if first.kind == "name" and relation and not _NO_RELATION.match(relation) and not _NEW_CLAUSE.match(between):
            found.append((first.text, relation, second.text))
        owner = _THE_OF.search(plain[: first.start])
        if first.kind == "name" and owner and _COPULA.match(between):
            found.append((first.text, owner[1], second.text))
    if spans and spans[0].kind == "name":
        found += _of_subject(plain, spans)
    return found


def _of_subject(sentence: str, spans: list[Span]) -> list[TripleTexts]:
    """Further objects of the subject's verbs: "was born in X and died in Y"."""
    subject = spans[0]
    found = []
    for at in range(1, len(spans) - 1):
        between = sentence[spans[at].end : spans[at + 1].start].strip()
        match = re.match(r"^,?\s*+and\s++(.+)$", between) or re.match(r"^((?:on|in|at)\b.*)$", between)
        relation = _relation(match[1]) if match else ""
        if match and relation:
            verb = _relation(sentence[subject.end : spans[1].start]) if relation in ("on", "in", "at") else ""
            base = re.sub(r"(?<!\s)\s++(?:on|in|at|by|for|of|to)$", "", verb)
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
    """The words between two names if they can be a relation, without trailing articles."""
    text = _LEADING.sub("", between.strip(" ,"))
    text = _TRAILING_ARTICLE.sub("", f" {text}").strip()
    text = _POSSESSED.sub(r"\1", text)
    if not text or "," in between.strip(" ,") or not _BETWEEN.match(text):
        return ""
    return text
