"""Mention detection: which parts of a question name something in the graph.

First the longest match over all names on the question's tokens, then a typo-tolerant search in the unmatched tokens:
names inside runs of tokens by their trigrams, and short words by all spellings one edit away.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from triplecheck.kg.names import LEGAL_FORMS, NameIndex, TrigramIndex, may_be_misspelt, normalize, respelt, similarity
from triplecheck.kg.values import dates_in
from triplecheck.kg.words import common_words, nearest_word

_LONGEST_NAME = 14  # tokens
_LONGEST_SPAN = 100  # characters
_LEAST_SIMILARITY = 0.78
_LEAST_OF_WORDS = 0.9  # if only the difference from a name suggests that words are misspelt
_UNKNOWN_FIT = 0.4  # salience of a span that matches no name, relative to one that does
_SHORTEST_MISSPELT = 4  # characters
_NAMES_OF_RUN = 128  # names compared with a run of unmatched tokens
_LONGEST_RUN = 60  # tokens; single tokens of a longer run are not looked up
_SHORT_FORM = 2  # letters of a legal form
_EDIT_COST = 4  # characters that a longer match must gain per additional edit
# Words without a capital inside names ("Anna of Holstein", "Pirates of the Caribbean").
CONNECTORS = frozenset("a an and at by de del der di du for from in la le of on the to van von y".split())

# After "the", these are names ("the US", "The Who").
_PRONOUNS = frozenset("he her him i it me she them they us we who you".split())


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of a question that may name a node.

    Attributes:
        text: as written in the question.
        start, end: its characters in the question, [start, end).
        forms: normalised names that it matches, best first (several only for misspelt text); empty for a span that
            looks like a name but matches none.
        similarity: 1 for an exact match, else the similarity of the spelling; 0 if it matches no name.
        salience: how likely it is a topic rather than an ordinary word, 0 to 1.
    """

    text: str
    start: int
    end: int
    forms: tuple[str, ...]
    similarity: float
    salience: float


class ReadToken(Protocol):
    """A token of a text; `language.pipeline.Token` is one."""

    @property
    def text(self) -> str:
        """As written."""

    @property
    def lower(self) -> str:
        """In lower case."""

    @property
    def start(self) -> int:
        """Its first character in the text."""

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""

    @property
    def is_stop(self) -> bool:
        """Whether it is among the language's most frequent words."""

    @property
    def is_punct(self) -> bool:
        """Whether it consists of punctuation."""

    @property
    def is_space(self) -> bool:
        """Whether it consists of white space."""


class ReadText(Protocol):
    """A text that was read; `language.pipeline.read_text` reads one."""

    @property
    def text(self) -> str:
        """The whole text."""

    @property
    def tokens(self) -> Sequence[ReadToken]:
        """Its tokens in order."""

    @property
    def base_form(self) -> Callable[[str], str]:
        """The base form of a word alone, in the language of the text: "parts" -> "part"."""


class MentionDetector:
    """Finds mentions of the normalised names of one graph.

    Args:
        trigrams: None for exact matches only.
        relation_words: words of the relations, in lower case. In a question they are more likely relations than
            misspelt names.
    """

    def __init__(
        self,
        names: NameIndex | AbstractSet[str],
        trigrams: TrigramIndex | None,
        relation_words: frozenset[str] = frozenset(),
    ) -> None:
        self._names = names
        self._trigrams = trigrams
        self._relation_words = relation_words

    def detect(self, question: ReadText) -> list[Mention]:
        """Mentions that do not overlap, most salient first; misspelt ones may overlap an exact one."""
        words = _Words(question, self._relation_words)
        exact = self._exact(words)
        misspelt = self._misspelt(words, exact) if self._trigrams is not None else []
        named = [*exact, *misspelt]
        return sorted([*named, *self._unknown(words, named)], key=lambda m: (-m.salience, m.start, -m.end))

    def _exact(self, words: _Words) -> list[Mention]:
        spans = []
        for start in range(len(words)):
            for end in range(min(len(words), start + _LONGEST_NAME), start, -1):
                form = words.form(start, end)
                if not form or words.is_ordinary(start, end):
                    continue
                known = next((one for one in words.spellings(start, end) if one in self._names), "")
                if forms := (known,) if known else self._longer(words, start, end):
                    spans.append((start, end, forms))
        taken: set[int] = set()
        mentions = []
        for start, end, forms in sorted(spans, key=lambda s: (-words.content(s[0], s[1]), s[0] - s[1], s[0])):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                mentions.append(words.mention(start, end, forms, 1.0))
        return mentions

    def _longer(self, words: _Words, start: int, end: int) -> tuple[str, ...]:
        """The names that have a legal form or a middle initial besides some words: "brandt woods" for Brandt Woods Ltd,
        "ada moss" for Ada K. Moss.

        An ordinary word alone is no firm. One word with two letters behind it may be another name: Kent Co.
        """
        if end == start + 1 and not words.is_unusual(start):
            return ()
        legal = [one for one in sorted(LEGAL_FORMS) if end > start + 1 or len(one) > _SHORT_FORM]
        forms = [*words.spellings(start, end)]
        longer = [f"{form} {one}" for form in forms for one in legal]
        are_names = end == start + 2 and words.content(start, end) == end - start
        pairs = (form.split() for form in forms if are_names and form.count(" ") == 1)
        longer += [f"{first} {letter} {last}" for first, last in pairs for letter in string.ascii_lowercase]
        return tuple(dict.fromkeys(name for name in longer if name in self._names))

    def _unknown(self, words: _Words, named: Sequence[Mention]) -> list[Mention]:
        """Spans that look like a name and match none: perhaps a part of a name, or a name that is not in the graph.

        If the question has no informative capitals, only if nothing else was found.
        """
        if named and not words.cased:
            return []
        covered = {i for m in named for i in words.tokens_in(m.start, m.end)}
        spans = [
            (start, end)
            for run in words.unmatched_runs(covered, bridged=False)
            for start, end in words.outside(covered, *run)
            if end - start <= _LONGEST_NAME and not words.are_words(start, end) and words.may_be_name(start, end)
        ]
        if not words.cased:
            spans = sorted(spans, key=lambda s: s[0] - s[1])[:1]
        return [words.mention(start, end, (), 0.0) for start, end in spans]

    def _misspelt(self, words: _Words, exact: Sequence[Mention]) -> list[Mention]:
        assert self._trigrams is not None
        covered = {i for m in exact for i in words.tokens_in(m.start, m.end)}
        covered |= words.in_dates()
        found = []
        for start, end in words.unmatched_runs(covered):
            best: dict[tuple[int, int], dict[str, float]] = {}
            for low, high, form, score in self._like(words, start, end):
                # An exact name that lost against a longer one is not misspelt.
                if score < 1 and not covered.issuperset(range(low, high)):
                    best.setdefault((low, high), {})[form] = score
            for (low, high), forms in best.items():
                ranked = sorted(forms, key=lambda form: (-forms[form], form))
                found.append(words.mention(low, high, tuple(ranked[:8]), forms[ranked[0]]))
        found.sort(key=lambda m: (-_gain(m), -m.similarity, m.start))
        kept: list[Mention] = []
        for mention in found:
            if all(mention.end <= k.start or k.end <= mention.start for k in kept):
                kept.append(mention)
        return kept

    def _like(self, words: _Words, start: int, end: int) -> Iterator[tuple[int, int, str, float]]:
        """Names similar to some tokens of a run: (first token, end, name, similarity)."""
        assert self._trigrams is not None
        text = words.form(start, end)
        for _, form in self._trigrams.within(text, shortlist=_NAMES_OF_RUN) if len(text) >= _SHORTEST_MISSPELT else ():
            window = _best_window(words, start, end, form)
            if window is not None:
                score, low, high = window
                yield low, high, form, score
        for low in range(start, end) if end - start <= _LONGEST_RUN else ():
            for high in range(low + 1, min(end, low + 2) + 1):
                if words.are_misspelt(low, high):
                    text = words.form(low, high)
                    for _, form in self._trigrams.one_edit(text):
                        if may_be_misspelt(text, form):
                            yield low, high, form, similarity(text, form)


def _gain(mention: Mention) -> float:
    """Matched characters minus the cost of the edits: a longer match must be worth its additional edits."""
    edits = (1 - mention.similarity) * max(len(mention.text), len(mention.forms[0]))
    return len(mention.text) - _EDIT_COST * edits


def _best_window(words: _Words, start: int, end: int, form: str) -> tuple[float, int, int] | None:
    """The run of tokens within [start, end) that is most similar to a name, if above the minimum."""
    size = form.count(" ") + 1
    # Shorter or longer texts cannot reach the minimum similarity.
    shortest, longest = _LEAST_SIMILARITY * len(form), len(form) / _LEAST_SIMILARITY
    best: tuple[float, int, int] | None = None
    for low in range(start, end):
        for high in range(low + max(1, size - 1), min(end, low + size + 2) + 1):
            if words.length(low, high) < shortest:
                continue
            text = words.form(low, high)
            if not shortest <= len(text) <= longest or len(text) < _SHORTEST_MISSPELT:
                continue
            score = similarity(text, form, _LEAST_SIMILARITY)
            if score <= (best[0] if best else 0.0) or words.is_ordinary(low, high) or not may_be_misspelt(text, form):
                continue
            if score >= _LEAST_OF_WORDS or not words.are_words(low, high):
                best = (score, low, high)
    return best


class _Words:
    """The tokens of a question and the evidence of their spelling."""

    def __init__(self, question: ReadText, relation_words: frozenset[str]) -> None:
        self._question = question.text
        self._doc = doc = question.tokens
        self._base_form = question.base_form
        self._relation_words = relation_words
        self._forms: dict[tuple[int, int], str] = {}
        self._starts: list[int] = [t.start for t in doc]
        self._ends: list[int] = [t.end for t in doc]
        letters = [t for t in doc if t.text[:1].isalpha()]
        # Capitals are informative only if some but not all words have them.
        capital = [t.text[0].isupper() for t in letters]
        self.cased = any(capital[1:]) and not all(capital)

    def __len__(self) -> int:
        return len(self._doc)

    def length(self, start: int, end: int) -> int:
        """Number of characters in the question."""
        return self._ends[end - 1] - self._starts[start]

    def _text(self, start: int, end: int) -> str:
        return self._question[self._starts[start] : self._ends[end - 1]]

    def form(self, start: int, end: int) -> str:
        key = (start, end)
        if key not in self._forms:
            text = self._text(start, end)
            self._forms[key] = normalize(text) if any(c.isalnum() for c in text) or end - start == 1 else ""
        return self._forms[key]

    def spellings(self, start: int, end: int) -> Iterator[str]:
        """The form, and those of other spellings that the name may have; of several words also with the base form of
        the last: "PhD students" for PhD student."""
        yield self.form(start, end)
        last = self._doc[end - 1].lower
        if end - start > 1 and (base := self._base_form(last)) != last:
            yield normalize(f"{self._question[self._starts[start] : self._starts[end - 1]]}{base}")
        if any(map(self._may_be_respelt, range(start, end))):
            yield from map(normalize, respelt(self._text(start, end)))

    def _may_be_respelt(self, i: int) -> bool:
        """Whether a token is an abbreviation, a sign, or a word that a sign may stand for."""
        token = self._doc[i]
        return token.is_stop or token.text == "&" or "." in token.text or (token.text.isupper() and len(token.text) > 1)

    def tokens_in(self, start: int, end: int) -> list[int]:
        return [i for i, t in enumerate(self._starts) if start <= t < end]

    def in_dates(self) -> set[int]:
        """The tokens of dates: "June 2024" is no misspelt name."""
        return {i for start, end in dates_in(self._question) for i in self.tokens_in(start, end)}

    def _is_name_like(self, i: int) -> bool:
        """Whether a token starts with a digit, or with a capital that is not only that of the question's first word."""
        text = self._doc[i].text
        return text[:1].isdigit() or (self.cased and text[:1].isupper() and not self._only_starts_sentence(i))

    def _only_starts_sentence(self, i: int) -> bool:
        """Whether a token is the question's first word and no name: a stop word, or "Birth" in "Birth date of"."""
        if i > 0 or self._doc[i].is_stop:
            return i == 0
        return self._doc[i].lower in self._relation_words and len(self) > 1 and not self._doc[1].text[:1].isupper()

    def _is_odd(self, i: int) -> bool:
        """A stop word with a capital within the question: part of a name, perhaps a misspelt one ("So in Law")."""
        return i > 0 and self._doc[i].is_stop and self._doc[i].text != "I" and self._is_name_like(i)

    def _is_content(self, i: int) -> bool:
        token = self._doc[i]
        return not (token.is_stop or token.is_punct or token.is_space or token.text in ("'s", "’s"))

    def is_ordinary(self, start: int, end: int) -> bool:
        """Only stop words and punctuation, unless capitalised like a name."""
        inside = range(start, end)
        if self._doc[start].lower == "the" and end == start + 2 and self._doc[start + 1].lower in _PRONOUNS:
            return False
        if any(self._is_content(i) for i in inside):
            # "the Godfather 's" is not a better match than "the Godfather".
            return end - start > 1 and (self._doc[end - 1].text in ("'s", "’s") or self._is_padded(start, end))
        return not any(self._is_name_like(i) and i > 0 for i in inside)

    def _is_padded(self, start: int, end: int) -> bool:
        """Begins or ends with something that is not part of the name: a sign, a line break, an unpaired bracket."""
        form = self.form(start, end)
        in_brackets = self._doc[end - 1].text == ")" and "(" in self._text(start, end)
        return form == self.form(start + 1, end) or (form == self.form(start, end - 1) and not in_brackets)

    def are_words(self, start: int, end: int) -> bool:
        """Whether all tokens are known words and there are no capitals that suggest a name."""
        return not self.cased and all(
            not self._is_content(i) or self._doc[i].lower in common_words() for i in range(start, end)
        )

    def is_unusual(self, i: int) -> bool:
        """Whether a token is capitalised like a name, or no known word."""
        return self._is_name_like(i) or not (self._doc[i].is_stop or self._doc[i].lower in common_words())

    def content(self, start: int, end: int) -> int:
        """Number of tokens other than stop words and punctuation."""
        return sum(self._is_content(i) for i in range(start, end))

    def are_misspelt(self, start: int, end: int) -> bool:
        """Whether the tokens may be misspelt: one is an unknown word or is capitalised like a name."""
        return any(
            self._doc[i].text.isalpha() and (self._is_name_like(i) if self.cased else not self._is_known_word(i))
            for i in range(start, end)
        ) and not self.is_ordinary(start, end)

    def _is_known_word(self, i: int) -> bool:
        lower = self._doc[i].lower
        return self._doc[i].is_stop or lower in common_words() or nearest_word(lower, self._relation_words) is not None

    def _connects(self, i: int) -> bool:
        token = self._doc[i]
        return token.lower in CONNECTORS or token.text in ("-", "'s", "’s", ",", ".", "&")

    def unmatched_runs(self, covered: set[int], *, bridged: bool = True) -> list[tuple[int, int]]:
        """Runs of tokens that look like a name and are not completely covered by exact matches.

        If there are no informative capitals, `bridged` joins runs that are separated by one or two ordinary words
        ("james k polk", "new york university"): these may be part of a name.
        """
        if self.cased:
            in_run = [
                self._is_name_like(i) or (i in covered and self._is_content(i) and self._doc[i].text[:1].isupper())
                for i in range(len(self))
            ]
            # A connector, or one word in lower case, belongs to the run if there are names on both sides.
            for i in range(1, len(self) - 1):
                if not in_run[i] and in_run[i - 1]:
                    in_run[i] = any(in_run[i + 1 : i + 3]) if self._connects(i) else in_run[i + 1]
        else:
            in_run = [
                (self._is_content(i) and self._doc[i].lower not in self._relation_words) or self._connects(i)
                for i in range(len(self))
            ]
            for i in range(1, len(self) - 1) if bridged else ():
                if not in_run[i] and in_run[i - 1] and self._doc[i].text.isalpha():
                    in_run[i] = any(in_run[i + 1 : i + 3])
        runs = []
        for inside, group in itertools.groupby(range(len(self)), lambda i: in_run[i]):
            run = list(group)
            if inside and any(i not in covered and (self._is_content(i) or self._is_odd(i)) for i in run):
                runs.append((run[0], run[-1] + 1))
        return runs

    def may_be_name(self, start: int, end: int) -> bool:
        """Whether a span has letters or digits and, if capitals are informative, a capitalised token."""
        return any(c.isalnum() for c in self.form(start, end)[:_LONGEST_SPAN]) and (
            not self.cased or any(self._is_name_like(i) for i in range(start, end))
        )

    def outside(self, covered: set[int], start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a run outside the covered tokens, each from its first content word to its last."""
        parts: list[tuple[int, int]] = []
        for free, group in itertools.groupby(range(start, end), lambda i: i not in covered):
            content = [i for i in group if free and self._is_content(i)]
            if content:
                parts.append((content[0], content[-1] + 1))
        return parts

    def mention(self, start: int, end: int, forms: tuple[str, ...], similarity: float) -> Mention:
        content = [i for i in range(start, end) if self._is_content(i)] or list(range(start, end))
        capital = sum(self._is_name_like(i) for i in content) / len(content)
        length = 1 - 0.5 ** len(content)
        fit = similarity**2 if forms else _UNKNOWN_FIT
        salience = length * (0.25 + 0.75 * capital if self.cased else 1.0) * fit
        return Mention(self._text(start, end), self._starts[start], self._ends[end - 1], forms, similarity, salience)
