"""Parses a question: what it asks for, which words may name relations, what to compute.

English only, by closed lists of function words; the rest is left to sentence embeddings.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from triplecheck.kg.ranker import OTHER_TOPIC, OWN_TOPIC
from triplecheck.kg.words import common_words, nearest_word
from triplecheck.signatures.notation import WrittenTopic, read_topic, split_note

TOPIC = "§"

STOP_WORDS = frozenset(
    """a about also am an and any are as at be been being by can could did do does done during ever every for from
    get give go got had has have he her here him his how i in into is it its list me many much name of on one ones
    or other our please s same say she should show so some tell than that the their them then there these they
    this those to us was we were what when where which while who whom whose will with would you your""".split()
)
_KINDS = frozenset("kind kinds type types sort sorts form forms".split())
_WORD = re.compile(r"'s\b|[^\W_]+(?:\.[^\W_]+)*", re.UNICODE)

# What a question word asks for, as words of relations or types.
_ASKED = {
    ("where",): "place location",
    ("when",): "date year",
    ("how", "old"): "age date of birth",
    ("how", "tall"): "height",
    ("how", "high"): "height elevation",
    ("how", "long"): "length duration",
    ("how", "big"): "size area",
    ("how", "large"): "size area",
    ("how", "far"): "distance",
    ("how", "heavy"): "weight mass",
    ("how", "deep"): "depth",
    ("how", "fast"): "speed",
}
# Comparatives: (operation, what is compared); if empty, the noun beside it says what.
COMPARATIVES = {
    "older": ("min", "date of birth year founded"),
    "oldest": ("min", "date of birth year founded"),
    "younger": ("max", "date of birth year founded"),
    "youngest": ("max", "date of birth year founded"),
    "newer": ("max", "date year"),
    "newest": ("max", "date year"),
    "earlier": ("min", "date year"),
    "earliest": ("min", "date year"),
    "first": ("min", "date year"),
    "before": ("min", "date year"),
    "sooner": ("min", "date year"),
    "later": ("max", "date year"),
    "latest": ("max", "date year"),
    "last": ("max", "date year"),
    "after": ("max", "date year"),
    "recent": ("max", "date year"),
    "taller": ("max", "height"),
    "tallest": ("max", "height"),
    "higher": ("max", "height elevation"),
    "highest": ("max", "height elevation"),
    "lower": ("min", "height elevation"),
    "lowest": ("min", "height elevation"),
    "longer": ("max", "length duration running time"),
    "longest": ("max", "length duration running time"),
    "shorter": ("min", "length duration height"),
    "shortest": ("min", "length duration running time"),
    "bigger": ("max", "size area population"),
    "biggest": ("max", "size area population"),
    "larger": ("max", "size area population"),
    "largest": ("max", "size area population"),
    "smaller": ("min", "size area population"),
    "smallest": ("min", "size area population"),
    "heavier": ("max", "weight mass"),
    "heaviest": ("max", "weight mass"),
    "lighter": ("min", "weight mass"),
    "lightest": ("min", "weight mass"),
    "wider": ("max", "width diameter"),
    "widest": ("max", "width diameter"),
    "populous": ("max", "population"),
    "more": ("max", ""),
    "most": ("max", ""),
    "greater": ("max", ""),
    "greatest": ("max", ""),
    "fewer": ("min", ""),
    "fewest": ("min", ""),
    "less": ("min", ""),
    "least": ("min", ""),
}
# What a question with no content words but its topic asks for: "who is X", "what did X do".
_IMPLIED = {"who": "occupation profession", "do": "occupation profession", "did": "occupation profession"}
_FIRST_DONE = re.compile(r"^(?:\w+ed|given|shown|held|seen|sung|sold|run|met|name|names|lady)$")
_PEOPLE = frozenset("people inhabitants residents citizens".split())
_AUXILIARIES = frozenset("is are was were do does did has have had can could will would".split())
_QUESTION_WORDS = frozenset("who whom whose what which when where how why".split())


@dataclass(frozen=True, slots=True)
class Segment:
    """Content words that stand together.

    Attributes:
        text: the words.
        kind: `asked` (what the question word belongs to), `chained` (in a chain of possessives or
            "of"), or `plain`.
        distance: how far it is from the topic along the sentence's own chain: what follows the topic
            comes first, in order, then what stands before it, backwards ("the A of X's B": B, A).
        of_topic: "X's A" or "the A of X": A leads forwards from X.
    """

    text: str
    kind: str
    distance: int = 1_000
    of_topic: bool = False


@dataclass(frozen=True)
class ParsedQuestion:
    """A question, parsed.

    Attributes:
        words: in lower case, topics replaced by `TOPIC`.
        segments: what may name relations.
        counts: asks for a number of things.
        compares: (operation, what is compared) where it compares or asks for an extreme, else None.
        asks_whether: expects yes or no.
        asks_same: asks whether something is the same for two topics.
        text: the question as it was given.
        topics: what it is about.
    """

    words: tuple[str, ...]
    segments: tuple[Segment, ...]
    counts: bool
    compares: tuple[str, str] | None
    asks_whether: bool
    asks_same: bool
    text: str = ""
    topics: tuple[WrittenTopic, ...] = ()

    def masked(self, name: str = "") -> str:
        """The question in lower case, with marks in place of its topics, as a ranker of paths reads it.

        Args:
            name: the topic at the start of the path, as paths write it; by default the first topic.
        """
        own = next((topic for topic in self.topics if topic.name == name), next(iter(self.topics), None))
        if own is None:
            return " ".join(words_of(self.text))
        others = dict.fromkeys(spelling(topic) for topic in self.topics)
        others.pop(spelling(own))
        words = [OWN_TOPIC if word == TOPIC else word for word in mask(words_of(self.text), [spelling(own)])]
        return " ".join(OTHER_TOPIC if word == TOPIC else word for word in mask(words, list(others)))

    @property
    def question_word(self) -> str:
        """The first question word of the question; empty if there is none."""
        return first_question_word(self.words)

    @property
    def chain(self) -> tuple[str, ...]:
        """What a chain of possessives from the one topic names, at least a hop each: "X's father's wife", "the wife of
        X's father"; empty if there is no such chain."""
        if self.words.count(TOPIC) != 1 or (TOPIC, "'s") not in itertools.pairwise(self.words):
            return ()
        return tuple(segment.text for segment in self.segments if segment.kind == "chained")

    @property
    def bare(self) -> str:
        """The question without its topics."""
        return " ".join(word for word in self.words if word not in (TOPIC, "'s"))


def first_question_word(words: Iterable[str]) -> str:
    """The first question word; empty if there is none."""
    return next((word for word in words if word in _QUESTION_WORDS), "")


def spelling(topic: WrittenTopic) -> str:
    """How the question spells a topic, without a note: its words may be far from a note's."""
    return split_note(topic.spelling)[0]


def read_question(text: str, topics: Sequence[str], phrases: Iterable[str] = ()) -> ParsedQuestion:
    """Parse a question.

    Args:
        text: the question.
        topics: as they stand in the prompt.
        phrases: names of relations; each one in the question is treated as one word.
    """
    written = tuple(map(read_topic, topics))
    words = mask(words_of(text), [spelling(topic) for topic in written])
    named = {tuple(words_of(phrase)) for phrase in phrases}
    words = _join(_mended(words, named), named)
    compares = _comparison(words)
    first = next((w for w in words if w != TOPIC), "")
    pairs = set(itertools.pairwise(words))
    # "X was married to whom?" and "is X a man or a woman?" do not ask for yes or no.
    asks_else = "or" in words or (words[:1] == [TOPIC] and not _QUESTION_WORDS.isdisjoint(words))
    whether = first in _AUXILIARIES and not asks_else
    return ParsedQuestion(
        words=tuple(words),
        segments=tuple(_segments(words, compares)),
        counts=("how", "many") in pairs or ("number", "of") in pairs or first == "count",
        compares=compares,
        asks_whether=whether,
        asks_same=whether and bool({"same", "share", "shared"} & set(words)),
        text=text,
        topics=written,
    )


def _mended(words: Sequence[str], phrases: Collection[tuple[str, ...]]) -> list[str]:
    """The words, with misspelt ones that are near a word of a phrase spelt as there."""
    known = {word for phrase in phrases for word in phrase}
    usual = common_words()
    return [
        word if word == TOPIC or word in STOP_WORDS or word in usual else nearest_word(word, known) or word
        for word in words
    ]


def _join(words: list[str], phrases: Collection[tuple[str, ...]]) -> list[str]:
    """The words, with each phrase among them joined into one."""
    for phrase in sorted((p for p in phrases if len(p) > 1), key=lambda p: (-len(p), p)):
        for start in range(len(words) - len(phrase) + 1):
            if tuple(words[start : start + len(phrase)]) == phrase:
                words = [*words[:start], " ".join(phrase), *words[start + len(phrase) :]]
                break
    return words


def plain(text: str) -> str:
    """Lower case, without accents and typographic quotes."""
    text = text.casefold().replace("’", "'").replace("‘", "'")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation; "'s" is a word."""
    return _WORD.findall(plain(text))


def mask(words: list[str], topics: Sequence[str]) -> list[str]:
    """Replace each topic by `TOPIC`, with tolerance for misspellings."""
    for topic in sorted(topics, key=len, reverse=True):
        name = [w for w in words_of(topic) if w != "'s"]
        span = find_span(words, name)
        if span is not None:
            words = [*words[: span[0]], TOPIC, *words[span[1] :]]
    return words


def find_span(words: Sequence[str], name: Sequence[str], least: float = 0.75) -> tuple[int, int] | None:
    """Position [start, end) of a name in a list of words, exactly or within a few edits."""
    if not name:
        return None
    target = " ".join(name)
    best: tuple[float, int, int] | None = None
    for size in (len(name), len(name) + 1, len(name) - 1, len(name) + 2):
        for start in range(len(words) - size + 1) if size > 0 else ():
            window = words[start : start + size]
            if TOPIC in window or all(w in STOP_WORDS for w in window) != all(w in STOP_WORDS for w in name):
                continue
            score = OSA.normalized_similarity(" ".join(window), target)
            if score >= least and (best is None or score > best[0]):
                best = (score, start, start + size)
        if best is not None and best[0] == 1.0:
            break
    return None if best is None else best[1:]


def _comparison(words: Sequence[str]) -> tuple[str, str] | None:
    for i, word in enumerate(words):
        if word not in COMPARATIVES:
            continue
        operation, what = COMPARATIVES[word]
        after = [w for w in words[i + 1 : i + 3] if w not in STOP_WORDS and w not in (TOPIC, "'s")]
        if word in ("first", "last") and i + 1 < len(words) and _FIRST_DONE.search(words[i + 1]):
            continue  # "first performed": when or where, not which was the first
        if word in ("more", "most", "less", "least") and after and after[0] in COMPARATIVES:
            if word in ("more", "most"):
                continue  # "most recent": the next word says it
            contrary, what = COMPARATIVES[after[0]]  # "least populous"
            return "min" if contrary == "max" else "max", what
        if not what and not after:
            continue
        if _PEOPLE & set(after):
            return operation, "population"
        return operation, what or " ".join(after)
    return None


def _segments(words: Sequence[str], compares: tuple[str, str] | None) -> list[Segment]:
    found: list[Segment] = []
    if "where" in words and "from" in words:
        found.append(Segment("place of birth origin", "asked"))
    for question_word, asked in _ASKED.items() if not found else ():
        size = len(question_word)
        if any(tuple(words[i : i + size]) == question_word for i in range(len(words))):
            found.append(Segment(asked, "asked"))
            break
    i = 0
    while i < len(words):
        if not _is_content(words, i):
            i += 1
            continue
        end = i
        while end < len(words) and _is_content(words, end):
            end += 1
        if words[end - 1] in _KINDS and words[end : end + 1] == ["of"]:
            end += 1
            while end < len(words) and _is_content(words, end):
                end += 1
        text = " ".join(words[i:end])
        if text not in _KINDS:
            start = words.index(TOPIC) if TOPIC in words else len(words)
            distance = i - start if i > start else 2 * len(words) - i
            found.append(Segment(text, _kind(words, i, end, found), distance, _belongs_to_topic(words, i, end)))
        i = end
    if compares is not None and compares[1]:
        found.append(Segment(compares[1], "plain"))
    return found or [Segment(_IMPLIED.get(next((w for w in words if w in _IMPLIED), ""), "what"), "plain")]


def _belongs_to_topic(words: Sequence[str], start: int, end: int) -> bool:
    after = [word for word in words[end : end + 3] if word not in ("the", "a", "an")]
    return after[:2] == ["of", TOPIC] or list(words[max(start - 2, 0) : start]) == [TOPIC, "'s"]


def _is_content(words: Sequence[str], i: int) -> bool:
    if words[i - 1 : i] == ["the"] and words[i + 1 : i + 2] == [TOPIC] and i > 1:
        return False  # "the opera Tosca": what the topic is
    if words[i] in COMPARATIVES and words[i] != "populous":
        return False
    pair = tuple(words[i - 1 : i + 1])
    return words[i] not in STOP_WORDS and words[i] not in (TOPIC, "'s") and pair not in _ASKED


def _kind(words: Sequence[str], start: int, end: int, before: Sequence[Segment]) -> str:
    previous = words[start - 1] if start else ""
    following = words[end] if end < len(words) else ""
    many = previous == "many" and words[start - 2 : start - 1] == ["how"]
    if (previous in ("what", "which") or many) and not any(s.kind == "asked" for s in before):
        return "asked"
    if following in ("of", "'s") or previous == "'s":
        return "chained"
    return "plain"
