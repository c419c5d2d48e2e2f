"""The schema in a prompt of `WriteQuery`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triplecheck.kg.plans.notation import write_label
from triplecheck.language.likeness import measure_nouns, measured_names
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import BETWEEN_EXAMPLES, MOST_BESIDE, read_known_name, split_note
from triplecheck.signatures.query_notation import THING, read_class, read_offered

TIMES = frozenset({"date", "year"})
MEASURES = TIMES | {"number"}
_PATTERN = re.compile(r"(<[^<>]*>|\?x) (<[^<>]*>) (<[^<>]*>|\?x)")


@dataclass(frozen=True)
class Relation:
    """A relation between things of two classes, or from a class to a value.

    Attributes:
        wordings: its name and its other names.
        head: the class at its start; `THING` if it is not known.
        tail: the class at its end, or `number`, `date`, `year`, `text`; `THING` if it is not known.
        example: a value, as the graph writes it; both if there are two.
    """

    label: str
    wordings: tuple[str, ...]
    head: str
    tail: str
    example: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether its values can be compared."""
        return self.tail in MEASURES

    def truth(self, flags: Mapping[str, str]) -> tuple[str, str] | None:
        """Its values for yes and for no, as the graph writes them; None if it has others.

        Args:
            flags: see `Lexicon.flags`. The value for no is empty if the prompt shows none.
        """
        shown = {value.casefold(): value for value in self.example.split(BETWEEN_EXAMPLES)}
        for yes, no in flags.items():
            if shown.keys() <= {yes, no}:
                return shown.get(yes, yes), shown.get(no, "")
        return None

    @property
    def kind(self) -> str:
        """Of its values: `time` or `number`; empty for things and texts."""
        return "time" if self.tail in TIMES else "number" if self.tail == "number" else ""


@dataclass(frozen=True)
class Beside:
    """A relation that a topic has.

    Attributes:
        relation: its name, as queries write it.
        is_head: whether it leads from the topic.
        end: the class or the kind of value at its other end.
    """

    relation: str
    is_head: bool
    end: str


@dataclass(frozen=True)
class Topic:
    """A thing that the question names: its name in the graph, its spelling in the question, classes and relations."""

    name: str
    spelling: str
    classes: tuple[str, ...]
    beside: tuple[Beside, ...] = ()

    @property
    def tells_all(self) -> bool:
        """Whether `beside` has all relations of the topic, and not only as many as a prompt shows."""
        return 0 < len(self.beside) < MOST_BESIDE

    def has(self, relation: Relation, *, as_head: bool) -> bool:
        """Whether a relation of the topic is in `beside`."""
        label = write_label(relation.label)
        return any(one.relation == label and one.is_head == as_head for one in self.beside)


@dataclass(frozen=True)
class Schema:
    """What a prompt offers.

    Attributes:
        topics: the things that the question names.
        relations: with the classes at both ends.
    """

    topics: tuple[Topic, ...]
    classes: tuple[str, ...]
    relations: tuple[Relation, ...]

    def flags(self, values: Mapping[str, str]) -> list[Relation]:
        """The relations to yes and no; `values`: see `Lexicon.flags`."""
        return [one for one in self.relations if one.truth(values) is not None]

    @classmethod
    def of(cls, prompt: Prompt) -> Schema:
        """The schema of a prompt."""
        beside = _beside(prompt.items("beside"))
        topics = []
        for line in prompt.items("topics"):
            known = read_known_name(line)
            own = tuple(kind for kind in known.types if kind != THING)
            topics.append(Topic(known.name, known.spelling, own, tuple(beside.get(write_label(known.name), ()))))
        classes = tuple(map(read_class, prompt.items("classes")))
        known_classes = [*classes, *(kind for topic in topics for kind in topic.classes)]
        offered = [read_offered(line, known_classes) for line in prompt.items("relations")]
        relations = [Relation(one.names[0], one.names, one.head, one.tail, one.example) for one in offered if one]
        return cls(tuple(topics), classes, tuple(_with_measures(dict.fromkeys(relations), prompt.language)))

    def topic(self, spelling: str) -> Topic | None:
        """The topic that the question spells so."""
        return next((topic for topic in self.topics if topic.spelling == spelling), None)

    def namesakes(self, spelling: str) -> list[Topic]:
        """The topics that the question spells so, of one class: the first and those that have a class of its own."""
        found = [topic for topic in self.topics if topic.spelling == spelling]
        return [topic for topic in found if topic is found[0] or set(topic.classes) & set(found[0].classes)]

    def measured(self, classes: Collection[str] | None) -> list[Relation]:
        """The relations to values that things of some classes have; empty: they have none; None: of any."""
        return [one for one in self.relations if one.is_measured and (classes is None or fits(classes, one.head))]


def _with_measures(relations: Collection[Relation], language: str) -> Iterator[Relation]:
    """Relations, with their `measured_names` where no other relation of the class measures the same."""
    nouns = {one: measure_nouns(one.example, language) for one in relations}
    for one in relations:
        beside = [other for other in relations if other.head == one.head and other != one]
        known = {wording for other in (one, *beside) for wording in other.wordings}
        is_only = all(nouns[other] != nouns[one] for other in beside)
        more = measured_names(one.label, one.example, language) if is_only else ()
        yield replace(one, wordings=(*one.wordings, *(noun for noun in more if noun not in known)))


def _beside(lines: Sequence[str]) -> dict[str, list[Beside]]:
    """The relations that each topic has, by its name as queries write it."""
    found: dict[str, list[Beside]] = {}
    for line in lines:
        text, end = split_note(line)
        match = _PATTERN.fullmatch(text)
        if match:
            head, relation, tail = match.groups()
            is_head = tail == "?x"
            found.setdefault(head if is_head else tail, []).append(Beside(relation, is_head, end.partition(",")[0]))
    return found


def fits(classes: Collection[str], end: str, *, loosely: bool = False) -> bool:
    """Whether things of some classes may be at the end of a relation.

    Args:
        classes: of the things; empty: none is known.
        end: a class, `THING`, or a kind of value.
        loosely: things may be of classes that are not listed.
    """
    if end in MEASURES or end == "text":
        return False
    return loosely or end in classes or (end == THING and not classes)
