"""The schema in a prompt of `WriteQuery`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import EXAMPLE, THING, read_known_name, read_relation, split_note, wordings

TIMES = frozenset({"date", "year"})
MEASURES = TIMES | {"number"}


@dataclass(frozen=True)
class Relation:
    """A relation between things of two classes, or from a class to a value.

    Attributes:
        label: its name.
        wordings: its name and its other names.
        head: the class at its start; `THING` if it is not known.
        tail: the class at its end, or `number`, `date`, `year`, `text`; `THING` if it is not known.
        example: a value, as the graph writes it.
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

    @property
    def is_truth(self) -> bool:
        """Whether its values are true and false."""
        return self.tail == "text" and self.example in ("true", "false")

    @property
    def kind(self) -> str:
        """Of its values: `time` or `number`; empty for things and texts."""
        return "time" if self.tail in TIMES else "number" if self.tail == "number" else ""


@dataclass(frozen=True)
class Topic:
    """A thing that the question names: its name in the graph, its spelling in the question, and its classes."""

    name: str
    spelling: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """What a prompt offers.

    Attributes:
        topics: the things that the question names.
        classes: the names of classes.
        relations: with the classes at both ends.
    """

    topics: tuple[Topic, ...]
    classes: tuple[str, ...]
    relations: tuple[Relation, ...]

    @classmethod
    def of(cls, prompt: Prompt) -> Schema:
        """The schema of a prompt."""
        topics = []
        for line in prompt.items("topics"):
            known = read_known_name(line)
            topics.append(Topic(known.name, known.spelling, tuple(c for c in known.types if c != THING)))
        relations = []
        for line in prompt.items("relations"):
            text, note = split_note(line)
            found = read_relation(text)
            names = tuple(wordings(found.label))
            example = note.removeprefix(EXAMPLE)
            relations.append(Relation(names[0], names, found.head or THING, found.tail or THING, example))
        classes = tuple(split_note(line)[0] for line in prompt.items("classes"))
        return cls(tuple(topics), classes, tuple(dict.fromkeys(relations)))

    def topic(self, spelling: str) -> Topic | None:
        """The topic that the question spells so."""
        return next((topic for topic in self.topics if topic.spelling == spelling), None)


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
