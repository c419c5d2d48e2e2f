"""What things share: "do A and B have the same owner", "who lives in the same city as A"."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.language.likeness import NAMES
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, select
from triplecheck.lms.extractive.queries.patterns import name, term
from triplecheck.lms.extractive.queries.reading import Reading
from triplecheck.lms.extractive.queries.schema import Relation, fits

_SAME_CLASS = 0.55
"""Likeness of a relation that leads to the class that two things are asked to share: "the same team"."""


def shared_by_two(draft: Draft) -> str | None:
    """The query for whether two topics have the same of something; None if this is not asked.

    Raises:
        UnsaidError: not two things are named.
    """
    reading, topics = draft.reading, draft.reading.topics
    if not reading.question.asks_same:
        return None
    if len(topics) != 2:
        raise UnsaidError("What is the same is asked of two things.")
    relation = _shared(draft, [reading.joiner.ends.classes(topic) for topic in topics])
    _write_shared(draft, [name(reading, topic) for topic in topics], relation)
    return f"ASK {draft.text.where}"


def sharing_with(draft: Draft) -> str | None:
    """The query for the things that have the same of something as a topic; None if they are not asked for."""
    reading, parse = draft.reading, draft.reading.parse
    says_same = any(_is_same(draft, at) for at in range(len(parse)))
    if not says_same or reading.question.asks_whether or len(reading.topics) != 1 or draft.root in reading.topics:
        return None
    topic = reading.topics[0]
    ends = [reading.joiner.ends.classes(topic)]
    if reading.units[draft.root].kind == "class":
        ends.append(reading.joiner.ends.classes(draft.root))
    relation = _shared(draft, ends)
    variable, own = term(draft, draft.root), name(reading, topic)
    _write_shared(draft, [variable, own], relation)
    draft.text.add(f"FILTER({variable} != {own})")
    return select([f"DISTINCT {variable}"], draft)


def _is_same(draft: Draft, at: int) -> bool:
    """Whether a word says that something is shared."""
    parse = draft.reading.parse
    return not parse.lexicon.same.isdisjoint({parse.lemma(at), parse.words[at]})


def _shared(draft: Draft, ends: Sequence[tuple[str, ...]]) -> str:
    """The relation that things are asked to share.

    Args:
        draft: nothing is said yet.

    Raises:
        UnsaidError: no relation of all of them is what the question names.
    """
    reading, parse = draft.reading, draft.reading.parse
    asked = [at for at in sorted(reading.content) if not _is_same(draft, at)]
    named = [at for at in asked if parse.lexicon.nouns.get(parse.lemma(at)) != "time"]
    words, timed = reading.words(named), len(named) < len(asked)
    by_label: dict[str, list[Relation]] = {}
    for relation in reading.schema.relations:
        by_label.setdefault(relation.label, []).append(relation)
    options = [
        (*max(_likeness(reading, one, words) for one in own), label)
        for label, own in by_label.items()
        if all(any(fits(classes, one.head) for one in own) for classes in ends) and (not timed or own[0].kind == "time")
    ]
    score, _, label = max(options, default=(0.0, 0.0, ""))
    if score < NAMES:
        raise UnsaidError(f"No relation is {' '.join(words)!r}.")
    draft.say_units(range(len(reading.units)))
    draft.said.update(reading.content)
    return label


def _likeness(reading: Reading, relation: Relation, words: Sequence[str]) -> tuple[float, float]:
    """How well a relation says what is shared, by its words or by the class to which it leads; then by its words."""
    classes = {name for unit in reading.units if unit.kind == "class" and not unit.is_asked for name in unit.names}
    by_words = reading.likeness.of_words(words, relation.wordings)
    return max(by_words, _SAME_CLASS if relation.tail in classes else 0.0), by_words


def _write_shared(draft: Draft, ends: Sequence[str], relation: str) -> None:
    """That things have the same value of a relation; dates are the same if their years are."""
    reading, parse, text = draft.reading, draft.reading.parse, draft.text
    dated = any(one.label == relation and one.tail == "date" for one in reading.schema.relations)
    years = dated and any(parse.lemma(at) in parse.lexicon.years for at in range(len(parse)))
    values = [text.variable("year") for _ in ends] if years else ["?same"] * len(ends)
    for end, same in zip(ends, values, strict=True):
        text.triple(end, relation, same)
    if years:
        text.add(f"FILTER(YEAR({values[0]}) = YEAR({values[1]}))")
