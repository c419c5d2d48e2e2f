"""The notation of facts, paths, topics, relations and triples in prompts: written and read here alone.

    path       Bernhard Heiden → student of ← author (3 × Book)      topic, hops, note on what lies at the end
    fact       Alien → directed by → Ridley Scott | ... 2 more       anchor, relation, values; ← where it is followed
                                                                     backwards
    edge       Ada → works in → Billing {from: 2017}                 what is said of the edge to a value
    topic      Satchmo = Louis Armstrong                             as the question writes it = as in the graph
    known name Satchmo = Louis Armstrong (Musician)                  the same with types
    relation   directed by / director: Film to Person                label / aliases: types at both ends
    triple     2 | Alien | directed by | Ridley Scott                number of its text first

Every writer here has a reader that gives back what was written, for names that `clean` has been through, without
colons where a colon is the separator; triples take any names. Plain strings only: the graph's ids are
translated by those who have a graph.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

FORWARD, BACKWARD = "→", "←"
_BETWEEN_VALUES = " | "
_BETWEEN_WORDINGS = " / "
_EQUALS = " = "
_TIMES = " × "
EXAMPLE = "e.g. "
"""Before examples in a note."""
BETWEEN_EXAMPLES = ", "
_ENDS = " to "
_COLON = ": "
MOST_BESIDE = 12
"""Patterns of a topic in a prompt; a topic with fewer has no others."""

_MARKS = re.compile(r"[\x00-\x1f\x7f-\x9f|→←{}]")
# Text that, if a model copies it, would be parsed as a header or as a thought instead of as part of a reply.
_MARKUP = re.compile(r"\[(?=\[)|<(?=/?think)", re.IGNORECASE)
_BRACKETS = re.compile(r"(?<![ \[])[ \[]*\[")
_LONE_EQUALS = re.compile(r"(?:^|(?<!\s)\s++)=(?:\s++|$)")
_STEP = re.compile(rf" ({FORWARD}|{BACKWARD}) ")
_MORE = re.compile(r"\.\.\. (\d+) more")
_JOINT = re.compile(r"(?:[,;|]\s*+(?:and\s)?|\sand\s)\s*+")  # spaces before it are stripped
_EDGES = re.compile(r"(\d+)(?: × (.*))?", re.DOTALL)


@functools.lru_cache(20_000)
def clean(text: str) -> str:
    """A text without the marks of the notation: separators, arrows, headers, and the space around an equals sign.

    Neither a space nor a bracket stands before an opening bracket: the type at the end of a relation has the space,
    a header has two brackets.
    """
    spaced = _BRACKETS.sub("[", " ".join(_MARKS.sub(" ", text).split()))
    return " ".join(_LONE_EQUALS.sub("=", without_markup(spaced)).split())


def without_markup(text: str) -> str:
    """A text that is safe in a reply: nothing in it can be parsed as a header or as the end of a thought."""
    return _MARKUP.sub(r"\g<0> ", text)


# --- notes ---------------------------------------------------------------------------------------
def with_note(text: str, note: str) -> str:
    """A text with a note in parentheses at its end; the text alone if the note is empty."""
    return f"{text} ({note})" if note else text


def split_note(text: str) -> tuple[str, str]:
    """A text and the note at its end: the shortest one whose parentheses are balanced. Empty if there is none."""
    return _split_note(text, re.compile(r".*", re.DOTALL))


def _split_note(text: str, form: re.Pattern[str]) -> tuple[str, str]:
    if text.endswith(")"):
        at = text.rfind(" (")
        while at >= 0:
            note = text[at + 2 : -1]
            if _is_balanced(note) and form.fullmatch(note):
                return text[:at], note
            at = text.rfind(" (", 0, at)
    return text, ""


def _is_balanced(text: str) -> bool:
    depths = list(accumulate((character == "(") - (character == ")") for character in text))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


# --- paths ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WrittenHop:
    """A relation as it is written, and the arrow of the direction in which it is followed."""

    label: str
    arrow: str


Hops: TypeAlias = tuple[WrittenHop, ...]
"""The hops of a path."""


def with_kind(label: str, kind: str) -> str:
    """The label of a relation that is followed to things of one type alone."""
    return f"{label} [{kind}]"


def split_kind(label: str) -> tuple[str, str]:
    """The label of a relation, and the type that is followed alone; empty if it is followed to everything."""
    at = label.rfind(" [") if label.endswith("]") else -1
    if at > 0 and not label[:at].endswith(_BETWEEN_WORDINGS.rstrip()):  # a further name may be in brackets
        return label[:at], label[at + 2 : -1]
    return label, ""


def by_label(hop: WrittenHop) -> WrittenHop:
    """The hop by the label of its relation alone, without another name of it."""
    return WrittenHop(wordings(hop.label)[0], hop.arrow)


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """Relations followed from a topic.

    Attributes:
        topic: name of the entity at its start.
        hops: what is followed.
        note: what lies at its end (`write_end`); empty where that is not said.
    """

    topic: str
    hops: tuple[WrittenHop, ...] = ()
    note: str = ""

    @property
    def types_at_end(self) -> str:
        """The types at its end; empty if the note has no types, or has examples."""
        what = match[2] or "" if (match := _EDGES.fullmatch(self.note)) else ""
        return "" if what.startswith(EXAMPLE) else what


def write_path(path: WrittenPath) -> str:
    """A path on one line, with its note."""
    return with_note(path.topic + "".join(f" {hop.arrow} {hop.label}" for hop in path.hops), path.note)


def read_path(line: str) -> WrittenPath:
    """The path on a line. A note differs from a name in parentheses by its number."""
    text, note = _split_note(line, _EDGES)
    topic, *rest = _STEP.split(text)
    hops = tuple(WrittenHop(label.strip(), arrow) for arrow, label in zip(rest[::2], rest[1::2], strict=True))
    return WrittenPath(topic.strip(), hops, note)


def without_note(line: str) -> str:
    """The path on a line, written without its note."""
    return write_path(replace(read_path(line), note=""))


def write_end(edges: int, types: str = "", examples: Sequence[str] | None = None) -> str:
    """A note on the end of a path: the number of edges, and the types or some of the entities at their ends."""
    what = types if examples is None else EXAMPLE + ", ".join(examples)
    return f"{edges}{_TIMES}{what}" if what else str(edges)


def write_reached(path: str, entity: str) -> str:
    """An entity with the path by which it was reached."""
    return f"{path}{_COLON}{entity}"


def read_reached(line: str) -> tuple[str, str]:
    """The path and the entity on a line, split at the first colon after the last arrow.

    Names often have a colon. A relation whose label has one is read wrongly.
    """
    last_arrow = max(line.rfind(FORWARD), line.rfind(BACKWARD))
    colon = line.find(_COLON, last_arrow + 1)
    return (line[:colon], line[colon + len(_COLON) :]) if colon >= 0 else ("", line)


# --- facts ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WrittenFact:
    """The edges of one (entity, relation, direction).

    Attributes:
        anchor: name of the entity from which the relation is followed.
        values: names at its other end.
        more: how many further values there are.
        number: its place in a list, from 1; 0 where it is in none.
        edges: what is said of the edge to each value ("from: 2017"), empty for nothing; () if nothing is said of any.
    """

    anchor: str
    hop: WrittenHop
    values: tuple[str, ...]
    more: int = 0
    number: int = 0
    edges: tuple[str, ...] = ()


def write_fact(fact: WrittenFact) -> str:
    """A fact on one line."""
    said = fact.edges or ("",) * len(fact.values)
    values = [f"{value} {{{text}}}" if text else value for value, text in zip(fact.values, said, strict=True)]
    values += [f"... {fact.more} more"] if fact.more else []
    arrow = f" {fact.hop.arrow} "
    return f"{fact.anchor}{arrow}{fact.hop.label}{arrow}{_BETWEEN_VALUES.join(values)}"


def read_fact(line: str, number: int = 0) -> WrittenFact | None:
    """The fact on a line; None if the line has another form."""
    parts = _STEP.split(line, maxsplit=2)
    if len(parts) != 5:
        return None
    values = [value for part in parts[4].split(_BETWEEN_VALUES) if (value := part.strip())]
    cut = _MORE.fullmatch(values[-1]) if values else None
    hop = WrittenHop(parts[2].strip(), parts[1])
    split = [split_edge(value) for value in (values[:-1] if cut else values)]
    edges = tuple(said for _, said in split)
    names = tuple(value for value, _ in split)
    return WrittenFact(parts[0].strip(), hop, names, int(cut[1]) if cut else 0, number, edges if any(edges) else ())


def split_edge(value: str) -> tuple[str, str]:
    """A value, and what is said of the edge to it; empty if nothing is."""
    at = value.rfind(" {") if value.endswith("}") else -1
    return (value[:at], value[at + 2 : -1]) if at > 0 else (value, "")


def read_facts(lines: Iterable[str]) -> list[WrittenFact]:
    """The facts of a list, numbered by position; lines of another form are skipped."""
    return [fact for number, line in enumerate(lines, 1) if (fact := read_fact(line, number)) is not None]


# --- items of a list, named by their beginnings ---------------------------------------------------
_WORD = re.compile(r"\w+")
_ARROW = re.compile(f"{FORWARD}|{BACKWARD}")
_LEAST_SHARED = 0.5
"""Of the words of two beginnings, the share in common from which they may be the same."""


def beginning(item: str, kind: str) -> str:
    """What names an item of a list: a path without its note, a fact without its values, any other item whole.

    Args:
        item: as the prompt writes it.
        kind: `path`, `fact`, or another.
    """
    if kind == "path":
        return without_note(item)
    fact = read_fact(item) if kind == "fact" else None
    return f"{fact.anchor} {fact.hop.arrow} {fact.hop.label}" if fact else item


def items_named(text: str, items: Sequence[str], kind: str) -> list[int]:
    """The numbers, from 1, of the items that a model means by a beginning that it copied.

    All items with this beginning; if there are none, those with it but for the arrows; then the one item that follows
    the same relations from a topic that it calls by another name; then the one that shares most words with it, as a
    model may have left out an alias; if too few are shared, the only one that holds the text, such as the value of a
    fact.
    """
    words = _words(beginning(text, kind))
    named = [_words(beginning(item, kind)) for item in items]
    same = [number for number, one in enumerate(named, 1) if one == words]
    if same or not words:
        arrows = _ARROW.findall(beginning(text, kind))
        return [number for number in same if _ARROW.findall(beginning(items[number - 1], kind)) == arrows] or same
    hops = _first_wordings(text, kind)
    following = [number for number, item in enumerate(items, 1) if hops and _first_wordings(item, kind) == hops]
    if len(following) == 1:
        return following
    shares = [len(set(words) & set(one)) / len({*words, *one}) for one in named]
    best = max(shares, default=0.0)
    if best >= _LEAST_SHARED:
        return [shares.index(best) + 1]
    holding = [number for number, item in enumerate(items, 1) if _holds(_words(item), words)]
    return holding if len(holding) == 1 else []


def _holds(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return any(words[at : at + len(phrase)] == phrase for at in range(len(words) - len(phrase) + 1))


def _first_wordings(item: str, kind: str) -> list[tuple[str, str]]:
    """The arrow and the label of each hop, without aliases; empty for an item without hops."""
    hops = read_path(beginning(item, kind)).hops if kind in ("path", "fact") else ()
    return [(hop.arrow, wordings(hop.label)[0].casefold()) for hop in hops]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


# --- topics and known names ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WrittenTopic:
    """An entity that a question is about.

    Attributes:
        name: as facts and paths write it.
        spelling: as the question writes it.
    """

    name: str
    spelling: str


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the graph that was found in a question.

    Attributes:
        name: as in the graph.
        spelling: as the question writes it.
        types: of the likeliest entity of that name.
    """

    name: str
    spelling: str
    types: tuple[str, ...] = ()


def write_topic(name: str, spelling: str = "") -> str:
    """A topic on one line, with the spelling of the question if it differs."""
    return f"{clean(spelling)}{_EQUALS}{clean(name)}" if spelling else clean(name)


def read_topic(line: str) -> WrittenTopic:
    """The topic on a line; its spelling defaults to the name without the note that disambiguates homonyms."""
    spelling, equals, name = line.partition(_EQUALS)
    return WrittenTopic(name, spelling) if equals else WrittenTopic(line, split_note(line)[0])


def write_known_name(name: str, spelling: str = "", types: Sequence[str] = ()) -> str:
    """A known name on one line."""
    return with_note(write_topic(name, spelling), ", ".join(types))


def read_known_name(line: str) -> KnownName:
    """The known name on a line. A note at its end is parsed as types, although it may be part of the name."""
    spelling, equals, rest = line.partition(_EQUALS)
    name, types = split_note(rest if equals else line)
    return KnownName(name, spelling if equals else name, tuple(types.split(", ")) if types else ())


def separated(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """The texts, each taken apart where it joins known names by commas, semicolons, bars or `and`.

    A text that is itself a name stays whole, and so does one with a part that is no name.

    Args:
        texts: as a model wrote them.
        names: the known names.
    """
    known = {name.casefold() for name in names}
    found: list[str] = []
    for text in texts:
        parts = [part.strip() for part in _JOINT.split(text)]
        joined = len(parts) > 1 and text.casefold() not in known
        found += parts if joined and all(part.casefold() in known for part in parts) else [text]
    return found


def names_in(text: str) -> tuple[str, ...]:
    """A topic or known name that a model copied: the line itself, then its parts."""
    return (text, *text.split(_EQUALS))


# --- relations -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WrittenRelation:
    """A relation, with the types at its ends; empty if unknown.

    Attributes:
        label: all of its wordings (`wordings`).
    """

    label: str
    head: str = ""
    tail: str = ""


def write_wordings(wordings: Iterable[str]) -> str:
    """The names of one relation, its label first."""
    return _BETWEEN_WORDINGS.join(wordings)


def wordings(label: str) -> list[str]:
    """The names of one relation, its label first; without the type at its end."""
    return split_kind(label)[0].split(_BETWEEN_WORDINGS)


def is_relation(text: str, label: str) -> bool:
    """Whether a text writes the relation of this label: the label, alone or before an alias or a type."""
    return any(one == label or one.startswith(f"{label}{_BETWEEN_WORDINGS}") for one in (text, split_kind(text)[0]))


def write_relation(relation: WrittenRelation) -> str:
    """A relation on one line, with the types at both ends if both are known."""
    ends = f"{_COLON}{relation.head}{_ENDS}{relation.tail}" if relation.head and relation.tail else ""
    return relation.label + ends


def read_relation(line: str) -> WrittenRelation:
    """The relation on a line."""
    label, colon, ends = line.rpartition(_COLON)
    head, to, tail = ends.partition(_ENDS)
    return WrittenRelation(label, head, tail) if colon and to else WrittenRelation(line)


def possible_labels(text: str) -> list[str]:
    """Possible labels of a relation that a model copied with or without aliases and types; most likely first."""
    shorter = (text, text.rpartition(_COLON)[0], text.partition(_BETWEEN_WORDINGS)[0])
    return [label for label in shorter if label]


# --- triples -------------------------------------------------------------------------------------
TripleTexts: TypeAlias = tuple[str, str, str]
"""Head, relation and tail as text."""

_NUMBER_MARKS = " \t[]().*•-–—\"'`"


@dataclass(frozen=True, slots=True)
class TripleLine:
    """A line that a model wrote as a triple.

    Attributes:
        text: the line.
        triple: head, relation, tail; None where it cannot be read.
        number: of the text that it is from; None where it names none.
    """

    text: str
    triple: TripleTexts | None = None
    number: int | None = None


def write_triple(triple: TripleTexts, number: int | None = None) -> str:
    """A triple on one line; a bar or a line break inside a name becomes a space."""
    parts = [re.sub(r"[|\r\n]", " ", part) for part in triple]
    return _BETWEEN_VALUES.join([*([] if number is None else [str(number)]), *parts])


def read_triples(lines: Iterable[str]) -> list[TripleLine]:
    """The triples that a model wrote; a triple that spans several lines is joined."""
    return [_read_triple(line) for line in _joined(lines)]


def _read_triple(line: str) -> TripleLine:
    parts = [part.strip() for part in line.strip("| ").split("|")]
    number = _number(parts[0]) if len(parts) == 4 else None
    if len(parts) != 3 and number is None:
        return TripleLine(line)
    return TripleLine(line, (parts[-3], parts[-2], parts[-1]), number)


def _joined(lines: Iterable[str]) -> list[str]:
    """Lines, each joined with its continuation lines: one of the two has a bar at the break."""
    joined: list[str] = []
    for line in lines:
        if joined and (joined[-1].endswith("|") or line.startswith("|")):
            joined[-1] = f"{joined[-1].rstrip('| ')}{_BETWEEN_VALUES}{line.lstrip('| ')}"
        else:
            joined.append(line)
        # A bar after the last part closes the triple; no continuation follows.
        if joined[-1].strip("| ").count("|") >= 3:
            joined[-1] = joined[-1].rstrip("| ")
    return joined


def _number(text: str) -> int | None:
    plain = text.strip(_NUMBER_MARKS)
    return int(plain) if plain.isdecimal() else None
