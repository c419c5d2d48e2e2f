"""English sentences from the labels of a graph, by grammar rules with common exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.types import XSD
from triplecheck.kg.values import quantity
from triplecheck.kg.values.units import OWN

PREPOSITIONS = frozenset(
    "about after against among around as at before behind below beside between beyond by during for from in inside "
    "into near of off on onto out outside over through to toward towards under upon with within without".split()
)
_IRREGULAR = {
    "child": "children",
    "foot": "feet",
    "man": "men",
    "person": "people",
    "woman": "women",
    "series": "series",
    "species": "species",
}
_SINGULAR = {many: one for one, many in _IRREGULAR.items()}
# Words in -s that are verbs even without an object, unlike "genres" and "titles".
_ALONE = frozenset(
    "borders causes comprises contains crosses employs encodes enters features follows includes inhibits joins "
    "manufactures orbits overlaps owns plays precedes produces provides publishes recommends replaces requires "
    "shares spans speaks studies succeeds suggests supports surrounds teaches treats uses wears".split()
)
_THIRD_PERSON = {"has": "have", "is": "are", "does": "do", "goes": "go"}
_PARTICIPLES = frozenset("born built drawn held known led made set spoken sung won written".split())
_NO_VERBS = frozenset("address basis bonus bus campus census genus news series species status".split())
_PERSONS = frozenset(
    "agent ancestor athlete aunt boss boy bride captain chef chief child coach cousin descendant employee father "
    "friend girl guest heir hero human husband infant judge king kin lawyer man monarch mother nephew niece "
    "offspring parent partner people person philosopher pilot poet pope president priest prince princess "
    "pupil queen relative sibling spouse student twin uncle vice-president widow wife woman architect".split()
)
_PERSON_ENDINGS = ("er", "or", "ist", "ian", "ect", "ess", "eer", "ier", "ete", "ant", "ee", "man", "woman", "mate")
_NO_PERSONS = frozenset(
    "address answer armour aspect banner barrier beer border boulder business cancer career cathedral center centre "
    "chapter character charter cloister cluster color colour committee computer congress constant container corner "
    "corridor counter cover crater degree determinant dialect disaster disorder door effect elephant elevator error "
    "estuary fact factor fever fiber filter finger flavor flower folder fortress frontier gender glacier harbor "
    "harbour header humor identifier indicator insect instrument layer letter marker matter meter metre mirror "
    "monster motor newspaper number object odor offer order paper parameter pepper planet plant pollutant poster "
    "power prayer process product project quarter radar register restaurant river roller rumor sector semester "
    "sensor shelter shoulder silver skyscraper soccer spider subject summer supper theater theatre tiger timer "
    "tower trailer transfer transistor tumor variant vector water weather winter wonder".split()
)
_PLACES = frozenset(
    "area borough city continent country county district island location municipality nation place province region "
    "settlement state suburb territory town venue village".split()
)
_KIN = frozenset(
    "aunt boyfriend brother daughter father girlfriend grandfather grandmother husband mother nephew niece sister son "
    "uncle widow wife".split()
)


def plural(noun: str) -> str:
    """The plural of a noun or noun phrase: the word before the first preposition or participle is inflected.

    >>> plural("place of birth"), plural("country"), plural("award received"), plural("cast member")
    ('places of birth', 'countries', 'awards received', 'cast members')
    """
    words = noun.split()
    at = len(words) - 1
    for i, word in enumerate(words):
        if i and (word in PREPOSITIONS or is_participle(word)):
            at = i - 1
            break
    words[at] = _plural(words[at])
    return " ".join(words)


def _plural(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(s|x|z|ch|sh)$", word):
        # A label that is already plural ("titles") is unchanged.
        return word if re.search(r"[^su]s$", word) else word + "es"
    return word + "s"


def singular(noun: str) -> str:
    """The singular of a plural label, by its last word; other labels are unchanged.

    >>> singular("starred actors"), singular("children"), singular("series"), singular("status")
    ('starred actor', 'child', 'series', 'status')
    """
    *words, last = noun.split()
    if last in _SINGULAR:
        last = _SINGULAR[last]
    elif re.fullmatch(r"[a-z]{3,}ies", last) and last not in _IRREGULAR:
        last = last[:-3] + "y"
    elif re.fullmatch(r"[a-z]{2,}(?:sses|shes|ches|xes)", last):
        last = last[:-2]
    elif re.fullmatch(r"[a-z]{2,}[^suic\W]s|[a-z]{2,}[^i]cs", last) and last not in _NO_VERBS:
        last = last[:-1]
    return " ".join([*words, last])


def base_form(verb: str) -> str | None:
    """The base form of a verb in the third person; None if it is not one.

    >>> [base_form(verb) for verb in ("borders", "flies", "crosses", "has", "capital", "status")]
    ['border', 'fly', 'cross', 'have', None, None]
    """
    if verb in _THIRD_PERSON:
        return _THIRD_PERSON[verb]
    if verb in _NO_VERBS or not re.fullmatch(r"[a-z]{2,}[^\Wsu_]s|[a-z]+sses", verb):
        return None
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if re.search(r"(sses|shes|ches|xes|zes|oes)$", verb) else verb[:-1]


def is_participle(word: str) -> bool:
    """Whether a word looks like a past participle: "directed", "born", "written"."""
    return word in _PARTICIPLES or re.fullmatch(r"[a-z]+[^e\W]ed|[a-z]{2,}eed(?<!seed)(?<!speed)", word) is not None


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    return f"{'an' if re.match(r'[aeiou]', noun, re.IGNORECASE) else 'a'} {noun}"


def is_person(noun: str) -> bool:
    """Whether a noun refers to people: "composer", "person", "film director", but not "river"."""
    word = singular(re.split(r" (?:of|in|at|for|to|by)\b", noun.lower())[0] or "?").split()[-1:]
    if word[0] in _PERSONS:
        return True
    return word[0] not in _NO_PERSONS and len(word[0]) > 4 and word[0].endswith(_PERSON_ENDINGS)


def possessive(name: str) -> str:
    """A name in the genitive."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


# Wordings of relations, by part of speech.

_DATES = {XSD + "date", XSD + "dateTime", XSD + "gYearMonth"}
_LONGEST = 5  # words
_UNIT = re.compile(r"^(?P<noun>.+) in (?P<unit>\w+(?: \w+)?)$")
# Participles with a passive meaning; the subject of others ("died in", "studied with") is the agent.
_PASSIVE = frozenset(
    "based born built buried caused composed created crossed dedicated derived designed directed discovered edited "
    "educated elected employed filmed followed formed founded given held honoured influenced invented known led "
    "located made managed married named narrated nominated owned painted performed produced published recorded "
    "released represented sculpted set signed situated spoken sung taught translated used written".split()
)
_LIGHT_VERBS = frozenset("has have had holds plays receives speaks uses wears with in".split())
# Relations of people, for graphs without types.
_OF_PEOPLE = frozenset(
    "ancestor ancestors born birth buried child children death died education gender nationality occupation parent "
    "parents profession religion sibling siblings spouse spouses".split()
)
_BY_PEOPLE = frozenset(
    "authored composed created designed directed discovered edited invented narrated painted sculpted sung taught "
    "translated written".split()
)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class WordingKind(Enum):
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
        kind: part of speech.
        text: the wording without parts that do not fit into a sentence.
        unit: of the values, if the wording contains it ("square kilometres").
    """

    kind: WordingKind
    text: str
    unit: str = ""

    @property
    def words(self) -> list[str]:
        """The words of the text."""
        return self.text.split()

    @property
    def preposition(self) -> str:
        """The preposition at the end; empty if there is none."""
        return self.words[-1] if self.words[-1] in PREPOSITIONS else ""


class EndKind(Enum):
    """Type of the nodes at the end of a path, which determines the question word."""

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
    """The end of a path: its kind, and a noun for it if the graph has one."""

    kind: EndKind
    noun: str = ""


def read_wording(text: str) -> Wording | None:
    """Parse the wording of a relation; None if no rule applies.

    >>> [read_wording(w).kind.value for w in ("director", "directed by", "flows through", "died in", "member of")]
    ['noun', 'passive', 'verb', 'past', 'role of']
    """
    words = text.replace("_", " ").split()
    if not words or len(words) > _LONGEST or not all(re.fullmatch(r"[\w'’.-]+", word) for word in words):
        return None
    if len(words) > 2 and words[-2] == "the":
        words = words[:-2]  # "lies on the river": the river is the answer
    words = words[1:] if words[0] in ("is", "was", "are", "were") and len(words) > 1 else words
    first, last = words[0].lower(), words[-1].lower()
    if len(words) > 1 and first in _LIGHT_VERBS and not set(words) & PREPOSITIONS - {first}:
        return _noun(words[1:])  # "has genre", "plays position", "in language"
    if last in PREPOSITIONS:
        return _with_preposition(words) if len(words) > 1 else None
    if len(words) == 1:
        odd = is_participle(first) or first.endswith("ing")
        return None if odd else Wording(WordingKind.VERB, first) if first in _ALONE else _noun(words)
    if words[1] in PREPOSITIONS and (is_participle(first) or (base_form(first) and len(words) == 3)):
        return _with_preposition(words[:2])  # "plays for country"
    return _noun(words)


def _with_preposition(words: list[str]) -> Wording | None:
    first, last, text = words[0].lower(), words[-1].lower(), " ".join(words)
    if is_participle(first):
        return Wording(WordingKind.PASSIVE if last == "by" or first in _PASSIVE else WordingKind.PAST, text)
    if last == "of":
        return Wording(WordingKind.ROLE_OF, f"{singular(' '.join(words[:-1]))} of")
    verb = base_form(first) is not None and not any(is_participle(word) for word in words)
    return Wording(WordingKind.VERB, text) if verb else None


def _noun(words: list[str]) -> Wording:
    unit = _UNIT.match(" ".join(words))
    if unit and not is_participle(unit["noun"].split()[-1]):
        return Wording(WordingKind.NOUN, unit["noun"], unit["unit"])
    return Wording(WordingKind.NOUN, singular(" ".join(words)))


def wordings_of(graph: Graph, relation: int) -> list[Wording]:
    """The usable wordings of a relation, its label first; empty if no rule applies.

    Aliases for relatives of one gender are left out: "wife" is narrower than "spouse".
    """
    about = graph.relation(relation)
    measured = any(kind.startswith((XSD, OWN)) for kind, _ in graph.schema(relation).range[:1])
    # Plural aliases of measures are left out: "people" for a population.
    aliases = [alias for alias in about.aliases if _KIN.isdisjoint(alias.lower().split())]
    others = [alias for alias in aliases if not (measured and singular(alias) != alias)]
    read = [found for text in (about.label, *others) if (found := read_wording(text)) is not None]
    return list(dict.fromkeys(read))


def end_of(graph: Graph, nodes: Sequence[int] | IntArray, relation: int, direction: Direction) -> End:
    """Kind and noun of these nodes at the end of a relation."""
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
    noun = CAMEL.sub(" ", noun).lower() if CAMEL.search(noun) else noun
    if is_person(noun):
        return End(EndKind.PERSON, noun)
    return End(EndKind.THING if _PLACES.isdisjoint(noun.lower().split()[-1:]) else EndKind.PLACE, noun)


# Clauses about one end of a relation whose other end has a name.
#
# A *predicate* follows a subject ("was directed by Ridley Scott", "borders France"); a *noun phrase* describes the end
# of a path ("the director of Alien", "the film that was directed by ...").

_STATES = frozenset("based known located married named situated spoken used".split())
_LONG = 4  # words


def predicate(wording: Wording, direction: Direction, name: str, *, many: bool = False) -> str | None:
    """A predicate about the other end of a relation of a named node.

    Args:
        direction: from the named node. OUT: the named node is the head, and the predicate is about the tail.
        many: plural ("border France" for "borders France").

    Returns:
        None if this wording gives no good predicate.
    """
    if direction is Direction.OUT:
        if wording.kind is not WordingKind.NOUN:
            return None
        noun = plural(wording.text) if many else wording.text
        return f"{'are' if many else 'is'} the {_of(noun, name)}"
    # Not for noun phrases: "has the city whose ... as birthplace" is hard to read.
    hard = wording.kind is WordingKind.NOUN and name.startswith("the ")
    return None if hard else clause(wording, name, many=many)


def clause(wording: Wording, name: str, *, many: bool = False, negated: bool = False) -> str:
    """What the heads of a relation to a named node do: "was made by X", "do not live in X"; empty if it gives none."""
    do = ("do not " if many else "does not ") if negated else ""
    no = "not " if negated else ""
    match wording.kind:
        case WordingKind.NOUN:
            return f"{do}{'have' if many or negated else 'has'} {name} as {wording.text}"
        case WordingKind.ROLE_OF:
            role = wording.text.removesuffix(" of")
            return f"{'are' if many else 'is'} {no}{plural(role) if many else article(role)} of {name}"
        case WordingKind.PASSIVE:
            return f"{be(wording, many)} {no}{wording.text} {name}"
        case WordingKind.VERB:
            first, *rest = wording.words
            verb = (base_form(first) or first) if many or negated else first
            return " ".join([f"{do}{verb}", *rest, name])
        case WordingKind.PAST:
            return "" if negated else f"{wording.text} {name}"


def noun_phrase(wording: Wording, direction: Direction, name: str, end: End, *, many: bool = False) -> str | None:
    """A noun phrase for the other end of a relation of a named node; None as for `predicate`."""
    if direction is Direction.OUT and wording.kind is WordingKind.NOUN:
        return f"the {_of(plural(wording.text) if many else wording.text, name)}"
    noun = end.noun or ("person" if end.kind is EndKind.PERSON else "")
    if not noun:
        return None
    noun = plural(noun) if many else noun
    if direction is Direction.OUT:
        told = relative(wording, name)
        return None if told is None else f"the {noun} that {told}"
    if wording.kind is WordingKind.NOUN:
        return f"the {noun} whose {wording.text} is {name}"
    told = predicate(wording, direction, name, many=many)
    if told is None:
        return None
    return f"the {noun} {told.split(' ', 1)[1]}" if wording.kind is WordingKind.PASSIVE else f"the {noun} that {told}"


def relative(wording: Wording, name: str) -> str | None:
    """A relative clause about the tail: "X was born in", "X borders"; None for a noun."""
    match wording.kind:
        case WordingKind.NOUN:
            return None
        case WordingKind.ROLE_OF:
            return f"{name} is {article(wording.text)}"
        case WordingKind.PASSIVE:
            return f"{name} {be(wording)} {wording.text}"
        case _:
            return f"{name} {wording.text}"


def be(wording: Wording, many: bool = False) -> str:
    """The auxiliary of a participle: present tense for states ("is located"), past tense for events ("was born")."""
    if wording.words[0] in _STATES:
        return "are" if many else "is"
    return "were" if many else "was"


def is_short(name: str) -> bool:
    """Whether a name is short and not a noun phrase, so that words may follow it."""
    return len(name.split()) <= _LONG and not name.startswith("the ")


def _of(noun: str, name: str) -> str:
    """A noun with its possessor: "director of Alien", "award received by Ada Lovelace"."""
    words = noun.split()
    return f"{noun} by {name}" if len(words) > 1 and is_participle(words[-1]) else f"{noun} of {name}"


# Questions about one relation, with a question word for the kind of the end.


def questions(wording: Wording, direction: Direction, name: str, end: End, *, many: bool = False) -> list[str]:
    """All questions for the other end of a relation of a named node; empty if this wording gives none.

    Args:
        name: of the node, or a noun phrase for it.
        end: kind and noun of the answer.
        many: whether there are several answers.
    """
    if direction is Direction.IN:
        return _for_head(wording, name, end, many)
    if wording.kind is WordingKind.NOUN:
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
    """The head is named, and the wording is not a noun: "Where was X born?"."""
    told, words, preposition = relative(wording, name), wording.words, wording.preposition
    bare = " ".join(words[:-1]) if preposition else wording.text
    what = "Who" if end.kind is EndKind.PERSON else f"Which {end.noun}" if end.noun else "What"
    found: list[str] = []
    was = be(wording)
    dated = end.kind in (EndKind.DATE, EndKind.YEAR)
    timed = preposition in ("on", "in") and dated
    placed = preposition in ("in", "at") and end.kind is EndKind.PLACE
    match wording.kind:
        case WordingKind.PASSIVE:
            if timed:
                return [f"When {was} {name} {bare}?"]
            found += [] if dated else [f"{what} {was} {name} {wording.text}?"]
            found += [f"Where {was} {name} {bare}?"] if placed else []
            found += [f"By whom {was} {name} {bare}?"] if preposition == "by" and end.kind is EndKind.PERSON else []
        case WordingKind.VERB:
            base = " ".join([base_form(words[0]) or words[0], *words[1:]])
            found += [] if dated else [f"{what} does {name} {base}?"]
            found += [f"Where does {name} {' '.join(base.split()[:-1])}?"] if placed else []
        case WordingKind.PAST:
            if timed:
                return [f"When was it that {name} {bare}?"]
            found += [] if dated else [f"{what} is it that {told}?"]
            found += [f"Where was it that {name} {bare}?"] if placed else []
        case WordingKind.ROLE_OF if not name.startswith("the "):
            role = article(wording.text)
            found += [] if dated else [f"{what} is {name} {role}?"]
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
    if wording.kind is WordingKind.NOUN and end.kind is EndKind.PERSON:
        found.append(f"Whose {wording.text} is {name}?")
    if wording.kind is WordingKind.NOUN and end.kind is not EndKind.PERSON and is_short(name):
        found.append(f"What is {name} the {wording.text} of?")
    return found
