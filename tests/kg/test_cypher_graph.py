"""Property graphs as other people make them: several labels, names, lists, parallel relationships, odd names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bolt_server import PASSWORD, USER, writing

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.cypher import BoltClient, CypherClient, CypherGraph, LadybugClient
from triplecheck.kg.cypher.dialects import DIALECTS, detect, quoted
from triplecheck.kg.cypher.schema import read_schema
from triplecheck.kg.cypher.values import kind_of, literals
from triplecheck.kg.endpoints import EndpointOptions, build_index, index_path, is_url, open_endpoint
from triplecheck.kg.errors import GraphUnavailableError, KnowledgeBaseError, MissingExtraError, UserError
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.graph import Edges, Graph
from triplecheck.kg.knowledge_base import open_remote
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.sparql import QueryLimits
from triplecheck.kg.sparql.client import QueryRefusedError
from triplecheck.kg.types import XSD, Direction, Literal
from triplecheck.kg.vocabulary import Vocabulary
from triplecheck.language.pipeline import read_text

ladybug = pytest.importorskip("ladybug")

TABLES = (
    "CREATE NODE TABLE Person(name STRING, born INT64, title STRING, joined DATE, languages STRING[], "
    "vector DOUBLE[], aliases STRING[], `CamelKey` BOOL, PRIMARY KEY(name))",
    "CREATE NODE TABLE Film(title STRING, released INT64, comment STRING, PRIMARY KEY(title))",
    "CREATE REL TABLE ACTED_IN(FROM Person TO Film, role STRING, pay DOUBLE)",
    "CREATE REL TABLE knows(FROM Person TO Person, FROM Person TO Film)",
)
NODES = (
    "CREATE (:Person {name: 'Ada Novak', born: 1980, title: 'Director', joined: date('2017-03-01'), "
    "languages: ['Czech', 'English'], vector: [0.5, 1.5], aliases: ['Ada N.'], CamelKey: true})",
    "CREATE (:Person {name: 'Ben Ortiz', born: 1975})",
    "CREATE (:Film {title: 'The Trial', released: 1975, comment: 'A film.'})",
)
EDGES = (
    "MATCH (p:Person {name: 'Ada Novak'}), (f:Film) CREATE (p)-[:ACTED_IN {role: 'K.'}]->(f)",
    "MATCH (p:Person {name: 'Ada Novak'}), (f:Film) CREATE (p)-[:ACTED_IN {role: 'Leni', pay: 2.5}]->(f)",
    "MATCH (p:Person {name: 'Ada Novak'}), (q:Person {name: 'Ben Ortiz'}) CREATE (p)-[:knows]->(q)",
)
DATE = XSD + "date"


def fill(path: Path, *queries: str) -> Path:
    """A database of Ladybug."""
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        for query in queries:
            connection.execute(query)
    return path


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("films") / "films.lbug", *TABLES, *NODES, *EDGES)


@pytest.fixture(scope="module", params=["ladybug", "bolt"])
def client(request: pytest.FixtureRequest, films: Path) -> Iterator[CypherClient]:
    if request.param == "ladybug":
        opened: CypherClient = LadybugClient(films)
    else:
        url = request.getfixturevalue("bolt") + "/people"
        with writing(url) as write:
            for query in ("MATCH (n) DETACH DELETE n", *NODES, *EDGES):
                write(query)
        opened = BoltClient(url, user=USER, password=PASSWORD)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graph(client: CypherClient) -> CypherGraph:
    return CypherGraph(client, key=None if client.dialect.tables else "name")


def named(graph: CypherGraph, name: str) -> int:
    [candidate] = QueriedLinker(graph).candidates(name)
    return candidate.node


def relation(graph: Graph, id: str) -> int:
    found = graph.find_relation(id)
    assert found is not None, id
    return found


def tails(graph: CypherGraph, head: str, of: str) -> set[str | Literal]:
    found = graph.neighbors(named(graph, head), relation(graph, of)).tolist()
    return {graph.literal(node) or graph.label(node) for node in found}


class TestMapping:
    def test_labels_are_types_and_the_first_naming_property_is_the_label(self, graph: CypherGraph) -> None:
        assert set(graph.type_ids) == {"Person", "Film"}
        film = graph.entity(named(graph, "The Trial"))
        assert (film.label, film.types, film.description) == ("The Trial", ("Film",), "A film.")
        ada = graph.entity(named(graph, "Ada Novak"))
        assert (ada.label, ada.aliases, ada.types) == ("Ada Novak", ("Ada N.",), ("Person",))

    def test_a_title_is_an_edge_of_a_person_with_a_name_but_not_of_a_film(self, graph: CypherGraph) -> None:
        assert tails(graph, "Ada Novak", "title") == {Literal("Director")}
        assert graph.schema(relation(graph, "title")).edges == 1
        assert graph.find(Literal("The Trial")) is None

    def test_properties_are_edges_to_values_of_their_type(self, graph: CypherGraph) -> None:
        assert tails(graph, "Ada Novak", "born") == {Literal("1980", XSD + "integer")}
        assert tails(graph, "Ada Novak", "joined") == {Literal("2017-03-01", DATE)}
        assert tails(graph, "Ada Novak", "CamelKey") == {Literal("true", XSD + "boolean")}
        assert tails(graph, "Ada Novak", "languages") == {Literal("Czech"), Literal("English")}

    def test_vectors_names_and_descriptions_are_no_edges(self, graph: CypherGraph) -> None:
        ids = {graph.relation(number).id for number in range(graph.num_relations)}
        assert ids == {"ACTED_IN", "knows", "born", "title", "joined", "languages", "CamelKey", "released"}
        assert graph.find_relation("vector") is None

    def test_one_value_of_two_properties_is_one_node(self, graph: CypherGraph) -> None:
        year = graph.find(Literal("1975", XSD + "integer"))
        assert year is not None
        counts = {(graph.relation(c.relation).id, c.direction): c.edges for c in graph.relations_of(year)}
        assert counts == {("born", Direction.IN): 1, ("released", Direction.IN): 1}

    def test_parallel_relationships_are_one_edge_with_several_statements(self, graph: CypherGraph) -> None:
        ada, film, acted = named(graph, "Ada Novak"), named(graph, "The Trial"), relation(graph, "ACTED_IN")
        assert graph.neighbors(ada, acted).tolist() == [film]
        assert graph.schema(acted).edges == 1
        assert graph.has_edge_properties
        assert set(graph.edge_properties(ada, acted, film)) == {
            (("role", Literal("K.")),),
            (("pay", Literal("2.5", XSD + "double")), ("role", Literal("Leni"))),
        }
        assert graph.edge_properties(film, acted, ada) == ()
        assert graph.edge_properties(ada, relation(graph, "born"), named(graph, "Ben Ortiz")) == ()

    def test_capitals_of_a_type_are_read_as_words(self, graph: CypherGraph) -> None:
        assert graph.relation(relation(graph, "ACTED_IN")).label == "acted in"
        assert graph.relation(relation(graph, "CamelKey")).label == "camel key"
        assert graph.type_label("FilmDirector") == "Film Director"

    def test_sizes(self, graph: CypherGraph) -> None:
        assert graph.num_relations == 8
        assert graph.num_triples == 10
        assert graph.num_nodes == 3 + 7

    def test_names_are_found_by_other_capitals_and_by_aliases(self, graph: CypherGraph) -> None:
        linker = QueriedLinker(graph)
        assert [(c.label, c.source) for c in linker.candidates("ada novak")] == [("Ada Novak", "label")]
        assert [(c.label, c.source) for c in linker.candidates("Ada N.")] == [("Ada Novak", "alias")]
        mentions = linker.mentions(read_text("Who acted in The Trial with Ben Ortiz?"))
        assert {mention.text for mention in mentions} == {"The Trial", "Ben Ortiz"}
        assert linker.candidates("nobody' OR 1=1 //") == []

    def test_given_properties_name_and_describe(self, client: CypherClient) -> None:
        other = CypherGraph(client, Vocabulary(types=(), labels=("born",), aliases=("languages",), ignored=("title",)))
        nodes = other.nodes_of_type("Person").tolist()
        assert sorted(other.labels(nodes)) == ["1975", "1980"]
        assert other.find_relation("title") is None
        assert other.find_relation("languages") is None

    def test_given_properties_hold_the_types(self, client: CypherClient) -> None:
        for key, types in (
            ("title", {"Director", "The Trial", "Person"}),
            ("languages", {"Czech", "English", "Person", "Film"}),
        ):
            other = CypherGraph(client, Vocabulary(types=(key,), labels=("name",), aliases=()))
            assert set(other.type_ids) == types
            for type_id in types:
                assert len(other.nodes_of_type(type_id)) == 1
            assert other.find_relation(key) is None
            acted = other.schema(relation(other, "ACTED_IN"))
            assert {type for type, _ in acted.domain} == ({"Director"} if key == "title" else {"Czech", "English"})


class TestIds:
    def test_without_a_key_the_ids_are_those_of_the_engine(self, client: CypherClient) -> None:
        graph = CypherGraph(client)
        if client.dialect.tables:
            assert graph.learned["key"] is None  # the tables have different primary keys
        node = named(graph, "Ben Ortiz")
        again = CypherGraph(client)
        found = again.find(graph.node_id(node))
        assert found is not None and again.label(found) == "Ben Ortiz"
        for id in ("999:999", "4:x:1", "0:", "#99:0", ":", "٣:٤"):
            assert again.find(id) is None

    def test_with_a_key_the_ids_are_its_values(self, client: CypherClient) -> None:
        graph = CypherGraph(client, key="name")
        assert graph.node_id(named(graph, "Ben Ortiz")) == "Ben Ortiz"
        # A node without the key keeps the id of the engine.
        film = graph.node_id(named(graph, "The Trial"))
        assert film != "The Trial"
        assert graph.find(film) == named(graph, "The Trial")
        assert CypherGraph(client, key="name").find(film) is not None
        assert graph.find("The Trial") is None

    def test_a_key_that_no_node_has_is_refused(self, client: CypherClient) -> None:
        with pytest.raises(UserError, match="no node has the property 'isbn'; name another key"):
            read_schema(client, "isbn")

    def test_the_primary_key_of_all_tables_is_the_key_where_it_tells_nodes_apart(self, tmp_path: Path) -> None:
        tables = [f"CREATE NODE TABLE {name}(code INT64 PRIMARY KEY, name STRING)" for name in ("A", "B")]
        fill(tmp_path / "one.lbug", *tables, "CREATE (:A {code: 1, name: 'x'}), (:B {code: 2, name: 'y'})")
        fill(tmp_path / "two.lbug", *tables, "CREATE (:A {code: 1, name: 'x'}), (:B {code: 1, name: 'y'})")
        one, two = (CypherGraph(LadybugClient(tmp_path / f"{name}.lbug")) for name in ("one", "two"))
        assert (one.learned["key"], two.learned["key"]) == ("code", None)
        assert one.find("2") == named(one, "y")
        forced = CypherGraph(LadybugClient(tmp_path / "two.lbug"), key="code")
        with pytest.raises(KnowledgeBaseError, match=r"two nodes have the code '1'.*name a key that is unique"):
            forced.entities_after(None, 10)


HOSTILE = [
    "a`b",
    "a``) DETACH DELETE n //",
    "x' OR 1=1",
    'say "hi"',
    "semi;colon",
    "new\nline",
    "$at",
    "Ünïcødé 漢",
    "{x}",
]


@pytest.fixture(scope="module", params=["ladybug", "bolt"])
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CypherGraph]:
    """Each hostile name is a label, a property, an id and a value, and begins a type of relationships."""
    if request.param == "bolt":
        url = request.getfixturevalue("bolt") + "/odd"
        with writing(url) as write:
            write("MATCH (n) DETACH DELETE n")
            for name in HOSTILE:
                node, edge = quoted(name), quoted(name + " of")
                write(f"CREATE (a:{node} {{id: $name, name: $name, {node}: $name}})-[:{edge}]->(a)", name=name)
        client: CypherClient = BoltClient(url, user=USER, password=PASSWORD)
    else:
        path = tmp_path_factory.mktemp("odd") / "odd.lbug"
        with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
            for name in HOSTILE:
                node, edge = quoted(name), quoted(name + " of")
                connection.execute(f"CREATE NODE TABLE {node}(id STRING PRIMARY KEY, name STRING, {node} STRING)")
                connection.execute(f"CREATE REL TABLE {edge}(FROM {node} TO {node})")
                given = {"name": name}
                connection.execute(f"CREATE (:{node} {{id: $name, name: $name, {node}: $name}})", given)
                connection.execute(f"MATCH (a:{node}), (b:{node}) CREATE (a)-[:{edge}]->(b)")
        client = LadybugClient(path)
    yield CypherGraph(client)
    client.close()


class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_they_are_names_like_others(self, odd: CypherGraph, name: str) -> None:
        node = odd.find(name)
        assert node is not None
        assert (odd.node_id(node), odd.label(node), odd.types(node)) == (name, name, (name,))
        value = odd.find(Literal(name))
        assert value is not None
        key = relation(odd, name)
        assert odd.contains(node, key, value)
        assert odd.nodes_of_type(name).tolist() == [node]
        assert [c.node for c in QueriedLinker(odd).candidates(name)] == [node]
        assert odd.contains(node, relation(odd, name + " of"), node)
        assert len(odd.expand([node])) == 3
        assert len(odd.expand([node], limit_per_node=1)) == len(odd.relations_of(node))

    def test_nothing_was_changed_by_looking(self, odd: CypherGraph) -> None:
        for name in HOSTILE:
            for look_up in (odd.find, odd.find_relation, odd.nodes_of_type):
                look_up(f"{name}`}}) DETACH DELETE n //")
        assert odd.num_triples == 2 * len(HOSTILE)
        assert len(odd.entities_after(None, 100)) == len(HOSTILE)

    @pytest.mark.parametrize("name", ["\0", "a\\u0060b", "\ud800"])
    def test_a_name_that_engines_read_in_other_ways_is_refused(self, name: str) -> None:
        with pytest.raises(UserError, match="cannot be written in Cypher"):
            quoted(name)


COLUMNS = {
    "INT8": "1",
    "UINT64": "18",
    "INT128": "170",
    "FLOAT": "1.5",
    "DECIMAL(10, 2)": "1.65",
    "BOOL": "true",
    "UUID": "uuid('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')",
    "TIMESTAMP": "timestamp('2000-01-02 03:04:05')",
    "TIMESTAMP_TZ": "timestamp('2000-01-02 03:04:05+02')",
    "INT64[3]": "[7, 8, 9]",
    "DATE[]": "[date('2000-01-02')]",
    "DECIMAL(5, 1)[]": "[2.5]",
    "UUID[]": "[uuid('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12')]",
}
NOT_READ = {
    "INTERVAL": "interval('3 days')",
    "BLOB": "BLOB('a')",
    "STRUCT(a INT64)": "{a: 1}",
    "MAP(STRING, INT64)": "map(['k'], [1])",
    "DOUBLE[]": "[0.5]",
    "INT64[][]": "[[1]]",
}


class TestEmbedded:
    def test_values_of_all_types_are_found_from_both_ends(self, tmp_path: Path) -> None:
        given = COLUMNS | NOT_READ
        columns = ", ".join(f"c{at} {type_name}" for at, type_name in enumerate(given))
        values = ", ".join(f"c{at}: {value}" for at, value in enumerate(given.values()))
        fill(
            tmp_path / "types.lbug",
            f"CREATE NODE TABLE T(id UUID PRIMARY KEY, {columns})",
            f"CREATE (:T {{id: uuid('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A13'), {values}}})",
        )
        graph = CypherGraph(LadybugClient(tmp_path / "types.lbug"))
        node = graph.find("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13")
        assert node is not None
        edges = graph.expand([node])
        assert graph.num_relations == len(COLUMNS)
        assert graph.num_triples == len(edges) == len(COLUMNS) + 2  # one list has three values
        for tail in edges.tails:
            value = graph.literal(int(tail))
            assert value is not None
            again = CypherGraph(LadybugClient(tmp_path / "types.lbug"))
            found = again.find(value)
            assert found is not None, value
            assert found == again.find(value.lexical)
            assert again.neighbors(found, relation(again, self._of(graph, edges, tail)), Direction.IN).size == 1
        for text in ("x", "", "9" * 40, "nan", "\0"):
            assert graph.find(text) is None

    @staticmethod
    def _of(graph: CypherGraph, edges: Edges, tail: int) -> str:
        return graph.relation(int(edges.relations[edges.tails.tolist().index(tail)])).id

    def test_it_is_read_only(self, films: Path) -> None:
        client = LadybugClient(films)
        for query in ("CREATE (:Film {title: 'x'})", "MATCH (n) DETACH DELETE n", "DROP TABLE Film"):
            with pytest.raises(QueryRefusedError, match="rejects a query"):
                client.rows(query)
        assert client.rows("MATCH (n) RETURN count(*)") == [[3]]

    def test_a_long_query_is_ended(self, films: Path) -> None:
        client = LadybugClient(films, QueryLimits(seconds=0.2))
        with pytest.raises(GraphUnavailableError, match=r"no answer within 0.2 s"):
            client.rows("UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)")

    def test_too_many_rows_are_an_error(self, films: Path) -> None:
        with pytest.raises(GraphUnavailableError, match="more than 10 "):
            LadybugClient(films, QueryLimits(rows=10)).rows("UNWIND range(1, 100) AS a RETURN a")

    def test_a_table_that_no_query_can_name_is_left_out_with_a_warning(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        table = "(id STRING PRIMARY KEY, name STRING)"
        fill(
            tmp_path / "a.lbug",
            f"CREATE NODE TABLE A{table}",
            f"CREATE NODE TABLE `b.c`{table}",
            "CREATE (:A {id: 'x'})",
        )
        graph = CypherGraph(LadybugClient(tmp_path / "a.lbug"))
        assert (graph.find("x"), graph.num_nodes) == (0, 1)
        assert "left out: the table 'b.c'" in caplog.text

    def test_a_missing_package_is_named(self, films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "ladybug", None)
        with pytest.raises(MissingExtraError, match=r"needs ladybug.*: pip install 'triplecheck\[cypher\]'"):
            LadybugClient(films)

    def test_what_is_no_database_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseError, match="no such Ladybug database"):
            LadybugClient(tmp_path / "none.lbug")
        (tmp_path / "text.lbug").write_text("not a database\n" * 1000)
        with pytest.raises(KnowledgeBaseError, match="not a Ladybug database that can be read"):
            LadybugClient(tmp_path / "text.lbug")


class TestEndpoint:
    def test_it_is_opened_by_its_url(self, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.chdir(films.parent)
        for url in (f"ladybug:{films}", "ladybug:films.lbug", f"ladybug://{films}"):
            base = KnowledgeBase.open(url)
            assert base.is_remote
            assert base.graph.num_triples == 10
            assert base.identity["endpoint"] == f"ladybug:{films}"
            with pytest.raises(UserError, match=r"in a database of its own.*kb build"):
                _ = base.columnar

    def test_the_index_finds_misspelt_names_and_keeps_the_schema(
        self, client: CypherClient, films: Path, tmp_path: Path, bolt: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("THE_USER", USER)
        monkeypatch.setenv("THE_KEY", PASSWORD)
        options = EndpointOptions(f"ladybug:{films}")
        if not client.dialect.tables:
            options = EndpointOptions(bolt, user_env="THE_USER", key_env="THE_KEY", database="people", key="name")
        opened = open_endpoint(options, tmp_path, use_index=False)
        about = build_index(opened.graph, options.identity, index_path(options, tmp_path), encoder=None)
        assert (about.counts["entities"], about.counts["values"], about.counts["triples"]) == (3, 7, 10)
        base = open_remote(options, tmp_path)
        asked: list[str] = []
        rows = type(client).rows
        monkeypatch.setattr(
            type(client), "rows", lambda self, query, *more: asked.append(query) or rows(self, query, *more)
        )
        [ada] = base.linker.candidates("Ada Nowak")
        assert (ada.label, ada.source) == ("Ada Novak", "typo")
        assert base.graph.num_relations == 8
        assert len(base.graph.expand([ada.node])) == 8
        assert not any("table_info" in query or "keys(" in query for query in asked)
        assert {base.graph.label(int(t)) for t in base.graph.expand([ada.node]).tails} >= {"The Trial", "Ben Ortiz"}
        if options.database:
            with pytest.raises(KnowledgeBaseError, match=r"is the index of database people, not of odd"):
                other = EndpointOptions(bolt, database="odd", key="name", index=index_path(options, tmp_path))
                open_endpoint(other, tmp_path)

    def test_names_are_read_page_by_page(self, films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("triplecheck.kg.cypher.graph._NODES_AT_ONCE", 1)
        graph = CypherGraph(LadybugClient(films))
        found, last = [], None
        while page := graph.entities_after(last, 1):
            found += page
            last = page[-1].id
        assert [entity.label for entity in found] == ["Ada Novak", "Ben Ortiz", "The Trial"]
        resumed = CypherGraph(LadybugClient(films)).entities_after(found[0].id, 10)
        assert resumed == found[1:]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"url": "bolt+x://h"},
            {"url": "neo4j://h", "headers": {"a": "b"}},
            {"url": "ladybug:x", "requests_per_second": 1},
            {"url": "https://h/sparql", "database": "x"},
            {"url": "https://h/sparql", "key": "id"},
        ],
    )
    def test_settings_of_another_kind_are_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(UserError):
            EndpointOptions(**wrong)  # type: ignore[arg-type]

    def test_urls_of_property_graphs_are_no_directories(self) -> None:
        assert all(is_url(url) for url in ("bolt://h", "neo4j+s://h:7687", "ladybug:films.lbug"))
        assert EndpointOptions("neo4j://me:s3cret@h:7687/films").name == "neo4j://h:7687/films"


class TestExport:
    def test_a_graph_comes_back_the_same(self, people: KnowledgeBase, tmp_path: Path) -> None:
        written = export_graph(people.columnar, tmp_path / "people.lbug")
        graph = CypherGraph(LadybugClient(tmp_path / "people.lbug"))
        one = people.graph
        assert (written, graph.num_nodes, graph.num_relations) == (one.num_triples, one.num_nodes, one.num_relations)
        for node in range(one.num_nodes):
            if one.literal(node) is not None:
                continue
            other = graph.find(one.node_id(node))
            assert other is not None
            there, here = graph.entity(other), one.entity(node)
            assert (there.label, set(there.aliases), set(there.types)) == (
                here.label,
                set(here.aliases),
                set(here.types),
            )
            edges = [
                {(g.relation(int(r)).id, g.node_id(int(t))) for r, t in zip(e.relations, e.tails, strict=True)}
                for g, e in (
                    (one, one.expand([node], direction=Direction.OUT)),
                    (graph, graph.expand([other], direction=Direction.OUT)),
                )
            ]
            assert edges[0] == edges[1]

    def test_properties_of_edges_are_kept(self, tmp_path: Path) -> None:
        base = build(
            [("a", "knows", "b", {"from": 1990}), ("a", "knows", "c", {"from": 1991, "to": 1995})],
            tmp_path / "kb",
            encoder=None,
        )
        export_graph(base.columnar, tmp_path / "a.lbug")
        graph = CypherGraph(LadybugClient(tmp_path / "a.lbug"))
        ends = [graph.find(id) for id in "ab"]
        assert graph.edge_properties(ends[0] or 0, relation(graph, "knows"), ends[1] or 0) == (
            (("from", Literal("1990", XSD + "integer")),),
        )

    @pytest.mark.parametrize(
        ("triples", "reason"),
        [
            ([("a", "knows", "b"), ("a", "Knows", "c")], "would both be 'Knows'"),
            ([("a", "name", 5)], "describes a node"),
            ([("a", "age", 5, {"in": 1990})], "leads to a value and has properties"),
        ],
    )
    def test_what_it_cannot_hold_is_refused(
        self, triples: list[tuple[object, ...]], reason: str, tmp_path: Path
    ) -> None:
        base = build(triples, tmp_path / "kb", encoder=None)
        with pytest.raises(UserError, match=rf"{reason}.*export to \.nt"):
            export_graph(base.columnar, tmp_path / "a.lbug")
        assert not list(tmp_path.glob("*.lbug*"))


@pytest.mark.parametrize(
    ("type_name", "kind"),
    [
        ("STRING NOT NULL", ("string", False)),
        ("LIST<STRING NOT NULL> NOT NULL", ("string", True)),
        ("LIST<FLOAT NOT NULL> NOT NULL", None),
        ("LIST", ("any", True)),
        ("POINT NOT NULL", None),
        ("ZONED DATETIME NOT NULL", ("dateTime", False)),
        ("DECIMAL(18, 3)", ("decimal", False)),
        ("INT64[]", ("integer", True)),
        ("INT64[][]", None),
        ("DOUBLE[3]", None),
        ("STRUCT(a INT64)", None),
        ("MAP(STRING, INT64)", None),
        ("TIMESTAMP_MS", ("dateTime", False)),
        ("BLOB", None),
    ],
)
def test_types_of_engines_are_kinds_of_values(type_name: str, kind: tuple[str, bool] | None) -> None:
    assert kind_of(type_name) == kind


def test_values_that_are_no_literals_give_none() -> None:
    assert literals([0.1, 0.2]) == literals({"a": 1}) == literals(b"x") == literals(None) == []
    assert literals([1, "1", 1]) == [Literal("1", XSD + "integer"), Literal("1")]
    assert literals(np.nan) == [Literal("NaN", XSD + "double")]


def test_a_server_is_recognised_by_its_name() -> None:
    assert detect("Neo4j/5.26.0").name == "neo4j"
    assert detect("Neo4j/v5.2.0 compatible graph database server - Memgraph").name == "memgraph"
    with pytest.raises(UserError, match="no Cypher profile 'kuzu'; there are: neo4j, memgraph, ladybug"):
        open_endpoint(EndpointOptions("bolt://h", profile="kuzu"), Path())
    assert set(DIALECTS) == {"neo4j", "memgraph", "ladybug"}
