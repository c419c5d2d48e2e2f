"""What a question says as a graph: the things that it speaks of, and how each is joined to another."""

from __future__ import annotations

import pytest

from triplecheck.language.clauses import Attachment, Clauses, read_clauses
from triplecheck.language.content import content_words
from triplecheck.language.question import Question, read_question

CLASSES = ["plant", "greenhouse", "gardener", "insect", "city"]
RELATIONS = [("head", "gardener"), ("home", "city")]


def read(text: str, *taken: int) -> tuple[Question, Clauses]:
    """Names in stars are topics: "Who leads *Acme*?"."""
    parts = text.split("*")
    question = read_question("".join(parts), parts[1::2])
    return question, read_clauses(question, CLASSES, RELATIONS, taken)


def units(text: str) -> list[tuple[str, str]]:
    """The kinds and the names of the units."""
    return [(unit.kind, " ".join(unit.names)) for unit in read(text)[1].units]


def root(text: str) -> str:
    found = read(text)[1]
    assert found.root is not None
    return " ".join(found.units[found.root].names)


def attached(text: str, name: str) -> tuple[Attachment, str, list[str]]:
    """The attachment of a unit, the name of the unit that it leads to, and the words in between."""
    question, found = read(text)
    (one,) = (one for one in found.attachments if " ".join(found.units[one.unit].names) == name)
    return one, " ".join(found.units[one.to].names), [question.parse.words[at] for at in one.words]


class TestUnits:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Which plants grow in the *Palm House*?", [("class", "plant"), ("topic", "Palm House")]),
            ("Where does *Ada Moss* live?", [("word", "where"), ("topic", "Ada Moss")]),
            ("What colour is the *Old Fig*?", [("noun", "colour"), ("topic", "Old Fig")]),
            ("Which plants have 12 leaves?", [("class", "plant"), ("number", "12")]),
            ("Is the *Old Fig* in the *Palm House*?", [("topic", "Old Fig"), ("topic", "Palm House")]),
        ],
    )
    def test_classes_topics_nouns_question_words_and_numbers(self, text: str, expected: list[tuple[str, str]]) -> None:
        assert units(text) == expected

    def test_the_class_beside_a_topic_is_no_thing_of_its_own(self) -> None:
        assert units("Which city is the greenhouse *Palm House* in?") == [("class", "city"), ("topic", "Palm House")]

    def test_a_compound_that_names_a_relation_names_no_class(self) -> None:
        assert units("Which gardeners have *Hull* as their home city?") == [("class", "gardener"), ("topic", "Hull")]

    def test_what_says_an_operation_is_no_thing(self) -> None:
        _, found = read("Which plants have 12 leaves?", 3)
        assert [unit.kind for unit in found.units] == ["class"]

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("Which plants grow in the *Palm House*?", "plant"),
            ("Who is a gardener in *Hull*?", "gardener"),
            ("What is the number of plants in the *Fern House*?", "plant"),
            ("How many plants are in the *Fern House*?", "plant"),
            ("Who waters the plants that grow in the *Palm House*?", "who"),
            ("Is the *Old Fig* in the *Palm House*?", "Old Fig"),
        ],
    )
    def test_the_root_is_what_is_asked_for_or_what_is_spoken_of(self, text: str, asked: str) -> None:
        assert root(text) == asked

    def test_a_question_of_nothing_has_no_root(self) -> None:
        _, found = read("Is it so?")
        assert found == Clauses((), None, ())


class TestJoined:
    @pytest.mark.parametrize(
        ("text", "name", "to", "words"),
        [
            ("Which plants grow in the *Palm House*?", "Palm House", "plant", ["grow"]),
            ("Which gardeners of *Kew* know the *Old Fig*?", "Old Fig", "gardener", []),
            ("Who is the head gardener of the *Palm House*?", "Palm House", "head gardener", []),
            ("Which gardeners have *Hull* as their home city?", "Hull", "gardener", ["home", "city"]),
            ("Who waters the plants that grow in the *Palm House*?", "Palm House", "plant", ["grow"]),
            ("Who waters the plants that grow in the *Palm House*?", "plant", "who", ["waters"]),
            ("Is the *Old Fig* in the *Palm House*?", "Palm House", "Old Fig", []),
        ],
    )
    def test_a_thing_is_joined_by_the_words_between(self, text: str, name: str, to: str, words: list[str]) -> None:
        assert attached(text, name)[1:] == (to, words)

    def test_prepositions_are_kept_apart(self) -> None:
        assert attached("Which plants grow in the *Palm House*?", "Palm House")[0].cases == ("in",)

    @pytest.mark.parametrize(
        ("text", "acts"),
        [
            ("Which plants are watered by *Ada Moss*?", True),
            ("Which plants has *Ada Moss* watered?", True),
            ("Which gardeners have trained *Ada Moss*?", False),
            ("Which gardeners of *Ada Moss* are there?", None),
        ],
    )
    def test_who_acts_on_whom(self, text: str, acts: bool | None) -> None:
        assert attached(text, "Ada Moss")[0].acts is acts

    @pytest.mark.parametrize("text", ["Which gardeners of *Kew* are there?", "Who are *Kew*'s gardeners?"])
    def test_a_possessor_owns(self, text: str) -> None:
        assert attached(text, "Kew")[0].owns


class TestDenied:
    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("Which gardeners do not water the *Old Fig*?", ["Old Fig"]),
            ("Which greenhouse has no insect?", ["insect"]),
            ("Which plants grow in neither the *Palm House* nor the *Fern House*?", ["Palm House", "Fern House"]),
            ("Which plants are without an insect?", ["insect"]),
            ("Which gardeners of *Kew* never water the *Old Fig*?", ["Old Fig"]),
        ],
    )
    def test_what_is_denied(self, text: str, names: list[str]) -> None:
        _, found = read(text)
        assert [" ".join(found.units[one.unit].names) for one in found.attachments if one.denied] == names

    def test_what_is_excluded(self) -> None:
        one, to, _ = attached("Which gardeners other than *Ada Moss* live in *Hull*?", "Ada Moss")
        assert (one.excluded, one.denied, to) == (True, False, "gardener")


class TestLists:
    def test_or_offers_an_alternative(self) -> None:
        text = "Which plants in the *Palm House* or the *Fern House* attract insects?"
        one, to, _ = attached(text, "Fern House")
        assert (one.alternative, one.cases, to) == (True, ("in",), "plant")
        assert one.with_ is not None and read(text)[1].units[one.with_].names == ("Palm House",)

    def test_and_adds_a_thing(self) -> None:
        one, to, _ = attached("Which plants and insects live in the *Palm House*?", "insect")
        assert (one.alternative, one.with_, to) == (False, 0, "plant")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Which plants grow in the *Palm House*?", ["plants", "grow"]),
        ("Which plants that we keep are rare at the moment?", ["plants", "rare"]),
        ("Which is the tallest plant in the database?", ["plant"]),
        ("Which gardeners, apart from *Ada Moss*, live here?", ["gardeners", "live"]),
    ],
)
def test_content_words_are_what_a_graph_must_say(text: str, words: list[str]) -> None:
    question, _ = read(text)
    found = content_words(question.parse, ())
    assert [question.parse.words[at] for at in sorted(found)] == words
    assert content_words(question.parse, found) == frozenset()
