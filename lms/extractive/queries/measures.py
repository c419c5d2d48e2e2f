"""What a question compares: the values of which relation, of which things."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from triplecheck.language.likeness import COMPARED, Likeness
from triplecheck.language.operations import Comparison, Extreme
from triplecheck.lms.extractive.queries.schema import Relation, Schema, fits

_CLEARLY = 0.25
_ONLY_TIME = 0.5
"""Of the only date of some things, where a word compares times: the oldest bridge, by the year in which it opened."""


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
    schema: Schema,
    classes: Collection[str] | None,
    words: Sequence[str],
    likeness: Likeness,
    kinds: Collection[str] = (),
) -> Measure | None:
    """The relation to values that content words mean; None if none is near enough.

    Args:
        classes: of the things; empty: they have none; None: they may be of any.
        kinds: of values; empty for all.
    """
    found = [
        Measure(relation, "max", likeness.of_words(words, relation.wordings) if words else 0.0)
        for relation in _measured(schema, classes, kinds)
    ]
    return _best(found)


def measure_of(
    schema: Schema, classes: Collection[str] | None, compared: Comparison, likeness: Likeness
) -> Measure | None:
    """The relation to values that a comparison means: the oldest by age, or by the year in which it was built."""
    relations = _measured(schema, classes, ())
    times = {relation.label for relation in relations if relation.kind == "time"}
    found = []
    for relation in relations:
        for sense in compared.senses:
            if sense.kind != relation.kind and not (relation.tail == "year" and sense.kind == "number"):
                continue
            score = max(
                likeness.of_word(word, relation.wordings) for word in sense.quantity.split() or [compared.lemma]
            )
            if sense.kind == relation.kind == "time" and len(times) == 1:
                score = max(score, _ONLY_TIME)
            found.append(Measure(relation, sense.operation, score))
    best = _best(found)
    if best is not None and not classes:  # which things have it is not known: no other may be meant
        others = [one for one in found if one.relation.label != best.relation.label]
        if any(best.score - one.score < _CLEARLY for one in others):
            return None
    return best


def _measured(schema: Schema, classes: Collection[str] | None, kinds: Collection[str]) -> list[Relation]:
    return [
        relation
        for relation in schema.relations
        if relation.is_measured
        and (classes is None or fits(classes, relation.head))
        and (not kinds or relation.kind in kinds)
    ]


def _best(found: Sequence[Measure]) -> Measure | None:
    best = max(found, key=lambda measure: measure.score, default=None)
    return best if best is not None and best.score >= COMPARED else None
