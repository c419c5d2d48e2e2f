"""What a prompt shows of a graph for a query: topics, classes and relations, those nearest to a question first."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_parts import Build, build_rows, node

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import load_encoder
from triplecheck.language.likeness import Likeness
from triplecheck.language.question import read_question
from triplecheck.programs import Sources
from triplecheck.programs.offers import Offer, described, names_of, offer, things, values_named

ROOM = 4_000  # tokens


def offered(base: KnowledgeBase, question: str, **topics: tuple[str, str]) -> Offer:
    """What is shown for a question, with the name and the spelling of each topic by its id."""
    read = read_question(question, [spelt or name for name, spelt in topics.values()])
    return offer(base.graph, read, {node(base.graph, id): written for id, written in topics.items()}, None, ROOM)


class TestTopics:
    def test_a_topic_has_its_classes_and_the_spelling_of_the_question(self, violins: KnowledgeBase) -> None:
        shown = offered(violins, "What did Roth make in Millby?", lena=("Lena Roth", "Roth"), mill=("Millby", ""))
        assert shown.topics == ["Roth = Lena Roth (maker)", "Millby (town)"]

    def test_a_topic_without_a_class_is_a_thing(self, build: Build) -> None:
        base = build(":a rdfs:label 'Ada' ; :knows :b . :b a :person ; rdfs:label 'Bea' .")
        assert offered(base, "Who knows Ada?", a=("Ada", "")).topics == ["Ada (thing)"]

    def test_values_are_no_topics_of_a_query(self, violins: KnowledgeBase) -> None:
        graph = violins.graph
        relation = graph.find_relation("http://example.org/price")
        assert relation is not None
        price = int(graph.neighbors(node(graph, "aurora"), relation)[0])
        topics = {node(graph, "lena"): ("Lena Roth", ""), price: ("900", "")}
        assert things(graph, topics) == {node(graph, "lena"): ("Lena Roth", "")}

    def test_a_name_and_its_spelling_stand_for_the_same_nodes(self) -> None:
        assert names_of({1: ("Lena Roth", "Roth"), 2: ("Lena Roth", "")}) == {"Lena Roth": [1, 2], "Roth": [1]}


class TestBeside:
    def test_a_topic_has_its_patterns_with_what_is_at_the_other_end(self, violins: KnowledgeBase) -> None:
        shown = offered(violins, "What did Lena Roth make?", lena=("Lena Roth", ""))
        assert shown.beside == [
            "<Lena Roth> <born in> ?x (town)",
            "<Lena Roth> <active from> ?x (year, e.g. 1919)",
            "?x <made by> <Lena Roth> (violin)",
        ]

    def test_of_many_the_nearest_to_the_question_are_shown(self, tmp_path: Path) -> None:
        names = ("ate", "bought", "drew", "fed", "grew", "held", "knew", "lent", "made", "owned", "sold", "wore")
        rows = [("Ada", verb, f"thing {verb}") for verb in (*names, "married", "was born in")]
        base = build_rows(rows, tmp_path, encoder="all-MiniLM-L6-v2")
        ada = base.graph.find("Ada")
        assert ada is not None
        read = read_question("Whom did Ada marry?", ["Ada"])
        shown = offer(base.graph, read, {ada: ("Ada", "")}, Sources.of(base).relations, ROOM)
        assert len(shown.beside) == 12
        assert "<Ada> <married> ?x (thing)" in shown.beside

    def test_the_class_of_a_topic_is_no_pattern(self, build: Build) -> None:
        base = build(":a a :bird ; :isA :bird ; rdfs:label 'Ada' ; :eats :b . :b a :beetle .")
        assert offered(base, "What does Ada eat?", a=("Ada", "")).beside == ["<Ada> <eats> ?x (beetle)"]


class TestValues:
    def test_values_in_lower_case_that_the_question_names_are_topics(self, tmp_path: Path) -> None:
        base = build_rows([("Ada", "sex", "female"), ("Bob", "sex", "male"), ("Ada", "owns", "Rex")], tmp_path)
        linker = base.linker
        likeness = Likeness(load_encoder().encode, "en")
        found = values_named(base.graph, linker, read_question("Which female keepers own Rex?", ["Rex"]), likeness)
        assert [name for name, _ in found.values()] == ["female"]
        assert not values_named(base.graph, linker, read_question("Who owns Rex?", ["Rex"]), likeness)

    @pytest.mark.parametrize("question", ["What film did Ann write?", "Who is the director of Rain?"])
    def test_nouns_that_are_asked_for_or_name_a_relation_are_none(self, tmp_path: Path, question: str) -> None:
        for name in ("colours", "verb"):
            (tmp_path / name).mkdir()
        rows = [("Rain", "written by", "Ann"), ("Rain", "directed by", "Bo"), ("Rain", "tag", "film")]
        base = build_rows([*rows, ("Snow", "tag", "director"), ("Rain", "tag", "love")], tmp_path)
        linker, likeness = base.linker, Likeness(load_encoder().encode, "en")
        assert not values_named(base.graph, linker, read_question(question, ["Ann", "Rain"]), likeness)
        red = build_rows([("Ada", "colour", "red"), ("Bob", "colour", "white")], tmp_path / "colours")
        found = values_named(red.graph, red.linker, read_question("Which red wines are there?"), likeness)
        assert found.keys() == {red.graph.find("red")}, "a value is like the relation that leads to it"
        verb = build_rows([("Ada", "role", "support"), ("Oslo Bank", "backs", "Ada")], tmp_path / "verb")
        assert not values_named(verb.graph, verb.linker, read_question("Which bank supports Ada?", ["Ada"]), likeness)
        love = read_question("Which love films did Ann write?", ["Ann"])
        assert values_named(base.graph, linker, love, likeness).keys() == {base.graph.find("love")}


class TestClasses:
    def test_those_that_the_question_names_come_first_with_the_number_of_things(self, violins: KnowledgeBase) -> None:
        assert offered(violins, "Which towns have a maker?").classes == [
            "?town a <town> (2)",
            "?maker a <maker> (3)",
            "?violin a <violin> (4)",
        ]

    def test_those_of_the_topics_come_next(self, violins: KnowledgeBase) -> None:
        assert offered(violins, "Which violins are by Ida Vale?", ida=("Ida Vale", "")).classes[:2] == [
            "?violin a <violin> (4)",
            "?maker a <maker> (3)",
        ]

    def test_there_are_none_without_types(self, tmp_path: Path) -> None:
        base = build_rows([("Ada", "born in", "Oslo"), ("Bea", "born in", "Bergen")], tmp_path)
        shown = offer(base.graph, read_question("Who was born in Oslo?"), {}, None, ROOM)
        assert shown.classes == []
        assert shown.relations == ["?thing <born in> ?other_thing (e.g. Oslo)"]


class TestRelations:
    def test_where_room_is_short_those_of_the_topics_come_first(self, violins: KnowledgeBase) -> None:
        mill = {node(violins.graph, "mill"): ("Millby", "")}
        read = read_question("Who was born in Millby?", ["Millby"])
        every = offer(violins.graph, read, mill, None, ROOM).relations
        few = offer(violins.graph, read, mill, None, 40).relations
        assert 0 < len(few) < len(every)
        assert set(few) <= set(every)
        assert any("<born in>" in line for line in few)

    def test_each_has_what_is_at_both_ends_and_an_example(self, violins: KnowledgeBase) -> None:
        assert set(offered(violins, "Which violins are dear?").relations) == {
            "?violin <made by> ?maker (e.g. Lena Roth; also <workshop of>)",
            "?violin <price> ?number (e.g. 900)",
            "?violin <built> ?date (e.g. 1921-04-02)",
            "?violin <inscription> ?text (e.g. roth 7)",
            "?violin <inventory number> ?number (e.g. 3)",
            "?maker <born in> ?town (e.g. Millby)",
            "?maker <active from> ?year (e.g. 1919)",
        }

    @pytest.mark.parametrize(("other", "kind"), [("1759-06-18", "date"), ("1801", "year"), ("42", "number")])
    def test_years_and_dates_together_are_times(self, tmp_path: Path, other: str, kind: str) -> None:
        rows = [("Adra", "found", "1759"), ("Belu", "found", other), ("Cind", "found", "1787")]
        base = build_rows([*rows, *((name, "type", "island") for name, *_ in rows)], tmp_path)
        (line,) = offered(base, "Which islands were found before 1770?").relations
        assert line.startswith(f"?island <found> ?{kind} ")

    def test_one_between_several_classes_has_a_line_for_those_that_are_named(self, build: Build) -> None:
        base = build(":a a :bird ; :eats :b . :b a :beetle . :c a :cat ; :eats :a , :b . :d a :cat ; :eats :a .")
        graph = base.graph
        relation = graph.find_relation("http://example.org/eats")
        assert relation is not None
        assert {line.ends for line in described(graph, relation)} == {("cat", "bird")}
        assert {line.ends for line in described(graph, relation, ["bird", "beetle"])} == {
            ("bird", "beetle"),
            ("cat", "bird"),
            ("cat", "beetle"),
        }

    def test_identifiers_and_types_are_left_out(self, build: Build) -> None:
        base = build(":a a :bird ; :isA :bird ; :eats :b ; :P31 :b . :b a :beetle .")
        shown = offered(base, "Which birds are there?").relations
        assert shown == ["?bird <eats> ?beetle (e.g. b)"]

    def test_of_many_those_of_the_topics_are_shown(self, build: Build) -> None:
        names = [f"{one}{other}" for one in "kmprstlnb" for other in "aeiou"]
        many = "".join(f":x a :vowel ; :goes{name.title()}Ward :y . " for name in names)
        base = build(f"{many} :y a :vowel . :a a :bird ; rdfs:label 'Ada' ; :eats :b . :b a :beetle .")
        shown = offered(base, "What does Ada eat?", a=("Ada", "")).relations
        assert "?bird <eats> ?beetle (e.g. b)" in shown
        assert len(shown) == 40
