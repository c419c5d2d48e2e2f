"""Wording of made questions: templates that need to know nothing of the graph but its labels."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_PREPOSITIONS = {"by", "in", "on", "of", "from", "with", "to", "for", "at", "as"}
_OPENINGS = (
    "What {kind} is there",
    "Find {a} {kind}",
    "I am looking for {a} {kind}",
    "Is there any {kind}",
    "Show me {a} {kind}",
    "Can you name {a} {kind}",
    "I need {a} {kind}",
    "Could you recommend {a} {kind}",
)
_MENTIONS = ("whose description mentions {words}", "that mentions {words}", "with {words} in its description")
_ABOUT = ("that has to do with {words}", "that is about {words}", "described as dealing with {words}")
_VERB = re.compile(r"[a-z]+(?<![su])s")
_ASKS = ("What", "Is", "Can", "Could")
_THAT = "that "


def question(kind: str, clauses: Sequence[str], words: str, lot: random.Random) -> str:
    """One question from its clauses, in an order and with an opening that the lot decides.

    Args:
        kind: of the answer.
        clauses: relative clauses about it.
        words: of its description; empty: none.
        lot: decides.
    """
    parts = list(clauses)
    lot.shuffle(parts)
    body = " and ".join(parts)
    if words:
        # One word may be a verb or an adjective, of which no text is "about".
        about = lot.choice(_MENTIONS if len(words.split()) == 1 else _MENTIONS + _ABOUT).format(words=words)
        body = lot.choice((f"{body}, {about}", f"{about} and {body}")) if body else about
        parts.append(about)
    if all(map(_says_what_it_does, parts)) and lot.random() < 0.5:
        return f"Which {kind} {' and '.join(part.removeprefix(_THAT) for part in parts)}?"
    opening = lot.choice(_OPENINGS).format(kind=kind, a=_article(kind))
    return f"{opening} {body}{'?' if opening.startswith(_ASKS) else '.'}"


def clause(relation: str, name: str, *, outgoing: bool, how: int = 0) -> str:
    """That the answer has an edge to a named node, or (incoming) the named node one to the answer.

    Args:
        relation: its label or an alias.
        name: the other node.
        outgoing: whether the edge runs from the answer.
        how: which of the wordings that there are for a noun.

    >>> clause("depends on", "tmux", outgoing=True), clause("director", "Ridley Scott", outgoing=True)
    ('that depends on tmux', 'with the director Ridley Scott')
    >>> clause("recommends", "byobu", outgoing=False), clause("director", "Alien", outgoing=False)
    ('that byobu recommends', 'that is the director of Alien')
    """
    words = relation.split()
    if _is_verb(words):
        return f"that {relation} {name}" if outgoing else f"that {name} {relation}"
    if words[0] in _PREPOSITIONS or (len(words) > 1 and words[-1] in _PREPOSITIONS):
        return f"that is {relation} {name}" if outgoing else f"such that {name} is {relation} it"
    if not outgoing:
        return f"that is the {relation} of {name}"
    forms = (f"with the {relation} {name}", f"whose {relation} is {name}", f"with {name} as {relation}")
    return forms[how % len(forms)]


def by_way_of(first: str, kind: str, rest: str, *, outgoing: bool) -> str:
    """That the answer has an edge to (incoming: from) some node of a kind, of which the rest holds.

    >>> by_way_of("depends on", "package", "that is maintained by Jane Roe", outgoing=True)
    'that depends on a package that is maintained by Jane Roe'
    """
    kind = kind or "thing"
    return clause(first, f"{_article(kind)} {kind} {rest}", outgoing=outgoing)


def _article(kind: str) -> str:
    return "an" if kind[:1].lower() in "aeiou" else "a"


def _says_what_it_does(clause: str) -> bool:
    """Whether it goes on with what the answer does: not with another thing that does something to it."""
    return clause.startswith(_THAT) and ((first := clause.split()[1]) in ("is", "has") or _is_verb([first]))


def _is_verb(words: Sequence[str]) -> bool:
    """Third person: "recommends", "pre-depends on", "conflicts with"."""
    third_person = _VERB.fullmatch(words[0].split("-")[-1]) is not None
    return third_person and (len(words) == 1 or words[-1] in _PREPOSITIONS)
