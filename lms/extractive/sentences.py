"""Splits passages into sentences, and extracts names, dates, numbers, phrases and triples by rules. English only."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.language.parse import stop_words
from triplecheck.language.sentences import split_sentences
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
# Lower-case words inside names.
_INSIDE_NAMES = frozenset("of the de del della di da du von van der den la le y e &".split())
# Verb forms in noun position; they are no names.
_VERBS = frozenset(
    "born known called named died located based situated considered released published best also".split()
)
# Words that begin sentences, not names, besides the stop words.
_OPENERS = frozenset(
    """after although among an another because before both but despite each following he her his however if it
    its later like many most one since several she some such their then there these they this those though through
    two under until upon when while with within according additionally also""".split()
)


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


def passage_sentences(passage: str) -> list[Sentence]:
    """The sentences of a passage written "Title: text" or without a title."""
    match = _TITLE.match(passage)
    title, body = (match[1], passage[match.end() :]) if match else ("", passage)
    return [Sentence(text, title, at == 0) for at, text in enumerate(split_sentences(body))]


def salient_spans(sentence: str) -> list[Span]:
    """Names, dates and numbers of a sentence in order, without overlaps."""
    found = [Span(m.group(), m.start(), m.end(), "date") for m in _DATE.finditer(sentence)]
    found += _apart(found, name_spans(sentence))
    numbers = (Span(m.group(), m.start(), m.end(), "number") for m in _NUMBER.finditer(sentence))
    found += _apart(found, numbers)
    return sorted(found, key=lambda span: span.start)


def name_spans(sentence: str) -> list[Span]:
    """Runs of capitalised words, with the small words inside them."""
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(sentence)]
    found = []
    at = 0
    while at < len(tokens):
        word, start, _ = tokens[at]
        opens = word[0].isupper() and not (_is_opener(word) and (at == 0 or not _goes_on(tokens, at)))
        if not opens:
            at += 1
            continue
        stop = at + 1
        while stop < len(tokens):
            ahead = stop
            while ahead < len(tokens) and tokens[ahead][0] in _INSIDE_NAMES:
                ahead += 1
            following = tokens[ahead][0] if ahead < len(tokens) else ""
            numbered = following[:1].isdigit() and ahead == stop and len(following) != 4  # four digits: a year
            if not following[:1].isupper() and not numbered:
                break
            stop = ahead + 1
        if at == 0 and _is_opener(word) and stop == at + 1:
            at = stop
            continue
        text = re.sub(r"(?:['’]s|['’])$", "", sentence[start : tokens[stop - 1][2]]).rstrip(".,")
        found.append(Span(text, start, start + len(text), "name"))
        at = stop
    return found


def phrase_spans(sentence: str) -> list[Span]:
    """Runs of content words in lower case, and the last word of each."""
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(sentence)]
    found = []
    for run in _runs(tokens):
        start, end = run[0][1], run[-1][2]
        found.append(Span(sentence[start:end].rstrip("."), start, end, "phrase"))
        if len(run) > 1:
            word, start, end = run[-1]
            found.append(Span(word.rstrip("."), start, end, "phrase"))
    return found


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [token.lower().rstrip(".") for token in _TOKEN.findall(text) if token[0].isalnum()]


def stem(word: str) -> str:
    """A crude stem: "directed" and "director" have the same one."""
    return word[: max(4, len(word) - 3)] if len(word) > 4 else word


def _runs(tokens: Sequence[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    run: list[tuple[str, int, int]] = []
    for token in tokens:
        word = token[0]
        content = word[0].isalpha() and word.lower() not in stop_words() | _VERBS
        if content and len(run) < 4 and (word[0].islower() or not run):
            run.append(token)
            continue
        if run and any(word[0].islower() for word, _, _ in run):
            yield run
        run = [token] if content else []
    if run and any(word[0].islower() for word, _, _ in run):
        yield run


def _apart(taken: Sequence[Span], spans: Iterator[Span] | Sequence[Span]) -> list[Span]:
    return [span for span in spans if all(span.end <= other.start or span.start >= other.end for other in taken)]


def _is_opener(word: str) -> bool:
    return word.lower() in _OPENERS or word.lower() in stop_words()


def _goes_on(tokens: Sequence[tuple[str, int, int]], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1][0][0].isupper()


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
    return {"triples": triple_lines(prompt.items("texts"), None)}


def triple_lines(texts: list[str], numbers: set[int] | None) -> list[str]:
    """The triples of some texts as numbered lines; of all texts if `numbers` is None."""
    chosen = ((number, text) for number, text in enumerate(texts, 1) if numbers is None or number in numbers)
    return [write_triple(parts, number) for number, text in chosen for parts in statements(text)]


def statements(text: str) -> list[TripleTexts]:
    """The triples of a text, in order, without duplicates."""
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
