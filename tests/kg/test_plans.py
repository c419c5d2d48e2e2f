"""Plans: the notation, names, answers, proofs and errors, on a small graph of ships."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kg_parts import built

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.plans import Answers, PlanError, PlanNames, check, read_plan, run_plan, write_label
from triplecheck.kg.plans.execute import Run
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.notation import encode, name_of, spellings
from triplecheck.kg.readers import read_graph
from triplecheck.kg.types import XSD, Literal

SHIPS = {
    "Heron": ("Aurora Line", 14, "1,200", 1961),
    "Osprey": ("Aurora Line", 9, "450", 1988),
    "Kestrel": ("Aurora Line", 14, "unknown", 1988),
    "Merlin": ("Bell & Co (Cargo)", 22, "3,050", 2003),
    "Swift": ("Bell & Co (Cargo)", 5, "75", 1999),
    "Wren": ("Crane", 3, "75", 2015),
}
OFFICES = {"Oslo": "Norway", "Bergen": "Norway", "Gdansk": "Poland"}
PEOPLE = {"Ann": (51, "Heron", "Oslo"), "Bo": (33, "Osprey", "Bergen"), "Cy": (51, "Merlin", "Oslo")}


def triples() -> str:
    rows = []
    for ship, (owner, crew, tons, year) in SHIPS.items():
        rows += [(ship, "type", "ship"), (ship, "owned by", owner), (ship, "crew", crew)]
        rows += [(ship, "tons", tons), (ship, "built in", year), (owner, "type", "company")]
    rows += [(office, "type", "office") for office in OFFICES] + [("Idle Inc", "type", "company")]
    rows += [(office, "country", country) for office, country in OFFICES.items()]
    for person, (age, ship, office) in PEOPLE.items():
        rows += [(person, "type", "person"), (person, "age", age), (person, "captain of", ship)]
        rows += [(person, "works at", office)]
    rows += [("Crane", "partner of", "Crane"), ("Crane", "partner of", "Aurora Line")]
    return "head\trelation\ttail\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("ships"), triples())


@pytest.fixture(scope="module")
def names(kb: KnowledgeBase) -> PlanNames:
    return PlanNames(kb.graph, kb.linker)


def answers(names: PlanNames, query: str) -> Answers:
    return run_plan(names.graph, read_plan(query, names))


def texts(names: PlanNames, query: str) -> list[str]:
    return [" ".join(row) for row in answers(names, query).texts()]


def said(names: PlanNames, edges: object) -> set[str]:
    graph = names.graph
    assert isinstance(edges, list | tuple)
    return {f"{graph.label(h)} {graph.relation(r).label} {graph.label(t)}" for h, r, t in edges}


# --- notation and names --------------------------------------------------------------------------
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_label_can_be_written(label: str) -> None:
    written = write_label(label)
    encoded = encode(f"ASK {{ ?x {written} ?y }}")
    token = encoded.text.split("<", 1)[1].rsplit(">", 1)[0]
    assert label in spellings(name_of(token))


def test_brackets_around_a_unit_are_written_as_they_are() -> None:
    assert write_label("running time [min]") == "<running time [min]>"


@pytest.mark.parametrize(
    "condition", ["?n < 3 && ?m > 2", "?n<?m && ?m>2", "?n<3 || ?m>2", "(?n <3) && (4>2)", "?n <= 3"]
)
def test_comparisons_are_no_labels(condition: str) -> None:
    assert encode(f"SELECT ?n {{ ?n <built in> ?m FILTER({condition}) }}").text.count("urn:") == 1


def test_strings_and_comments_hold_no_names() -> None:
    text = 'SELECT ?x { ?x <owned by> "<a b>" # it\'s <not one>\n }'
    assert encode(text).text.count("urn:") == 1


@pytest.mark.parametrize("name", ["<owned by>", "<Owned_By>", "<ownedBy>", "<owned%20by>"])
def test_a_relation_is_found_in_any_spelling(names: PlanNames, name: str) -> None:
    assert texts(names, f"SELECT ?x {{ ?x {name} <Crane> }}") == ["Wren"]


def test_a_plural_names_the_class(names: PlanNames) -> None:
    assert len(texts(names, "SELECT ?x { ?x a <ships> }")) == len(SHIPS)


def test_a_label_with_brackets_and_signs(names: PlanNames) -> None:
    assert texts(names, "SELECT ?x { ?x <owned by> <Bell & Co (Cargo)> }") == ["Merlin", "Swift"]


def test_a_string_matches_the_node_of_that_label(names: PlanNames) -> None:
    assert texts(names, 'SELECT ?x { ?x <owned by> "Crane" }') == ["Wren"]


def test_a_number_matches_an_entity_that_writes_it_otherwise(names: PlanNames) -> None:
    assert texts(names, "SELECT ?x { ?x <tons> 3050 }") == ["Merlin"]


def test_topics_come_before_other_nodes(kb: KnowledgeBase) -> None:
    ship = kb.graph.find("Swift")
    assert ship is not None
    names = PlanNames(kb.graph, kb.linker, topics={"it": [ship]})
    assert texts(names, "SELECT ?n { <it> <crew> ?n }") == ["5"]


def test_a_name_stands_for_all_homonyms(tmp_path: Path) -> None:
    entities = "id\tlabel\nt1\tMill\nt2\tMill\na\tAda\nb\tBob\n"
    kb = built(tmp_path, "head\trelation\ttail\na\tlives in\tt1\nb\tlives in\tt2\na\tlives in\tt2\n", entities)
    assert texts(PlanNames(kb.graph, kb.linker), "SELECT ?x { ?x <lives in> <Mill> }") == ["Ada", "Bob"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT ?x { ?x <owner> ?y }", "no relation 'owner' in the graph; is it 'owned by'?"),
        ("SELECT ?x { ?x <ship> ?y }", "no relation 'ship' in the graph; it is a class"),
        ("SELECT ?x { ?x a <shop> }", "no class 'shop' in the graph; is it 'ship'?"),
        ("SELECT ?x { ?x a <Norway> }", "no class 'Norway' in the graph; it is a value: ?x <country> <Norway>"),
        ("SELECT ?x { ?x a <Norways> }", "no class 'Norways' in the graph; it is a value: ?x <country> <Norway>"),
        ("SELECT ?x { ?x <owned by> <Crano> }", "no thing 'Crano' in the graph; is it 'Crane'?"),
        ("INSERT DATA { <a> <b> <c> }", "INSERT writes"),
        ("DROP ALL", "DROP writes"),
        ("CONSTRUCT { ?x ?y ?z } WHERE { ?x ?y ?z }", "CONSTRUCT makes a graph"),
        ("SELECT ?x { SERVICE <http://e.org/> { ?x <owned by> ?y } }", "SERVICE is not supported"),
        ("SELECT name FROM ships WHERE crew > 3", "this is SQL"),
        ("Which ships are old?", "is no query"),
        ("", "is no query"),
        ("SELECT COUNT(?x) { ?x <crew> ?n }", "(COUNT(?x) AS ?n)"),
        ("SELECT ?x { ?x <crew> ?n", "1 } missing"),
        ("SELECT ?x { ?x <crew ?n }", "cannot read the query from '?x <crew ?n }' on"),
        ("SELECT ?x { ?x foo:bar ?n }", "foo"),
        ("SELECT ?o (COUNT(?x) AS ?n) { ?x <owned by> ?o }", "add GROUP BY ?o"),
        ("SELECT ?o { ?x <owned by> ?o } GROUP BY ?o ORDER BY ?x", "add GROUP BY ?x"),
        ("SELECT ?x { ?x <crew> ?n BIND(3 AS ?n) }", "?n has a value already"),
        ("SELECT ?x { ?x <\ud800> ?n }", "no relation"),
        ("SELECT ?x { " + "{" * 40 + "?x <crew> ?n" + "}" * 40 + " }", "nested"),
        ("SELECT ?x { ?x <crew> ?n } #" + "x" * 30_000, "characters"),
    ],
)
def test_what_cannot_be_read_is_a_clear_error(names: PlanNames, query: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        read_plan(query, names)
    assert message in str(error.value)


def test_a_plan_says_what_it_names_and_does(names: PlanNames) -> None:
    query = """SELECT ?o (COUNT(?x) AS ?n) { ?x a <ship> ; <owned by> ?o ; <built in> ?y FILTER(?y > 1970)
        FILTER NOT EXISTS { ?p <captain of> ?x ; <works at> <Oslo> } }
        GROUP BY ?o HAVING(?n > 1) ORDER BY DESC(?n) LIMIT 1"""
    plan = read_plan(query, names)
    assert plan.variables == ("o", "n")
    assert {one.text for one in plan.relations} == {"<owned by>", "<built in>", "<captain of>", "<works at>"}
    assert [one.text for one in plan.classes] == ["<ship>"]
    assert [(one.text, one.negated) for one in plan.nodes] == [("<Oslo>", True)]
    did = {one.name: one for one in plan.operations}
    assert did.keys() == {"group", "count", ">", "not exists", "having", "order", "limit"}
    assert did["having"].text == "COUNT(?x) > 1"
    assert did["order"].values == ("desc",)


# --- answers -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT ?x { ?x <crew> ?n FILTER(?n >= 10 && ?n < 20) }", ["Heron", "Kestrel"]),
        ("SELECT ?x { ?x <tons> ?w FILTER(?w > 1000) }", ["Heron", "Merlin"]),
        ("SELECT ?x { ?x <tons> ?w FILTER(?w != 75) }", ["Heron", "Osprey", "Merlin", "Kestrel"]),
        ("SELECT ?x { ?x a <ship> FILTER NOT EXISTS { ?x <owned by> <Aurora Line> } }", ["Merlin", "Swift", "Wren"]),
        ("SELECT ?x { ?x a <ship> MINUS { ?p <captain of> ?x } }", ["Kestrel", "Swift", "Wren"]),
        ("SELECT ?x { { ?x <owned by> <Crane> } UNION { ?x <crew> 5 } }", ["Wren", "Swift"]),
        ("SELECT ?o { ?x <owned by> ?o } GROUP BY ?o HAVING(COUNT(?x) > 2)", ["Aurora Line"]),
        ("SELECT (COUNT(DISTINCT ?y) AS ?n) { ?x <built in> ?y }", ["5"]),
        ("SELECT (SUM(?n) AS ?s) { ?x <owned by> <Aurora Line> ; <crew> ?n }", ["37"]),
        ("SELECT (AVG(?a) AS ?m) { ?p <age> ?a }", ["45"]),
        ("SELECT (MAX(?y) - MIN(?y) AS ?d) { ?x <built in> ?y }", ["54"]),
        ("SELECT (?a - ?b AS ?d) { <Merlin> <tons> ?a . <Heron> <tons> ?b }", ["1850"]),
        ("SELECT ?x { ?x <tons> ?w } ORDER BY DESC(?w) LIMIT 1", ["Merlin"]),
        ("SELECT ?x { ?x <tons> ?w } ORDER BY ?w LIMIT 3", ["Swift", "Wren", "Osprey"]),
        ("SELECT ?x { ?p <captain of> ?x ; <works at>/<country> <Norway> }", ["Heron", "Osprey", "Merlin"]),
        (
            "SELECT ?o (COUNT(?x) AS ?n) { ?o a <company> OPTIONAL { ?x <owned by> ?o } } "
            "GROUP BY ?o ORDER BY ?n LIMIT 1",
            ["Idle Inc 0"],
        ),
        ("SELECT ?p { ?p ((<captain of>|<works at>)/(<crew>|<country>))|<age> 22 }", ["Cy"]),
        ("SELECT ?x { ?x <partner of> ?x }", ["Crane"]),
        ("SELECT ?o { <Crane> <partner of> ?o FILTER(?o != <Crane>) }", ["Aurora Line"]),
        ("SELECT ?p { ?p <age> ?a FILTER NOT EXISTS { ?q <age> ?b FILTER(?b > ?a) } }", ["Ann", "Cy"]),
        ("SELECT ?c (COUNT(?x) AS ?n) { ?x a ?c } GROUP BY ?c ORDER BY DESC(?n) LIMIT 1", ["ship 6"]),
        ("SELECT ?l { <Heron> rdfs:label ?l }", ["Heron"]),
        ("SELECT ?x { ?x rdfs:label 'Wren' ; <crew> 3 }", ["Wren"]),
        ("SELECT (AVG(?n) AS ?m) { { SELECT ?o (COUNT(?x) AS ?n) { ?x <owned by> ?o } GROUP BY ?o } }", ["2"]),
        ("SELECT ?x { VALUES ?x { } }", []),
        ("SELECT ?x { ?x <crew> ?n FILTER(?n IN ()) }", []),
        ("SELECT ?x ?n { VALUES (?x ?n) { (<Wren> 3) (<Heron> 3) } ?x <crew> ?n }", ["Wren 3"]),
        ("SELECT ?x { ?x <built in> ?y FILTER(IF(?y < 1990, ?y > 1970, false)) }", ["Osprey", "Kestrel"]),
    ],
)
def test_answers(names: PlanNames, query: str, wanted: list[str]) -> None:
    found = texts(names, query)
    ordered = "ORDER" in query
    assert found == wanted if ordered else sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("ASK { <Heron> <owned by> <Aurora Line> }", True),
        ("ASK { <Heron> <owned by> <Crane> }", False),
        ("ASK { <Heron> <tons> ?a . <Osprey> <tons> ?b FILTER(?a > ?b) }", True),
        ("ASK { }", True),
    ],
)
def test_yes_or_no(names: PlanNames, query: str, wanted: bool) -> None:
    found = answers(names, query)
    assert (found.boolean, found.rows, found.columns) == (wanted, (), ())


def test_computed_cells_are_literals_and_others_nodes(names: PlanNames) -> None:
    ((node, number),) = answers(names, "SELECT ?x (?n * 2 AS ?m) { ?x <crew> ?n FILTER(?n > 20) }").rows
    assert node == names.graph.find("Merlin")
    assert number == Literal("44", XSD + "integer")


def test_large_integers_are_exact(tmp_path: Path) -> None:
    big = 12345678901234567890
    kb = built(tmp_path, f"head\trelation\ttail\na\tsize\t{big}\nb\tsize\t{big + 1}\nc\tsize\t{big}\n")
    names = PlanNames(kb.graph, kb.linker)
    assert texts(names, f"SELECT ?x {{ ?x <size> ?n FILTER(?n > {big}) }}") == ["b"]
    assert texts(names, "SELECT ?x { ?x <size> ?n } ORDER BY DESC(?n) LIMIT 1") == ["b"]
    assert texts(names, "SELECT (SUM(?n) AS ?s) { ?x <size> ?n }") == [str(3 * big + 1)]


def test_integers_that_no_float_holds_are_no_error(tmp_path: Path) -> None:
    names = PlanNames(built(tmp_path, f"head\trelation\ttail\na\tsize\t1{'0' * 350}\nb\tsize\t2\n").graph)
    assert texts(names, "SELECT ?x { ?x <size> ?n } ORDER BY DESC(?n) LIMIT 1") == ["a"]
    assert texts(names, "SELECT (SUM(?n) AS ?s) (MAX(?n) - 1 AS ?m) { ?x <size> ?n }") == [" "]


def test_times_are_compared_also_with_years(tmp_path: Path) -> None:
    rows = "a\tborn\t1990-05-01\nb\tborn\t2001-12-31\nc\tborn\t-0044-03-15\n"
    names = PlanNames(built(tmp_path, f"head\trelation\ttail\n{rows}").graph)
    assert texts(names, "SELECT ?x { ?x <born> ?d FILTER(?d < 2000) } ORDER BY ?d") == ["c", "a"]
    assert texts(names, "SELECT ?x { ?x <born> ?d FILTER(YEAR(?d) = 2001) }") == ["b"]
    assert texts(names, 'SELECT ?x { ?x <born> ?d FILTER(?d > "1990-05-01"^^xsd:date) }') == ["b"]


def test_a_bare_number_is_in_the_only_unit_of_the_values(tmp_path: Path) -> None:
    rows = "a\tweight\t27 kg\nb\tweight\t0.3 kg\nc\tweight\tunknown\nd\tfee\t$30\ne\tfee\t20 €\n"
    names = PlanNames(built(tmp_path, f"head\trelation\ttail\n{rows}").graph)
    assert texts(names, "SELECT ?x { ?x <weight> ?w FILTER(?w > 20) }") == ["a"]
    assert texts(names, "SELECT ?x { ?x <weight> ?w FILTER(20 > ?w) }") == ["b"]
    assert texts(names, "SELECT ?x { ?x <weight> ?w FILTER(?w = 0.3) }") == ["b"]
    assert texts(names, "SELECT ?x { ?x <fee> ?f FILTER(?f > 1) }") == [], "dollars or euros?"


# --- proofs --------------------------------------------------------------------------------------
def test_a_row_is_supported_by_its_triples(names: PlanNames) -> None:
    found = answers(names, "SELECT ?p { ?p <captain of> ?x . ?x <owned by> <Bell & Co (Cargo)> }")
    assert said(names, found.edges(0)) == {"Cy captain of Merlin", "Merlin owned by Bell & Co (Cargo)"}


def test_a_group_is_supported_by_all_its_rows(names: PlanNames) -> None:
    found = answers(names, "SELECT ?o (COUNT(?x) AS ?n) { ?x <owned by> ?o } GROUP BY ?o ORDER BY DESC(?n) LIMIT 1")
    edges, total = found.support(0, limit=2)
    assert (len(edges), total) == (2, 3)
    assert said(names, edges) < {f"{ship} owned by Aurora Line" for ship in SHIPS}


def test_exists_and_queries_in_queries_are_supported(names: PlanNames) -> None:
    found = answers(names, "SELECT ?x { ?x a <ship> FILTER EXISTS { ?p <captain of> ?x ; <works at> <Bergen> } }")
    assert {"Bo captain of Osprey", "Bo works at Bergen"} <= said(names, found.edges(0))
    found = answers(names, "SELECT (MAX(?n) AS ?m) { { SELECT (COUNT(?x) AS ?n) { ?x <owned by> ?o } GROUP BY ?o } }")
    assert len(found.edges(0)) == len(SHIPS)


def test_a_path_is_supported_by_a_shortest_way(tmp_path: Path) -> None:
    rows = "a\tnext\tb\nb\tnext\tc\na\tnext\td\nd\tnext\te\ne\tnext\tc\nc\tback\ta\nc\tlast\tf\n"
    names = PlanNames(built(tmp_path, f"head\trelation\ttail\n{rows}").graph)
    way = {"a next b", "b next c"}
    for path, wanted in {
        "<next>+": way,
        "<next>*": way,
        "(<next>/<next>)+": way,
        "(<next>|<last>)*": way,
        "^(^<next>)+": way,
        "^<back>?": {"c back a"},
        "(<next>/^<back>*)+": way,
        "!(<next>)": set(),
    }.items():
        found = answers(names, f"ASK {{ <a> {path} <c> }}")
        assert found.boolean == bool(wanted), path
        assert said(names, found.edges(0)) == wanted, path
    assert said(names, answers(names, "ASK { <c> !(<next>) <f> }").edges(0)) == {"c last f"}


def test_negation_says_what_ruled_others_out(names: PlanNames) -> None:
    for query in (
        "SELECT ?x { ?x a <ship> FILTER NOT EXISTS { ?x <owned by> <Aurora Line> } }",
        "SELECT ?x { ?x a <ship> MINUS { ?x <owned by> <Aurora Line> } }",
    ):
        (looked,) = answers(names, query).looked_through
        assert (looked.seen, looked.kept) == (6, 3)
        assert said(names, looked.edges) == {f"{ship} owned by Aurora Line" for ship in ("Heron", "Osprey", "Kestrel")}


def test_extremes_and_counts_say_what_was_looked_through(names: PlanNames) -> None:
    (looked,) = answers(names, "SELECT ?p { ?p <age> ?a } ORDER BY ?a LIMIT 1").looked_through
    assert (looked.kind, looked.seen, looked.kept) == ("extreme", 3, 1)
    assert said(names, looked.edges) == {"Ann age 51", "Cy age 51"}
    (looked,) = answers(names, "SELECT (COUNT(?p) AS ?n) { ?p <age> ?a }").looked_through
    assert (looked.kind, looked.seen) == ("count", 3)


def test_ties_are_told_and_given(names: PlanNames) -> None:
    found = answers(names, "SELECT ?p { ?p <age> ?a } ORDER BY DESC(?a) LIMIT 1")
    assert (found.texts(), found.ties) == ([("Ann",)], 1)
    assert found.with_ties().texts() == [("Ann",), ("Cy",)]
    assert found.with_ties().ties == 0


def test_the_nth_counts_distinct_values(names: PlanNames) -> None:
    found = answers(names, "SELECT ?p { ?p <age> ?a } ORDER BY DESC(?a) LIMIT 1 OFFSET 1")
    assert found.texts() == [("Cy",)]  # as SPARQL has it
    assert found.with_ties().texts() == [("Bo",)]


def test_values_that_cannot_be_added_are_named(names: PlanNames) -> None:
    found = answers(names, "SELECT (SUM(?w) AS ?s) { ?x <tons> ?w }")
    assert found.rows == ((None,),)
    assert found.notes == ("1 of 6 values cannot be added, such as 'unknown'",)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        (
            "SELECT ?x { ?o a <company> ; <owned by> ?x . ?x a <ship> }",
            "leads from ship to company; here it leads from company to ship",
        ),
        ("SELECT ?x { ?x <owned by> <Oslo> }", "no <owned by> leads to <Oslo>"),
        ("SELECT ?x { ?x a <person> ; <crew> ?n }", "person has no <crew>"),
        ("SELECT ?x { ?x <owned by> <Crane> ; <crew> 22 }", "each of these alone has matches"),
    ],
)
def test_hints_say_why_nothing_is_found(names: PlanNames, query: str, hint: str) -> None:
    plan = read_plan(query, names)
    assert run_plan(names.graph, plan).rows == ()
    assert hint in " ".join(one.text for one in check(names.graph, plan))


def test_hints_name_the_relation_that_leads_there_instead(tmp_path: Path) -> None:
    text = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Shop rdfs:label "shop" . :city rdfs:label "city" . :land rdfs:label "country" .
    :a a :Shop ; :city :oslo ; :land :norway . :b a :Shop ; :city :rome ; :land :italy .
    :oslo rdfs:label "Oslo" . :norway rdfs:label "Norway" ."""
    (tmp_path / "shops.ttl").write_text(text, "utf-8")
    base = build(read_graph([tmp_path / "shops.ttl"]), tmp_path / "kb", encoder=None)
    for where in ("?x a <shop> ; <city> <Norway>", "?x <city> <Norway>"):
        (hint,) = check(base.graph, read_plan(f"SELECT ?x {{ {where} }}", base.plan_names))
        assert (hint.text, hint.instead) == ("no <city> leads to <Norway>; <country> does", True)


def test_hints_name_a_variable_that_nothing_can_be(tmp_path: Path) -> None:
    rows = [("Ann", "plays for", "Ajax"), ("Bo", "plays for", "Inter"), ("Bo", "comes from", "Italy")]
    base = build([*rows, ("Ajax", "is in", "Holland"), ("Inter", "is in", "Italy")], tmp_path / "kb", encoder=None)
    for other, hint in (("comes from", "all together have none"), ("is in", "nothing can be ?x in both")):
        plan = read_plan(f"SELECT ?x {{ ?x <plays for> <Ajax> ; <{other}> <Italy> }}", base.plan_names)
        (found,) = check(base.graph, plan)
        assert hint in found.text
        assert found.alone == (other == "is in")


# --- limits --------------------------------------------------------------------------------------
def test_rows_are_limited_and_counted(names: PlanNames) -> None:
    found = run_plan(names.graph, read_plan("SELECT ?x { ?x a <ship> }", names), rows=2)
    assert (len(found.rows), found.total, found.truncated) == (2, 6, True)


def test_time_is_limited(names: PlanNames) -> None:
    with pytest.raises(PlanError, match="takes longer than"):
        run_plan(names.graph, read_plan("SELECT ?x { ?x a <ship> }", names), seconds=0)


def test_rows_at_a_time_are_limited(names: PlanNames) -> None:
    ends = " ".join(f"?a{n} <crew> ?b{n} ." for n in range(12))
    with pytest.raises(PlanError, match="rows at a time"):
        run_plan(names.graph, read_plan(f"SELECT ?a0 {{ {ends} }}", names))


# --- quantities ----------------------------------------------------------------------------------
GOODS = {
    "tea": ("500 g", "€14.10", "12.5 °C", "400 km", "0012-01-05"),
    "rice": ("3 kg", "€15.10", "20 °C", "0.57 Mm", "1999"),
    "salt": ("2 kg", "$3", "22.5 °C", "900 km", "12026-06-01"),
}


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> PlanNames:
    columns = ("weight", "price", "kept at", "way", "date")
    rows = [(name, *pair) for name, cells in GOODS.items() for pair in zip(columns, cells, strict=True)]
    lines = "".join("\t".join(row) + "\n" for row in rows)
    kb = built(tmp_path_factory.mktemp("goods"), f"head\trelation\ttail\n{lines}")
    return PlanNames(kb.graph, kb.linker)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ('SELECT ?x { ?x <weight> ?w FILTER(?w > "1 kg") }', ["rice", "salt"]),
        ('SELECT ?x { ?x <weight> ?w FILTER(?w <= "2000 g") }', ["tea", "salt"]),
        ("SELECT ?x { ?x <weight> ?w } ORDER BY DESC(?w) LIMIT 1", ["rice"]),
        ("SELECT (SUM(?w) AS ?s) { ?x <weight> ?w }", ["5.5 kg"]),
        ("SELECT (MIN(?w) AS ?s) { ?x <weight> ?w }", ["500 g"]),
        ("SELECT (?a - ?b AS ?d) { <rice> <weight> ?a . <tea> <weight> ?b }", ["2.5 kg"]),
        ("SELECT (?a / ?b AS ?d) { <rice> <weight> ?a . <tea> <weight> ?b }", ["6"]),
        ("SELECT (2 * ?a AS ?d) { <tea> <weight> ?a }", ["1000 g"]),
        ("SELECT (SUM(?w) AS ?s) { ?x <way> ?w FILTER(?x != <salt>) }", ["970 km"]),
        ('SELECT (AVG(?p) AS ?s) { ?x <price> ?p FILTER(?p < "€99") }', ["€14.60"]),
        ("SELECT (SUM(?p) AS ?s) { ?x <price> ?p }", [""]),
        ("SELECT (AVG(?t) AS ?s) { ?x <kept at> ?t FILTER(?x != <tea>) }", ["21.25 °C"]),
        ("SELECT (?a - ?b AS ?d) { <rice> <kept at> ?a . <tea> <kept at> ?b }", ["7.5 °C"]),
        ("SELECT (ROUND(?w) AS ?d) { <salt> <kept at> ?w }", ["23 °C"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d > 9999) }", ["salt"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d < '0100-01-01'^^xsd:date) }", ["tea"]),
        ("SELECT (YEAR(?d) AS ?y) { <salt> <date> ?d }", ["12026"]),
        ("SELECT (?b - ?a AS ?d) { VALUES ?a { '12026-05-30'^^xsd:date } <salt> <date> ?b }", ["2 days"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d <= '12026-06') }", ["rice", "salt", "tea"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d >= '12026-06' && ?d <= '12026-06') }", ["salt"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d > '12026-06') }", []),
        ("SELECT ?x { ?x <date> ?d FILTER('12026-06' > ?d) }", ["rice", "tea"]),
        ("SELECT ?x { ?x <date> ?d FILTER(?d = '12026-06') }", ["salt"]),
    ],
)
def test_quantities(goods: PlanNames, query: str, wanted: list[str]) -> None:
    assert sorted(texts(goods, query)) == sorted(wanted)


def test_values_of_several_currencies_are_not_added(goods: PlanNames) -> None:
    found = answers(goods, "SELECT (SUM(?p) AS ?s) { ?x <price> ?p }")
    assert found.rows == ((None,),)
    assert "several kinds" in found.notes[0]


def test_time_is_limited_between_the_steps_of_patterns(tmp_path: Path) -> None:
    rows = "".join(f"a{n % 300}\tr{n % 3}\tb{n * 7 % 311}\n" for n in range(3000))
    names = PlanNames(built(tmp_path, f"head\trelation\ttail\n{rows}").graph)
    plan = read_plan("SELECT ?x { ?x <r0> ?y ; <r1> ?z . ?w <r2> ?y ; <r0> ?z }", names)
    run = Run(names.graph, Late(60))  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="late"):
        run.select(plan.algebra)


@dataclass(frozen=True)
class Late(Limits):
    """Limits whose time is over at the sixth look at the clock."""

    looks: list[int] = field(default_factory=list)

    def check(self) -> None:
        self.looks.append(1)
        if len(self.looks) > 5:
            raise PlanError("late")
