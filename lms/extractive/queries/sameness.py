"""What things share: "do A and B have the same owner", "who lives in the same city as A", "... as their teacher",
"who is as old as A"."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplecheck.language.likeness import NAMES
from triplecheck.language.operations import Comparison, equal_in
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, select
from triplecheck.lms.extractive.queries.measures import measure_of
from triplecheck.lms.extractive.queries.patterns import name, named_relation, term
from triplecheck.lms.extractive.queries.reading import Reading, is_denied
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
    """The query for the things that have the same of something as a topic; None if they are not asked for.

    Raises:
        UnsaidError: no relation is what they share, or the question computes or bounds something besides.
    """
    reading, question = draft.reading, draft.reading.question
    if question.asks_whether or len(reading.topics) != 1 or draft.root in reading.topics:
        return None
    equal = _as_much(draft)
    if equal is None and not _says_same(draft):
        return None
    if question.aggregate or question.limits or question.compares or any(limit.is_bound for limit in question.times):
        raise UnsaidError("What things share is not computed with other conditions.")
    topic = reading.topics[0]
    ends, of_class = [reading.joiner.ends.classes(topic)], list[int]()
    if reading.units[draft.root].kind == "class":
        ends.append(reading.joiner.ends.classes(draft.root))
        of_class = [at for at, unit in reading.unit_at.items() if unit == draft.root]
    relation = _shared(draft, ends, of_class=of_class) if equal is None else _equal(draft, equal, ends)
    variable, own = term(draft, draft.root), name(reading, topic)
    _write_shared(draft, [variable, own], relation, years=equal is not None)
    draft.text.add(f"FILTER({variable} != {own})")
    draft.shares = True
    return select([f"DISTINCT {variable}"], draft)


def sharing_with_own(draft: Draft) -> str | None:
    """The query for things that share a value with another thing of theirs; None if the question does not ask for them.

    Raises:
        UnsaidError: no relation leads to that other thing.
    """
    reading, parse = draft.reading, draft.reading.parse
    own = [at for at in range(len(parse)) if parse.pos(at) == "NOUN" and _is_theirs(draft, at)]
    if not _says_same(draft) or not own or reading.question.asks_whether or reading.topics:
        return None
    named = named_relation(reading, draft.root, reading.words(own[:1]))
    if named is None:
        raise UnsaidError(f"No relation is {parse.words[own[0]]!r}.")
    relation, forward = named
    variable, other = term(draft, draft.root), draft.text.variable(parse.lemma(own[0]))
    head, tail = (variable, other) if forward else (other, variable)
    draft.text.triple(head, relation.label, tail)
    shared = _shared(draft, [reading.joiner.ends.classes(draft.root)], besides=own[:1])
    _write_shared(draft, [variable, other], shared)
    draft.text.add(f"FILTER({variable} != {other})")
    return select([f"DISTINCT {variable}"], draft)


def _as_much(draft: Draft) -> Comparison | None:
    """What "as old as" compares with a topic; None if the question does not say so.

    Raises:
        UnsaidError: something else than the topic follows, or a word says that they are not quite equal: "not as old
            as", "twice as old as".
    """
    reading, parse = draft.reading, draft.reading.parse
    as_ = parse.lexicon.clauses.get("as", ())
    for at in range(2, len(parse) - 2):
        if parse.lemma(at) in parse.lexicon.scales and parse.words[at - 1] in as_ and parse.words[at + 1] in as_:
            after = at + 3 if parse.pos(at + 2) == "DET" else at + 2
            is_plain = parse.lemma(at - 2) in parse.lexicon.copulas and not is_denied(reading, at)
            if not is_plain or reading.unit_at.get(after) != reading.topics[0]:
                equal = f"is as {parse.words[at]} as"
                raise UnsaidError(
                    f"A query needs '{equal}' with the name of a thing, and no 'not', 'twice' or 'almost'."
                )
            return equal_in(parse, at)
    return None


def _equal(draft: Draft, found: Comparison, ends: Sequence[tuple[str, ...]]) -> str:
    """The relation whose values are equal for two things."""
    reading, both = draft.reading, _of_all(draft.reading, ends)
    measures = [one for one in reading.measures(draft.root) if one.label in both]
    measure = measure_of(measures, found, reading.likeness, are_theirs=True)
    if measure is None:
        raise UnsaidError(f"No relation is what {found.text!r} compares.")
    draft.said.add(found.at)
    draft.say_units([draft.root, *reading.topics])
    return measure.relation.label


def _is_theirs(draft: Draft, at: int) -> bool:
    """Whether a noun is said to be of what is asked for: "their teacher"."""
    parse = draft.reading.parse
    whose = (parse.tokens[i] for i in parse.dependents(at, "nmod:poss"))
    return any(token.pos == "PRON" and token.feature("Person") == "3" for token in whose)


def _says_same(draft: Draft) -> bool:
    """Whether the question says that something is shared."""
    return any(_is_same(draft, at) for at in range(len(draft.reading.parse)))


def _is_same(draft: Draft, at: int) -> bool:
    """Whether a word says that something is shared."""
    parse = draft.reading.parse
    return not parse.lexicon.same.isdisjoint({parse.lemma(at), parse.words[at]})


def _shared(
    draft: Draft, ends: Sequence[tuple[str, ...]], besides: Sequence[int] = (), of_class: Collection[int] = ()
) -> str:
    """The relation that things are asked to share.

    Args:
        draft: nothing of it is said yet.
        besides: tokens that say something else.
        of_class: tokens of the class that is asked for. The relation's name may repeat it: `client since`.

    Raises:
        UnsaidError: no relation of all of them is what the question names.
    """
    reading, parse = draft.reading, draft.reading.parse
    asked = [at for at in sorted(reading.content.difference(besides)) if not _is_same(draft, at)]
    named = [at for at in asked if parse.lexicon.nouns.get(parse.lemma(at)) != "time"]
    words, timed = reading.words(named), len(named) < len(asked)
    bare = reading.words(at for at in named if at not in of_class)
    ways = [words, bare] if len(bare) == 1 else [words]
    options = [
        (*max(_likeness(reading, one, some) for one in own for some in ways), label)
        for label, own in _of_all(reading, ends).items()
        if not timed or own[0].kind == "time"
    ]
    score, _, label = max(options, default=(0.0, 0.0, ""))
    if score < NAMES:
        raise UnsaidError(f"No relation is {' '.join(words)!r}.")
    draft.say_units(range(len(reading.units)))
    draft.said.update(reading.content)
    return label


def _of_all(reading: Reading, ends: Sequence[tuple[str, ...]]) -> dict[str, list[Relation]]:
    """The relations that all of some things may have, by label."""
    by_label: dict[str, list[Relation]] = {}
    for relation in reading.schema.relations:
        by_label.setdefault(relation.label, []).append(relation)
    return {
        label: own
        for label, own in by_label.items()
        if all(any(fits(classes, one.head) for one in own) for classes in ends)
    }


def _likeness(reading: Reading, relation: Relation, words: Sequence[str]) -> tuple[float, float]:
    """How well a relation says what is shared, by its words or by the class to which it leads; then by its words."""
    classes = {name for unit in reading.units if unit.kind == "class" and not unit.is_asked for name in unit.names}
    by_words = reading.likeness.of_words(words, relation.wordings)
    return max(by_words, _SAME_CLASS if relation.tail in classes else 0.0), by_words


def _write_shared(draft: Draft, ends: Sequence[str], relation: str, *, years: bool = False) -> None:
    """That things have the same value of a relation.

    Args:
        years: compare the years of dates, also where the question names no year.
    """
    reading, parse, text = draft.reading, draft.reading.parse, draft.text
    dated = any(one.label == relation and one.tail == "date" for one in reading.schema.relations)
    years = dated and (years or any(parse.lemma(at) in parse.lexicon.years for at in range(len(parse))))
    values = [text.variable("year") for _ in ends] if years else ["?same"] * len(ends)
    for end, same in zip(ends, values, strict=True):
        text.triple(end, relation, same)
    if years:
        text.add(f"FILTER(YEAR({values[0]}) = YEAR({values[1]}))")
