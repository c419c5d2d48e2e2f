"""How well a path of relations fits a question.

Each hop of a path should match words of its own: the score is the sum of the similarities of its hops to distinct
segments of the question, minus a price per further hop, plus the similarity of the whole path. Words in a chain of
possessives name one hop each and cost least; the noun after the question word names the end of the path rather
than a relation, and costs most.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg.ranker import Hops as RankedHops
from triplecheck.kg.ranker import PathRanker
from triplecheck.language.operations import Comparison, Sense
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import pipeline
from triplecheck.language.question import Question, spelling
from triplecheck.language.roles import head_for, head_to, verb_of
from triplecheck.signatures.notation import BACKWARD, Hops, WrittenHop, split_kind, wordings

FloatArray = npt.NDArray[np.floating[Any]]
Encode = Callable[[Sequence[str]], FloatArray]
"""Texts to L2-normalised vectors, (n, d)."""

# Set by hand and checked on seven question sets over six graphs: changing one of them by 0.1 changes the mean
# accuracy by about 0.01. They are independent of relations and phrasing.
_PRICE = {"asked": 0.9, "chained": 0.45, "plain": 0.6}
_BASE_PRICE = 0.5
_ASKED_WEIGHT = 0.9
_PART_WEIGHT = 0.95
_BACKWARD = 0.1
_WHOLE, _COVERAGE, _END = 0.75, 0.4, 0.3
_ASKED_FOR = 0.2
_DISORDER, _UNUSED_CHAIN, _WRONG_WAY = 0.1, 0.15, 0.6
_UNNAMED_HOP = 0.4
_MOST_SEGMENTS = 6

# Of a ranker that was trained on the graph: differences of log-probabilities that leave a path possible, the
# log-probability of a path that it prefers to all others together, and that of a path that needs no further hop.
_LIKELY, _PREFERRED, _WALKED = 3.0, np.log(0.5), np.log(0.9)

LEAST_SUPPORT = 0.43
"""Below this cosine (`PathRelevance.support`) the question does not name the relations of a path."""


class PathRelevance:
    """Scores paths against one question.

    Args:
        ranker: adds to the score of paths; None: the score set by hand alone.
    """

    def __init__(self, question: Question, encode: Encode, ranker: PathRanker | None = None) -> None:
        self._question = question
        self._encode = encode
        # Without training on questions about several things, conditions are weighed by their rules.
        one = len({spelling(topic) for topic in question.topics}) == 1
        self._ranker = ranker if ranker is not None and (one or ranker.several) else None
        self.segments = question.segments[:_MOST_SEGMENTS]
        self._parts = [_parts(segment.text, stop_words(question.language)) for segment in self.segments]
        self._asked = np.array([s.kind == "asked" for s in self.segments])
        self._chained = sum(s.kind == "chained" for s in self.segments)
        self._distances = np.array([s.distance for s in self.segments])
        self._prices = np.array([_PRICE[s.kind] for s in self.segments])
        texts = [part for parts in self._parts for part in parts]
        self._part_starts = np.cumsum([0, *map(len, self._parts)])[:-1]
        self._part_weights = np.full(len(texts), _PART_WEIGHT)
        self._part_weights[self._part_starts] = 1.0
        self._question_texts = [question.bare or "what", *texts]
        self._known: dict[str, FloatArray] = {}
        self._verb = verb_of(question.parse)
        self._matches: dict[tuple[str, ...], float] = {}
        self._preferred: set[Hops] = set()

    @functools.cached_property
    def _question_vectors(self) -> FloatArray:
        """Vectors of the whole question and of the parts of its segments."""
        return self._encode(self._question_texts)

    def prepare(self, labels: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Encode together what comparing these labels encodes, and other texts: a call costs as much as three texts."""
        wanted = {text for label in labels for text in (nearest(label), split_kind(label)[1], *wordings(label)) if text}
        self._encode([*self._question_texts, *sorted(wanted.union(texts))])

    def similarity(self, labels: Sequence[str]) -> FloatArray:
        """Cosine of each label with each segment, shape (labels, segments)."""
        new = [label for label in dict.fromkeys(labels) if label not in self._known]
        if new:
            named = [
                (label, wording) for label in new for wording in (*wordings(label), split_kind(label)[1]) if wording
            ]
            cosines = self._encode([wording for _, wording in named]) @ self._question_vectors[1:].T
            cosines *= self._part_weights
            best = np.maximum.reduceat(cosines, self._part_starts, axis=1)
            for (label, _), row in zip(named, best, strict=True):
                known = self._known.get(label)
                self._known[label] = row if known is None else np.maximum(known, row)
        return np.stack([self._known[label] for label in labels])

    def ahead(self, paths: Sequence[Hops], topics: Sequence[str]) -> FloatArray | None:
        """Score of paths as beginnings of longer ones, shape (n,); None without a ranker that was trained on them."""
        if self._ranker is None or self._ranker.is_general or max(map(len, paths)) >= self._ranker.longest:
            return None
        return self._ranked(paths, topics, ahead=True)

    def first_hops(self, hops: Sequence[WrittenHop], topics: Sequence[str] | None = None) -> FloatArray:
        """Score of each relation as the first hop of the right path, shape (n,).

        A hop is scored by its best segment: one hop of a longer path matches only a part of the question, and must not
        lose against a relation that matches another part. `topics` are the names from which the hops start.
        """
        if not hops:
            return np.empty(0)
        sims = self.similarity([hop.label for hop in hops])
        relative = sims / np.maximum(sims.max(axis=0), 1e-6)
        backward = np.array([self.backwards((hop,)) for hop in hops])
        scores: FloatArray = (relative + 0.5 * sims).max(axis=1) - _BACKWARD * backward
        return scores + self._ranked([(hop,) for hop in hops], topics, ahead=True)

    def paths(
        self, paths: Sequence[Hops], ends: Sequence[str] | None = None, topics: Sequence[str] | None = None
    ) -> FloatArray:
        """Score of whole paths, shape (n,).

        Args:
            ends: the known types at their ends.
            topics: the names that they start from.
        """
        if not paths:
            return np.empty(0)
        texts = [*self._asked_end, *(end or "thing" for end in ends or ())] if self._asked_end else []
        if self._ranker is not None:
            texts += map(self._question.masked, set([""] if topics is None else topics))
        self.prepare({hop.label for path in paths for hop in path}, texts)
        whole = self._likeness(paths)
        matched = np.array([self._match(_labels(path)) for path in paths])
        against = np.array([self.backwards(path) for path in paths])
        wrong = np.array([self._wrong_way(path) for path in paths])
        scores: FloatArray = matched + _WHOLE * whole - _BACKWARD * against - _WRONG_WAY * wrong
        scores += self._ranked(paths, topics)
        return scores + self._end_bonus(ends) if ends is not None else scores

    def chances(
        self, paths: Sequence[Hops], topics: Sequence[str] | None = None, *, ahead: bool = False
    ) -> FloatArray | None:
        """Log-probability of each path among these by the ranker, shape (n,); None without a ranker.

        Args:
            topics: the names that they start from.
            ahead: as beginnings of longer paths.
        """
        if self._ranker is None:
            return None
        scores = np.empty(len(paths))
        names = topics if topics is not None else [""] * len(paths)
        for name, (hops, numbered) in self._hops(self._ranker, paths, names).items():
            for at, path in enumerate(paths):
                if names[at] == name:
                    steps = numbered(path)
                    scores[at] = hops.ahead(steps, self._ranker.longest) if ahead else hops.path(steps)
        chances: FloatArray = scores - np.logaddexp.reduce(scores)
        return chances

    def _ranked(self, paths: Sequence[Hops], topics: Sequence[str] | None, *, ahead: bool = False) -> FloatArray:
        """Weighted log-probability of each path by the ranker, or of each as a beginning; zeros without a ranker."""
        chances = self.chances(paths, topics, ahead=ahead)
        if self._ranker is None or chances is None:
            return np.zeros(len(paths))
        # The rules read a chain of possessives exactly; a ranker that knows the graph reads it better.
        weight = self._ranker.weight / (1 + self._chained if self._ranker.is_general else 1)
        if not ahead and not self._ranker.is_general:
            self._preferred |= {path for path, chance in zip(paths, chances, strict=True) if chance > _PREFERRED}
        ranked: FloatArray = weight * chances
        return ranked

    def _hops(
        self, ranker: PathRanker, paths: Sequence[Hops], topics: Sequence[str]
    ) -> dict[str, tuple[RankedHops, Callable[[Hops], list[tuple[int, bool]]]]]:
        """By topic, the ranker's scores of the relations of paths, and what gives the numbers of a path's relations."""
        labels = list(dict.fromkeys(hop.label for path in paths for hop in path))
        texts = [wordings(label) for label in labels]
        starts = np.cumsum([0, *map(len, texts)])[:-1]
        relations = ranker.relations(self._encode([text for several in texts for text in several]))
        numbers = {label: number for number, label in enumerate(labels)}

        def numbered(path: Hops) -> list[tuple[int, bool]]:
            return [(numbers[hop.label], hop.arrow == BACKWARD) for hop in path]

        vectors = {name: self._encode([self._question.masked(name)])[0] for name in dict.fromkeys(topics)}
        return {name: (ranker.hops(vector, relations, starts), numbered) for name, vector in vectors.items()}

    def walked(self, path: Hops, topic: str, among: Sequence[Hops]) -> bool | None:
        """Whether a path needs no further hop, by a ranker that was trained on the graph; None without one.

        Args:
            among: the paths whose relations are known.
        """
        if self._ranker is None or self._ranker.is_general:
            return None
        hops, numbered = self._hops(self._ranker, among, [topic])[topic]
        return bool(hops.whole(numbered(path), self._ranker.longest) > _WALKED)

    def margin(self, by_hand: float) -> float:
        """How far a path may score below the best one and still be followed.

        Args:
            by_hand: of the score set by hand alone.
        """
        own = self._ranker is not None and not self._ranker.is_general
        return by_hand + _LIKELY * self._ranker.weight if own and self._ranker is not None else by_hand

    def prefers(self, path: Hops) -> bool:
        """Whether a ranker that was trained on the graph prefers a path to all others that were scored together."""
        return path in self._preferred

    def support(self, path: Hops) -> float:
        """Cosine of the least supported hop of a path with the question (0 to 1).

        A path that a ranker trained on the graph prefers to all others together is supported: it has learned wordings
        that are not similar to the relations.
        """
        if self.prefers(path):
            return 1.0
        if self._wrong_way(path):
            return 0.0
        rows = self.similarity(_labels(path))
        return max(float(rows.max(axis=1).min()), float(self._likeness([path])[0]))

    def names(self, path: Hops) -> bool:
        """Whether a path has one hop whose relation and direction the question names, by a verb or as "X's teacher"."""
        if len(path) != 1:
            return False
        (hop,) = path
        named = self._asks_for_heads(hop) if hop.arrow == BACKWARD else self._asks_for_tails(hop)
        return named or self._turns_around(hop) is False

    def backwards(self, path: Hops) -> int:
        """Number of hops that go backwards though the question does not ask for the heads of their relation."""
        if len(path) == 1 and self._turns_around(path[0]) is False:
            return 0
        return sum(hop.arrow == BACKWARD and not self._asks_for_heads(hop) for hop in path)

    def _turns_around(self, hop: WrittenHop) -> bool | None:
        """Whether a hop goes against the verb, to X's teachers for "whom did X teach", or to what those who are asked
        for do something to, "the riders of X"; None if that is unclear."""
        names, language = wordings(hop.label), self._question.language
        if self._verb is None:
            role = head_for(self._question.asked.lemma, names, language)
            return None if role is None else (role == "object") == (hop.arrow == BACKWARD)
        role = head_to(self._verb, names, language)
        return None if role is None else (role == self._verb.topic) == (hop.arrow == BACKWARD)

    def _wrong_way(self, path: Hops) -> bool:
        """Whether a path follows a relation against its direction: backwards for "the teacher of X" and "teacher",
        forwards for "the parts of X" and "part of", or against the verb of the question."""
        if len(path) == 1 and self._turns_around(path[0]):
            return True
        return self._asks_for_tails(path[0]) if path[0].arrow == BACKWARD else self._asks_for_heads(path[0])

    def _asks_for_tails(self, hop: WrittenHop) -> bool:
        """Whether the question asks for the tails of a relation: "the teacher of X" for "teacher"."""
        return not {s.text for s in self.segments if s.of_topic}.isdisjoint(wordings(hop.label))

    def _asks_for_heads(self, hop: WrittenHop) -> bool:
        """Whether the question asks for the heads of a relation: "the parts of a car" for "part of"."""
        names = {f"{self._singular(s.text)} of" for s in self.segments if s.of_topic}
        return not names.isdisjoint(wordings(hop.label))

    def _singular(self, text: str) -> str:
        *before, noun = text.split()
        return " ".join([*before, pipeline(self._question.language).lemma(noun, "NOUN")])

    def _likeness(self, paths: Sequence[Hops]) -> FloatArray:
        """Cosine of each path, the sum of its relations, with the whole question."""
        labels = list(dict.fromkeys(nearest(hop.label) for path in paths for hop in path))
        vectors = dict(zip(labels, self._encode(labels), strict=True))
        sums = np.stack([np.sum([vectors[nearest(hop.label)] for hop in path], axis=0) for path in paths])
        cosines: FloatArray = (sums @ self._question_vectors[0]) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
        return cosines

    def _match(self, labels: tuple[str, ...]) -> float:
        """Best assignment of hops to distinct segments, and how much of the question is covered."""
        if labels in self._matches:
            return self._matches[labels]
        sims = self.similarity(labels)
        last = sims[-1]
        if len(labels) == 1:
            best = float((last * np.where(self._asked, _ASKED_WEIGHT, 1.0)).max()) - _BASE_PRICE
        elif len(self.segments) < len(labels):
            spare = len(labels) - len(self.segments)
            best = float(sims.max(axis=1).mean()) - _BASE_PRICE - _UNNAMED_HOP * spare
        else:
            gains = sims - self._prices
            gains[:-1, self._asked] = -9.0  # what is asked for is the end of the path
            hops = np.arange(len(labels))
            orders = (np.array(o) for o in itertools.permutations(range(len(self.segments)), len(labels)))
            best = max(
                float(gains[hops, o].sum() + self._prices[o].min())
                - _DISORDER * int((np.diff(self._distances[o]) < 0).sum())
                for o in orders
            )
            best -= _BASE_PRICE
        best -= _UNUSED_CHAIN * max(0, self._chained - len(labels))
        covered = np.where(self._asked, last, sims.max(axis=0))
        asked = float(last[self._asked].max()) if self._asked.any() else 0.0
        self._matches[labels] = best + _COVERAGE * float(covered.mean()) + _ASKED_FOR * asked
        return self._matches[labels]

    @property
    def _asked_end(self) -> list[str]:
        """What is asked for, in at most one text."""
        asked = [s.text for s in self.segments if s.kind == "asked"]
        return asked[:1] if asked else ["person"] if self._question.asked.kind == "person" else []

    def _end_bonus(self, ends: Sequence[str]) -> FloatArray:
        """Similarity of the type at the end to what is asked for."""
        if not self._asked_end:
            return np.zeros(len(ends))
        known = [end or "thing" for end in ends]
        cosines = self._encode(known) @ self._encode(self._asked_end)[0]
        bonus: FloatArray = _END * np.where([bool(end) for end in ends], cosines, 0.0)
        return bonus


def sense_of(compares: Comparison, label: str, kind: str, encode: Encode) -> Sense:
    """What a comparison means by the values of a relation: the oldest has the largest age, the first date of birth.

    Args:
        kind: of its values, `time` or `number`.
    """
    return compares.over(kind, lambda quantity: float((encode(wordings(label)) @ encode(quantity.split()).T).max()))


def _labels(path: Hops) -> tuple[str, ...]:
    """The labels of the hops; a type counts at the end of the path alone, where it may be what is asked for."""
    return (*(split_kind(hop.label)[0] for hop in path[:-1]), path[-1].label)


def phrases(hops: Iterable[WrittenHop]) -> set[str]:
    """Every wording of the relations of some paths."""
    return {wording for hop in hops for wording in wordings(hop.label)}


def nearest(label: str) -> str:
    """Of a relation written "label / alias", the alias, after the type at its end: it is nearer to the question."""
    return f"{split_kind(label)[1]} {wordings(label)[-1]}".strip()


def _parts(text: str, stops: Collection[str]) -> list[str]:
    """A segment whole, then its words and pairs of words."""
    words = text.split()
    parts = [text]
    if len(words) > 1:
        parts += [word for word in words if word not in stops]
    if len(words) > 2:
        parts += [" ".join(pair) for pair in itertools.pairwise(words)]
    return parts
