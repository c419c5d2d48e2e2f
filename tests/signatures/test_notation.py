"""The notation of prompts: everything written is parsed back unchanged, with any characters in names."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from triplecheck.signatures.notation import (
    BACKWARD,
    FORWARD,
    KnownName,
    WrittenFact,
    WrittenHop,
    WrittenPath,
    WrittenRelation,
    WrittenTopic,
    clean,
    is_relation,
    possible_labels,
    read_fact,
    read_facts,
    read_known_name,
    read_path,
    read_reached,
    read_relation,
    read_topic,
    read_triples,
    split_edge,
    split_note,
    with_note,
    without_note,
    wordings,
    write_end,
    write_fact,
    write_path,
    write_reached,
    write_relation,
    write_topic,
    write_triple,
    write_wordings,
)
from triplecheck.signatures.query_notation import (
    Unknown,
    WrittenPattern,
    read_patterns,
    without_things,
    write_pattern,
)

# Names as a graph may hold them, with every mark of the notation.
marks = st.sampled_from(
    ["→", "←", "|", "=", " = ", "(", ")", ",", "\n", "\t", "/", ":", "?", "\\", "[[", "<think>", "×"]
)
raw = st.lists(marks | st.text(min_size=1, max_size=4) | st.sampled_from(["Alien", " ", "(2)", "to"]), max_size=6).map(
    "".join
)
names = raw.map(clean).filter(bool)
balanced = names.filter(lambda name: split_note(f"x ({name})") == ("x", name))
hops = st.builds(WrittenHop, names, st.sampled_from([FORWARD, BACKWARD]))
paths = st.builds(WrittenPath, names, st.lists(hops, min_size=1, max_size=3).map(tuple))
plain = names.filter(lambda name: split_note(name) == (name, ""))


@given(raw)
def test_a_clean_name_has_no_mark(text: str) -> None:
    name = clean(text)
    assert clean(name) == name
    assert not any(mark in name for mark in ("→", "←", "|", " = ", "[[", "<think", "\n", "  "))


class TestPaths:
    @given(paths, st.integers(0, 10**6), balanced)
    def test_a_path_with_a_note_is_read_back(self, path: WrittenPath, edges: int, types: str) -> None:
        noted = WrittenPath(path.topic, path.hops, write_end(edges, types))
        assert read_path(write_path(noted)) == noted
        assert without_note(write_path(noted)) == write_path(path)

    @given(paths.filter(lambda path: not path.hops[-1].label.endswith(")")))
    def test_a_path_without_a_note_is_read_back(self, path: WrittenPath) -> None:
        assert read_path(write_path(path)) == path

    def test_the_end_of_a_path_says_types_or_examples(self) -> None:
        assert write_end(3, "Film, Book") == "3 × Film, Book"
        assert write_end(3, examples=["Alien", "Dune"]) == "3 × e.g. Alien, Dune"
        assert write_end(3, examples=[]) == "3 × e.g. "
        assert write_end(3) == "3"
        assert read_path(f"A → wrote ({write_end(3, examples=[])})").types_at_end == ""
        assert read_path("A → wrote (3 × Film, Book)").types_at_end == "Film, Book"
        assert read_path("A → wrote (3 × e.g. Alien)").types_at_end == ""
        assert read_path("A → wrote (3)").types_at_end == ""

    def test_parentheses_in_a_name_are_no_note(self) -> None:
        assert read_path("Alien (film) → cast (as written)").hops == (WrittenHop("cast (as written)", FORWARD),)
        assert read_path("A → wrote (3 × Film (art))").note == "3 × Film (art)"
        assert read_path("A → wrote (2 × x) (3 × Film)").note == "3 × Film"

    @given(paths, names)
    def test_an_entity_that_was_reached_is_read_back(self, path: WrittenPath, entity: str) -> None:
        path = WrittenPath(path.topic, (*path.hops[:-1], WrittenHop("directed by", path.hops[-1].arrow)))
        assert read_reached(write_reached(write_path(path), entity)) == (write_path(path), entity)


class TestFacts:
    @given(names, hops, st.lists(names, min_size=1, max_size=4).map(tuple), st.integers(0, 10**6))
    def test_a_fact_is_read_back(self, anchor: str, hop: WrittenHop, values: tuple[str, ...], more: int) -> None:
        fact = WrittenFact(anchor, hop, values, more)
        assert read_fact(write_fact(fact)) == fact

    @given(names, hops, st.lists(st.tuples(names, st.one_of(st.just(""), names)), min_size=1, max_size=4))
    def test_what_is_said_of_an_edge_is_read_back(
        self, anchor: str, hop: WrittenHop, values: list[tuple[str, str]]
    ) -> None:
        edges = tuple(said for _, said in values)
        fact = WrittenFact(anchor, hop, tuple(name for name, _ in values), edges=edges if any(edges) else ())
        assert read_fact(write_fact(fact)) == fact

    def test_braces_in_a_name_are_no_edge(self) -> None:
        assert clean("set {a, b}") == "set a, b"
        assert split_edge("Billing {from: 2017; until: 2019}") == ("Billing", "from: 2017; until: 2019")
        assert split_edge("Billing") == ("Billing", "")

    def test_a_list_of_facts_keeps_its_numbers(self) -> None:
        found = read_facts(["A → r → B", "no fact", "B ← s ← C | ... 2 more"])
        assert [fact.number for fact in found] == [1, 3]
        assert found[1] == WrittenFact("B", WrittenHop("s", BACKWARD), ("C",), 2, 3)


class TestNames:
    @given(plain, names)
    def test_a_topic_with_the_spelling_of_the_question_is_read_back(self, name: str, spelling: str) -> None:
        assert read_topic(write_topic(name, spelling)) == WrittenTopic(name, spelling)

    def test_the_note_that_disambiguates_homonyms_is_not_in_the_question(self) -> None:
        assert read_topic("Alien (film)") == WrittenTopic("Alien (film)", "Alien")

    @given(names, names, st.lists(balanced.filter(lambda kind: ", " not in kind), min_size=1, max_size=2))
    def test_a_known_name_with_types_is_read_back(self, name: str, spelling: str, types: list[str]) -> None:
        line = with_note(write_topic(name, spelling), ", ".join(types))
        if split_note(line)[1] == ", ".join(types):  # parentheses may pair across two types
            assert read_known_name(line) == KnownName(name, spelling, tuple(types))

    @given(plain)
    def test_a_known_name_by_itself_is_its_own_spelling(self, name: str) -> None:
        assert read_known_name(write_topic(name)) == KnownName(name, name)

    @given(names, balanced)
    def test_a_note_is_split_off_again(self, text: str, note: str) -> None:
        assert split_note(with_note(text, note)) == (text, note)


class TestRelations:
    types = names.filter(lambda name: " to " not in f" {name} " and ":" not in name)

    @given(names, types, types)
    def test_a_relation_with_types_is_read_back(self, label: str, head: str, tail: str) -> None:
        relation = WrittenRelation(label, head, tail)
        assert read_relation(write_relation(relation)) == relation
        assert label in possible_labels(write_relation(relation))

    @example(["0", "[]"])
    @given(st.lists(names.filter(lambda name: "/" not in name), min_size=1, max_size=3, unique=True))
    def test_the_names_of_a_relation_are_read_back(self, labels: list[str]) -> None:
        assert wordings(write_wordings(labels)) == labels
        assert is_relation(write_wordings(labels), labels[0])

    def test_a_label_with_a_colon_is_whole_where_no_types_follow(self) -> None:
        assert read_relation("part: whole") == WrittenRelation("part: whole")

    def test_another_relation_differs_by_its_label(self) -> None:
        assert is_relation("genre / kind", "genre")
        assert not is_relation("genre of film", "genre")


anything = raw.map(lambda text: " ".join(text.split())).filter(bool)
unknowns = st.builds(Unknown, st.from_regex(r"[a-z]\w{0,4}", fullmatch=True), st.none() | st.just("Film"))
ends = anything | unknowns
labels = anything.filter(lambda text: text not in ("a", "rdf:type"))


class TestPatterns:
    @given(ends, st.none() | labels, ends)
    def test_a_pattern_is_read_back(self, head: str | Unknown, relation: str | None, tail: str | Unknown) -> None:
        pattern = WrittenPattern(head, relation, tail)
        (read,), others = read_patterns([write_pattern(pattern)])
        known = {end.name: end.type for end in (tail, head) if isinstance(end, Unknown) and end.type}

        def typed(end: str | Unknown) -> str | Unknown:
            return Unknown(end.name, known.get(end.name)) if isinstance(end, Unknown) else end

        assert (read, others) == (WrittenPattern(typed(head), relation, typed(tail)), [])

    @pytest.mark.parametrize(
        "line", ["a | b | c", "?x <r>", "<r> <b>", "prose it is", "?x <r> b", '{"head": 1}', "[]", "?x <r> <b> <c>", ""]
    )
    def test_other_lines_are_no_patterns(self, line: str) -> None:
        assert read_patterns([line]) == ([], [line])

    @pytest.mark.parametrize(
        ("query", "left"),
        [
            ("{ ?x a <thing> . ?x <plays> <cello> }", "{ ?x <plays> <cello> }"),
            ("{ ?x a <thing> ; <plays> <cello> }", "{ ?x <plays> <cello> }"),
            ("{ ?x <plays> <cello> . ?x a thing }", "{ ?x <plays> <cello> . }"),
            ("{ ?x a <thing that plays> }", "{ ?x a <thing that plays> }"),
            ("{ ?thing <plays> <thing> }", "{ ?thing <plays> <thing> }"),
        ],
    )
    def test_that_an_unknown_is_a_thing_says_nothing(self, query: str, left: str) -> None:
        assert " ".join(without_things(query).split()) == left

    def test_a_line_may_have_several_triples_as_a_query_has_them(self) -> None:
        x, y = Unknown("x", "film"), Unknown("y")
        read, others = read_patterns(
            ["SELECT ?x { ?x a <film> ; <cast> <A>, ?y . ?y born_in <B> . }", '?x <year> "1984"']
        )
        assert read == [
            WrittenPattern(x, "cast", "A"),
            WrittenPattern(x, "cast", y),
            WrittenPattern(y, "born_in", "B"),
            WrittenPattern(x, "year", "1984"),
        ]
        assert others == []


class TestTriples:
    words = anything.map(lambda text: " ".join(text.replace("|", " ").split())).filter(bool)

    @given(words, words, words, st.integers(1, 999))
    def test_a_numbered_triple_is_read_back(self, head: str, relation: str, tail: str, number: int) -> None:
        (line,) = read_triples([write_triple((head, relation, tail), number)])
        assert (line.triple, line.number) == ((head, relation, tail), number)

    @given(words, words, words)
    def test_a_triple_without_a_text_number_is_parsed(self, head: str, relation: str, tail: str) -> None:
        (line,) = read_triples([write_triple((head, relation, tail))])
        assert (line.triple, line.number) == ((head, relation, tail), None)

    def test_a_bar_in_a_name_becomes_a_space(self) -> None:
        assert write_triple(("a|b", "r", "c\nd"), 2) == "2 | a b | r | c d"

    def test_broken_lines_are_joined(self) -> None:
        assert [line.triple for line in read_triples(["1 | a |", "r | b", "prose"])] == [("a", "r", "b"), None]
        found = read_triples(["1 | Ada |", "met |", "Bob", "1 | Ada", "| likes | Rome |"])
        assert [line.triple for line in found] == [("Ada", "met", "Bob"), ("Ada", "likes", "Rome")]
