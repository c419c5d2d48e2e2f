"""References: extracts answers from passages, and judges their relevance.

No language model is used. Sentences are ranked by cosine and shared words; spans (names, dates, numbers, phrases) by
the kind that the question word asks for, by similarity to the noun that is asked for, and by distance to the
question's own words. One sentence is read at a time: nothing is combined across sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.language.kinds import kinds_of
from triplecheck.language.names import find_names
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import ENGLISH, Token, pipeline
from triplecheck.language.question import Question, read_question
from triplecheck.language.relevance import Encode, FloatArray
from triplecheck.lms.extractive.sentences import (
    Sentence,
    Span,
    passage_sentences,
    phrase_spans,
    salient_spans,
    triple_lines,
    words_of,
)
from triplecheck.lms.prompt import Prompt

# Set by hand; the score of the sentence dominates.
_SHARED_WORDS, _KIND_FITS, _NEAR, _TITLED, _LEADS = 0.3, 0.8, 0.35, 0.15, 0.15
_BEST_FIT = 0.55  # a span with a higher cosine is a synonym of the noun that is asked for
_MOST_ENCODED = 48  # sentences, those with the most words of the question first
_MOST_READ = 6  # sentences from which spans are taken


@dataclass(frozen=True)
class Read:
    """A sentence and its similarity to the question."""

    sentence: Sentence
    score: float

    @property
    def text(self) -> str:
        """The sentence with the title of its passage, so that it can be understood alone."""
        title, text = self.sentence.title, self.sentence.text
        return f"{title}: {text}" if title else text


def answer_with_references(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The best sentence, and the answer."""
    sentence, answer = Reader(prompt.text("question"), prompt.items("references"), encode, prompt.language).answer()
    return {"reasoning": sentence, "answer": answer}


def answer_from_references(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The answer alone."""
    return {"answer": answer_with_references(prompt, encode)["answer"]}


def next_question(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The question with a bridge name: a name in the nearest sentences that is not in the question."""
    question = prompt.text("question")
    bridge = Reader(question, prompt.items("references"), encode, prompt.language).bridge(prompt.text("answer_so_far"))
    return {"next_question": f"{question} {bridge}".strip()}


class Reader:
    """Extracts answers to one question from passages, "Title: text" or text."""

    def __init__(self, text: str, references: Sequence[str], encode: Encode, language: str) -> None:
        self._text = text
        self._language = language
        self._encode = encode
        self._names = [name.text for name in find_names(text, language)]
        self._question: Question = read_question(text, self._names, language=language)
        self._asked = self._kind()
        self._words = set(words_of(text))
        in_names = {word for name in self._names for word in words_of(name)}
        self._lemmas = {token.lemma for token in _content(text, language) if token.lower not in in_names}
        self.read = self._nearest([s for passage in references for s in passage_sentences(passage, language)])

    def answer(self) -> tuple[str, str]:
        """The best sentence and the answer in it."""
        if not self.read:
            return "Nothing in the references.", "none"
        if self._question.asks_whether:
            return self._whether()
        chosen = self._choice()
        if chosen is not None:
            return chosen
        spans = [(read, span) for read in self.read[:_MOST_READ] for span in self._spans(read.sentence)]
        if not spans:
            return self.read[0].text, "none"
        fits = self._fit([span.text for _, span in spans])
        scores = [
            read.score + _KIND_FITS * fit + _NEAR * self._nearness(read.sentence.text, span)
            for (read, span), fit in zip(spans, fits, strict=True)
        ]
        read, span = spans[int(np.argmax(scores))]
        return read.text, span.text

    def _kind(self) -> str:
        """The kind of span that may be the answer."""
        asked = self._question.asked
        kind = {"time": "date", "number": "number", "person": "person", "place": "place"}.get(asked.kind, "thing")
        return "place" if asked.noun and kinds_of([asked.noun], self._encode) == {"place"} else kind

    def bridge(self, so_far: str) -> str:
        """A name in the nearest sentences that is neither in the question nor in the answer so far; empty for none."""
        known = self._words | set(words_of(so_far))
        for read in self.read[:_MOST_READ]:
            for span in salient_spans(read.sentence.text, self._language):
                if span.kind == "name" and not set(words_of(span.text)) & known:
                    return span.text
        return ""

    def _nearest(self, sentences: Sequence[Sentence]) -> list[Read]:
        unique = list(dict.fromkeys(sentences))
        content = self._words - stop_words(self._language)
        shared = [len(content & set(words_of(f"{s.title} {s.text}"))) for s in unique]
        order = sorted(range(len(unique)), key=lambda at: -shared[at])[:_MOST_ENCODED]
        if not order:
            return []
        texts = [f"{unique[at].title}: {unique[at].text}" if unique[at].title else unique[at].text for at in order]
        vectors = self._encode([self._text, *texts])
        cosines = vectors[1:] @ vectors[0]
        weight = _SHARED_WORDS / max(len(content), 1)
        read = [
            Read(unique[at], float(cosine) + weight * shared[at] + self._titled(unique[at]))
            for at, cosine in zip(order, cosines, strict=True)
        ]
        return sorted(read, key=lambda one: -one.score)

    def _titled(self, sentence: Sentence) -> float:
        """Bonus for a passage about an entity that the question names."""
        title = re.sub(r" \([^()]*\)$", "", sentence.title).casefold()
        if not title or all(title != name.casefold() for name in self._names):
            return 0.0
        return _TITLED + (_LEADS if sentence.leads else 0.0)

    def _spans(self, sentence: Sentence) -> list[Span]:
        """The spans that may be the answer: of the requested kind, and not in the question."""
        spans = salient_spans(sentence.text, self._language)
        if self._asked == "thing":
            spans = [span for span in spans if span.kind == "name"] + phrase_spans(sentence.text, self._language)
        else:
            wanted = self._asked if self._asked in ("date", "number") else "name"
            spans = [span for span in spans if span.kind == wanted]
        return [span for span in spans if not set(words_of(span.text)) <= self._words]

    def _fit(self, texts: Sequence[str]) -> np.ndarray:
        """Cosine of each span with the noun that is asked for."""
        if self._asked in ("person", "place"):
            asked = f"name of a {self._asked}"
        else:
            named = [s.text for s in self._question.segments if s.kind == "asked"]
            asked = " ".join(named or [s.text for s in self._question.segments])
        vectors = self._encode([asked, *texts])
        cosines: np.ndarray = np.minimum(vectors[1:] @ vectors[0], _BEST_FIT)
        return cosines

    def _nearness(self, sentence: str, span: Span) -> float:
        """1 beside a content word of the question, less with every word in between."""
        content = _content(sentence, self._language)
        before = [token for token in content if token.end <= span.start]
        after = [token for token in content if token.start >= span.end]
        distances = [at for at, token in enumerate(reversed(before)) if token.lemma in self._lemmas]
        # A word after the span more often continues with something else.
        distances += [at + 1 for at, token in enumerate(after) if token.lemma in self._lemmas]
        return 1 / (1 + min(distances) / 3) if distances else 0.0

    # --- yes or no, this or that -----------------------------------------------------------------
    def _whether(self) -> tuple[str, str]:
        """Yes if for each name in the question some sentence is similar to the question."""
        best = [self._best_of(name) for name in self._names] or [self.read[0]]
        asked = self._encode([self._question.bare or self._text])[0]
        cosines = [0.0 if read is None else float(self._encode([read.sentence.text])[0] @ asked) for read in best]
        evidence = " ".join(read.text for read in best if read is not None)
        return evidence or self.read[0].text, "yes" if min(cosines) >= 0.25 else "no"

    def _choice(self) -> tuple[str, str] | None:
        """For "A or B": the one whose number or date fits the comparison, else the one more similar to the question."""
        pairs = [
            (first, second)
            for first, second in zip(self._names, self._names[1:], strict=False)
            if re.search(rf"{re.escape(first)}\W+or\b.{{0,12}}{re.escape(second)}", self._text)
        ]
        if not pairs:
            return None
        found = [(name, self._best_of(name)) for name in pairs[0]]
        sizes = [_size(read, self._language) for _, read in found]
        at = int(np.argmax([-1.0 if read is None else read.score for _, read in found]))
        if self._question.compares is not None and None not in sizes:
            pick = np.argmin if self._question.compares.operation == "min" else np.argmax
            at = int(pick(np.array(sizes, float)))
        evidence = " ".join(read.text for _, read in found if read is not None)
        return evidence or self.read[0].text, found[at][0]

    def _best_of(self, name: str) -> Read | None:
        wanted = name.casefold()
        of = (r for r in self.read if wanted in r.sentence.title.casefold() or wanted in r.sentence.text.casefold())
        return next(of, None)


def _content(text: str, language: str) -> list[Token]:
    """The words of a text without stop words and numbers."""
    return [token for token in pipeline(language).parse(text) if token.text[0].isalpha() and not token.is_stop]


def _size(read: Read | None, language: str) -> float | None:
    """The first year or number of a sentence."""
    for span in salient_spans(read.sentence.text, language) if read is not None else ():
        if span.kind in ("date", "number"):
            return float(re.findall(r"\d+(?:\.\d+)?", span.text.replace(",", ""))[-1])
    return None


# Least cosine of a relevant passage; lower if it has a name of the question.
_RELEVANT, _RELEVANT_NAMED = 0.4, 0.25


def select_passages(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Numbers of the relevant passages."""
    return {"useful": _useful(prompt, prompt.items("passages"), encode)}


def check_passages(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Numbers of the relevant passages, and the triples that they state."""
    passages = prompt.items("passages")
    useful = _useful(prompt, passages, encode)
    return {"useful": useful, "triples": triple_lines(passages, set(useful), prompt.language)}


def judge_passage(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Whether the passage is relevant."""
    return {"helps": bool(_useful(prompt, [prompt.text("passage")], encode))}


def passage_margins(question: str, passages: Sequence[str], encode: Encode, language: str = ENGLISH) -> FloatArray:
    """How far the cosine of each passage is above the least of a relevant one, shape (n,)."""
    vectors = encode([question, *passages])
    named = [name.text.casefold() for name in find_names(question, language)]
    least = [_RELEVANT_NAMED if any(name in p.casefold() for name in named) else _RELEVANT for p in passages]
    margins: FloatArray = vectors[1:] @ vectors[0] - np.array(least)
    return margins


def _useful(prompt: Prompt, passages: list[str], encode: Encode) -> list[int]:
    if not passages:
        return []
    margins = passage_margins(prompt.text("question"), passages, encode, prompt.language)
    return (np.flatnonzero(margins >= 0) + 1).tolist()
