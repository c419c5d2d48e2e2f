"""The extractive engine writes queries: a prompt of `WriteQuery` goes in, the query comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from triplecheck.kg.encode import load_encoder
from triplecheck.language.relevance import Encode
from triplecheck.lms import TolerantAdapter
from triplecheck.lms.extractive.queries import write_query
from triplecheck.lms.prompt import read_request
from triplecheck.signatures import WriteQuery

CLASSES = [
    "?bridge a <bridge> (31)",
    "?river a <river> (6)",
    "?town a <town> (12)",
    "?engineer a <engineer> (9)",
    "?firm a <firm> (4)",
]
RELATIONS = [
    "?bridge <crosses> ?river (e.g. Ilma)",
    "?bridge <designed by> ?engineer (e.g. Pia Holt)",
    "?bridge <built by> ?firm (e.g. Tornwerk)",
    "?bridge <opened> ?date (e.g. 1931-05-02)",
    "?bridge <length> ?number (e.g. 240 m)",
    "?bridge <cost> ?number (e.g. €1,200,000)",
    "?bridge <lanes> ?number (e.g. 2)",
    "?river <flows through> ?town (e.g. Belm)",
    "?town <population> ?number (e.g. 12400)",
    "?engineer <works for> ?firm (e.g. Tornwerk)",
    "?engineer <born in> ?town (e.g. Belm)",
    "?engineer <age> ?number (e.g. 61)",
    "?engineer <trained by> ?other_engineer (e.g. Jon Aske)",
    "?engineer <prize> ?text (e.g. Silver Arch)",
    "?firm <headquarters> ?town (e.g. Belm)",
]
TOPICS = {
    "Ilma": "Ilma (river)",
    "Sorne": "Sorne (river)",
    "Pia Holt": "Pia Holt (engineer)",
    "Jon Aske": "Jon Aske (engineer)",
    "Tornwerk": "Tornwerk (firm)",
    "Brueck": "Brueck (firm)",
    "Belm": "Belm (town)",
    "Orsa": "Orsa (town)",
    "the Long Span": "the Long Span = Long Span (bridge)",
    "Old Arch": "Old Arch (bridge)",
}


@pytest.fixture(scope="module")
def encode() -> Encode:
    return load_encoder().encode


def reply(
    encode: Encode,
    question: str,
    relations: Sequence[str] = RELATIONS,
    classes: Sequence[str] = CLASSES,
    beside: Sequence[str] = (),
    topics: Mapping[str, str] = TOPICS,
) -> tuple[str, str]:
    """The query, and the reason where there is none."""
    inputs = {
        "question": question,
        "topics": [topic for spelling, topic in topics.items() if spelling in question],
        "beside": list(beside),
        "classes": list(classes),
        "relations": list(relations),
        "problem": "",
    }
    messages = TolerantAdapter().format(WriteQuery, [], inputs)
    found = write_query(read_request([(message["role"], message["content"]) for message in messages]), encode)
    return str(found["query"]), str(found["reasoning"])


def of(kind: str, rest: str) -> str:
    """A query for all things of a class."""
    return f"SELECT DISTINCT ?{kind} {{ ?{kind} a <{kind}> . {rest} }}"


def most(kind: str, counted: str, relation: str, way: str = "DESC") -> str:
    """A query for the thing with the most of what leads to it."""
    return (
        f"SELECT ?{kind} (COUNT(DISTINCT ?{counted}) AS ?n) {{ ?{kind} a <{kind}> . ?{counted} a <{counted}> . "
        f"?{counted} <{relation}> ?{kind} }} GROUP BY ?{kind} ORDER BY {way}(?n) LIMIT 1"
    )


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which bridges do not cross the Ilma?", of("bridge", "FILTER NOT EXISTS { ?bridge <crosses> <Ilma> }")),
        (
            "Which town has no river?",
            of("town", "FILTER NOT EXISTS { ?river a <river> . ?river <flows through> ?town }"),
        ),
        (
            "Which firms have built no bridge over the Ilma?",
            of(
                "firm",
                "FILTER NOT EXISTS { ?bridge a <bridge> . ?bridge <built by> ?firm . ?bridge <crosses> <Ilma> }",
            ),
        ),
        ("Which engineer has no prize?", of("engineer", "FILTER NOT EXISTS { ?engineer <prize> ?any }")),
        (
            "Which engineers work for neither Tornwerk nor Brueck?",
            of(
                "engineer",
                "FILTER NOT EXISTS { ?engineer <works for> <Tornwerk> } . "
                "FILTER NOT EXISTS { ?engineer <works for> <Brueck> }",
            ),
        ),
        (
            "Which rivers are without a bridge?",
            of("river", "FILTER NOT EXISTS { ?bridge a <bridge> . ?bridge <crosses> ?river }"),
        ),
        (
            "Which engineers except Pia Holt were born in Belm?",
            of("engineer", "FILTER(?engineer != <Pia Holt>) . ?engineer <born in> <Belm>"),
        ),
        (
            "Which engineers other than Pia Holt were born in Belm?",
            of("engineer", "FILTER(?engineer != <Pia Holt>) . ?engineer <born in> <Belm>"),
        ),
        ("Which engineers lack a prize?", of("engineer", "FILTER NOT EXISTS { ?engineer <prize> ?any }")),
        (
            "Is there a river that no bridge crosses, and which one?",
            of("river", "FILTER NOT EXISTS { ?bridge a <bridge> . ?bridge <crosses> ?river }"),
        ),
        (
            "Which bridges do not have four lanes?",
            of("bridge", "FILTER NOT EXISTS { FILTER(?value = 4) . ?bridge <lanes> ?value }"),
        ),
        (
            "Who does not work for Tornwerk?",
            "SELECT DISTINCT ?answer { ?answer <works for> ?any . FILTER NOT EXISTS { ?answer <works for> <Tornwerk> }"
            " }",
        ),
    ],
)
def test_what_is_denied_does_not_exist(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


def test_another_word_may_stand_for_a_class(encode: Encode) -> None:
    hotel = {"classes": ["?employee a <employee> (9)", "?room a <room> (3)"], "relations": ["?room <sleeps> ?number"]}
    query = "SELECT (COUNT(DISTINCT ?employee) AS ?number) { ?employee a <employee> }"
    assert reply(encode, "How many workers are there?", **hotel) == (query, "")
    assert reply(encode, "How many dreams are there?", **hotel) == ("none", "No relation says 'dreams'.")
    people = reply(encode, "Which people were born in Belm?")
    assert people == (of("engineer", "?engineer <born in> <Belm>"), ""), "there is one class of persons"


FLEET = [
    "?voyage <ship> ?ship (e.g. Aurora)",
    "?voyage <cargo> ?number (e.g. 420 t)",
    "?voyage <fuel cost> ?number (e.g. €9,200)",
    "?voyage <left> ?date (e.g. 2024-03-01)",
    "?sailor <crew> ?ship (e.g. Aurora)",
    "?sailor <wage> ?number (e.g. €3,100)",
    "?ship <home port> ?text (e.g. Bergen)",
    "?ship <draught> ?number (e.g. 4 m)",
]
SHIPS = ["?ship a <ship> (4)", "?voyage a <voyage> (90)", "?sailor a <sailor> (12)"]


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "Which ship has carried the most cargo?",
            "SELECT ?ship (SUM(?cargo) AS ?n) { ?ship a <ship> . ?voyage <ship> ?ship . ?voyage <cargo> ?cargo } "
            "GROUP BY ?ship ORDER BY DESC(?n) LIMIT 1",
        ),
        (
            "Which ship has spent the most on fuel?",
            "SELECT ?ship (SUM(?fuel_cost) AS ?n) { ?ship a <ship> . ?voyage <ship> ?ship . ?voyage <fuel cost> "
            "?fuel_cost } GROUP BY ?ship ORDER BY DESC(?n) LIMIT 1",
        ),
        (
            "What is the total wage of the crew of the ship Aurora?",
            "SELECT (SUM(?wage) AS ?sum) { ?sailor <crew> <Aurora> . ?sailor <wage> ?wage }",
        ),
        (
            "What is the total cargo of Aurora?",
            "SELECT (SUM(?cargo) AS ?sum) { ?voyage <ship> <Aurora> . ?voyage <cargo> ?cargo }",
        ),
        (
            "What is the total cargo of the voyages of Aurora in 2024?",
            "SELECT (SUM(?cargo) AS ?sum) { ?voyage a <voyage> . ?voyage <cargo> ?cargo . ?voyage <ship> <Aurora> . "
            "?voyage <left> ?left . FILTER(?left >= 2024 && ?left < 2025) }",
        ),
    ],
)
def test_values_of_other_things_are_summed(encode: Encode, question: str, query: str) -> None:
    topics = {"Aurora": "Aurora (ship)"}
    assert reply(encode, question, FLEET, SHIPS, topics=topics) == (query, "")


@pytest.mark.parametrize("of_aurora", ["of Aurora", "by Aurora", "that Aurora made"])
def test_things_of_one_noun_are_one_variable(encode: Encode, of_aurora: str) -> None:
    """A parser may join Aurora to the cargo: then, too, the cargo is that of its own voyages, not of all."""
    query, _ = reply(
        encode,
        f"What is the total cargo of the voyages {of_aurora}?",
        FLEET,
        SHIPS,
        topics={"Aurora": "Aurora (ship)"},
    )
    start = "SELECT (SUM(?cargo) AS ?sum) { ?voyage a <voyage> . ?voyage <cargo> ?cargo . "
    assert query == start + "?voyage <ship> <Aurora> }"


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("When did Aurora make its first voyage?", "ORDER BY ASC(?date) LIMIT 1"),
        ("When did Aurora make its last voyage?", "ORDER BY DESC(?date) LIMIT 1"),
    ],
)
def test_when_asks_for_the_date_of_the_first(encode: Encode, question: str, order: str) -> None:
    dated = ["?voyage <ship> ?ship (e.g. Aurora)", "?voyage <date> ?date (e.g. 2024-03-01)"]
    query, _ = reply(encode, question, dated, SHIPS, topics={"Aurora": "Aurora (ship)"})
    assert query == f"SELECT ?date {{ ?voyage a <voyage> . ?voyage <ship> <Aurora> . ?voyage <date> ?date }} {order}"


@pytest.mark.parametrize("times", [("built",), ("date", "built")])
def test_a_time_with_a_name_of_its_own_may_be_another(encode: Encode, times: Sequence[str]) -> None:
    relations = ["?ship <owner> ?firm (e.g. Nord)", *(f"?ship <{name}> ?date (e.g. 2024-03-01)" for name in times)]
    classes = ["?ship a <ship> (4)", "?firm a <firm> (2)"]
    query, _ = reply(encode, "When did Nord sell its first ship?", relations, classes, topics={"Nord": "Nord (firm)"})
    assert query == "none"


def test_the_class_of_a_topic_need_not_be_said_again(encode: Encode) -> None:
    for question in ("What is the draught of the ship Aurora?", "What is the draught of Aurora?"):
        found = reply(encode, question, FLEET, SHIPS, topics={"Aurora": "Aurora (ship)"})
        assert found == ("SELECT DISTINCT ?draught { <Aurora> <draught> ?draught }", "")


def test_a_value_has_no_relations_but_its_own(encode: Encode) -> None:
    beside = ["?x <home port> <Bergen> (ship)"]
    relations = [*FLEET, "?sailor <skills> ?thing (e.g. knots)"]
    query, _ = reply(encode, "How many sailors work in Bergen?", relations, SHIPS, beside, {"Bergen": "Bergen"})
    assert "<skills>" not in query
    assert "?ship <home port> <Bergen> . ?sailor <crew> ?ship" in query


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "Which rivers flow through both Belm and Orsa?",
            of("river", "?river <flows through> <Belm> . ?river <flows through> <Orsa>"),
        ),
        (
            "Which bridges cross either the Ilma or the Sorne?",
            of("bridge", "VALUES ?one { <Ilma> <Sorne> } . ?bridge <crosses> ?one"),
        ),
        (
            "Which bridges by Pia Holt or Jon Aske cross the Sorne?",
            of(
                "bridge",
                "VALUES ?one { <Pia Holt> <Jon Aske> } . ?bridge <designed by> ?one . ?bridge <crosses> <Sorne>",
            ),
        ),
        (
            "Which bridges cross the Ilma and were designed by Pia Holt?",
            of("bridge", "?bridge <crosses> <Ilma> . ?bridge <designed by> <Pia Holt>"),
        ),
        (
            "Which firm has its headquarters in Belm and built Old Arch?",
            of("firm", "?firm <headquarters> <Belm> . <Old Arch> <built by> ?firm"),
        ),
        (
            "Which bridges by engineers from Belm cross the Ilma?",
            of(
                "bridge",
                "?engineer a <engineer> . ?bridge <designed by> ?engineer . ?engineer <born in> <Belm> . "
                "?bridge <crosses> <Ilma>",
            ),
        ),
    ],
)
def test_conditions_are_joined_by_and_and_topics_by_or(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Which bridges have more than four lanes?", "?bridge <lanes> ?lanes . FILTER(?lanes > 4)"),
        ("Which bridges have two or more lanes?", "?bridge <lanes> ?lanes . FILTER(?lanes >= 2)"),
        ("Which engineers are 60 or older?", "?engineer <age> ?age . FILTER(?age >= 60)"),
        ("Which engineers are older than 60?", "?engineer <age> ?age . FILTER(?age > 60)"),
        (
            "Which bridges are longer than three hundred metres?",
            '?bridge <length> ?length . FILTER(?length > "300 metres")',
        ),
        ("Which bridges are longer than 0.3 km?", '?bridge <length> ?length . FILTER(?length > "0.3 km")'),
        ("Which bridges are at least 200 m long?", '?bridge <length> ?length . FILTER(?length >= "200 m")'),
        ("Which bridges cost less than €2,000,000?", '?bridge <cost> ?cost . FILTER(?cost < "€2000000")'),
        (
            "Which towns have a population of at least 5,000?",
            "?town <population> ?population . FILTER(?population >= 5000)",
        ),
        ("Which bridges opened after 1 May 1950?", '?bridge <opened> ?opened . FILTER(?opened > "1950-05-01")'),
        ("Which bridges were opened in 1950 or later?", "?bridge <opened> ?opened . FILTER(?opened >= 1950)"),
        ("Which bridges opened since 1990?", "?bridge <opened> ?opened . FILTER(?opened >= 1990)"),
        (
            "Which bridges opened between 1920 and 1935?",
            "?bridge <opened> ?opened . FILTER(?opened >= 1920 && ?opened < 1936)",
        ),
        (
            "Which bridges were opened between 1 May 1920 and 30 June 1921?",
            '?bridge <opened> ?opened . FILTER(?opened >= "1920-05-01" && ?opened <= "1921-06-30")',
        ),
        (
            "Which bridges are older than Old Arch?",
            "?bridge <opened> ?opened . <Old Arch> <opened> ?opened2 . FILTER(?opened < ?opened2)",
        ),
    ],
)
def test_bounds_are_filters_over_values(encode: Encode, question: str, condition: str) -> None:
    (kind,) = (kind for kind in ("bridge", "engineer", "town") if f"Which {kind}" in question)
    assert reply(encode, question) == (of(kind, condition), "")


@pytest.mark.parametrize(
    "question", ["Which bridges have a toll of more than 40 crowns?", "Which bridges cost over 40 crowns?"]
)
def test_a_bound_may_be_in_a_unit_of_the_graph(encode: Encode, question: str) -> None:
    relations = ["?bridge <toll> ?number (e.g. 15 crowns)", "?bridge <lanes> ?number (e.g. 2)"]
    query = of("bridge", '?bridge <toll> ?toll . FILTER(?toll > "40 crowns")')
    assert reply(encode, question, relations, ["?bridge a <bridge> (31)"]) == (query, "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "What is the longest bridge?",
            "{ ?bridge a <bridge> . ?bridge <length> ?length } ORDER BY DESC(?length) LIMIT 1",
        ),
        (
            "Which bridge over the Sorne is the shortest?",
            "{ ?bridge a <bridge> . ?bridge <crosses> <Sorne> . ?bridge <length> ?length } "
            "ORDER BY ASC(?length) LIMIT 1",
        ),
        (
            "Which is the oldest bridge over the Ilma?",
            "{ ?bridge a <bridge> . ?bridge <crosses> <Ilma> . ?bridge <opened> ?opened } "
            "ORDER BY ASC(?opened) LIMIT 1",
        ),
        (
            "Which bridge has the greatest cost?",
            "{ ?bridge a <bridge> . ?bridge <cost> ?cost } ORDER BY DESC(?cost) LIMIT 1",
        ),
        (
            "Which bridge has the most lanes?",
            "{ ?bridge a <bridge> . ?bridge <lanes> ?lanes } ORDER BY DESC(?lanes) LIMIT 1",
        ),
        (
            "Which bridge is the priciest?",
            "{ ?bridge a <bridge> . ?bridge <cost> ?cost } ORDER BY DESC(?cost) LIMIT 1",
        ),
        ("Which bridge cost the most?", "{ ?bridge a <bridge> . ?bridge <cost> ?cost } ORDER BY DESC(?cost) LIMIT 1"),
        (
            "Which bridge is the third longest?",
            "{ ?bridge a <bridge> . ?bridge <length> ?length } ORDER BY DESC(?length) LIMIT 1 OFFSET 2",
        ),
        (
            "What was the second bridge to open?",
            "{ ?bridge a <bridge> . ?bridge <opened> ?opened } ORDER BY ASC(?opened) LIMIT 1 OFFSET 1",
        ),
    ],
)
def test_a_superlative_takes_the_first_of_an_order(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (f"SELECT ?bridge {query}", "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which engineer designed the most bridges?", most("engineer", "bridge", "designed by")),
        ("Which engineer has designed the fewest bridges?", most("engineer", "bridge", "designed by", "ASC")),
        ("Which engineer has the smallest number of bridges?", most("engineer", "bridge", "designed by", "ASC")),
        (
            "Which firms built at least two bridges?",
            "SELECT ?firm { ?firm a <firm> . ?bridge a <bridge> . ?bridge <built by> ?firm } GROUP BY ?firm "
            "HAVING(COUNT(DISTINCT ?bridge) >= 2)",
        ),
        (
            "Which engineers trained more than two engineers?",
            "SELECT ?engineer { ?engineer a <engineer> . ?engineer2 a <engineer> . ?engineer2 <trained by> ?engineer } "
            "GROUP BY ?engineer HAVING(COUNT(DISTINCT ?engineer2) > 2)",
        ),
    ],
)
def test_groups_are_counted(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "How many bridges cross the Ilma?",
            "(COUNT(DISTINCT ?bridge) AS ?number) { ?bridge a <bridge> . ?bridge <crosses> <Ilma> }",
        ),
        (
            "What is the number of bridges designed by Pia Holt?",
            "(COUNT(DISTINCT ?bridge) AS ?number) { ?bridge a <bridge> . ?bridge <designed by> <Pia Holt> }",
        ),
        (
            "How many bridges did Tornwerk build before 1950?",
            "(COUNT(DISTINCT ?bridge) AS ?number) { ?bridge a <bridge> . ?bridge <built by> <Tornwerk> . "
            "?bridge <opened> ?opened . FILTER(?opened < 1950) }",
        ),
        ("What is the number of lanes of the Long Span?", "(SUM(?answer) AS ?count) { <Long Span> <lanes> ?answer }"),
        (
            "What is the total length of the bridges over the Sorne?",
            "(SUM(?length) AS ?sum) { ?bridge a <bridge> . ?bridge <length> ?length . ?bridge <crosses> <Sorne> }",
        ),
        (
            "What is the average age of the engineers of Tornwerk?",
            "(AVG(?age) AS ?average) { ?engineer a <engineer> . ?engineer <age> ?age . "
            "?engineer <works for> <Tornwerk> }",
        ),
        ("What do bridges cost on average?", "(AVG(?cost) AS ?average) { ?bridge a <bridge> . ?bridge <cost> ?cost }"),
        (
            "What is the difference in length between the Long Span and Old Arch?",
            "(ABS(?length - ?length2) AS ?difference) { <Long Span> <length> ?length . <Old Arch> <length> ?length2 }",
        ),
        (
            "difference in length between the Long Span and Old Arch",
            "(ABS(?length - ?length2) AS ?difference) { <Long Span> <length> ?length . <Old Arch> <length> ?length2 }",
        ),
        (
            "How much longer is the Long Span than Old Arch?",
            "(ABS(?length - ?length2) AS ?difference) { <Long Span> <length> ?length . <Old Arch> <length> ?length2 }",
        ),
        (
            "By how many lanes is the Long Span bigger than Old Arch?",
            "(ABS(?lanes - ?lanes2) AS ?difference) { <Long Span> <lanes> ?lanes . <Old Arch> <lanes> ?lanes2 }",
        ),
        (
            "How many more lanes does the Long Span have than Old Arch?",
            "(ABS(?lanes - ?lanes2) AS ?difference) { <Long Span> <lanes> ?lanes . <Old Arch> <lanes> ?lanes2 }",
        ),
        (
            "What is the combined length of the Long Span and Old Arch?",
            "(SUM(?answer) AS ?sum) { VALUES ?one { <Long Span> <Old Arch> } . ?one <length> ?answer }",
        ),
        (
            "How many years older is Pia Holt than Jon Aske?",
            "(ABS(?age - ?age2) AS ?difference) { <Pia Holt> <age> ?age . <Jon Aske> <age> ?age2 }",
        ),
    ],
)
def test_numbers_sums_averages_and_differences_are_computed(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (f"SELECT {query}", "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "average length of the insured bridges",
            "(AVG(?length) AS ?average) { ?bridge a <bridge> . ?bridge <length> ?length . ?bridge <insured> <yes> }",
        ),
        (
            "What is the total cost of all bridges that are insured?",
            "(SUM(?cost) AS ?sum) { ?bridge a <bridge> . ?bridge <cost> ?cost . ?bridge <insured> <yes> }",
        ),
        (
            "What is the average length of the bridges that are not insured?",
            "(AVG(?length) AS ?average) { ?bridge a <bridge> . ?bridge <length> ?length . ?bridge <insured> <no> }",
        ),
        (
            "Which insured bridge has the greatest length?",
            "?bridge { ?bridge a <bridge> . ?bridge <insured> <yes> . ?bridge <length> ?length } "
            "ORDER BY DESC(?length) LIMIT 1",
        ),
    ],
)
def test_what_is_computed_is_of_the_things_that_an_adjective_describes(
    encode: Encode, question: str, query: str
) -> None:
    relations = [*RELATIONS, "?bridge <insured> ?text (e.g. yes, no)"]
    assert reply(encode, question, relations) == (f"SELECT {query}", "")


@pytest.mark.parametrize(
    ("question", "patterns"),
    [
        ("Did Pia Holt design Old Arch?", "<Old Arch> <designed by> <Pia Holt>"),
        ("Does Tornwerk have its headquarters in Belm?", "<Tornwerk> <headquarters> <Belm>"),
        ("Is there a bridge over the Sorne?", "?bridge a <bridge> . ?bridge <crosses> <Sorne>"),
        (
            "Does the Ilma flow through Belm and Orsa?",
            "<Ilma> <flows through> <Belm> . <Ilma> <flows through> <Orsa>",
        ),
        (
            "Is the Long Span longer than Old Arch?",
            "<Long Span> <length> ?length . <Old Arch> <length> ?length2 . FILTER(?length > ?length2)",
        ),
        (
            "Were the Long Span and Old Arch designed by the same engineer?",
            "<Long Span> <designed by> ?same . <Old Arch> <designed by> ?same",
        ),
        (
            "Do Pia Holt and Jon Aske work for the same firm?",
            "<Pia Holt> <works for> ?same . <Jon Aske> <works for> ?same",
        ),
    ],
)
def test_yes_or_no_is_asked_of_patterns(encode: Encode, question: str, patterns: str) -> None:
    assert reply(encode, question) == (f"ASK {{ {patterns} }}", "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "Which engineers were born in the same town as Pia Holt?",
            of("engineer", "?engineer <born in> ?same . <Pia Holt> <born in> ?same . FILTER(?engineer != <Pia Holt>)"),
        ),
        (
            "Which bridges were opened in the same year as Old Arch?",
            of(
                "bridge",
                "?bridge <opened> ?year . <Old Arch> <opened> ?year2 . FILTER(YEAR(?year) = YEAR(?year2)) . "
                "FILTER(?bridge != <Old Arch>)",
            ),
        ),
        (
            "Which engineers have trained Pia Holt?",
            of("engineer", "<Pia Holt> <trained by> ?engineer . FILTER(?engineer != <Pia Holt>)"),
        ),
        (
            "Which engineers has Jon Aske trained?",
            of("engineer", "?engineer <trained by> <Jon Aske> . FILTER(?engineer != <Jon Aske>)"),
        ),
        (
            "Which engineers were trained by Jon Aske?",
            of("engineer", "?engineer <trained by> <Jon Aske> . FILTER(?engineer != <Jon Aske>)"),
        ),
    ],
)
def test_a_thing_is_no_answer_about_itself(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("Which bridge cost the same as Old Arch?", "total cost"),
        ("Which other bridge opened in the same year as Old Arch?", "bridge since"),
    ],
)
def test_what_is_shared_is_named_with_or_without_the_class(encode: Encode, question: str, relation: str) -> None:
    relations = [f"?bridge <{relation}> ?year (e.g. 1931)"]
    shared = f"?bridge <{relation}> ?same . <Old Arch> <{relation}> ?same . FILTER(?bridge != <Old Arch>)"
    assert reply(encode, question, relations=relations) == (of("bridge", shared), "")


@pytest.mark.parametrize(
    ("question", "kind", "shared"),
    [
        ("Which other bridge is as long as Old Arch?", "bridge", "?bridge <length> ?same . <Old Arch> <length> ?same"),
        (
            "Which bridge is as old as Old Arch?",
            "bridge",
            "?bridge <opened> ?year . <Old Arch> <opened> ?year2 . FILTER(YEAR(?year) = YEAR(?year2))",
        ),
    ],
)
def test_what_is_as_much_as_another_thing_has_the_same_value(
    encode: Encode, question: str, kind: str, shared: str
) -> None:
    assert reply(encode, question) == (of(kind, f"{shared} . FILTER(?{kind} != <Old Arch>)"), "")


def test_only_a_relation_that_both_have_is_compared(encode: Encode) -> None:
    relations = ["?bridge <length> ?number (e.g. 240 m)", "?tunnel <length> ?number (e.g. 900 m)"]
    topics = {"Grey Tunnel": "Grey Tunnel (tunnel)"}
    equal = "?bridge <length> ?same . <Grey Tunnel> <length> ?same . FILTER(?bridge != <Grey Tunnel>)"
    found = reply(
        encode,
        "Which bridge is as long as Grey Tunnel?",
        relations,
        ["?bridge a <bridge>", "?tunnel a <tunnel>"],
        (),
        topics,
    )
    assert found == (of("bridge", equal), "")


_EXACTLY = "A query needs 'is as {} as' with the name of a thing, and no 'not', 'twice' or 'almost'."


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        *(
            (f"Which bridges are {how} as long as Old Arch?", _EXACTLY.format("long"))
            for how in ("not", "twice", "almost", "about", "at least", "nearly")
        ),
        ("Which engineer is as old as those who trained Pia Holt?", _EXACTLY.format("old")),
        ("How many bridges are as long as Old Arch?", "What things share is not computed with other conditions."),
        ("How many bridges cost the same as Old Arch?", "What things share is not computed with other conditions."),
        (
            "Which bridges that opened before 1950 are as long as Old Arch?",
            "What things share is not computed with other conditions.",
        ),
        (
            "Which bridges that opened before 1950 cost the same as Old Arch?",
            "What things share is not computed with other conditions.",
        ),
    ],
)
def test_what_is_not_just_equal_is_declined(encode: Encode, question: str, reason: str) -> None:
    assert reply(encode, question) == ("none", reason)


@pytest.mark.parametrize(
    ("question", "names", "relation", "way"),
    [
        ("Which is longer, the Long Span or Old Arch?", "<Long Span> <Old Arch>", "length", "DESC"),
        ("Which opened first, the Long Span or Old Arch?", "<Long Span> <Old Arch>", "opened", "ASC"),
        ("Who is older, Pia Holt or Jon Aske?", "<Pia Holt> <Jon Aske>", "age", "DESC"),
    ],
)
def test_a_choice_is_the_first_of_the_topics(
    encode: Encode, question: str, names: str, relation: str, way: str
) -> None:
    values = f"VALUES ?one {{ {names} }} . ?one <{relation}> ?{relation}"
    query = f"SELECT ?one {{ {values} }} ORDER BY {way}(?{relation}) LIMIT 1"
    assert reply(encode, question) == (query, "")


def test_values_of_things_of_a_class_are_listed(encode: Encode) -> None:
    query = "SELECT DISTINCT ?age { ?engineer a <engineer> . ?engineer <born in> <Belm> . ?engineer <age> ?age }"
    assert reply(encode, "How old are the engineers from Belm?") == (query, "")
    query = "SELECT DISTINCT ?cost { ?bridge a <bridge> . ?bridge <built by> <Tornwerk> . ?bridge <cost> ?cost }"
    assert reply(encode, "How much did the bridges of Tornwerk cost?") == (query, "")


def test_what_stands_beside_a_topic_needs_no_query(encode: Encode) -> None:
    found = reply(encode, "Who made plans for Old Arch?")
    assert found == ("none", "The question asks for what stands beside a topic.")


def test_a_relation_that_the_question_names_is_a_query(encode: Encode) -> None:
    found = reply(encode, "Who designed Old Arch?")
    assert found == ("SELECT DISTINCT ?answer { <Old Arch> <designed by> ?answer }", "")


@pytest.mark.parametrize(
    ("question", "unsaid"),
    [
        ("Which bridges have a tunnel?", "No relation says 'tunnel'."),
        ("Which bridges were sold to Tornwerk by an admiral?", "No relation says 'admiral'."),
        ("What is the heaviest bridge?", "No relation is what 'heaviest' compares."),
        ("How tall are the engineers of Tornwerk?", "No relation is a height."),
        ("How much did the bridges of Tornwerk weigh?", "No relation is the amount that is asked for."),
        ("Which moons have a bridge?", "No relation joins the things that the question names."),
    ],
)
def test_what_no_relation_says_is_declined_with_the_reason(encode: Encode, question: str, unsaid: str) -> None:
    assert reply(encode, question) == ("none", unsaid)


def test_without_relations_or_classes_nothing_is_written(encode: Encode) -> None:
    assert reply(encode, "How many bridges cross the Ilma?", relations=[])[0] == "none"
    assert reply(encode, "Which bridges do not cross the Ilma?", relations=[], classes=[])[0] == "none"


def test_a_number_in_words_is_written_in_digits(encode: Encode) -> None:
    query, _ = reply(encode, "How many bridges have exactly twelve lanes?")
    assert "FILTER(?lanes = 12)" in query


def test_a_topic_is_joined_by_the_relations_that_it_has(encode: Encode) -> None:
    beside = ["?x <designed by> <Pia Holt> (bridge)", "<Pia Holt> <works for> ?x (firm)"]
    found = reply(encode, "Which bridges are connected with Pia Holt?", beside=beside)
    assert found == (of("bridge", "?bridge <designed by> <Pia Holt>"), "")


def test_a_topic_without_what_the_question_names_is_asked_for_it_all_the_same(encode: Encode) -> None:
    beside = ["<Tornwerk> <headquarters> ?x (town)"]
    found = reply(encode, "How many bridges were built by Tornwerk?", beside=beside)
    pattern = "?bridge a <bridge> . ?bridge <built by> <Tornwerk>"
    assert found == (f"SELECT (COUNT(DISTINCT ?bridge) AS ?number) {{ {pattern} }}", "")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which engineer trained himself?", of("engineer", "?engineer <trained by> ?engineer")),
        ("Which engineer was trained by himself?", of("engineer", "?engineer <trained by> ?engineer")),
    ],
)
def test_a_reflexive_is_what_is_asked_for(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


def test_a_reflexive_that_no_relation_says_is_declined(encode: Encode) -> None:
    assert reply(encode, "Which engineer designed a bridge for herself?")[0] == "none"


@pytest.mark.parametrize(
    ("example", "question", "query"),
    [
        ("yes, no", "Is the Long Span protected?", "ASK { <Long Span> <is protected> <yes> }"),
        ("false, true", "Is the Long Span not protected?", "ASK { <Long Span> <is protected> <false> }"),
        ("no", "Which bridges are protected?", of("bridge", "?bridge <is protected> <yes>")),
        ("no", "Which bridges are not protected?", of("bridge", "?bridge <is protected> <no>")),
        ("yes", "Which bridges are not protected?", of("bridge", "FILTER NOT EXISTS { ?bridge <is protected> <yes> }")),
    ],
)
def test_what_a_thing_is_or_is_not_has_yes_for_value(encode: Encode, example: str, question: str, query: str) -> None:
    relations = [*RELATIONS, f"?bridge <is protected> ?text (e.g. {example})"]
    assert reply(encode, question, relations=relations) == (query, "")


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Which bridges opened in the nineties?", "?opened >= 1990 && ?opened < 2000"),
        ("Which bridges opened in the 1860s?", "?opened >= 1860 && ?opened < 1870"),
        ("Which bridges opened before the 1860s?", "?opened < 1860"),
        ("Which bridges have between 2 and 4 lanes?", "?lanes <= 4"),
        ("Which bridges cost less than 500,000 euros?", '?cost < "€500000"'),
    ],
)
def test_decades_spans_and_currencies_are_bounds(encode: Encode, question: str, condition: str) -> None:
    assert f"FILTER({condition})" in reply(encode, question)[0]


def test_a_noun_that_names_a_class_and_a_relation_is_a_class_beside_a_name(encode: Encode) -> None:
    relations = ["?firm <engineers> ?engineer (e.g. Pia Holt)", "?engineer <born in> ?town (e.g. Belm)"]
    found = reply(encode, "Which firms have engineers from Belm?", relations=relations)
    joins = "?engineer a <engineer> . ?firm <engineers> ?engineer . ?engineer <born in> <Belm>"
    assert found == (of("firm", joins), "")


def test_the_only_relation_between_two_things_is_nearer_than_two_of_which_one_is_not_named(encode: Encode) -> None:
    beside = ["?x <designed by> <Pia Holt> (bridge)", "<Pia Holt> <born in> ?x (town)"]
    relations = ["?bridge <designed by> ?engineer (e.g. Pia Holt)", "?engineer <born in> ?town (e.g. Belm)"]
    relations += ["?bridge <drawn in> ?town (e.g. Belm)"]
    found = reply(encode, "How many bridges did Pia Holt draw?", relations=relations, beside=beside)
    assert "?bridge <designed by> <Pia Holt>" in found[0]


@pytest.mark.parametrize(
    ("question", "patterns"),
    [
        ("Is Pia Holt an engineer?", "<Pia Holt> a <engineer>"),
        ("Is the Long Span a protected bridge?", "<Long Span> a <bridge> . <Long Span> <is protected> <yes>"),
        ("Is Pia Holt an engineer of Tornwerk?", "<Pia Holt> a <engineer> . <Pia Holt> <works for> <Tornwerk>"),
    ],
)
def test_whether_a_thing_is_of_a_class_is_asked_of_the_thing(encode: Encode, question: str, patterns: str) -> None:
    relations = [*RELATIONS, "?bridge <is protected> ?text (e.g. no)"]
    assert reply(encode, question, relations=relations) == (f"ASK {{ {patterns} }}", "")


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        (
            "Which street is the longest?",
            "?street { ?street <street length> ?street_length } ORDER BY DESC(?street_length)",
        ),
        (
            "What is the second oldest mill?",
            "?mill { ?mill <mill built in> ?mill_built_in } ORDER BY ASC(?mill_built_in)",
        ),
    ],
)
def test_without_classes_a_relation_is_of_the_things_that_its_name_has(
    encode: Encode, question: str, rest: str
) -> None:
    relations = ["?thing <street length> ?number (e.g. 120 m)", "?thing <barge length> ?number (e.g. 22 m)"]
    relations += ["?thing <mill built in> ?year (e.g. 1820)", "?thing <opened in> ?year (e.g. 1911)"]
    query, _ = reply(encode, question, relations=relations, classes=[])
    assert query.startswith(f"SELECT {rest} LIMIT 1")


def test_without_classes_a_noun_may_be_the_name_of_a_relation(encode: Encode) -> None:
    relations = [
        "?thing <member of> ?other_thing (e.g. Brueck)",
        "?thing <meets in> ?other_thing (e.g. Brueck)",
        "?thing <age> ?number (e.g. 61)",
    ]
    topics = {"Brueck": "Brueck"}
    found = reply(encode, "Which members of Brueck are older than 40?", relations, classes=[], topics=topics)
    members = "?member <member of> <Brueck> . FILTER(?member != <Brueck>)"
    query = f"SELECT DISTINCT ?member {{ {members} . ?member <age> ?age . FILTER(?age > 40) }}"
    assert found == (query, "")


def test_who_has_done_something_the_longest_began_first(encode: Encode) -> None:
    relations = [*RELATIONS, "?engineer <joined in> ?year (e.g. 1998)", "?engineer <year of birth> ?year (e.g. 1961)"]
    question = "Which engineer has worked for Tornwerk the longest?"
    found = "{ ?engineer a <engineer> . ?engineer <works for> <Tornwerk> . ?engineer <joined in> ?joined_in }"
    query = f"SELECT ?engineer {found} ORDER BY ASC(?joined_in) LIMIT 1"
    assert reply(encode, question, relations=relations) == (query, "")


def test_a_verb_names_a_relation_of_its_stem(encode: Encode) -> None:
    relations = ["?bridge <designer> ?engineer (e.g. Pia Holt)", "?bridge <crosses> ?river (e.g. Ilma)"]
    found = reply(encode, "Who designed Old Arch?", relations=relations)
    assert found == ("SELECT DISTINCT ?answer { <Old Arch> <designer> ?answer }", "")


@pytest.mark.parametrize("question", ["Who is our most expensive florist?", "Which florist is the most expensive?"])
def test_what_a_value_stands_for_has_the_values_of_its_class(encode: Encode, question: str) -> None:
    found, _ = reply(
        encode,
        question,
        relations=[
            "?supplier <trade> ?thing (e.g. florist)",
            "?supplier <fee> ?number (e.g. £400)",
            "?party <budget> ?number (e.g. £9,000)",
        ],
        classes=["?supplier a <supplier> (9)", "?party a <party> (4)"],
        beside=["?x <trade> <florist> (supplier)"],
        topics={"florist": "florist"},
    )
    assert found == "SELECT ?answer { ?answer <trade> <florist> . ?answer <fee> ?fee } ORDER BY DESC(?fee) LIMIT 1"


def test_a_verb_names_the_relation_though_its_noun_is_a_class(encode: Encode) -> None:
    found, _ = reply(
        encode,
        "Which teams is Vela not sponsoring?",
        relations=["?sponsor <sponsors> ?team (e.g. Red Foxes)", "?team <founded> ?date (e.g. 1990)"],
        classes=["?team a <team> (9)", "?sponsor a <sponsor> (4)"],
        topics={"Vela": "Vela (sponsor)"},
    )
    assert found == "SELECT DISTINCT ?team { ?team a <team> . FILTER NOT EXISTS { <Vela> <sponsors> ?team } }"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "How many lanes do Old Arch and the Long Span have together?",
            "SELECT (SUM(?lane) AS ?sum) { VALUES ?one { <Old Arch> <Long Span> } . ?one <lanes> ?lane }",
        ),
        (
            "Who is our eldest engineer?",
            "SELECT ?engineer { ?engineer a <engineer> . ?engineer <age> ?age } ORDER BY DESC(?age) LIMIT 1",
        ),
        (
            "What is the name of the longest bridge?",
            "SELECT ?bridge { ?bridge a <bridge> . ?bridge <length> ?length } ORDER BY DESC(?length) LIMIT 1",
        ),
        (
            "Show me every bridge with more than 4 lanes.",
            "SELECT DISTINCT ?bridge { ?bridge a <bridge> . ?bridge <lanes> ?lanes . FILTER(?lanes > 4) }",
        ),
        (
            "Who designed the bridge with the highest cost?",
            "SELECT ?answer { ?bridge a <bridge> . ?bridge <designed by> ?answer . ?bridge <cost> ?cost } "
            "ORDER BY DESC(?cost) LIMIT 1",
        ),
        (
            "Which engineers have nobody trained by them?",
            "SELECT DISTINCT ?engineer { ?engineer a <engineer> . FILTER NOT EXISTS { ?any <trained by> ?engineer } }",
        ),
        (
            "Which bridges were opened in May?",
            of("bridge", "?bridge <opened> ?opened . FILTER(MONTH(?opened) = 5)"),
        ),
        (
            "How much did Tornwerk spend on its bridges in total?",
            "SELECT (SUM(?cost) AS ?sum) { ?bridge a <bridge> . ?bridge <built by> <Tornwerk> . ?bridge <cost> ?cost }",
        ),
        ("When was Old Arch?", "SELECT DISTINCT ?answer { <Old Arch> <opened> ?answer }"),
        (
            "which was dearer to build, Old Arch or the Long Span",
            "SELECT ?one { VALUES ?one { <Old Arch> <Long Span> } . ?one <cost> ?cost } ORDER BY DESC(?cost) LIMIT 1",
        ),
        (
            "Which trainer do Pia Holt and Jon Aske share?",
            "SELECT DISTINCT ?trainer { <Pia Holt> <trained by> ?trainer . FILTER(?trainer != <Pia Holt>) . "
            "<Jon Aske> <trained by> ?trainer . FILTER(?trainer != <Jon Aske>) }",
        ),
    ],
)
def test_common_ways_to_ask(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


def test_a_name_that_several_things_of_a_class_have_stands_for_each(encode: Encode) -> None:
    topics = {"Old Arch": "Old Arch = Old Arch of Belm (bridge)", "Arch": "Old Arch = Old Arch of Orsa (bridge)"}
    query, _ = reply(encode, "Who designed Old Arch?", topics=topics)
    both = "VALUES ?one { <Old Arch of Belm> <Old Arch of Orsa> }"
    assert query == f"SELECT DISTINCT ?answer {{ {both} . ?one <designed by> ?answer }}"


def test_of_several_values_the_adjective_tells_which(encode: Encode) -> None:
    relations = ["?play <tickets sold> ?number (e.g. 410)", "?play <ticket price> ?number (e.g. £18)"]
    query, _ = reply(encode, "cheapest play to get a ticket for", relations, ["?play a <play> (9)"])
    assert query.endswith("?play <ticket price> ?ticket_price } ORDER BY ASC(?ticket_price) LIMIT 1")


def test_values_of_another_kind_are_not_compared(encode: Encode) -> None:
    relations = ["?cake <on the menu since> ?year (e.g. 2019)", "?cake <price> ?number (e.g. £4)"]
    query, _ = reply(encode, "What is the cheapest cake on the menu?", relations, ["?cake a <cake> (9)"])
    assert "menu since" not in query


@pytest.mark.parametrize(
    ("question", "relation", "bound"),
    [
        (
            "Which halls are larger than 600 square metres?",
            "?hall <floor area> ?number (e.g. 450 m2)",
            "600 square metres",
        ),
        ("Which halls are longer than 20 metres?", "?hall <length> ?number (e.g. 450 m)", "20 metres"),
    ],
)
def test_a_bound_keeps_its_unit(encode: Encode, question: str, relation: str, bound: str) -> None:
    query, _ = reply(encode, question, [relation], ["?hall a <hall> (9)"])
    assert f'> "{bound}")' in query


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Which bridges are longer than half a kilometre?", "?bridge <length[m]> ?length_m . FILTER(?length_m > 500)"),
        ("Which bridges cost less than 900 euros?", "?bridge <cost (EUR)> ?cost_eur . FILTER(?cost_eur < 900)"),
        (
            "Which bridges cost between €900 and €1,000?",
            "?bridge <cost (EUR)> ?cost_eur . FILTER(?cost_eur >= 900) . FILTER(?cost_eur <= 1000)",
        ),
    ],
)
def test_a_unit_may_stand_in_the_name_of_a_relation(encode: Encode, question: str, condition: str) -> None:
    relations = ["?bridge <length[m]> ?number (e.g. 240)", "?bridge <cost (EUR)> ?number (e.g. 950.00)"]
    assert reply(encode, question, relations) == (of("bridge", condition), "")


def test_money_counts_no_things(encode: Encode) -> None:
    relations = ["?engineer <coaching rate per hour> ?number (e.g. £28)"]
    query, reason = reply(encode, "How many crews does Pia Holt coach?", relations, ["?engineer a <engineer> (9)"])
    assert (query, reason) == ("none", "'coaching rate per hour' counts nothing.")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("How long is Old Arch?", "SELECT DISTINCT ?spans { <Old Arch> <spans> ?spans }"),
        (
            "What is the total length of the bridges over the Ilma?",
            "SELECT (SUM(?length) AS ?sum) { ?bridge a <bridge> . ?bridge <spans> ?length . ?bridge <crosses> <Ilma> }",
        ),
        ("Which bridges span at least 40 m?", of("bridge", '?bridge <spans> ?spans . FILTER(?spans >= "40 m")')),
    ],
)
def test_the_only_size_with_a_unit_is_what_its_noun_means(encode: Encode, question: str, query: str) -> None:
    relations = [line.replace("<length> ?number (e.g. 240 m)", "<spans> ?number (e.g. 2 h)") for line in RELATIONS]
    query = query.replace("40 m", "40 h")
    assert reply(encode, question.replace("40 m", "40 h"), relations) == (query, "")
    two = [*relations, "?bridge <walk> ?number (e.g. 3 h)"]
    assert "spans" not in reply(encode, "How long is Old Arch?", two)[0], "of two durations neither is meant"


FLAGS = [*RELATIONS, "?bridge <painted> ?thing (e.g. no, yes)", "?engineer <speaks Ilmish> ?thing (e.g. no, yes)"]


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which bridges aren't painted?", of("bridge", "?bridge <painted> <no>")),
        ("Who speaks Ilmish?", "SELECT DISTINCT ?answer { ?answer <speaks Ilmish> <yes> }"),
        (
            "Which engineers work for Tornwerk and speak Ilmish?",
            of("engineer", "?engineer <works for> <Tornwerk> . ?engineer <speaks Ilmish> <yes>"),
        ),
    ],
)
def test_yes_and_no_are_of_things_and_join_none(encode: Encode, question: str, query: str) -> None:
    topics = {"Tornwerk": TOPICS["Tornwerk"]}
    assert reply(encode, question, FLAGS, topics=topics) == (query, "")


def test_a_passive_verb_says_that_there_is_something(encode: Encode) -> None:
    query = "SELECT (COUNT(DISTINCT ?engineer) AS ?number) { ?engineer a <engineer> . ?engineer <trained by> ?any }"
    assert reply(encode, "How many engineers have been trained?") == (query, "")


def test_the_person_of_a_clause_is_who_it_tells(encode: Encode) -> None:
    found, _ = reply(encode, "Who trained the person who designed Old Arch?")
    assert found == "SELECT DISTINCT ?answer { ?who <trained by> ?answer . <Old Arch> <designed by> ?who }"
    found, _ = reply(encode, "Who is the person who designed Old Arch?")
    assert found in ("none", "SELECT DISTINCT ?answer { <Old Arch> <designed by> ?answer }")


def test_a_span_has_its_unit_once_or_twice(encode: Encode) -> None:
    query = of("bridge", '?bridge <length> ?length . FILTER(?length >= "40 m") . FILTER(?length <= "90 m")')
    for span in ("between 40 m and 90 m", "between 40 and 90 m"):
        assert reply(encode, f"Which bridges have a length {span}?") == (query, "")


def test_a_place_is_no_event(encode: Encode) -> None:
    relations = ["?concert <held on> ?date (e.g. 2024-05-02)", "?hall <seats> ?number (e.g. 240)"]
    classes = ["?concert a <concert> (9)", "?hall a <hall> (4)"]
    assert "concert" not in reply(encode, "Which venue has the most seats?", relations, classes)[0]


SINGERS = [
    "?singer <voice> ?thing (e.g. alto)",
    "?singer <town> ?thing (e.g. Belm)",
    "?singer <joined> ?year (e.g. 2009)",
]
VOICES = {"altos": "altos = alto", "tenors": "tenors = tenor", "Belm": "Belm"}
OF_VOICES = [f"?x <voice> <{name}> (singer)" for name in ("alto", "tenor")] + ["?x <town> <Belm> (singer)"]


@pytest.mark.parametrize(
    ("question", "patterns"),
    [
        (
            "List all altos who joined after 2005.",
            "?answer <voice> <alto> . ?answer <joined> ?joined . FILTER(?joined >= 2006)",
        ),
        (
            "Which altos or tenors live in Belm?",
            "VALUES ?one { <alto> <tenor> } . ?answer <voice> ?one . ?answer <town> <Belm>",
        ),
    ],
)
def test_values_stand_for_those_who_have_them(encode: Encode, question: str, patterns: str) -> None:
    found, _ = reply(encode, question, SINGERS, ["?singer a <singer> (9)"], OF_VOICES, VOICES)
    assert found == f"SELECT DISTINCT ?answer {{ {patterns} }}"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which brown dogs were born after 2019?", "?answer <colour> <brown> . ?answer <kind> <dog> . "),
        ("Is Rex a brown dog?", "ASK { <Rex> <colour> <brown> . <Rex> <kind> <dog> }"),
        ("Who adopted a brown dog?", "none"),
        ("Which black or brown dogs were born after 2019?", "none"),
    ],
)
def test_two_values_in_a_row_are_of_one_thing(encode: Encode, question: str, query: str) -> None:
    relations = [
        "?animal <colour> ?thing (e.g. brown)",
        "?animal <kind> ?thing (e.g. dog)",
        "?animal <born in> ?year (e.g. 2019)",
        "?animal <adopted by> ?person (e.g. Ada Holt)",
    ]
    beside = ["?x <colour> <brown> (animal)", "?x <colour> <black> (animal)", "?x <kind> <dog> (animal)"]
    topics = {"brown": "brown", "black": "black", "Rex": "Rex (animal)"}
    topics |= {"dogs": "dogs = dog"} if "dogs" in question else {"dog": "dog"}
    classes = ["?animal a <animal> (9)", "?person a <person> (4)"]
    assert query in reply(encode, question, relations, classes, beside, topics)[0]


def test_a_noun_for_those_who_do_something_is_at_that_end(encode: Encode) -> None:
    relations = ["?engineer <repairs bridge> ?bridge (e.g. Old Arch)", "?bridge <crosses> ?river (e.g. Ilma)"]
    assert reply(encode, "How many repairers does Old Arch have?", relations) == (
        "SELECT (COUNT(DISTINCT ?repairer) AS ?number) { ?repairer <repairs bridge> <Old Arch> }",
        "",
    )


def test_a_verb_names_a_relation_of_its_stem_rather_than_one_of_like_meaning(encode: Encode) -> None:
    relations = ["?film <director> ?thing (e.g. Pia Holt)", "?showing <film> ?film (e.g. Ilma)"]
    relations.append("?film <running time [min]> ?number (e.g. 104)")
    query, _ = reply(encode, "Who directed the shortest film?", relations, ["?film a <film> (9)"])
    assert "?film <director> ?answer" in query


def test_a_class_of_what_is_done_is_no_verb(encode: Encode) -> None:
    relations = ["?bookings <bridge> ?bridge (e.g. Old Arch)", "?bookings <booking no.> ?text (e.g. B-1)"]
    query, _ = reply(encode, "Which bridges have no booking?", relations, [*CLASSES, "?bookings a <bookings> (9)"])
    assert query == of("bridge", "FILTER NOT EXISTS { ?bookings a <bookings> . ?bookings <bridge> ?bridge }")


def test_of_several_times_the_verb_tells_which(encode: Encode) -> None:
    relations = ["?bridge <last painted> ?date (e.g. 1999-03-02)", "?bridge <year of design> ?year (e.g. 1980)"]
    query, _ = reply(encode, "Which bridges were painted most recently?", relations)
    assert "ORDER BY DESC(?last_painted)" in query
    assert reply(encode, "Which bridges were talked about most recently?", relations)[0] == "none"


def test_a_day_is_no_number(encode: Encode) -> None:
    relations = ["?bridge <toll per day> ?number (e.g. 4)", "?bridge <opened> ?date (e.g. 1931-05-02)"]
    assert "toll" not in reply(encode, "On what day was Old Arch handed over?", relations)[0]


def test_the_word_between_a_value_and_its_noun_belongs_to_the_value(encode: Encode) -> None:
    relations = ["?crop <kind of honey> ?thing (e.g. heather)", "?crop <weight kg> ?number (e.g. 9.5)"]
    query, _ = reply(
        encode,
        "What is the average weight of a heather honey crop?",
        relations,
        ["?crop a <crop> (20)"],
        topics={"heather": "heather"},
        beside=["?crop <kind of honey> <heather>"],
    )
    assert query == (
        "SELECT (AVG(?weight) AS ?average) { ?crop a <crop> . ?crop <kind of honey> <heather> . "
        "?crop <weight kg> ?weight }"
    )


def test_a_bound_is_of_the_time_that_its_verb_is_most_like(encode: Encode) -> None:
    relations = ["?bridge <last painted> ?date (e.g. 1999-03-02)", "?bridge <year of design> ?year (e.g. 1980)"]
    query, _ = reply(encode, "Which bridges were coloured before 1990?", relations)
    assert "FILTER(?last_painted < 1990)" in query
    assert reply(encode, "Which bridges were talked about before 1990?", relations)[0] == "none"


def test_who_is_no_text_in_lower_case(encode: Encode) -> None:
    relations = ["?bridge <kind of stone> ?thing (e.g. granite)", "?visit <bridge> ?bridge (e.g. Old Arch)"]
    assert "kind of stone" not in reply(encode, "Whose bridge is Old Arch?", relations)[0]


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "What is the longest bridge on the register?",
            "SELECT ?bridge { ?bridge a <bridge> . ?bridge <length> ?length } ORDER BY DESC(?length) LIMIT 1",
        ),
        (
            "How many bridges does the school have?",
            "SELECT (COUNT(DISTINCT ?bridge) AS ?number) { ?bridge a <bridge> }",
        ),
        (
            "Which bridges are more than 300 m long?",
            of("bridge", '?bridge <length> ?length . FILTER(?length > "300 m")'),
        ),
    ],
)
def test_what_the_whole_graph_is_about_is_no_condition(encode: Encode, question: str, query: str) -> None:
    assert reply(encode, question) == (query, "")


def test_a_unit_with_a_sign_is_no_part_of_a_variable(encode: Encode) -> None:
    relations = ["?hall <floor area[m\u00b2]> ?number (e.g. 450)"]
    query, _ = reply(encode, "Which halls cover more than 200 m\u00b2?", relations, ["?hall a <hall> (9)"])
    assert query == of("hall", "?hall <floor area[m\u00b2]> ?floor_area_m . FILTER(?floor_area_m > 200)")


def test_one_who_may_be_one_of_several_is_a_condition(encode: Encode) -> None:
    assert reply(encode, "How many bridges does the captain have?")[0] == "none"
