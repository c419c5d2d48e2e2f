"""Units that only one graph has: found by the column, kept in a knowledge base, computed with in plans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from kg_parts import built, write

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.plans import PlanNames, read_plan, run_plan
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import Quantity, agrees, mentions, quantity, written

CROWNS = "urn:triplecheck:unit:crowns"
BUDGETS = {"nordic": "4200 crowns", "polar": "9100 crowns", "desert": "3,800 crowns", "tiny": "1 crown"}
GRANTS = {"nordic": "8000 crowns", "polar": "500 crowns"}
NAMES = ("8 mile", "12 monkeys", "7 samurai", "101 dalmatians", "7 seconds of fame", "Alien")


def column(relation: str, values: Sequence[str]) -> str:
    return "".join(f"{relation} {at}\t{relation}\t{value}\n" for at, value in enumerate(values))


def amounts() -> str:
    rows = [(name, "budget", value) for name, value in BUDGETS.items()]
    rows += [(name, "grant", value) for name, value in GRANTS.items()]
    rows += [(name, "leader", "Ann") for name in BUDGETS]
    return "".join("\t".join(row) + "\n" for row in rows) + column("film", NAMES)


def wide() -> str:
    return "name,budget,film\n" + "".join(
        f'{name},"{value}",{film}\n' for (name, value), film in zip(BUDGETS.items(), NAMES, strict=False)
    )


def triples_in_rdf() -> str:
    rows = [f'<http://e.org/{name}> <http://e.org/budget> "{value}" .\n' for name, value in BUDGETS.items()]
    rows += [f'<http://e.org/{name}> <http://e.org/grant> "{value}" .\n' for name, value in GRANTS.items()]
    return "".join(rows + [f'<http://e.org/f{at}> <http://e.org/film> "{name}" .\n' for at, name in enumerate(NAMES)])


FILES = {"triples.tsv": amounts(), "things.csv": wide(), "triples.nt": triples_in_rdf()}


def kinds(kb: KnowledgeBase) -> dict[str, str]:
    """The datatype of each value, "" for an entity."""
    graph = kb.columnar
    texts = ((graph.node_id(node), graph.literal(node)) for node in range(graph.num_nodes))
    return {text: "" if value is None else value.datatype for text, value in texts}


def values_of(kb: KnowledgeBase, relation: str) -> dict[str, str]:
    """The datatype of each tail of a relation."""
    graph = kb.columnar
    _, relations, tails = graph.all_edges()
    number = graph.find_relation(relation)
    ends = tails[relations == number].tolist()
    return {graph.label(node): "" if (value := graph.literal(node)) is None else value.datatype for node in ends}


def told(kb: KnowledgeBase, query: str) -> list[str]:
    names = PlanNames(kb.graph, kb.linker)
    return [" ".join(row) for row in run_plan(kb.graph, read_plan(query, names)).texts()]


# --- what is read --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("memory", [None, 0.5])
def test_a_column_of_amounts_is_found_in_files_of_every_form(tmp_path: Path, name: str, memory: float | None) -> None:
    kb = build(write(tmp_path / name, FILES[name]), tmp_path / "kb", encoder=None, memory=memory)
    found = kinds(kb)
    assert {found[value] for value in BUDGETS.values()} == {CROWNS}
    assert {found[film] for film in NAMES if film in found} <= {"", XSD + "string"}
    assert kb.graph.find(Literal("9100 crowns", CROWNS)) is not None


@pytest.mark.parametrize("name", FILES)
def test_sorted_on_disk_the_files_are_the_same(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, FILES[name] + (column("length", ["5 km", "6 km", "9 km"]) if "tsv" in name else ""))
    in_memory = build(path, tmp_path / "memory", encoder=None)
    on_disk = build(path, tmp_path / "disk", encoder=None, memory=0.5)
    assert on_disk.manifest.files == in_memory.manifest.files


@pytest.mark.parametrize(
    "values",
    [
        NAMES,
        ("12 monkeys", "13 monkeys"),  # two numbers
        ("12 monkeys", "12 monkeys", "13 monkeys"),
        ("2019 season", "2020 season", "2021 season", "30 season"),
        ("12 eggs", "13 pears", "14 plums"),
        ("1 crown", "2 crowns", "3 crowns", "gold"),
        ("1 Crown", "2 Crowns", "3 Crowns"),
        ("1 x", "2 x", "3 x"),
        ("1crown", "2crowns", "3crowns"),
        ("1 crown each", "2 crowns each", "3 crowns each"),
        ("about 1 crown", "about 2 crowns", "about 3 crowns"),
        ("3 km", "4 km", "5 km"),
        ("3 hours", "4 hours", "5 hours"),
        ("3 may", "4 may", "5 may"),
        ("9 am", "10 am", "11 am"),
        ("3 million", "4 million", "5 million"),
        ("44 bc", "45 bc", "46 bc"),
    ],
)
def test_other_columns_have_no_unit_of_their_own(tmp_path: Path, values: Sequence[str]) -> None:
    kb = built(tmp_path, column("value", values))
    assert not kb.columnar.own_units
    assert set(values_of(kb, "value").values()) == {""}


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (("1 crown", "2 crowns", "3 crowns"), "crowns"),
        (("4200 złoty", "900 złoty", "1.5 złoty"), "złoty"),
        (("-4 points", "+5 points", "6 points"), "points"),
        (("1 200 words", "1,300 words", "90 words"), "words"),
    ],
)
def test_columns_of_a_unit(tmp_path: Path, values: Sequence[str], unit: str) -> None:
    kb = built(tmp_path, column("value", values))
    assert values_of(kb, "value") == dict.fromkeys(values, f"urn:triplecheck:unit:{unit}")


def test_several_units_and_one_odd_text(tmp_path: Path) -> None:
    values = [f"{number} {unit}" for number in range(2, 22) for unit in ("crowns", "talers")]
    found = values_of(built(tmp_path, column("price", [*values, "free", "3 hours"])), "price")
    assert found["2 crowns"] == CROWNS and found["2 talers"] == "urn:triplecheck:unit:talers"
    assert found["free"] == found["3 hours"] == ""


def test_heads_and_described_entities_are_no_amounts(tmp_path: Path) -> None:
    values = [f"{number} monkeys" for number in (11, 12, 13)]
    heads = "".join(f"{value}\tdirector\tAnn\n" for value in values)
    assert not built(tmp_path / "heads", column("film", values) + heads).columnar.own_units
    described = "id\tlabel\n" + "".join(f"{value}\t{value}\n" for value in values)
    assert not built(tmp_path / "described", column("film", values), described).columnar.own_units


# --- quantities ----------------------------------------------------------------------------------
def test_an_amount_is_a_quantity_by_its_datatype() -> None:
    assert quantity(Literal("4200 crowns")) is None
    found = quantity(Literal("4,200.5 crowns", CROWNS))
    assert found == Quantity("unit crown", Fraction(8401, 2), "crowns") and found.amount == Fraction(8401, 2)
    assert quantity(Literal("1 crown", CROWNS)) == Quantity("unit crown", 1)
    assert quantity(Literal("1 pupil", CROWNS)) is None and quantity(Literal("crowns", CROWNS)) is None
    assert quantity(Literal("3 km", CROWNS)) == quantity(Literal("3 km"))


def test_an_amount_in_words() -> None:
    assert written(13000, "crowns") == "13000 crowns" and written(Fraction(5, 2), "crowns") == "2.5 crowns"
    assert written(1, "crowns") == "1 crown"
    assert agrees("4,200 crowns", Literal("4200 crowns", CROWNS)) and not agrees("4201", Literal("4200 crowns", CROWNS))
    assert mentions("It cost 4,200 crowns.", Literal("4200 crowns", CROWNS))


# --- plans ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module", params=list(FILES))
def kb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("own")
    return build(write(folder / request.param, FILES[request.param]), folder / "kb", encoder=None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?x { ?x <budget> ?b } ORDER BY ?b LIMIT 2", ["tiny", "desert"]),
        ("SELECT (MAX(?b) AS ?m) { ?x <budget> ?b }", ["9100 crowns"]),
        ("SELECT (SUM(?b) AS ?s) { ?x <budget> ?b }", ["17101 crowns"]),
        ("SELECT (AVG(?b) AS ?s) { ?x <budget> ?b FILTER(?b < 4000) }", ["1900.5 crowns"]),
        ("SELECT (?a - ?b AS ?d) { <polar> <budget> ?a . <nordic> <budget> ?b }", ["4900 crowns"]),
        ("SELECT (?a / ?b AS ?d) { <polar> <budget> ?a . <tiny> <budget> ?b }", ["9100"]),
        ('SELECT ?x { ?x <budget> ?b FILTER(?b > "8000 crowns") }', ["polar"]),
        ("SELECT ?x { ?x <budget> ?b FILTER(?b > 8000) }", ["polar"]),
        ('SELECT ?x { ?x <budget> ?b FILTER(?b <= "1 crown") }', ["tiny"]),
        ('SELECT ?x { ?x <budget> ?b FILTER(?b = "3800 crowns") }', ["desert"]),
        ('SELECT ?x { ?x <budget> "4200 crowns" }', ["nordic"]),
        ('SELECT ?x { ?x <budget> ?b FILTER(CONTAINS(?b, "crowns") && ?b < 4000) }', ["desert"]),
        (f'SELECT ?x {{ ?x <budget> ?b FILTER(?b > "8000 crowns"^^<{CROWNS}>) }}', ["polar"]),
        ('SELECT ?x { ?x <budget> ?b FILTER(?b > "8000 talers") }', []),
    ],
)
def test_plans_compute_with_amounts(kb: KnowledgeBase, query: str, expected: list[str]) -> None:
    assert told(kb, query) == expected


def test_a_computed_amount_says_its_unit_in_its_datatype(tmp_path: Path) -> None:
    kb = built(tmp_path, amounts())
    plan = read_plan("SELECT (SUM(?b) AS ?s) { ?x <budget> ?b }", PlanNames(kb.graph, kb.linker))
    assert run_plan(kb.graph, plan).rows == ((Literal("17101 crowns", CROWNS),),)


def test_a_relation_with_few_amounts_is_computed_with_where_another_has_the_unit(tmp_path: Path) -> None:
    kb = built(tmp_path, amounts())
    assert values_of(kb, "grant") == dict.fromkeys(GRANTS.values(), "")
    assert told(kb, "SELECT (SUM(?g) AS ?s) { ?x <grant> ?g }") == ["8500 crowns"]
    assert told(kb, "SELECT ?x { ?x <grant> ?g ; <budget> ?b FILTER(?g > ?b) }") == ["nordic"]


# --- bases that change and are copied -------------------------------------------------------------
@pytest.mark.parametrize("suffix", [".nt", ".tsv", ".csv", ".parquet"])
def test_an_exported_graph_is_the_same_when_it_is_read(tmp_path: Path, suffix: str) -> None:
    kb = built(tmp_path, amounts())
    export_graph(kb.columnar, tmp_path / f"again{suffix}")
    again = build(tmp_path / f"again{suffix}", tmp_path / "again", encoder=None)
    assert kinds(again) == kinds(kb)


def test_a_part_of_an_exported_graph_keeps_its_unit(tmp_path: Path) -> None:
    export_graph(built(tmp_path, amounts()).columnar, tmp_path / "all.nt")
    lines = [line for line in (tmp_path / "all.nt").read_text("utf-8").splitlines() if "9100 crowns" in line]
    kb = build(write(tmp_path / "part.nt", "\n".join(lines)), tmp_path / "part", encoder=None)
    assert kinds(kb)["9100 crowns"] == CROWNS


def test_what_is_added_has_the_unit_of_its_relation(tmp_path: Path) -> None:
    kb = built(tmp_path, amounts())
    kb.add(write(tmp_path / "more.tsv", "moon\tbudget\t20000 crowns\nsun\tbudget\tunknown\n"))
    later = KnowledgeBase.open(kb.path)
    assert {kinds(later)[value] for value in ("20000 crowns", "9100 crowns", "1 crown")} == {CROWNS}
    assert kinds(later)["unknown"] == ""
    assert told(later, "SELECT ?x { ?x <budget> ?b } ORDER BY DESC(?b) LIMIT 1") == ["moon"]


def test_strings_that_are_added_become_amounts(tmp_path: Path) -> None:
    kb = build(write(tmp_path / "a.nt", triples_in_rdf()), tmp_path / "kb", encoder=None)
    kb.add(write(tmp_path / "b.nt", '<http://e.org/moon> <http://e.org/budget> "20000 crowns" .\n'))
    later = KnowledgeBase.open(kb.path)
    assert kinds(later)["20000 crowns"] == CROWNS


def test_a_third_number_makes_a_unit_of_strings_not_of_entities(tmp_path: Path) -> None:
    def line(name: str, value: str) -> str:
        return f'<http://e.org/{name}> <http://e.org/price> "{value}" .\n'

    kb = build(write(tmp_path / "a.nt", line("a", "5 crowns") + line("b", "6 crowns")), tmp_path / "rdf", encoder=None)
    kb.add(write(tmp_path / "more.nt", line("c", "7 crowns")))
    later = KnowledgeBase.open(kb.path)
    assert values_of(later, "http://e.org/price") == dict.fromkeys(("5 crowns", "6 crowns", "7 crowns"), CROWNS)
    of_entities = built(tmp_path / "table", column("price", ["5 crowns", "6 crowns"]))
    of_entities.add(write(tmp_path / "more.tsv", "moon\tprice\t7 crowns\n"))
    assert set(values_of(KnowledgeBase.open(of_entities.path), "price").values()) == {""}


def test_removals_find_amounts_by_their_text(tmp_path: Path) -> None:
    kb = built(tmp_path, amounts())
    kb.remove(write(tmp_path / "less.tsv", "polar\tbudget\t9100 crowns\n"))
    later = KnowledgeBase.open(kb.path)
    assert "9100 crowns" not in kinds(later) and kinds(later)["1 crown"] == CROWNS


def test_a_graph_without_amounts_has_no_further_datatypes(tmp_path: Path) -> None:
    kb = built(tmp_path, column("size", ["1", "2", "3"]) + column("film", NAMES))
    about = json.loads((kb.path / "graph" / "graph.json").read_text("utf-8"))
    assert about["datatypes"] == [XSD + "integer"]
