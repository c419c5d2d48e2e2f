"""The patterns of a query: the terms of its units, their classes, the relations that join them, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from triplecheck.kg.plans.notation import write_label
from triplecheck.language.clauses import Attachment
from triplecheck.language.likeness import NAMES, SURELY, least_likeness
from triplecheck.language.operations import number as number_at
from triplecheck.language.roles import head_of, same_stem
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, owner_of
from triplecheck.lms.extractive.queries.ends import Hop
from triplecheck.lms.extractive.queries.joins import Join
from triplecheck.lms.extractive.queries.measures import Measure
from triplecheck.lms.extractive.queries.reading import Reading, is_denied
from triplecheck.lms.extractive.queries.schema import Relation, fits
from triplecheck.signatures.query_notation import THING


# --- terms and values ------------------------------------------------------------------------------
def term(draft: Draft, number: int) -> str:
    """The name of a topic, or the variable of a unit, whose class is written where it is first used."""
    if number not in draft.terms:
        unit = draft.reading.units[number]
        if unit.kind == "self":
            draft.say_units([number])
            return term(draft, draft.root)
        if unit.kind != "noun" or not draft.reading.schema.classes:
            draft.say_units([number])
        if unit.kind == "topic":
            _write_topics(draft, number)
        else:
            draft.terms[number] = _new_variable(draft, number)
    return draft.terms[number]


def _write_topics(draft: Draft, number: int) -> None:
    """The term of a topic and of those listed with it."""
    listed = list_of(draft, number)
    reading = draft.reading
    names = [name(reading, one) for one in listed]
    if len(listed) == 1 and not reading.question.asks_whether:  # a name that several things have stands for each
        same = reading.schema.namesakes(reading.units[number].names[0])
        names = [write_label(topic.name) for topic in same]
    found = names[0] if len(names) == 1 else one_of(draft, names)
    draft.terms.update(dict.fromkeys(listed, found))
    draft.say_units(listed)
    unit = draft.reading.units[number]
    if unit.classes:
        draft.text.of_class(found, unit.classes)
        draft.said.update(range(*unit.classes_at))


def one_of(draft: Draft, names: Sequence[str]) -> str:
    """A new variable that stands for each of some names."""
    variable = draft.text.variable("one")
    draft.text.add(f"VALUES {variable} {{ {' '.join(names)} }}")
    return variable


def _new_variable(draft: Draft, number: int) -> str:
    unit = draft.reading.units[number]
    if unit.kind == "number":
        variable = draft.text.variable("value")
        draft.text.add(f"FILTER({variable} = {written(number_at(draft.reading.parse, unit.at) or 0)})")
        return variable
    variable = draft.text.variable("answer" if unit.kind == "word" and unit.is_asked else unit.names[0])
    if unit.kind == "class":
        _write_classes(draft, number, variable)
        flag = draft.reading.held.get(unit.at)
        truth = None if flag is None else flag.truth(draft.reading.parse.lexicon.flags)
        if flag is not None and truth is not None:
            draft.text.triple(variable, flag.label, write_label(truth[0]))
    return variable


def written(bound: float) -> str:
    """A number as a query writes it."""
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _write_classes(draft: Draft, number: int, variable: str) -> None:
    """The class of a variable, and those that "and" or "or" joins to it."""
    names = list(draft.reading.units[number].names)
    for one in draft.attachments:
        other = draft.reading.units[one.unit]
        if one.with_ != number or other.kind != "class" or not _is_listed(draft, one):
            continue
        draft.say_units([one.unit])
        if one.alternative:
            names += other.names
        else:
            draft.text.of_class(variable, other.names)
    draft.text.of_class(variable, names)


def name(reading: Reading, number: int) -> str:
    """The name of a topic, as a query writes it."""
    spelling = reading.units[number].names[0]
    topic = reading.schema.topic(spelling)
    if topic is None:
        raise UnsaidError(f"{spelling} is no topic.")
    return write_label(topic.name)


def value(draft: Draft, owner: int, measure: Measure) -> str:
    """The variable of a value of a unit."""
    key = (owner, measure.relation.label)
    if key not in draft.values:
        draft.values[key] = draft.text.variable(measure.relation.label)
        draft.text.triple(term(draft, owner), measure.relation.label, draft.values[key])
    return draft.values[key]


def write_filter(draft: Draft, condition: str, *, denied: bool) -> None:
    """A filter, or its opposite."""
    draft.text.add(f"FILTER(!({condition}))" if denied else f"FILTER({condition})")


# --- joins -----------------------------------------------------------------------------------------
def write_joins(draft: Draft) -> None:
    """The relations that join the units to what is asked for.

    Raises:
        UnsaidError: the schema has no relation between two of them.
    """
    kept = []
    for one in draft.attachments:  # a standard of comparison is in a filter
        own = draft.reading.units[one.unit]
        if one.unit == draft.standard or (own.kind == "word" and own.is_asked):
            continue
        if _is_other(draft, one):
            draft.text.add(f"FILTER({term(draft, one.to)} != {term(draft, one.unit)})")
        elif not _is_listed(draft, one):
            kept.append(replace(one, denied=one.denied != one.excluded))
    found = draft.reading.joiner.best(kept)
    if found is None:
        raise UnsaidError("No relation joins the things that the question names.")
    draft.joins = {join.attachment.unit: join for join in found}
    _check_reflexives(draft)
    _check_described(draft)
    for join in found:
        above = draft.joins.get(join.attachment.to)
        if above is not None and above.hops == join.hops and not (above.said - join.said and join.said - above.said):
            raise UnsaidError("No word says one of two relations, one after the other.")
    units = [join.attachment.unit for join in found if join.attachment.denied]
    denied = {unit: list(_beneath(unit, found)) for unit in units}
    inside = {*units, *(below for beneath in denied.values() for below in beneath)}
    _write_persons(draft, found)
    for join in found:
        if join.attachment.unit not in inside:
            _write_join(draft, join)
    for unit, beneath in sorted(denied.items()):
        if any(unit in others for others in denied.values()):
            raise UnsaidError("Something is denied twice.")
        _write_denied(draft, draft.joins[unit], [draft.joins[below] for below in beneath])


def _write_persons(draft: Draft, joins: Sequence[Join]) -> None:
    """The classes of who is asked for, where a relation to them leads to other things too: "who is at the station", if
    crews and vehicles are."""
    reading, root = draft.reading, term(draft, draft.root)
    if not reading.joiner.asks(draft.root, "person"):
        return
    last = [one.hops[-1] for one in joins if one.attachment.to == draft.root and not one.attachment.denied]
    for label, forward in sorted({(hop.relation.label, hop.forward) for hop in last}):
        same = [one for one in reading.schema.relations if one.label == label]
        ends = dict.fromkeys(one.tail if forward else one.head for one in same)
        persons = [end for end in ends if reading.joiner.ends.fit("person", end) > 0]
        acting = [end for end in ends if end in persons or reading.likeness.is_group(end)]
        if persons and len(acting) < len(ends):
            draft.text.of_class(root, acting)


def _check_reflexives(draft: Draft) -> None:
    """Raise an error if a reflexive is joined to a thing as what it stands for is: "wrote a letter to herself"."""
    reading = draft.reading
    for join in draft.joins.values():
        unit, of_root = reading.units[join.attachment.unit], draft.joins.get(join.attachment.to)
        back = tuple(hop.back for hop in reversed(join.hops))
        if unit.kind == "self" and of_root is not None and of_root.hops == back:
            raise UnsaidError(f"No relation says {reading.parse.tokens[unit.at].text!r}.")


def _check_described(draft: Draft) -> None:
    """Raise an error if two values in a row are not joined to one thing by one relation each ("who adopted a brown
    dog"), or if a list stands before the second ("black or brown dogs")."""
    listed = {one.unit for one in draft.attachments if one.with_ is not None}
    for one in draft.attachments:
        if one.describes is None:
            continue
        numbers = (one.unit, one.describes) if one.unit in draft.joins else ()
        joins = [draft.joins[number] for number in numbers if number in draft.joins]
        are_apart = len({join.attachment.to for join in joins}) > 1 or any(len(join.hops) > 1 for join in joins)
        if one.describes in listed or are_apart:
            raise UnsaidError(f"No relation says {name(draft.reading, one.unit)}.")


def _is_other(draft: Draft, one: Attachment) -> bool:
    """Whether a topic is of the class of the things that it is excluded from."""
    reading = draft.reading
    own, others = reading.joiner.ends.classes(one.unit), reading.joiner.ends.classes(one.to)
    same = not own or not others or not set(own).isdisjoint(others)
    return one.excluded and reading.units[one.unit].kind == "topic" and same


def _is_listed(draft: Draft, one: Attachment) -> bool:
    """Whether a unit stands beside another in a list, so that both have the same join."""
    if one.with_ is None:
        return False
    units, aggregate = draft.reading.units, draft.reading.question.aggregate
    beside_root = one.with_ == draft.root
    # "How many seats do A and B have together": each has its own
    summed = (
        aggregate is not None and aggregate.kind in ("sum", "average") and units[draft.root].kind in ("noun", "word")
    )
    return beside_root or ((one.alternative or summed) and units[one.unit].kind != "class")


def list_of(draft: Draft, unit: int) -> list[int]:
    """A topic and those listed with it."""
    return [unit, *(one.unit for one in draft.attachments if one.with_ == unit and _is_listed(draft, one))]


def _beneath(unit: int, joins: Sequence[Join]) -> Iterator[int]:
    """The units that are joined to a unit, and those that are joined to them."""
    for join in joins:
        if join.attachment.to == unit:
            yield join.attachment.unit
            yield from _beneath(join.attachment.unit, joins)


def _write_denied(draft: Draft, join: Join, beneath: Sequence[Join]) -> None:
    """That a join, with all beneath it, does not hold."""
    to, end = term(draft, join.attachment.to), join.hops[-1].end
    if draft.text.is_empty:
        if draft.reading.units[join.attachment.unit].kind == "class" and end != THING:  # "who has never won a race"
            draft.text.of_class(to, [end])
        else:  # "who does not live in X": of all who live anywhere
            _write_hops(draft, join, draft.text.variable("any"), to)
    draft.text.begin_denied()
    for one in (join, *beneath):
        _write_join(draft, one)
    draft.text.end_denied()


def _write_join(draft: Draft, join: Join) -> None:
    one, other = term(draft, join.attachment.unit), term(draft, join.attachment.to)
    _write_hops(draft, join, one, other)
    within_class = len(join.hops) == 1 and join.hops[0].start == join.hops[0].end
    if within_class and join.attachment.to == draft.root and one.startswith("<") and other.startswith("?"):
        draft.text.add_outside(f"FILTER({other} != {one})")  # no one is a partner of their own
    draft.said |= join.said


def _write_hops(draft: Draft, join: Join, start: str, end: str) -> None:
    at = start
    for number, hop in enumerate(join.hops):
        following = end if number == len(join.hops) - 1 else draft.text.variable(hop.end)
        head, tail = (at, following) if hop.forward else (following, at)
        draft.text.triple(head, hop.relation.label, tail)
        at = following


# --- existence -------------------------------------------------------------------------------------
def write_existence(draft: Draft) -> None:
    """That a thing has a relation at all, "films that won a prize", or that it is so, "ships that are insured".

    What is not so has the value for no; where the graph has none, it has no value for yes.
    """
    reading, question, left = draft.reading, draft.reading.question, draft.unsaid_outside
    computes = question.compares is not None or question.aggregate is not None
    asks_value = computes and not question.negations and not question.counts
    if asks_value:  # other words may say the value
        left = [at for at in left if _modifies_class(reading, at)]
    if not left:
        return
    owner = owner_of(draft, left[0])
    found = named_relation(reading, owner, reading.words(left))
    if found is None:
        return
    relation, forward = found
    denied = any(is_denied(reading, at) for at in left)
    truth = relation.truth(reading.parse.lexicon.flags)
    is_object = _is_object(reading, left) or _is_acted_on(reading, left, relation)
    if is_object and truth is None and fits(reading.joiner.ends.classes(owner), relation.tail):
        forward = False
    flag = "" if truth is None else truth[0]
    if denied and truth is not None and truth[1]:  # the graph says no itself; what has no value may be either
        flag, denied = truth[1], False
    says = denied or any(_is_noun_of(reading, at, relation) or _is_done(reading, at, relation) for at in left)
    if not flag and (asks_value or not says):
        return
    ends = term(draft, owner), write_label(flag) if flag else draft.text.variable("any")
    head, tail = ends if forward else ends[::-1]
    if denied:
        draft.text.begin_denied()
    draft.text.triple(head, relation.label, tail)
    if denied:
        draft.text.end_denied()
    draft.said |= _said_by(reading, left, relation)


def _modifies_class(reading: Reading, at: int) -> bool:
    """Whether a word says how things of a class are: "the covered stages", "stages that are covered"."""
    number = reading.unit_at.get(reading.parse.tokens[at].head)
    return reading.parse.is_a(at, "amod", "acl") and number is not None and reading.units[number].kind == "class"


def named_relation(reading: Reading, owner: int, words: Sequence[str]) -> tuple[Relation, bool] | None:
    """The relation of a unit that words name, and whether it is followed forwards; None if none is near enough.

    One to yes and no must be named more surely: many words are a little like the name of one.
    """
    likeness, flags = reading.likeness, reading.parse.lexicon.flags
    options = [
        (_said_as(reading, words, relation), likeness.of_words(words, relation.wordings), -number, relation, forward)
        for number, relation in enumerate(reading.schema.relations)
        for forward in (True, False)
        if _may_have(reading, owner, relation, forward=forward)
    ]
    sure = [one for one in options if one[0] >= (NAMES if one[3].truth(flags) is None else SURELY)]
    best = max(sure, default=None, key=lambda one: one[:3])
    return None if best is None else best[3:]


def _may_have(reading: Reading, owner: int, relation: Relation, *, forward: bool) -> bool:
    """Whether a unit may be at the start of a relation. One to yes and no starts at things alone."""
    hop, classes = Hop(relation, forward), reading.classes(owner)
    if relation.truth(reading.parse.lexicon.flags) is None:
        return fits(classes or (), hop.start)
    return forward and (reading.joiner.ends.may_start(owner, hop) if classes is None else fits(classes, hop.start))


def _said_as(reading: Reading, words: Sequence[str], relation: Relation) -> float:
    """How near a relation is to words; to one word, also by its stem: "without a manager"."""
    whole = reading.likeness.of_words(words, relation.wordings)
    return max(whole, reading.likeness.of_word(words[0], relation.wordings)) if len(words) == 1 else whole


def _is_object(reading: Reading, tokens: Sequence[int]) -> bool:
    """Whether words say that others have the relation to a thing: "nobody reports to it", "the mother of anyone"."""
    parse = reading.parse
    for at in tokens:
        if any(parse.words[i] in parse.lexicon.negations for i in parse.dependents(at, "nsubj")):
            return True
        others = (i for i in parse.dependents(at, "nmod") if parse.pos(i) == "PRON" and i not in reading.unit_at)
        if any(parse.words[c] in parse.lexicon.genitives for i in others for c in parse.dependents(i, "case")):
            return True
    return False


def _is_acted_on(reading: Reading, tokens: Sequence[int], relation: Relation) -> bool:
    """Whether a passive verb names a relation whose heads are its agents: "introduced by nobody" and `introduced`."""
    parse, language = reading.parse, reading.question.language
    passive = [at for at in tokens if parse.dependents(at, "aux:pass")]
    return any(
        head_of(wording, language) == "subject" and same_stem(parse.lemma(at), wording.casefold().split()[-1], language)
        for at in passive
        for wording in relation.wordings
    )


def _is_noun_of(reading: Reading, at: int, relation: Relation) -> bool:
    """Whether a word is a noun in a name of a relation."""
    named = reading.likeness.bases(" ".join(relation.wordings))
    return reading.parse.pos(at) == "NOUN" and reading.parse.lemma(at) in named


def _is_done(reading: Reading, at: int, relation: Relation) -> bool:
    """Whether a passive verb without an agent names a relation: "how many dogs were adopted"."""
    parse = reading.parse
    is_alone = parse.dependents(at, "aux:pass") and not parse.dependents(at, "obl:agent", "obl")
    return bool(is_alone) and reading.likeness.of_form(parse.words[at], relation.wordings) == 1


def _said_by(reading: Reading, tokens: Sequence[int], relation: Relation) -> set[int]:
    """The tokens that a relation says, and the verbs that say that a thing has them."""
    parse = reading.parse
    said = {
        at
        for at in tokens
        if reading.likeness.of_word(parse.words[at], relation.wordings) >= least_likeness(parse.pos(at))
    }
    bases = reading.likeness.bases
    if any(name and name <= bases(" ".join(reading.words(tokens))) for name in map(bases, relation.wordings)):
        said |= {
            at for at in tokens if not said.isdisjoint(parse.dependents(at, "amod", "compound"))
        }  # "drug-free sport"
    having = {
        at for at in tokens if parse.pos(at) == "VERB" and not said.isdisjoint(parse.dependents(at, "obj", "obl"))
    }
    return said | having
