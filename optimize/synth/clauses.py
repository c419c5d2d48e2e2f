"""Clauses: what a relation says of its one end, once the other has a name.

A *predicate* goes on after a subject ("was directed by Ridley Scott", "borders France"), a *noun phrase*
stands for what is at the end of a path ("the director of Alien", "the film that was directed by ...").
"""

from __future__ import annotations

from triplecheck.kg import Direction
from triplecheck.optimize.synth.english import article, base_form, is_participle, plural
from triplecheck.optimize.synth.wordings import End, EndKind, Kind, Wording

_STATES = frozenset("based known located married named situated spoken used".split())
_LONG = 4  # words


def predicate(wording: Wording, direction: Direction, name: str, *, many: bool = False) -> str | None:
    """What is said of the end that a relation leads to from a named node.

    Args:
        wording: of the relation.
        direction: from the named node: OUT, it is the head, and something is said of the tail.
        name: of the node.
        many: of several ("border France" for "borders France").

    Returns:
        None where this wording says nothing good of this end.
    """
    if direction is Direction.OUT:
        if wording.kind is not Kind.NOUN:
            return None
        noun = plural(wording.text) if many else wording.text
        return f"{'are' if many else 'is'} the {_of(noun, name)}"
    match wording.kind:
        case Kind.NOUN:
            # "has the city whose ... as birthplace": the end is out of sight.
            return f"{'have' if many else 'has'} {name} as {wording.text}" if not name.startswith("the ") else None
        case Kind.ROLE_OF:
            role = wording.text.removesuffix(" of")
            return f"are {plural(role)} of {name}" if many else f"is {article(role)} of {name}"
        case Kind.PASSIVE:
            return f"{be(wording, many)} {wording.text} {name}"
        case Kind.PAST:
            return f"{wording.text} {name}"
        case Kind.VERB:
            first, *rest = wording.words
            return " ".join([(base_form(first) or first) if many else first, *rest, name])


def noun_phrase(wording: Wording, direction: Direction, name: str, end: End, *, many: bool = False) -> str | None:
    """What a relation leads to from a named node, as one noun phrase; None as for `predicate`."""
    if direction is Direction.OUT and wording.kind is Kind.NOUN:
        return f"the {_of(plural(wording.text) if many else wording.text, name)}"
    noun = end.noun or ("person" if end.kind is EndKind.PERSON else "")
    if not noun:
        return None
    noun = plural(noun) if many else noun
    if direction is Direction.OUT:
        said = relative(wording, name)
        return None if said is None else f"the {noun} that {said}"
    if wording.kind is Kind.NOUN:
        return f"the {noun} whose {wording.text} is {name}"
    said = predicate(wording, direction, name, many=many)
    if said is None:
        return None
    return f"the {noun} {said.split(' ', 1)[1]}" if wording.kind is Kind.PASSIVE else f"the {noun} that {said}"


def relative(wording: Wording, name: str) -> str | None:
    """The clause that asks for the tail: "X was born in", "X borders"; None for a noun."""
    match wording.kind:
        case Kind.NOUN:
            return None
        case Kind.ROLE_OF:
            return f"{name} is {article(wording.text)}"
        case Kind.PASSIVE:
            return f"{name} {be(wording)} {wording.text}"
        case _:
            return f"{name} {wording.text}"


def be(wording: Wording, many: bool = False) -> str:
    """The auxiliary of a participle: what is located somewhere is so still, what was born is not."""
    if wording.words[0] in _STATES:
        return "are" if many else "is"
    return "were" if many else "was"


def is_short(name: str) -> bool:
    """Whether a name is one that words can be put around; a noun phrase that stands for it is not."""
    return len(name.split()) <= _LONG and not name.startswith("the ")


def _of(noun: str, name: str) -> str:
    """A noun with whose it is: "director of Alien", "award received by Ada Lovelace"."""
    words = noun.split()
    return f"{noun} by {name}" if len(words) > 1 and is_participle(words[-1]) else f"{noun} of {name}"
