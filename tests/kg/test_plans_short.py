"""The short notation of plans: names without brackets, comparisons in patterns, and orders as SQL writes them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.plans import PlanError, PlanNames, excluding_nothing, read_plan, run_plan
from triplecheck.kg.plans.short import written_out

MILLS = """head\trelation\ttail
Otter\ttype\tmill
Beaver\ttype\tmill
Heron\ttype\tmill
Otter\twheel size\t4
Beaver\twheel size\t6
Heron\twheel size\t9
Otter\tlies on\tLune
Beaver\tlies on\tLune
Heron\tlies on\tWyre
Lune\ttype\triver
Wyre\ttype\triver
Lune\tlength\t85
Wyre\tlength\t45
"""


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("mills"), MILLS)


def found(base: KnowledgeBase, text: str) -> set[str]:
    answers = run_plan(base.graph, read_plan(text, PlanNames(base.graph, base.linker)))
    cells = [row[0] for row in answers.rows]
    return {base.graph.label(cell) if isinstance(cell, int) else str(getattr(cell, "lexical", cell)) for cell in cells}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        pytest.param("SELECT ?m { ?m a mill . ?m <lies on> <Wyre> }", {"Heron"}, id="a class without brackets"),
        pytest.param("SELECT ?m { ?m lies on <Wyre> }", {"Heron"}, id="a relation of two words"),
        pytest.param("SELECT ?m { ?m <lies on> Wyre . }", {"Heron"}, id="a thing"),
        pytest.param("SELECT ?m WHERE { ?m a mill; wheel size ?s } ORDER BY ?s DESC LIMIT 1", {"Heron"}, id="order"),
        pytest.param("SELECT ?m { ?m <wheel size> < 5 }", {"Otter"}, id="a comparison in a pattern"),
        pytest.param("SELECT ?m { ?m a mill ; <wheel size> >= 6 ; <lies on> <Lune> }", {"Beaver"}, id="further"),
        pytest.param("SELECT ?m { ?m a <mill> . FILTER(?m <lies on> != <Lune>) }", {"Heron"}, id="in a filter"),
        pytest.param("SELECT ?m { ?m a <mill> . FILTER(?m <lies on> != < Lune>) }", {"Heron"}, id="a space"),
        pytest.param("SELECT ?m { ?m a <mill> . FILTER(?m <lies on> != < Lune >) }", {"Heron"}, id="two spaces"),
        pytest.param("SELECT ?m { ?m <lies on> ?r . FILTER(?r = Wyre) }", {"Heron"}, id="a bare word in a filter"),
        pytest.param("SELECT ?m { ?m <wheel size> ?s FILTER(?s > 4 AND ?s < 9) }", {"Beaver"}, id="AND"),
        pytest.param("SELECT ?m { ?m <lies on> ?r . FILTER(?r = Wyre OR ?m = Otter) }", {"Heron", "Otter"}, id="OR"),
        pytest.param("SELECT ?m { ?m <wheel size> ?s (e.g. 4) . ?m <lies on> <Wyre> }", {"Heron"}, id="an example"),
        pytest.param("SELECT ?m { ?m <wheel size> ?s (number, e.g. 4) . FILTER(?s > 6) }", {"Heron"}, id="a kind"),
        pytest.param("SELECT ?m { ?m a <lies on> <Wyre> }", {"Heron"}, id="a relation for a class"),
        pytest.param("SELECT ?m { ?m a mill . ?m a lies on <Wyre> }", {"Heron"}, id="a relation without brackets"),
        pytest.param("SELECT ?m { ?m <lies on> <Wyre> (service) }", {"Heron"}, id="a class behind a name"),
        pytest.param("SELECT ?m { ?m wheel size ?s . ORDER BY ?s LIMIT 1 }", {"Otter"}, id="an order in the braces"),
        pytest.param(
            "SELECT ?r { ?m lies on ?r } GROUP BY ?r HAVING COUNT(?m) > 1", {"Lune"}, id="HAVING without brackets"
        ),
        pytest.param(
            "SELECT ?r { ?m lies on ?r } GROUP BY ?r HAVING COUNT(?m) < 2 ORDER BY COUNT(?m) DESC LIMIT 1",
            {"Wyre"},
            id="HAVING and an order",
        ),
        pytest.param("SELECT ?m { { ?m lies on <Wyre> } UNION { ?m wheel size 4 } }", {"Heron", "Otter"}, id="nested"),
        pytest.param(
            "SELECT ?r { ?r a river . FILTER NOT EXISTS { ?m lies on ?r . ?m wheel size < 5 } }",
            {"Wyre"},
            id="excluded",
        ),
    ],
)
def test_it_is_read_as_what_it_means(mills: KnowledgeBase, text: str, answers: set[str]) -> None:
    assert found(mills, text) == answers


def test_the_plan_has_the_query_that_is_run(mills: KnowledgeBase) -> None:
    plan = read_plan("SELECT ?m { ?m a mill ; <wheel size> > 5 }", PlanNames(mills.graph, mills.linker))
    assert plan.text == "SELECT ?m { ?m a <mill> ; <wheel size> ?of1 . FILTER(?of1 > 5) }"


def test_a_query_that_sparql_reads_is_not_changed(mills: KnowledgeBase) -> None:
    text = "SELECT ?m {  ?m <wheel size> ?s  . FILTER(?s<5) }"
    assert read_plan(text, PlanNames(mills.graph, mills.linker)).text == text


@pytest.mark.parametrize("text", ["SELECT ?m { Otter lies on ?m }", "SELECT ?m { ?m ?m ?m ?m }", "SELECT ?m { ?m a }"])
def test_what_has_no_one_meaning_is_refused_with_the_first_problem(mills: KnowledgeBase, text: str) -> None:
    with pytest.raises(PlanError, match=r"cannot read the query from|ends too early"):
        read_plan(text, PlanNames(mills.graph, mills.linker))


@given(st.text(alphabet="?ma<>{}().;=! SELECTFILTERORDERBY\"'5\n", max_size=60))
def test_any_text_is_taken_apart(text: str) -> None:
    assert isinstance(written_out("SELECT ?m { " + text), str)


@pytest.mark.parametrize("unit", ['\\"', "\\'", "_", "a", "HAVING ", "< <  "])
def test_a_long_text_takes_time_linear_in_its_length(unit: str) -> None:
    def seconds(size: int) -> float:
        text = 'SELECT ?m { "' + unit * (size // len(unit))
        start = time.thread_time()
        written_out(text)
        return time.thread_time() - start

    small, large = (min(seconds(size) for _ in range(3)) for size in (4_000, 16_000))
    assert large < 8 * small + 0.005


def test_a_thing_that_a_variable_cannot_be_is_excluded_in_vain(mills: KnowledgeBase) -> None:
    names = PlanNames(mills.graph, mills.linker)
    start = "SELECT ?m { ?m a <mill> . ?m <lies on> ?r . ?r a <river> . "
    vain = read_plan(start + "FILTER(?m != <Lune>) }", names)
    real = read_plan(start + "FILTER(?r != <Lune>) }", names)
    assert [mills.graph.label(node) for node in excluding_nothing(mills.graph, vain)] == ["Lune"]
    assert excluding_nothing(mills.graph, real) == frozenset()


DATED = """head\trelation\ttail
Mill\ttype\tbuilding
Barn\ttype\tbuilding
Hall\ttype\tbuilding
Tower\ttype\tbuilding
Shed\ttype\tbuilding
Mill\tbuilt\t1850
Barn\tbuilt\t1923-05-01
Hall\tbuilt\t1931-07-12
Tower\tbuilt\t1944-02-03
Shed\tbuilt\t2011
"""


def test_plain_years_are_ordered_among_dates(tmp_path: Path) -> None:
    base = built(tmp_path, DATED)
    for order, first in (("?d", "Mill"), ("DESC(?d)", "Shed")):
        assert found(base, f"SELECT ?b {{ ?b <built> ?d }} ORDER BY {order} LIMIT 1") == {first}
    assert found(base, "SELECT (MIN(?d) AS ?x) { ?b <built> ?d }") == {"1850"}
    assert found(base, "SELECT (MAX(?d) AS ?x) { ?b <built> ?d }") == {"2011"}


def test_one_date_among_numbers_is_no_scale_for_them(tmp_path: Path) -> None:
    sizes = "".join(f"T{n}\tsize\t{size}\n" for n, size in enumerate(("100", "5000", "12000", "2020-01-01")))
    base = built(tmp_path, "head\trelation\ttail\n" + sizes)
    assert found(base, "SELECT ?t { ?t <size> ?s } ORDER BY DESC(?s) LIMIT 1") == {"T2"}


CHAIN = "head\trelation\ttail\nA\tp\tB\nB\tq\tC\nC\tr\tD\nA2\tp\tB2\nB2\tq\tC2\nA3\tp\tB3\n"


def test_an_optional_part_may_have_one_of_its_own(tmp_path: Path) -> None:
    inner = "?a <p> ?b OPTIONAL { ?b <q> ?c OPTIONAL { ?c <r> ?d } } FILTER(!bound(?c))"
    assert found(built(tmp_path, CHAIN), f"SELECT ?a {{ ?a <p> ?b FILTER EXISTS {{ {inner} }} }}") == {"A3"}


TALKS = """@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:early :starts "2024-05-02T23:00:00+02:00"^^xsd:dateTime . :first :starts "2024-05-03T10:00:00+02:00"^^xsd:dateTime .
:second :starts "2024-05-03T16:30:00+02:00"^^xsd:dateTime . :late :starts "2024-05-04T10:00:00+02:00"^^xsd:dateTime .
"""


@pytest.mark.parametrize(
    ("bound", "answers"),
    [
        ('?d >= "2024-05-03" && ?d <= "2024-05-03"', {"first", "second"}),
        ('?d = "2024-05-03"', {"first", "second"}),
        ('?d > "2024-05-03"', {"late"}),
        ('?d < "2024-05-03"', {"early"}),
        ('?d <= "2024-05-04"', {"early", "first", "second", "late"}),
        ('?d > "2024-05-03T12:00:00+02:00"', {"second", "late"}),
    ],
)
def test_a_day_lasts_until_its_end(tmp_path: Path, bound: str, answers: set[str]) -> None:
    file = tmp_path / "talks.ttl"
    file.write_text(TALKS, "utf-8")
    base = KnowledgeBase.from_triples([file], encoder=None)
    assert found(base, f"SELECT ?t {{ ?t <starts> ?d FILTER({bound}) }}") == answers


PAID = "head\trelation\ttail\n" + "".join(
    f"{who}{n}\tof\t{who}\n{who}{n}\tamount\t{amount}\n"
    for who, amounts in (("Ann", ("0.10", "0.20", "0.30")), ("Bob", ("0.30", "0.20", "0.10")))
    for n, amount in enumerate(amounts)
)


def test_sums_of_decimals_are_exact(tmp_path: Path) -> None:
    base = built(tmp_path, PAID)
    sums = "SELECT ?who (SUM(?v) AS ?s) { ?x <of> ?who ; <amount> ?v } GROUP BY ?who"
    names = PlanNames(base.graph, base.linker)
    assert run_plan(base.graph, read_plan(f"{sums} ORDER BY DESC(?s) LIMIT 1", names)).ties == 1
    assert found(base, f"{sums} HAVING(SUM(?v) = 0.6)") == {"Ann", "Bob"}
    assert found(base, f"{sums} HAVING(SUM(?v) > 0.6)") == set()


def test_a_mean_of_degrees_has_no_digits_of_rounding(tmp_path: Path) -> None:
    cold = "".join(f"S{n}\tcoldest\t{degrees} °C\n" for n, degrees in enumerate(("-9.1", "-4.2", "-0.2")))
    base = built(tmp_path, "head\trelation\ttail\n" + cold)
    assert found(base, "SELECT (AVG(?v) AS ?x) { ?s <coldest> ?v }") == {"-4.5 °C"}


def test_a_number_is_found_however_it_is_written(tmp_path: Path) -> None:
    base = built(tmp_path, "head\trelation\ttail\nOtter\tweight\t3.0\nBeaver\tweight\t4\nShip\tcrew\t3\n")
    assert found(base, "SELECT ?x { ?x <weight> 3 }") == {"Otter"}
    assert found(base, "SELECT ?x { ?x <crew> 3.0 }") == {"Ship"}
