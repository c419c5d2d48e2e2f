"""The assist `plans`: what a question computes, excludes or bounds is computed by a query that a model writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from dspy.lm15 import Request
from program_parts import ask, build_rows, build_turtle, conclude_with, fields, items, keep, play, steps, topics
from safetensors import safe_open
from safetensors.numpy import save_file

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.ranker import GENERAL
from triplecheck.lms.engines import messages_of
from triplecheck.lms.prompt import read_request
from triplecheck.programs import KERAG, Sources, replay
from triplecheck.programs.steps import Planned, Stopped, Wrote

DEAREST = "Which violin is the dearest?"
BY_LENA = "Which violins were made by Lena Roth?"
BY_PRICE = "SELECT ?violin { ?violin a <violin> . ?violin <price> ?price } ORDER BY DESC(?price) LIMIT 1"


@pytest.fixture(scope="module")
def bosses(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows = [("Ada", "born in", "1950"), ("Bob", "born in", "1980"), ("Ada", "boss", "Bob")]
    rows += [(name, "type", "boss") for name in ("Ada", "Bob")]
    return build_rows(rows, tmp_path_factory.mktemp("bosses"), encoder="all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def quartet(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows = [("Ana", "plays", "cello"), ("Ben", "plays", "viola"), ("Cleo", "plays", "cello")]
    rows += [(name, "member of", "Harbour Quartet") for name in ("Ana", "Ben")]
    return build_rows(rows, tmp_path_factory.mktemp("quartet"))


def query(text: str, reasoning: str = "It computes that.") -> str:
    return fields(reasoning=reasoning, query=text)


def asked(base: KnowledgeBase, question: str, *queries: str, names: tuple[str, ...] = ()) -> Any:
    """The answer with a model that writes these queries, and is asked for nothing else."""
    return play(KERAG(base), question, topics(*names), *map(query, queries))[0]


def evidence(result: Any) -> list[tuple[str, str, str]]:
    return [(row["head_label"], row["relation_label"], row["tail_label"]) for row in result.evidence]


def inputs(request: Request, name: str) -> str:
    """The text of an input of a prompt."""
    return read_request([(message["role"], message["content"]) for message in messages_of(request)]).text(name)


class TestAnswers:
    def test_all_ties_are_given_with_the_query_the_triples_and_what_was_looked_through(
        self, violins: KnowledgeBase
    ) -> None:
        result = asked(violins, DEAREST, BY_PRICE)
        assert (result.answer, result.verdict, result.grounded) == ("Borea, Cirrus", "proved", True)
        assert [answer["label"] for answer in result.answers] == ["Borea", "Cirrus"]
        assert evidence(result) == [("Borea", "price", "1200"), ("Cirrus", "price", "1200")]
        assert replay(violins.graph, result.evidence) == []
        assert (result.query, result.looked_through) == (BY_PRICE, ["3 compared, 1 given: DESC(?price)"])
        assert [(one.problem, one.rows, one.result) for one in steps(result, Planned)] == [("", 2, "Borea, Cirrus")]

    def test_what_is_excluded_is_looked_through(self, violins: KnowledgeBase) -> None:
        text = (
            "SELECT ?maker { ?maker a <maker> . FILTER NOT EXISTS { ?violin a <violin> . ?violin <made by> ?maker } }"
        )
        result = asked(violins, "Which makers have made no violin?", text)
        assert result.answer == "Ida Vale"
        assert "3 looked through, 1 left" in result.looked_through[0]

    def test_a_number_is_computed(self, violins: KnowledgeBase) -> None:
        where = "{ ?violin a <violin> . ?violin <made by> <Lena Roth> . ?violin <price> ?price }"
        text = f"SELECT (SUM(?price) AS ?sum) {where}"
        result = asked(violins, "What is the total price of the violins by Lena Roth?", text, names=("Lena Roth",))
        assert (result.answer, result.verdict) == ("2100", "proved")
        assert ("Aurora", "price", "900") in evidence(result)

    @pytest.mark.parametrize(
        ("maker", "answer", "triples"),
        [("Otto Krag", "yes", [("Cirrus", "made by", "Otto Krag")]), ("Ida Vale", "no", [])],
    )
    def test_yes_has_a_proof_and_no_has_none(
        self, violins: KnowledgeBase, maker: str, answer: str, triples: list[tuple[str, str, str]]
    ) -> None:
        text = f"ASK {{ ?violin a <violin> . ?violin <made by> <{maker}> }}"
        result = asked(violins, f"Is there a violin by {maker}?", text, names=(maker,))
        assert (result.answer, result.abstained, evidence(result)) == (answer, False, triples)

    def test_a_verb_that_no_relation_names_is_a_doubt(self, violins: KnowledgeBase) -> None:
        text = "SELECT ?violin { ?violin <made by> <Lena Roth> . ?violin <built> ?date . FILTER(?date < 1925) }"
        result = asked(violins, "Which violins did Lena Roth sell before 1925?", text, names=("Lena Roth",))
        assert (result.answer, result.verdict) == ("Aurora", "supported")
        assert list(result.doubts) == ["the query may mean something else than 'sell'"]

    def test_its_confidence_has_features_of_the_query(self, violins: KnowledgeBase) -> None:
        result = asked(violins, DEAREST, BY_PRICE)
        found = {name: result.features[name] for name in ("query", "joins", "operations", "ties", "maybe", "again")}
        assert found == {"query": 1, "joins": 0, "operations": 1, "ties": 1, "maybe": 0, "again": 0}
        assert 0 < result.confidence < 1
        doubtful = "SELECT ?violin { ?violin <made by> <Lena Roth> . ?violin <built> ?date . FILTER(?date < 1925) }"
        sold = asked(violins, "Which violins did Lena Roth sell before 1925?", doubtful, names=("Lena Roth",))
        assert sold.features["maybe"] == 1 and sold.features["weakest"] < result.features["weakest"]

    def test_the_prompt_has_the_schema_of_the_graph(self, violins: KnowledgeBase) -> None:
        _, engine = play(KERAG(violins), DEAREST, topics(), query(BY_PRICE))
        request = engine.requests[1]
        assert items(request, "classes")[0] == "?violin a <violin> (4)"
        assert "?violin <price> ?number (e.g. 900)" in items(request, "relations")
        assert inputs(request, "question") == DEAREST


class TestNothing:
    def test_a_query_without_rows_abstains(self, violins: KnowledgeBase) -> None:
        text = "SELECT ?violin { ?violin a <violin> . ?violin <price> ?price . FILTER(?price > 5000) }"
        result = asked(violins, "Which violins cost more than 5,000?", text)
        assert (result.abstained, result.reason, result.query) == (True, "nothing_found", text)
        assert [one.reason for one in steps(result, Stopped)] == ["nothing_found"]

    @pytest.mark.parametrize("function", ["SUM", "AVG"])
    def test_nothing_has_no_sum_and_no_average(self, violins: KnowledgeBase, function: str) -> None:
        where = "{ ?violin a <violin> . ?violin <price> ?price . FILTER(?price > 5000) }"
        word = "total" if function == "SUM" else "average"
        question = f"What is the {word} price of the violins that cost more than 5,000?"
        result = asked(violins, question, f"SELECT ({function}(?price) AS ?x) {where}")
        assert (result.abstained, result.reason, result.answer) == (True, "nothing_found", "")

    def test_a_number_that_some_triple_has_too_is_computed_all_the_same(self, violins: KnowledgeBase) -> None:
        text = "SELECT (SUM(?price) AS ?sum) { ?violin <made by> <Otto Krag> . ?violin <price> ?price }"
        question = "What is the total price of the violins made by Otto Krag?"
        result = asked(violins, question, text, names=("Otto Krag",))
        assert (result.answer, result.answers) == ("1200", [])

    def test_none_of_them_is_the_number_0(self, violins: KnowledgeBase) -> None:
        text = "SELECT (COUNT(DISTINCT ?violin) AS ?n) { ?violin a <violin> . ?violin <made by> <Ida Vale> }"
        result = asked(violins, "How many violins are made by Ida Vale?", text, names=("Ida Vale",))
        assert (result.answer, result.abstained) == ("0", False)


DEAR = "?violin <price> ?price . FILTER(?price > 1000)"
DEAR_BY_LENA = "Which violins by Lena Roth cost more than 1,000?"
THOSE = f"SELECT ?violin {{ ?violin a <violin> . ?violin <made by> <Lena Roth> . {DEAR} }}"
OLDER = "ASK { <Ada> <born in> ?one . <Bob> <born in> ?two . FILTER(?one > ?two) }"
OLDEST = "SELECT ?boss { ?boss a <boss> . ?boss <born in> ?year } ORDER BY DESC(?year) LIMIT 1"
TOWN = (
    "?violin a <violin> . ?maker a <maker> . ?violin <made by> ?maker . "
    "?maker <born in> ?town . ?violin <price> ?price } "
    "ORDER BY DESC(?price) LIMIT 1"
)
UNSAID = "The query says nothing of 'Lena Roth'. Patterns with it: "
WRONG = [
    (
        DEAREST,
        "SELECT (MAX(?price) AS ?most) { ?violin a <violin> . ?violin <price> ?price }",
        BY_PRICE,
        "The question does not ask for a number: select the ",
        "Borea",
    ),
    (
        "Which is more expensive, Aurora or Borea?",
        "SELECT (?one - ?other AS ?more) { <Aurora> <price> ?one . <Borea> <price> ?other }",
        "SELECT ?one { VALUES ?one { <Aurora> <Borea> } . ?one <price> ?price } ORDER BY DESC(?price) LIMIT 1",
        "The question does not ask for a number: select the ",
        "Borea",
    ),
    (
        "Which violins are not made by Lena Roth?",
        "SELECT ?violin { ?violin a <violin> . ?violin <made by> <Lena Roth> . "
        "FILTER NOT EXISTS { ?violin <made by> <Lena Roth> } }",
        "SELECT ?violin { ?violin a <violin> . FILTER NOT EXISTS { ?violin <made by> <Lena Roth> } }",
        "The query requires what it excludes",
        "Cirrus",
    ),
    (
        "Which violins by Lena Roth or Otto Krag cost more than 1,000?",
        "SELECT ?violin { ?violin a <violin> . ?violin <made by> <Lena Roth> . ?violin <made by> <Otto Krag> . "
        f"{DEAR} }}",
        "SELECT ?violin { ?violin a <violin> . VALUES ?one { <Lena Roth> <Otto Krag> } . ?violin <made by> ?one . "
        f"{DEAR} }}",
        "The question has 'or': write VALUES ?one { <Lena Roth> <Otto Krag> }",
        "Cirrus",
    ),
    (
        "Is Ada older than Bob?",
        OLDER,
        OLDER.replace("?one > ?two", "?one < ?two"),
        "'older' means the smaller 'born in': turn the comparison.",
        "yes",
    ),
    ("Which boss is the oldest?", OLDEST, OLDEST.replace("DESC", "ASC"), "'oldest' needs ORDER BY ASC(...).", "Ada"),
    (DEAR_BY_LENA, f"SELECT ?violin {{ ?violin a <violin> . {DEAR} }}", THOSE, UNSAID, "Borea"),
    (
        DEAR_BY_LENA,
        f"SELECT ?violin {{ ?violin a <violin> . FILTER(?violin != <Lena Roth>) . {DEAR} }}",
        THOSE,
        UNSAID,
        "Borea",
    ),
    (
        DEAR_BY_LENA,
        "SELECT ?violin { ?violin <made by> <Lena Roth> . ?other <price> ?price . FILTER(?price > 1000) }",
        THOSE,
        "Nothing joins ?other, ?price with what the query selects.",
        "Borea",
    ),
    (
        DEAREST,
        BY_PRICE.replace("}", ". FILTER(?price < 1100) }"),
        BY_PRICE,
        "The query compares with 1100, and the question has no number.",
        "Borea",
    ),
    (
        "Which town is the maker of the dearest violin born in?",
        f"SELECT ?maker {{ {TOWN} ",
        f"SELECT ?town {{ {TOWN} ",
        "The question asks for 'town': select ?town.",
        "Millby",
    ),
    (
        "Which violin is the oldest?",
        BY_PRICE.replace("?violin <price>", "?violin <built> ?day . ?violin <price>"),
        BY_PRICE.replace("<price>", "<built>").replace("DESC", "ASC"),
        "The query says nothing of 'oldest'.",
        "Aurora",
    ),
    (
        "Did Lena Roth make a violin?",
        "SELECT ?violin { ?violin a <violin> . ?violin <made by> <Lena Roth> }",
        "ASK { ?violin a <violin> . ?violin <made by> <Lena Roth> }",
        "The question expects yes or no: write ASK.",
        "yes",
    ),
]


class TestTries:
    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param("First I look at all violins, then I compare their prices.", id="prose"),
            pytest.param("SELECT name FROM violins ORDER BY price DESC LIMIT 1", id="SQL"),
            pytest.param("DELETE WHERE { ?violin <price> ?price }", id="update"),
            pytest.param(BY_PRICE.replace("<price>", "<market value>"), id="unknown relation"),
            pytest.param(BY_PRICE.replace("<violin>", "<cello>"), id="unknown class"),
            pytest.param("SELECT ?violin { ?violin a <violin> }", id="a word left out"),
            pytest.param("ASK { ?violin <price> ?price . FILTER(?price > 900) }", id="yes or no"),
        ],
    )
    def test_a_wrong_query_is_shown_with_the_problem_and_written_anew(self, violins: KnowledgeBase, wrong: str) -> None:
        result, engine = play(KERAG(violins), DEAREST, topics(), query(wrong), query(BY_PRICE))
        assert result.answer == "Borea, Cirrus"
        first, second = steps(result, Planned)
        assert (first.query, first.rows, second.problem) == (wrong, 0, "")
        assert first.problem
        assert inputs(engine.requests[1], "problem") == ""
        assert inputs(engine.requests[2], "problem") == f"{wrong}\n{first.problem}"

    def test_a_number_is_no_answer_to_who(self, violins: KnowledgeBase) -> None:
        where = "{ ?violin a <violin> . ?violin <made by> ?maker . ?maker <born in> <Millby> }"
        queries = [f"SELECT (COUNT(?violin) AS ?n) {where}", f"SELECT DISTINCT ?maker {where}"]
        replies = [topics("Millby"), fields(keep="none"), *map(query, queries)]
        result, _ = play(KERAG(violins, assist="plans"), "Who of Millby made violins?", *replies)
        assert steps(result, Planned)[0].problem.startswith("The question does not ask for a number")
        assert result.answer == "Lena Roth"

    def test_a_comparison_without_a_name_behind_it_is_not_judged(self, bosses: KnowledgeBase) -> None:
        text = "ASK { <Ada> <boss> ?boss . <Ada> <born in> ?one . ?boss <born in> ?two . FILTER(?one < ?two) }"
        result = asked(bosses, "Is Ada older than her boss?", text, names=("Ada",))
        assert [one.problem for one in steps(result, Planned)] == [""]
        assert result.answer == "yes"

    @pytest.mark.parametrize(("question", "wrong", "right", "problem", "answer"), WRONG)
    def test_a_wrong_query_is_written_again(
        self, request: pytest.FixtureRequest, question: str, wrong: str, right: str, problem: str, answer: str
    ) -> None:
        names = tuple(name for name in ("Aurora", "Borea", "Lena Roth", "Otto Krag", "Ada", "Bob") if name in question)
        base: KnowledgeBase = request.getfixturevalue("bosses" if "boss" in wrong or "<Ada>" in wrong else "violins")
        result = asked(base, question, wrong, right, names=names)
        first, second = steps(result, Planned)
        assert (first.problem[: len(problem)], second.problem) == (problem, "")
        assert answer in result.answer

    def test_nothing_in_the_graph_is_changed_by_an_update(self, violins: KnowledgeBase) -> None:
        play(KERAG(violins), DEAREST, topics(), query("DELETE WHERE { ?x ?y ?z }"), query(BY_PRICE))
        assert asked(violins, DEAREST, BY_PRICE).answer == "Borea, Cirrus"

    @pytest.mark.parametrize(
        ("written", "problems"),
        [
            ([query("no idea"), query("still none")], 2),
            ([query("none")], 0),  # no query is needed
            ([query("None.")], 0),
            ([query("")], 0),
            (["Well.", "Well, well."], 1),  # neither can be read
        ],
    )
    def test_the_graph_is_read_without_a_query(self, violins: KnowledgeBase, written: list[str], problems: int) -> None:
        replies = [topics("Lena Roth"), *written, keep("made by"), fields(keep="none")]
        program = KERAG(violins, assist="plans")
        result, _ = play(program, BY_LENA, *replies, conclude_with("Aurora", "Borea", cite=["made by"]))
        assert (result.answer, result.query) == ("Aurora, Borea", "")
        assert [bool(one.problem) for one in steps(result, Planned)] == [True] * problems
        assert problems != 1 or "two replies cannot be read" in steps(result, Planned)[0].problem


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many minutes do the films by Ilse Baum run in total?", "210"),
        ("How many hours do the films by Ilse Baum run in total?", "3.5"),
        ("What is the total running time of the films by Ilse Baum?", "210 min"),
    ],
)
def test_a_size_is_given_in_the_unit_that_is_asked_for(tmp_path: Path, question: str, answer: str) -> None:
    films = """
        :film rdfs:label "film" . :time rdfs:label "running time" . :by rdfs:label "directed by" .
        :dawn a :film ; rdfs:label "Dawn" ; :time "90 min" ; :by :ilse . :ilse rdfs:label "Ilse Baum" .
        :dusk a :film ; rdfs:label "Dusk" ; :time "120 min" ; :by :ilse .
    """
    text = (
        "SELECT (SUM(?time) AS ?sum) { ?film a <film> . ?film <directed by> <Ilse Baum> . ?film <running time> ?time }"
    )
    assert asked(build_turtle(films, tmp_path), question, text, names=("Ilse Baum",)).answer == answer


class TestWithoutClasses:
    def test_that_something_is_a_thing_holds_of_all(self, quartet: KnowledgeBase) -> None:
        text = "SELECT ?x { ?x a <thing> . ?x <plays> <cello> . ?x <member of> <Harbour Quartet> }"
        names = ("cello", "Harbour Quartet")
        assert asked(quartet, "Who plays the cello in Harbour Quartet?", text, names=names).answer == "Ana"

    def test_a_class_is_refused_with_what_to_do(self, quartet: KnowledgeBase) -> None:
        where = "?x <plays> <cello> . ?x <member of> <Harbour Quartet> }"
        queries = [f"SELECT ?x {{ ?x a <player> . {where}", f"SELECT ?x {{ {where}"]
        result = asked(quartet, "Who plays the cello in Harbour Quartet?", *queries, names=("cello", "Harbour Quartet"))
        assert "the graph has no classes: leave 'a' and its class out" in steps(result, Planned)[0].problem
        assert result.answer == "Ana"


class TestLookUps:
    def test_no_query_is_written_for_what_a_path_proves(self, violins: KnowledgeBase) -> None:
        replies = [topics("Aurora"), keep("made by"), fields(keep="none"), conclude_with("Lena Roth", cite=["made by"])]
        result, _ = play(KERAG(violins, assist="plans"), "Who made Aurora?", *replies)
        assert (result.answer, result.verdict, result.query) == ("Lena Roth", "proved", "")

    def test_a_query_is_written_where_no_path_proves_the_answer(self, violins: KnowledgeBase) -> None:
        text = "SELECT ?maker { <Aurora> <made by> ?maker }"
        for searched in (
            [fields(keep="none")],
            [keep("price"), fields(keep="none"), conclude_with("900", cite=["price"])],
        ):
            program = KERAG(violins, assist="plans")
            result, _ = play(program, "Who made Aurora?", topics("Aurora"), *searched, query(text))
            assert (result.answer, result.verdict, result.query) == ("Lena Roth", "proved", text)

    def test_what_the_search_found_stays_where_the_query_finds_nothing(self, violins: KnowledgeBase) -> None:
        found = [keep("price"), fields(keep="none"), conclude_with("900", cite=["price"])]
        nothing = query("SELECT ?violin { ?violin <made by> <Aurora> }")
        result, _ = play(
            KERAG(violins, assist="plans"), "Who made Aurora?", topics("Aurora"), *found, nothing, query("none")
        )
        assert (result.answer, result.query) == ("900", "")


class TestTheBaseline:
    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            (DEAREST, "Borea, Cirrus"),
            ("Which maker made the most violins?", "Lena Roth, Otto Krag"),
            ("Which makers have made no violin?", "Ida Vale"),
            ("What is the total price of the violins by Lena Roth?", "2100"),
            ("Is there a violin by Ida Vale?", "no"),
            ("Which violins were built before 1925?", "Aurora"),
            ("Who made the violin with the highest inventory number?", "Otto Krag"),
            ("How much more does Borea cost than Aurora?", "300"),
        ],
    )
    def test_it_writes_the_query_itself(self, violins: KnowledgeBase, question: str, answer: str) -> None:
        result = ask(KERAG(violins), question)
        assert (result.answer, result.verdict) == (answer, "proved")
        assert result.query


@pytest.mark.parametrize("options", [{"assist": "none"}, {"assist": "-plans"}, {"preset": "paper"}])
def test_without_the_assist_no_query_is_written(violins: KnowledgeBase, options: dict[str, str]) -> None:
    program = KERAG(violins, **options)
    assert program.write_query is None
    result = ask(program, DEAREST)
    assert result.query == ""
    assert "WriteQuery" not in {step.signature for step in steps(result, Wrote)}


@pytest.mark.parametrize(
    ("question", "writes"),
    [("Where was the creator of Aurora born?", False), ("How many violins did Lena Roth make?", True), (DEAREST, True)],
)
def test_a_ranker_that_knows_the_graph_tells_look_ups(
    violins: KnowledgeBase, tmp_path: Path, question: str, writes: bool
) -> None:
    found = {
        "none": ask(KERAG(violins), question),
        "worse": ask(KERAG(with_ranker(violins, tmp_path / "worse.safetensors", before=0.6, after=0.5)), question),
        "better": ask(KERAG(with_ranker(violins, tmp_path / "better.safetensors", before=0.6, after=0.9)), question),
    }
    written = {name: "WriteQuery" in {step.signature for step in steps(one, Wrote)} for name, one in found.items()}
    assert written == {"none": True, "worse": True, "better": writes}


def with_ranker(base: KnowledgeBase, file: Path, **held_out: float) -> Sources:
    """Sources with the general ranker, as if it had been trained on the graph and measured on held-out questions."""
    with safe_open(GENERAL, "numpy") as opened:
        metadata, tensors = opened.metadata(), {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    about = json.loads(metadata["about"]) | {"weight": 1.0, "held_out": held_out}
    save_file(tensors, file, metadata | {"about": json.dumps(about)})
    return Sources.of(base).with_ranker(file)


SHIPS = ("Aurora", "Borealis", "Celeste", "Dorothea")
YES_AND_NO = [("yes", "no"), ("true", "false")]


@pytest.fixture(scope="module", params=[(*pair, how) for pair in YES_AND_NO for how in ("triples", "table")])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    """Aurora and Celeste are insured, Borealis is not, of Dorothea nothing is told."""
    yes, no, how = request.param
    return ships(tmp_path_factory.mktemp("told"), (yes, no, yes, ""), how)


@pytest.fixture(scope="module", params=["triples", "table"])
def only_yes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    """Aurora and Celeste are insured, and the graph says no of nothing."""
    return ships(tmp_path_factory.mktemp("only_yes"), ("yes", "", "yes", ""), request.param)


class TestYesAndNo:
    """A relation to yes and no is one to true and false, be they words or booleans; what has neither may be either."""

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Is Aurora insured?", "yes"),
            ("Is Borealis insured?", "no"),
            ("Is Borealis not insured?", "yes"),
            ("Which ships are insured?", "Aurora, Celeste"),
            ("Which ships are not insured?", "Borealis"),
            ("How many ships are not insured?", "1"),
            ("Are Aurora and Borealis insured?", "no"),
        ],
    )
    def test_no_is_what_the_graph_says_no_of(self, told: KERAG, question: str, answer: str) -> None:
        result = told(question=question)
        assert (result.answer, result.verdict) == (answer, "proved")

    @pytest.mark.parametrize("question", ["Is Dorothea insured?", "Is Dorothea not insured?"])
    def test_what_has_no_value_is_neither(self, told: KERAG, question: str) -> None:
        assert told(question=question).abstained

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Is Aurora insured?", "yes"),
            ("Is Borealis insured?", "no"),
            ("Is Borealis not insured?", "yes"),
            ("Which ships are not insured?", "Borealis, Dorothea"),
        ],
    )
    def test_no_is_what_has_no_yes_where_the_graph_never_says_no(
        self, only_yes: KERAG, question: str, answer: str
    ) -> None:
        result = only_yes(question=question)
        assert (result.answer, result.verdict) == (answer, "proved")


def ships(folder: Path, insured: tuple[str, ...], how: str) -> KERAG:
    """A program over ships of which some are insured."""
    if how == "table":
        table = pandas.DataFrame({"name": SHIPS, "insured": insured, "home port": "Oslo"})
        return KERAG(KnowledgeBase.from_tables({"ships": table}, folder / "kb"))
    rows = [row for name in SHIPS for row in ((name, "type", "ship"), (name, "home port", "Oslo"))]
    rows += [(name, "insured", value) for name, value in zip(SHIPS, insured, strict=True) if value]
    return KERAG(build_rows(rows, folder, encoder="all-MiniLM-L6-v2"))
