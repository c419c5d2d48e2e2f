"""Answering from facts: choose the path that the question describes, and the operation on its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from triplecheck.kg.ranker import PathRanker
from triplecheck.kg.types import Literal as Value
from triplecheck.kg.values import quantity
from triplecheck.language.coverage import lacks_attribute
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import Comparison
from triplecheck.language.question import Question, spelling
from triplecheck.language.relevance import LEAST_SUPPORT, Encode, PathRelevance, phrases, sense_of
from triplecheck.language.text import plain
from triplecheck.lms.conclusions import (
    Conclusion,
    compared,
    compared_topics,
    looked_up,
    over_values,
    same,
    shared,
    yes_or_no,
)
from triplecheck.lms.fact_paths import FactPath, follow, is_quantity, misfits
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import BACKWARD, Hops, read_facts, read_topic, wordings

# Of two conditions with a common answer, one may have less support: the common answer is evidence for it.
_LEAST_CONDITION = 0.2
# Cost of each hop of a condition after the first; how much worse than the best single path a pair may be.
_EXTRA_HOP, _LOSS = 0.25, 0.4
# How many of the best paths of each topic are paired.
_PAIRED = 6
# Cost of a path that ends at another kind of value than the question word asks for.
_MISFIT = 1.0
_TOLD = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class _Scored:
    path: FactPath
    score: float


def answer_from_facts(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """Answer a question from the facts in the prompt."""
    text, topics = prompt.text("question"), prompt.items("topics")
    read = [read_topic(topic) for topic in topics]
    paths = follow(read_facts(prompt.items("facts")), [topic.name for topic in read])
    paths = [path for path in paths if path.ends != [path.topic]] or paths
    if not paths:
        return Conclusion().fields()
    question = prompt.question(phrases(hop for path in paths for hop in path.hops))
    relevance = PathRelevance(question, encode, ranker)
    scores = relevance.paths([path.hops for path in paths], topics=[path.topic for path in paths])
    scores -= _MISFIT * np.array([misfits(question.asked.kind, path) for path in paths])
    order = sorted(range(len(paths)), key=lambda i: -scores[i])
    spellings = {topic.name: spelling(topic) for topic in read}
    reader = _Reader(text, spellings, question, relevance, [_Scored(paths[i], float(scores[i])) for i in order], encode)
    return reader.conclude().fields()


@dataclass(frozen=True)
class _Reader:
    """Tries the ways of answering, from the most specific to the most general; `ranked` are the paths, best first."""

    text: str
    spelling: dict[str, str]
    question: Question
    relevance: PathRelevance
    ranked: Sequence[_Scored]
    encode: Encode

    @property
    def _has_subjects(self) -> bool:
        """Whether paths lead from several topics. Homonyms have one spelling: they are alternatives, not two entities
        to compare or intersect."""
        return len({self._subject(scored) for scored in self.ranked}) > 1

    def conclude(self) -> Conclusion:
        question = self.question
        if question.asks_same and (found := self._same()):
            return found
        if question.compares and (found := self._extreme(question.compares)):
            return found
        if question.asks_whether and (found := self._whether()):
            return found
        if self._has_subjects and (found := self._common()):
            return found
        best = self.ranked[0]
        if question.asks_whether or self._support(best.path) < LEAST_SUPPORT or self._lacks(best.path):
            return Conclusion()
        if question.counts and not best.path.measured:
            # Of the two directions of a relation, count the one with more ends.
            twin = (best.path.hops[:-1], best.path.hops[-1].label)
            ways = [s.path for s in self.ranked if (s.path.hops[:-1], s.path.hops[-1].label) == twin]
            return over_values(max(ways, key=lambda p: len(p.ends)), "count")
        ends = best.path.ends
        if question.excludes_topics and len(ends) > 1:
            ends = [end for end in ends if end != best.path.topic]
        return looked_up(best.path, ends)

    def _lacks(self, path: FactPath) -> bool:
        """Whether a path has no relation for what the question asks of its topic; False for chains of possessives, and
        for what a ranker that knows the graph prefers."""
        if len(self.question.chain) > 1 or self.relevance.prefers(path.hops):
            return False
        names = [name for hop in path.hops for name in wordings(hop.label) if name]
        backwards = any(hop.arrow == BACKWARD for hop in path.hops)
        likeness = Likeness(self.encode, self.question.language)
        return lacks_attribute(self.question, names, likeness, backwards=backwards)

    # --- two topics ----------------------------------------------------------------------------
    def _subject(self, scored: _Scored) -> str:
        return self.spelling[scored.path.topic]

    def _aligned(self, measured: bool) -> tuple[list[FactPath], float] | None:
        """The same relations followed from two or more topics, by their score."""
        groups: dict[Hops, list[_Scored]] = {}
        for scored in self.ranked:
            if not measured or scored.path.measured:
                groups.setdefault(scored.path.hops, []).append(scored)
        shared = [g for g in groups.values() if len({self._subject(s) for s in g}) > 1]
        if not shared:
            return None
        best = max(shared, key=lambda g: g[0].score)
        return [s.path for s in best], best[0].score

    def _same(self) -> Conclusion | None:
        found = self._aligned(measured=False)
        if found is None or self._support(found[0][0]) < LEAST_SUPPORT:
            return None
        return same(found[0])

    def _common(self) -> Conclusion | None:
        """Two paths with common ends: one condition from each topic."""
        by_subject: dict[str, list[_Scored]] = {}
        for scored in self.ranked:
            by_subject.setdefault(self._subject(scored), []).append(scored)
        groups = list(by_subject.values())
        pairs = [
            (a.score + b.score - _EXTRA_HOP * (len(a.path.hops) + len(b.path.hops) - 2), a.path, b.path)
            for i, first in enumerate(groups)
            for second in groups[i + 1 :]
            for a in first[:_PAIRED]
            for b in second[:_PAIRED]
            if set(a.path.ends) & set(b.path.ends)
        ]
        if not pairs:
            return None
        score, one, other = max(pairs, key=lambda p: p[0])
        alone = self.ranked[0]
        # Two conditions must together explain more than the better one alone.
        supports = sorted(map(self._support, (one, other)))
        if score / 2 < alone.score - _LOSS or supports[0] < _LEAST_CONDITION or supports[1] < LEAST_SUPPORT:
            return None
        return shared(one, other, counts=self.question.counts)

    def _support(self, path: FactPath) -> float:
        return self.relevance.support(path.hops)

    # --- comparing -----------------------------------------------------------------------------
    def _extreme(self, compares: Comparison) -> Conclusion | None:
        """The greatest or smallest value of two topics, or of the ends of a path."""
        if self._has_subjects and (found := self._aligned(measured=True)):
            operation = self._operation(compares, found[0][0])
            if self.question.asks_whether:
                return self._compared(found[0], operation)
            return compared_topics(found[0], operation)
        wanted = self.relevance.similarity  # the relation of the values must match what is compared
        options = [
            (s.score + float(wanted([s.path.hops[-1].label]).max()), s.path)
            for s in self.ranked
            if s.path.measured and len(s.path.hops) > 1 and len({f.anchor for f in s.path.facts}) > 1
        ]
        if options:
            _, path = max(options, key=lambda o: o[0])
            return compared(path, self._operation(compares, path))
        return None

    def _operation(self, compares: Comparison, path: FactPath) -> str:
        """Which end of the values at the end of a path is meant."""
        kind = "time" if path.dated else "number"
        return sense_of(compares, path.hops[-1].label, kind, self.encode).operation

    def _compared(self, paths: Sequence[FactPath], operation: str) -> Conclusion | None:
        """Yes or no: compare the first named topic with the other."""
        by_topic = {path.topic: path for path in paths}
        named = sorted(by_topic, key=lambda t: plain(self.text).find(plain(self.spelling[t])))
        values = [_size(by_topic[t].ends[0]) for t in named[:2]]
        if len(values) < 2 or None in values:
            return None
        first, second = values
        assert first is not None and second is not None
        holds = first > second if operation == "max" else first < second
        return compared_topics(paths, operation, "yes" if holds else "no")

    def _whether(self) -> Conclusion | None:
        """Whether one topic is what a path from another leads to."""
        for scored in self.ranked:
            # Topics without facts count too; homonyms are alternatives.
            others = {t for t, spelt in self.spelling.items() if spelt != self._subject(scored)}
            hit = others & set(scored.path.ends)
            if hit and self._support(scored.path) >= LEAST_SUPPORT:
                return yes_or_no(scored.path, "yes", hit)
        best = self.ranked[0]
        if self._support(best.path) < LEAST_SUPPORT:
            return None
        told = _TOLD.get(" ".join(best.path.ends))
        if told is not None and not self.question.negations and not self._has_subjects:
            return yes_or_no(best.path, told)
        if len(set(self.spelling.values())) > 1:
            return yes_or_no(best.path, "no")
        return None


def _size(value: str) -> Fraction | int | None:
    """The size of a number, or of a date, exactly; None for other values."""
    found = quantity(Value(value)) if is_quantity(value) else None
    return None if found is None else found.size
