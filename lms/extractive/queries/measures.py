"""What a question compares: the values of which relation, of which things."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from triplecheck.language.likeness import COMPARED, NAMES, Likeness, unit_kind, unit_of_name
from triplecheck.language.operations import Comparison, Extreme
from triplecheck.lms.extractive.queries.schema import Relation

CLEARLY = 0.25
"""By how much a relation must be more like what is compared than others to be clearly meant."""
_LEAST_PERSONS, _CLEARLY_PERSONS = 0.25, 0.05
"""Likeness of a name and "number of people", and by how much it must be greater than that of all other names."""
_ONLY_TIME = 0.5
"""Of the only date of some things, where a word compares times: the oldest bridge, by the year in which it opened."""

_LEAST_TIME, _NEARER_TIME = 0.32, 0.04
"""Likeness of a verb and the time that it means, and by how much it must be greater than that of all other times."""


@dataclass(frozen=True)
class Measure:
    """A relation to values that words of the question mean.

    Attributes:
        relation: from the things to their values.
        operation: which end of the values is meant; `max` where nothing is compared.
        score: how near the words are.
    """

    relation: Relation
    operation: Extreme
    score: float


def measure_of_words(
    relations: Sequence[Relation], words: Sequence[str], likeness: Likeness, kinds: Collection[str] = ()
) -> Measure | None:
    """The relation to values that content words mean; None if none is near enough.

    Args:
        relations: to values, that the things may have.
        kinds: of values; empty for all.
    """
    return _best(measures_of_words(relations, words, likeness, kinds)) or measure_of_persons(relations, words, likeness)


def measures_of_words(
    relations: Sequence[Relation], words: Sequence[str], likeness: Likeness, kinds: Collection[str] = ()
) -> list[Measure]:
    """How near each relation to values is to content words; see `measure_of_words`."""
    return [
        Measure(relation, "max", likeness.of_words(words, relation.wordings) if words else 0.0)
        for relation in relations
        if not kinds or relation.kind in kinds
    ]


def nearest_time(times: Sequence[Measure]) -> Measure | None:
    """Of some times the one that a verb means, by its likeness; None if it is unclear."""
    near = sorted(times, key=lambda one: (-one.score, one.relation.label))
    if not near:
        return None
    others = (one.score for one in near if one.relation.label != near[0].relation.label)
    is_clear = near[0].score >= max((_LEAST_TIME, *(score + _NEARER_TIME for score in others)))
    return near[0] if is_clear else None


def measure_of_persons(relations: Sequence[Relation], words: Sequence[str], likeness: Likeness) -> Measure | None:
    """The relation that says how many people, if the words speak of people; None if no name is clearly nearest."""
    if not likeness.speaks_of_persons(words):
        return None
    numbers = [
        one for one in relations if one.kind == "number" and not unit_kind(unit_of_name(one.label), likeness.language)
    ]
    near = sorted(((likeness.of_persons(one.wordings), one.label, one) for one in numbers), key=lambda one: one[:2])
    if not near or near[-1][0] < _LEAST_PERSONS or (near[1:] and near[-1][0] - near[-2][0] < _CLEARLY_PERSONS):
        return None
    return Measure(near[-1][2], "max", NAMES)


def measure_of(
    relations: Sequence[Relation], compared: Comparison, likeness: Likeness, *, are_theirs: bool
) -> Measure | None:
    """The relation to values that a comparison means: the oldest by age, or by the year in which it was built.

    Args:
        relations: to values, that the things may have.
        are_theirs: whether the things are known to have them; else only one that is clearly nearest is meant.
    """
    times = {relation.label for relation in relations if relation.kind == "time"}
    is_time = any(sense.kind == "time" for sense in compared.senses)
    found = []
    for relation in relations:
        for sense in compared.senses:
            is_year = relation.tail == "year" and sense.kind == "number" and not is_time
            if sense.kind != relation.kind and not is_year:
                continue
            words = sense.quantity.split() or [compared.lemma]
            score = max(_likeness(word, relation, likeness, alone=len(words) == 1) for word in words)
            if sense.kind == relation.kind == "time" and len(times) == 1:
                score = max(score, _ONLY_TIME)
            found.append(Measure(relation, sense.operation, score))
    best = _best(found)
    if best is None and (counted := measure_of_persons(relations, compared.quantity.split(), likeness)) is not None:
        return replace(counted, operation=compared.operation)
    if best is not None and not are_theirs:
        others = [one for one in found if one.relation.label != best.relation.label]
        if any(best.score - one.score < CLEARLY for one in others):
            return None
    return best


def _likeness(word: str, relation: Relation, likeness: Likeness, *, alone: bool) -> float:
    """How near a relation is to a word of what is compared. "Year" and "date" beside others are in the names of all
    times: the oldest is not who joined first, by `joined year`."""
    found = likeness.of_word(word, relation.wordings)
    is_of_all = not alone and likeness.lexicon.nouns.get(word) == "time"
    return min(found, _ONLY_TIME) if is_of_all else found


def _best(found: Sequence[Measure]) -> Measure | None:
    best = max(found, key=lambda measure: measure.score, default=None)
    return best if best is not None and best.score >= COMPARED else None
