"""From a question to a query: its things, the relations that join them, and the operation over them.

A query is written only if it says all that the question says: each content word, each topic and each number.
"""

from __future__ import annotations

from dataclasses import replace

from triplecheck.language.kinds import fit
from triplecheck.language.likeness import NAMES, NAMES_NOUN
from triplecheck.language.operations import is_money
from triplecheck.language.parse import Parse
from triplecheck.language.relevance import Encode
from triplecheck.language.text import plain
from triplecheck.lms.extractive.queries.bounds import kind_of_values, write_bounds
from triplecheck.lms.extractive.queries.comparing import compared_values, standard_of, write_comparison
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, begin, check_all_said, owner_of, select
from triplecheck.lms.extractive.queries.measures import Measure, measure_of, measure_of_words
from triplecheck.lms.extractive.queries.orders import choice, difference, ordered
from triplecheck.lms.extractive.queries.patterns import list_of, name, term, value, write_existence, write_joins
from triplecheck.lms.extractive.queries.reading import Reading, read
from triplecheck.lms.extractive.queries.sameness import shared_by_two, sharing_with, sharing_with_own
from triplecheck.lms.extractive.queries.schema import Relation
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.query_notation import THING

_BESIDE = "The question asks for what stands beside a topic."
_ASKED_BY_VERB = ("thing", "manner", "number")
"""What a question asks for whose verb may name the value: "what does it cost", "how much does it weigh"."""


def write_query(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The query that the question needs; `none` if it needs none, or if the schema does not say what it says."""
    reading = read(prompt, encode)
    needed = needs_query(reading)
    try:
        draft, query = _written(reading)
    except UnsaidError as error:
        return {"reasoning": str(error) if needed else _BESIDE, "query": "none"}
    needed = needed or draft.shares or _is_measured(draft) or _is_only_time(draft)
    if needed or (_is_named(draft) and _fits_word(draft, encode)):
        return {"reasoning": "", "query": query}
    return {"reasoning": _BESIDE, "query": "none"}


def _is_named(draft: Draft) -> bool:
    """Whether each relation from a topic to what is asked for is one that the question names by its words."""
    reading, likeness = draft.reading, draft.reading.likeness
    joins = list(draft.joins.values())
    if not reading.schema.classes or len(joins) != 1 or draft.values:
        return False
    hops = joins[0].hops
    of_topics = {at for topic in reading.topics for at in reading.units[topic].tokens}  # "the Search team"
    verbs = {at for at in reading.content if len(hops) == 2 and reading.joiner.is_deed(at, hops[0].end)}
    if verbs and reading.content <= of_topics | verbs:  # "who rented the van"
        return reading.question.asked.kind == "person" and likeness.fits("person", hops[1].end) == 1
    words = reading.words(sorted(reading.content - of_topics))
    named = [[hop for hop in hops if likeness.of_word(word, hop.relation.wordings) >= NAMES_NOUN] for word in words]
    return bool(words) and all(named) and all(any(hop in own for own in named) for hop in hops)


def _is_measured(draft: Draft) -> bool:
    """Whether "how long" or a verb ("what did we pay for") asks for a number of a topic, by a relation that is named so
    or measures it."""
    reading, asked = draft.reading, draft.reading.question.asked
    verbs = filter(reading.parse.acts, range(len(reading.parse)))
    words, labels = asked.attribute.split() or reading.words(verbs), {label for _, label in draft.values}
    if asked.kind not in _ASKED_BY_VERB or draft.joins or len(labels) != 1:
        return False
    numbers = (one for one in reading.schema.relations if one.label in labels and one.kind == "number")
    return any(reading.likeness.of_words([word], one.wordings) >= NAMES for one in numbers for word in words)


def _is_only_time(draft: Draft) -> bool:
    """Whether a question asks only when its topic was, and the topic has only one time."""
    reading = draft.reading
    if reading.content or reading.question.asked.kind != "time" or len(reading.topics) != 1:
        return False
    return len({one.label for one in reading.measures(reading.topics[0]) if one.kind == "time"}) == 1


def _fits_word(draft: Draft, encode: Encode) -> bool:
    """Whether what is found is a person for "who", a place for "where"; also if it has no class."""
    asked = draft.reading.question.asked.kind
    ends = {THING if join.attachment.to != draft.root else join.hops[-1].end for join in draft.joins.values()}
    language = draft.reading.question.language
    return asked not in ("person", "place") or all(
        end == THING or fit(asked, [end], encode, language) > 0 for end in ends
    )


def needs_query(reading: Reading) -> bool:
    """Whether the question computes, excludes, bounds, asks whether, or joins things of classes."""
    question, root = reading.question, reading.clauses.root
    computes = question.compares or question.ordinal or question.aggregate or question.limits
    bounds = any(limit.is_bound for limit in question.times)
    if computes or bounds or question.negations or question.asks_whether:
        return True
    beside = {unit.kind for unit in reading.units if unit.kind == "self" or not unit.is_asked}
    describes = not beside.isdisjoint({"self", "class", "word"}) or reading.joiner.value is not None
    lists = len(reading.topics) > 1 or (root is not None and reading.units[root].kind == "class")
    return describes or lists or not reading.topics


def _written(reading: Reading) -> tuple[Draft, str]:
    """The query, and what it was made of."""
    draft = begin(reading)
    query = (
        difference(draft)
        or shared_by_two(draft)
        or sharing_with(draft)
        or sharing_with_own(draft)
        or choice(draft)
        or compared_values(draft)
        or _whether(draft)
        or _selected(draft)
    )
    check_all_said(draft)
    return draft, query


# --- yes or no -------------------------------------------------------------------------------------
def _whether(draft: Draft) -> str | None:
    """The query for whether something holds; None if the question does not expect yes or no."""
    question = draft.reading.question
    if not question.asks_whether:
        return None
    found = question.compares
    standard = standard_of(draft, found) if found is not None and found.degree != "Sup" else None
    if found is not None and standard is not None:
        write_comparison(draft, found, owner_of(draft, found.at), standard)
    _write_patterns(draft)
    root = term(draft, draft.root)
    if draft.text.is_empty:
        raise UnsaidError("Nothing is asked whether it holds.")
    listed = list_of(draft, draft.root) if draft.reading.units[draft.root].kind == "topic" else []
    if len(listed) > 1 and not any(one.alternative for one in draft.attachments if one.with_ == draft.root):
        draft.text.for_each(root, [name(draft.reading, one) for one in listed])
    return f"ASK {draft.text.where}"


def _write_patterns(draft: Draft) -> None:
    """All conditions of the question."""
    write_joins(draft)
    write_bounds(draft)
    write_existence(draft)


# --- things and values -----------------------------------------------------------------------------
def _selected(draft: Draft) -> str:
    """The query for things, for a value, for what is computed of them, or for the first of an order."""
    of_verb = _value_of_verb(draft) or _time_of_first(draft)
    if of_verb is not None:
        _ask_for(draft, of_verb[0])
    found = draft.reading.question.compares
    if found is not None and found.degree == "Cmp":
        draft.standard = standard_of(draft, found)
    _write_patterns(draft)
    answer = _answer(draft) if of_verb is None else value(draft, *of_verb)
    if not answer.startswith("?"):
        raise UnsaidError("Nothing is asked for.")
    return ordered(draft, answer) or _aggregated(draft, answer)


def _value_of_verb(draft: Draft) -> tuple[int, Measure] | None:
    """Whose value is asked for, and which, where a verb says it: "what do our cakes cost on average"; else None."""
    reading, parse, asked = draft.reading, draft.reading.parse, draft.reading.question.asked
    asks_value = reading.units[draft.root].kind == "word" or _asks_amount(draft)
    if asked.kind not in _ASKED_BY_VERB or not asks_value:
        return None
    own_first = sorted(enumerate(reading.units), key=lambda one: not _is_own(parse, one[1].at))
    for number, unit in own_first:
        at = _whole_of(parse, unit.at)
        verb = parse.tokens[at].head
        if unit.kind == "word" or not parse.acts(verb) or not (_is_told_by(parse, at, verb) or _is_own(parse, unit.at)):
            continue
        words = reading.words([verb])
        measure = measure_of_words(reading.measures(number), words, reading.likeness)
        if measure is not None and measure.score >= NAMES:
            draft.said.add(verb)
            return number, measure
    return None


def _is_own(parse: Parse, at: int) -> bool:
    """Whether a noun is what another does something to or for, and has: "how much did X pay for its trucks"."""
    return parse.is_a(_whole_of(parse, at), "obj", "obl") and any(
        parse.pos(i) == "PRON" for i in parse.dependents(at, "nmod:poss")
    )


def _whole_of(parse: Parse, at: int) -> int:
    """The position of "all" in "all of its trucks"; that of the noun itself if no such word stands before it."""
    head = parse.tokens[at].head
    return head if parse.is_a(at, "nmod") and parse.pos(head) == "PRON" else at


def _is_told_by(parse: Parse, at: int, verb: int) -> bool:
    """Whether a verb says something of a noun: of its subject, or of what "we" do something to or for, as in "how much
    did we pay for the truck"."""
    subjects = parse.dependents(verb, "nsubj")
    are_owner = bool(subjects) and all(parse.tokens[i].feature("Person") == "1" for i in subjects)
    return parse.is_a(at, "nsubj") or (are_owner and parse.is_a(at, "obj", "obl"))


def _time_of_first(draft: Draft) -> tuple[int, Measure] | None:
    """The things and their time, for "when did X place its first order"; None if the question is of another form.

    The things have one time alone, and it is called no more than a date or a year.
    """
    reading, found = draft.reading, draft.reading.question.compares
    asks_time = reading.units[draft.root].kind == "word" and reading.question.asked.kind == "time"
    if found is None or found.degree == "Cmp" or not asks_time:
        return None
    owner = owner_of(draft, found.at)
    if reading.units[owner].kind != "class" or not reading.classes(owner):
        return None
    relations = reading.measures(owner)
    measure = measure_of(relations, found, reading.likeness, are_theirs=True)
    times = [one for one in relations if one.kind == "time"]
    if measure is None or times != [measure.relation]:
        return None
    named = reading.likeness.bases(measure.relation.label)
    is_bare = all(reading.parse.lexicon.nouns.get(base) == "time" for base in named)
    return (owner, measure) if is_bare else None


def _asks_amount(draft: Draft) -> bool:
    """Whether "how much" asks for a value of what the question speaks of: "how much do the cakes cost"."""
    reading, parse = draft.reading, draft.reading.parse
    asked = reading.question.asked
    root = reading.units[draft.root]
    return not root.is_asked and not asked.attribute and parse.find(parse.lexicon.quantities) is not None


def _ask_for(draft: Draft, number: int) -> None:
    """Make another unit the root: what the question word asks for is its value."""
    before, draft.root = draft.root, number
    others = [replace(one, to=number) if one.to == before else one for one in draft.attachments if one.unit != number]
    if draft.reading.units[before].kind == "topic":  # "what did X pay for its trucks" joins the trucks with X
        own = (replace(one, unit=before, to=number, words=()) for one in draft.attachments if one.unit == number)
        others = [*own, *others]
    else:
        draft.say_units([before])
    draft.attachments = tuple(others)


def _answer(draft: Draft) -> str:
    """The variable that the question asks for: the root, or a value of the root ("how old")."""
    if _asks_amount(draft) and draft.reading.question.aggregate is None:
        raise UnsaidError("No relation is the amount that is asked for.")
    reading, attribute = draft.reading, draft.reading.question.asked.attribute
    if not attribute or reading.units[draft.root].kind in ("noun", "word") or reading.question.counts:
        return term(draft, draft.root)
    measure = measure_of_words(reading.measures(draft.root), attribute.split(), reading.likeness)
    if measure is None:
        raise UnsaidError(f"No relation is a {attribute}.")
    return value(draft, draft.root, measure)


def _aggregated(draft: Draft, answer: str) -> str:
    """The query for the things, or for what is computed of them.

    Raises:
        UnsaidError: it would count groups, or compute something of no values.
    """
    question = draft.reading.question
    aggregate = question.aggregate
    if draft.having and aggregate is not None:
        raise UnsaidError("Groups are bounded and counted at once.")
    if draft.having:
        return select([answer], draft, f"GROUP BY {answer} HAVING({draft.having})")
    if aggregate is None:
        return select([f"DISTINCT {answer}"], draft)
    relation = _asked_numbers(draft)
    is_number = relation is not None and not (aggregate.kind == "count" and _numbers_things(draft, relation))
    counts_time = draft.reading.parse.lexicon.nouns.get(question.asked.lemma) == "time"
    if aggregate.kind == "count" and counts_time and draft.reading.units[draft.root].kind == "noun":
        raise UnsaidError("A span of time is asked for.")  # "how many years after"
    if aggregate.kind == "count" and relation is not None and _is_money_for_things(draft, relation):
        raise UnsaidError(f"{relation.label!r} counts nothing.")  # "how many crews does X coach": not by the fee
    if aggregate.kind == "count" and not is_number and not question.asked.attribute:
        return select([f"(COUNT(DISTINCT {answer}) AS ?number)"], draft)
    asks_number = question.asked.kind == "number" and draft.reading.units[draft.root].kind == "class"
    if not is_number and not draft.values and aggregate.kind == "sum" and asks_number:
        return select([f"(COUNT(DISTINCT {answer}) AS ?number)"], draft)  # "how many boats are there in total"
    if not is_number and not draft.values and aggregate.kind == "sum":
        return select([f"DISTINCT {answer}"], draft)  # "which book did they write together"
    if not is_number and not draft.values:
        raise UnsaidError(f"No value is there for {aggregate.text!r}.")
    function = "AVG" if aggregate.kind == "average" else "SUM"
    return select([f"({function}({answer}) AS ?{aggregate.kind})"], draft)


def _asked_numbers(draft: Draft) -> Relation | None:
    """The relation whose numbers the question asks for, by a noun or a question word; None if there is none."""
    ends = [
        join.hops[-1] if join.attachment.to == draft.root else join.hops[0]
        for join in draft.joins.values()
        if draft.root in (join.attachment.to, join.attachment.unit)
    ]
    is_value = draft.reading.units[draft.root].kind in ("noun", "word")
    return next((hop.relation for hop in ends if is_value and hop.relation.kind == "number"), None)


def _numbers_things(draft: Draft, relation: Relation) -> bool:
    """Whether values number things in an order, and are not those of a topic: stop numbers are not added up."""
    last, units = relation.label.split()[-1:], draft.reading.units
    own = any(
        len(join.hops) == 1 and units[join.attachment.unit].kind == "topic"
        for join in draft.joins.values()
        if relation in [hop.relation for hop in join.hops]
    )
    return not own and any(plain(word) in draft.reading.parse.lexicon.numbering for word in last)


def _is_money_for_things(draft: Draft, relation: Relation) -> bool:
    """Whether values are money, and the noun whose number is asked for is none."""
    reading, at = draft.reading, draft.reading.question.asked.at
    is_thing = at >= 0 and reading.units[draft.root].kind == "noun" and not is_money(reading.parse, at)
    return is_thing and kind_of_values(reading, relation).startswith("money")
