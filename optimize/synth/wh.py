"""Questions of one relation: with the question word that fits what stands at its end."""

from __future__ import annotations

from triplecheck.kg import Direction
from triplecheck.optimize.synth.clauses import be, is_short, noun_phrase, predicate, relative
from triplecheck.optimize.synth.english import article, base_form, is_person, plural, possessive
from triplecheck.optimize.synth.wordings import End, EndKind, Kind, Wording


def questions(wording: Wording, direction: Direction, name: str, end: End, *, many: bool = False) -> list[str]:
    """All ways to ask for what a relation leads to from a named node; none where this wording has none.

    Args:
        wording: of the relation.
        direction: from the named node.
        name: of the node; also a noun phrase that stands for it.
        end: what is asked for.
        many: whether there are several.
    """
    if direction is Direction.IN:
        return _for_head(wording, name, end, many)
    if wording.kind is Kind.NOUN:
        return _for_noun(wording, name, end, many)
    return _for_tail(wording, name, end)


def _for_noun(wording: Wording, name: str, end: End, many: bool) -> list[str]:
    phrase = noun_phrase(wording, Direction.OUT, name, end, many=many)
    unit = f" in {wording.unit}" if wording.unit and is_short(name) else ""
    who = "Who" if end.kind is EndKind.PERSON or (end.kind is EndKind.UNKNOWN and is_person(wording.text)) else "What"
    verb = "are" if many else "is"
    noun = plural(wording.text) if many else wording.text
    found = [f"{who} {verb} {phrase}{unit}?", f"Name {phrase}{unit}."]
    if is_short(name) and not wording.words[-1].endswith("ed"):
        found.append(f"{who} {verb} {possessive(name)} {noun}{unit}?")
    if end.kind in (EndKind.THING, EndKind.PLACE) and end.noun not in wording.text:
        found.append(f"Which {plural(end.noun) if many else end.noun} {verb} {phrase}?")
    return found


def _for_tail(wording: Wording, name: str, end: End) -> list[str]:
    """The head is named, by a wording that is no noun: "Where was X born?"."""
    said, words, preposition = relative(wording, name), wording.words, wording.preposition
    bare = " ".join(words[:-1]) if preposition else wording.text
    whats = ["Who"] if end.kind is EndKind.PERSON else [f"Which {end.noun}"] if end.noun else ["What"]
    if end.kind in (EndKind.DATE, EndKind.YEAR):
        whats = ["When"]
    found: list[str] = []
    was = be(wording)
    timed = preposition in ("on", "in") and end.kind in (EndKind.DATE, EndKind.YEAR)
    placed = preposition in ("in", "at") and end.kind is EndKind.PLACE
    match wording.kind:
        case Kind.PASSIVE:
            if timed:
                return [f"When {was} {name} {bare}?"]
            found += [f"{what} {was} {name} {wording.text}?" for what in whats if what != "When"]
            found += [f"Where {was} {name} {bare}?"] if placed else []
            found += [f"By whom {was} {name} {bare}?"] if preposition == "by" and end.kind is EndKind.PERSON else []
        case Kind.VERB:
            base = " ".join([base_form(words[0]) or words[0], *words[1:]])
            found += [f"{what} does {name} {base}?" for what in whats if what != "When"]
            found += [f"Where does {name} {' '.join(base.split()[:-1])}?"] if placed else []
        case Kind.PAST:
            if timed:
                return [f"When was it that {name} {bare}?"]
            found += [f"{what} is it that {said}?" for what in whats if what != "When"]
            found += [f"Where was it that {name} {bare}?"] if placed else []
        case Kind.ROLE_OF if not name.startswith("the "):
            role = article(wording.text)
            found += [f"{what} is {name} {role}?" for what in whats if what != "When"]
    return found


def _for_head(wording: Wording, name: str, end: End, many: bool) -> list[str]:
    """The tail is named: "Which films were directed by X?"."""
    one = predicate(wording, Direction.IN, name)
    several = predicate(wording, Direction.IN, name, many=True)
    phrase = noun_phrase(wording, Direction.IN, name, end, many=many)
    found = [f"Name {phrase}."] if phrase else []
    if one and end.kind is EndKind.PERSON:
        found.append(f"Who {one}?")
    if one and end.noun:
        found.append(f"Which {plural(end.noun)} {several}?" if many else f"Which {end.noun} {one}?")
    if one and not found:
        found.append(f"What {one}?")
    if wording.kind is Kind.NOUN and end.kind is EndKind.PERSON:
        found.append(f"Whose {wording.text} is {name}?")
    if wording.kind is Kind.NOUN and end.kind is not EndKind.PERSON and is_short(name):
        found.append(f"What is {name} the {wording.text} of?")
    return found
