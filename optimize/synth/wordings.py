"""How a relation is worded, and what can be said with each of its wordings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.types import XSD
from triplecheck.kg.values import quantity
from triplecheck.optimize.synth.english import (
    PREPOSITIONS,
    base_form,
    is_gendered_kin,
    is_participle,
    is_person,
    is_place,
    is_verb_alone,
    singular,
)

_DATES = {XSD + "date", XSD + "dateTime", XSD + "gYearMonth"}
_LONGEST = 5  # words
_UNIT = re.compile(r"^(?P<noun>.+) in (?P<unit>\w+(?: \w+)?)$")
# Participles that are said of what something was done to; of others ("died in", "studied with") it is what did it.
_PASSIVE = frozenset(
    "based born built buried caused composed created crossed dedicated derived designed directed discovered edited "
    "educated elected employed filmed followed formed founded given held honoured influenced invented known led "
    "located made managed married named narrated nominated owned painted performed produced published recorded "
    "released represented sculpted set signed situated spoken sung taught translated used written".split()
)
_LIGHT_VERBS = frozenset("has have had holds plays receives speaks uses wears with in".split())
# What is said of people alone, where a graph has no types.
_OF_PEOPLE = frozenset(
    "ancestor ancestors born birth buried child children death died education gender nationality occupation parent "
    "parents profession religion sibling siblings spouse spouses".split()
)
_BY_PEOPLE = frozenset(
    "authored composed created designed directed discovered edited invented narrated painted sculpted sung taught "
    "translated written".split()
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class Kind(Enum):
    """The part of speech of a wording, seen from the head of an edge (head WORDING tail)."""

    NOUN = "noun"
    """The tail is the WORDING of the head: "director"."""
    ROLE_OF = "role of"
    """The head is a WORDING the tail: "member of"."""
    PASSIVE = "passive"
    """The head was WORDING the tail: "directed by", "born in"."""
    VERB = "verb"
    """The head WORDING the tail: "borders", "flows through"."""
    PAST = "past"
    """The head WORDING the tail: "died in", "studied with"."""


@dataclass(frozen=True)
class Wording:
    """A wording of a relation.

    Attributes:
        kind: what part of speech it is.
        text: without what does not belong into a sentence.
        unit: of its values, where the wording tells it ("square kilometres").
    """

    kind: Kind
    text: str
    unit: str = ""

    @property
    def words(self) -> list[str]:
        """Its words."""
        return self.text.split()

    @property
    def preposition(self) -> str:
        """The preposition that it ends with; empty for none."""
        return self.words[-1] if self.words[-1] in PREPOSITIONS else ""


class EndKind(Enum):
    """What stands at the end of a path, as far as question words care."""

    PERSON = "person"
    PLACE = "place"
    THING = "thing"
    DATE = "date"
    YEAR = "year"
    NUMBER = "number"
    TEXT = "text"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class End:
    """What stands at the end of a path: its kind, and the noun for it where the graph has one."""

    kind: EndKind
    noun: str = ""

    @property
    def is_value(self) -> bool:
        """Whether it is no entity."""
        return self.kind in (EndKind.DATE, EndKind.YEAR, EndKind.NUMBER, EndKind.TEXT)


def read_wording(text: str) -> Wording | None:
    """What can be said with a wording; None where no rule knows.

    >>> [read_wording(w).kind.value for w in ("director", "directed by", "flows through", "died in", "member of")]
    ['noun', 'passive', 'verb', 'past', 'role of']
    """
    words = text.replace("_", " ").split()
    if not words or len(words) > _LONGEST or not all(re.fullmatch(r"[\w'’.-]+", word) for word in words):
        return None
    if len(words) > 2 and words[-2] == "the":
        words = words[:-2]  # "lies on the river": which river is what is asked for
    words = words[1:] if words[0] in ("is", "was", "are", "were") and len(words) > 1 else words
    first, last = words[0].lower(), words[-1].lower()
    if len(words) > 1 and first in _LIGHT_VERBS and not set(words) & PREPOSITIONS - {first}:
        return _noun(words[1:])  # "has genre", "plays position", "in language"
    if last in PREPOSITIONS:
        return _with_preposition(words) if len(words) > 1 else None
    if len(words) == 1:
        odd = is_participle(first) or first.endswith("ing")
        return None if odd else Wording(Kind.VERB, first) if is_verb_alone(first) else _noun(words)
    if words[1] in PREPOSITIONS and (is_participle(first) or (base_form(first) and len(words) == 3)):
        return _with_preposition(words[:2])  # "plays for country"
    return _noun(words)


def _with_preposition(words: list[str]) -> Wording | None:
    """A wording that ends with a preposition."""
    first, last, text = words[0].lower(), words[-1].lower(), " ".join(words)
    if is_participle(first):
        return Wording(Kind.PASSIVE if last == "by" or first in _PASSIVE else Kind.PAST, text)
    if last == "of":
        return Wording(Kind.ROLE_OF, f"{singular(' '.join(words[:-1]))} of")
    verb = base_form(first) is not None and not any(is_participle(word) for word in words)
    return Wording(Kind.VERB, text) if verb else None


def _noun(words: list[str]) -> Wording:
    unit = _UNIT.match(" ".join(words))
    if unit and not is_participle(unit["noun"].split()[-1]):
        return Wording(Kind.NOUN, unit["noun"], unit["unit"])
    return Wording(Kind.NOUN, singular(" ".join(words)))


def wordings_of(graph: Graph, relation: int) -> list[Wording]:
    """The wordings of a relation that can be used, its label first; none where no rule knows any of them.

    Aliases for kin of one gender are left out: "wife" asks for less than "spouse".
    """
    about = graph.relation(relation)
    measured = any(kind.startswith(XSD) for kind, _ in graph.schema(relation).range[:1])
    # "People" for a population: what is measured has no singular.
    others = [a for a in about.aliases if not is_gendered_kin(a) and not (measured and singular(a) != a)]
    read = [found for text in (about.label, *others) if (found := read_wording(text)) is not None]
    return list(dict.fromkeys(read))


def end_of(graph: Graph, nodes: Sequence[int] | IntArray, relation: int, direction: Direction) -> End:
    """What these nodes are, at the end of a relation."""
    nodes = [int(node) for node in nodes]
    literals = [graph.literal(node) for node in nodes]
    first = literals[0]
    if first is not None:
        if first.datatype in _DATES:
            return End(EndKind.DATE, "date")
        if first.datatype == XSD + "gYear" or "year" in graph.relation(relation).label.lower().split():
            return End(EndKind.YEAR, "year")
        return End(EndKind.NUMBER if quantity(first) is not None else EndKind.TEXT)
    shared = [t for t in graph.types(nodes[0]) if all(t in graph.types(node) for node in nodes[1:])]
    noun = next((graph.type_label(t) for t in shared), "")
    if not noun:
        about = graph.relation(relation)
        declared = about.range if direction is Direction.OUT else about.domain
        noun = graph.type_label(declared) if declared else ""
    if not noun or noun.lower() in ("thing", "entity"):
        words = graph.relation(relation).label.lower().split() or ["?"]
        by_people = words[-1] == "by" and words[0] in _BY_PEOPLE
        out = direction is Direction.OUT
        people = by_people or is_person(" ".join(words)) if out else bool(_OF_PEOPLE & set(words))
        return End(EndKind.PERSON if people else EndKind.UNKNOWN)
    noun = _CAMEL.sub(" ", noun).lower() if _CAMEL.search(noun) else noun
    kind = EndKind.PERSON if is_person(noun) else EndKind.PLACE if is_place(noun) else EndKind.THING
    return End(kind, noun)
