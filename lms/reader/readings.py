"""What the facts of a prompt may tell: every reading of them, with the features by which a reader chooses one.

A reading is a path of facts, or several, and what is done with its ends. Code lists them all and writes the reply of
each, so a reader can choose no reply that the facts do not give.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.ranker import LONGEST, PathRanker
from triplecheck.language.question import Question, spelling
from triplecheck.language.relevance import Encode, PathRelevance, phrases, sense_of
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
from triplecheck.lms.fact_paths import FactPath, follow, misfits
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import Hops, read_facts, read_topic

KINDS = ("nothing", "look up", "count", "sum", "max", "min", "common", "number shared", "same", "yes", "no")
"""What is done with the ends of the paths."""

_MOST_PATHS = 60  # the best by the score set by hand; of these, pairs and values are read
_PAIRED = 12  # of each topic
_LEAST_CHANCE = -12.0
_TRUTHS = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class Reading:
    """One way to read the facts.

    Attributes:
        features: by which it is chosen, shape (`FEATURES`,).
    """

    kind: str
    conclusion: Conclusion
    features: FloatArray


def readings(prompt: Prompt, encode: Encode, ranker: PathRanker) -> list[Reading]:
    """Every reading of the facts in a prompt; the first is that they tell nothing.

    Args:
        encode: texts to L2-normalised vectors, (n, d).
        ranker: scores paths, beside the score set by hand; also those from several topics (`PathRanker.several`).
    """
    read = [read_topic(topic) for topic in prompt.items("topics")]
    facts = read_facts(prompt.items("facts"))
    paths = follow(facts, [topic.name for topic in read])
    paths = [path for path in paths if path.ends != [path.topic]] or paths
    if not paths:
        return [Reading(KINDS[0], Conclusion(), np.zeros(FEATURES, np.float32))]
    question = prompt.question(phrases(hop for path in paths for hop in path.hops))
    spellings = {topic.name: spelling(topic) for topic in read}
    described = _Described(question, encode, ranker, paths, spellings, len(facts))
    return [described.reading(*one) for one in _listed(described)]


Listed = tuple[str, Conclusion, tuple[int, ...]]
"""Kind, reply and the positions of its paths."""


class _Described:
    """The paths of a prompt and their features, best by the score set by hand first."""

    def __init__(
        self,
        question: Question,
        encode: Encode,
        ranker: PathRanker,
        paths: Sequence[FactPath],
        spellings: Mapping[str, str],
        facts: int,
    ) -> None:
        self.question, self.spellings, self._encode = question, spellings, encode
        relevance = PathRelevance(question, encode)
        scores = relevance.paths([path.hops for path in paths], topics=[path.topic for path in paths])
        scores = scores - np.array([float(misfits(question.asked.kind, path)) for path in paths])
        order = np.argsort(-scores, kind="stable")[:_MOST_PATHS]
        self.paths, scores = [paths[at] for at in order.tolist()], scores[order]
        hops, topics = [path.hops for path in self.paths], [path.topic for path in self.paths]
        chances = PathRelevance(question, encode, ranker).chances(hops, topics)
        assert chances is not None  # there is a ranker
        features = [self._of_path(path, relevance, facts) for path in self.paths]
        beside = np.stack(
            [
                scores - scores.max(),
                scores,
                np.maximum(_chances_of(chances, topics), _LEAST_CHANCE) / 4,
                _chances_of_lengths(chances, [len(path) for path in hops]),
            ],
            axis=1,
        )
        self._features = np.concatenate([beside, np.array(features)], axis=1).astype(np.float32)
        self._asked = self._of_question()

    def reading(self, kind: str, conclusion: Conclusion, at: tuple[int, ...]) -> Reading:
        """A reading with its features. Nothing is described by the path that fits best."""
        own = self._features[list(at or (0,))]
        kinds = np.array([float(kind == one) for one in KINDS])
        agrees = float(kind in ("max", "min") and self._sense(at) == kind)
        least = own.min(axis=0)[:_RATED]
        features = np.concatenate([kinds, self._asked, [agrees, float(len(at) > 1)], own.mean(axis=0), least])
        return Reading(kind, conclusion, features.astype(np.float32))

    def others(self, path: FactPath) -> set[str]:
        """The topics that are another thing than that of a path."""
        own = self.spellings.get(path.topic)
        return {name for name, spelt in self.spellings.items() if spelt != own}

    def _sense(self, at: tuple[int, ...]) -> str:
        compares, path = self.question.compares, self.paths[at[0]]
        if compares is None:
            return ""
        kind = "time" if path.dated else "number"
        return sense_of(compares, path.hops[-1].label, kind, self._encode).operation

    def _of_question(self) -> FloatArray:
        question, subjects = self.question, len(set(self.spellings.values()))
        asked = question.asked.kind
        told = (
            question.counts,
            question.asks_whether,
            question.compares is not None,
            question.asks_same,
            question.aggregate is not None,
            question.chooses,
            bool(question.negations),
            subjects > 1,
            asked in ("person", "place"),
            asked == "time",
            asked == "number",
        )
        return np.array(told, np.float32)

    def _of_path(self, path: FactPath, relevance: PathRelevance, facts: int) -> list[float]:
        ends = path.ends
        similar = relevance.similarity([hop.label for hop in path.hops])
        whole = similar.max(axis=0) if similar.size else np.zeros(1)
        longer = [one for one in self.paths if one.topic == path.topic and one.hops[:-1] == path.hops]
        asked = self.question.asked
        return [
            relevance.support(path.hops),
            float(whole.mean()),
            float(whole.min()),
            float(similar.max(axis=1).min()) if similar.size else 0.0,
            *(float(len(path.hops) == length) for length in range(1, LONGEST + 1)),
            float(not longer),
            len(path.numbers()) / facts,
            float(misfits(asked.kind, path)),
            float(path.measured),
            float(np.log1p(len(ends))) / 4,
            float(len(ends) == 1),
            float(asked.is_list and len(ends) > 1),
            relevance.backwards(path.hops) / len(path.hops),
            float(path.topic in ends),
            float(not self.others(path).isdisjoint(ends)),
            float(any(fact.more for fact in path.facts)),
            (len(relevance.segments) - len(path.hops)) / 3,
        ]


_RATED = 8
"""Features of a path of which the least among several paths counts, too."""
_OF_PATH, _OF_QUESTION = 4 + 16 + LONGEST, 11
FEATURES = len(KINDS) + _OF_QUESTION + 2 + _OF_PATH + _RATED
"""Number of features of a reading."""


def _chances_of(chances: FloatArray, topics: Sequence[str]) -> FloatArray:
    """The log-probability of each path among those of its topic."""
    own = np.array(topics)
    sums = {topic: np.logaddexp.reduce(chances[own == topic]) for topic in set(topics)}
    own_chances: FloatArray = chances - np.array([sums[topic] for topic in topics])
    return own_chances


def _chances_of_lengths(chances: FloatArray, lengths: Sequence[int]) -> FloatArray:
    """The probability, by the ranker, of all paths as long as each one."""
    own = np.array(lengths)
    sums = {length: np.exp(np.logaddexp.reduce(chances[own == length])) for length in set(lengths)}
    shares: FloatArray = np.array([sums[length] for length in lengths]) / np.exp(np.logaddexp.reduce(chances))
    return shares


# --- the readings --------------------------------------------------------------------------------
def _listed(described: _Described) -> Iterator[Listed]:
    yield KINDS[0], Conclusion(), ()
    for at, path in enumerate(described.paths):
        yield from _of_one(described, at, path)
    yield from _of_aligned(described)
    yield from _of_pairs(described)


def _of_one(described: _Described, at: int, path: FactPath) -> Iterator[Listed]:
    ends, question = path.ends, described.question
    if question.excludes_topics or len(path.hops) > 1:
        ends = [end for end in ends if end != path.topic] or ends
    yield "look up", looked_up(path, ends), (at,)
    yield "count", over_values(path, "count"), (at,)
    if path.measured and len(path.facts) > 1:
        yield "sum", over_values(path, "sum"), (at,)
        if len(path.hops) > 1 and len({fact.anchor for fact in path.facts}) > 1:
            yield "max", compared(path, "max"), (at,)
            yield "min", compared(path, "min"), (at,)
    others = described.others(path)
    hit = others & set(ends)
    told = _TRUTHS.get(" ".join(ends))
    if hit:
        yield "yes", yes_or_no(path, "yes", hit), (at,)
    elif others:
        yield "no", yes_or_no(path, "no"), (at,)
    elif told is not None:
        yield told, yes_or_no(path, told), (at,)


def _of_aligned(described: _Described) -> Iterator[Listed]:
    """The readings of the same relations from different topics."""
    groups: dict[Hops, list[int]] = {}
    for at, path in enumerate(described.paths):
        groups.setdefault(path.hops, []).append(at)
    for group in groups.values():
        paths = [described.paths[at] for at in group]
        if len({described.spellings.get(path.topic) for path in paths}) < 2:
            continue
        yield "same", same(paths), tuple(group)
        if all(path.measured for path in paths):
            yield "max", compared_topics(paths, "max"), tuple(group)
            yield "min", compared_topics(paths, "min"), tuple(group)


def _of_pairs(described: _Described) -> Iterator[Listed]:
    """The readings of two paths from different topics that lead to the same things."""
    by_subject: dict[str, list[int]] = {}
    for at, path in enumerate(described.paths):
        by_subject.setdefault(described.spellings.get(path.topic, path.topic), []).append(at)
    for some, others in itertools.combinations(by_subject.values(), 2):
        for one, other in itertools.product(some[:_PAIRED], others[:_PAIRED]):
            paths = described.paths[one], described.paths[other]
            if not set(paths[0].ends).isdisjoint(paths[1].ends):
                yield "common", shared(*paths), (one, other)
                yield "number shared", shared(*paths, counts=True), (one, other)
