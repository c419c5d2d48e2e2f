"""What `SparqlGraph` does beyond the contract of all graphs."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyoxigraph
import pytest
from sparql_endpoint import StoreClient

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.sparql import SparqlGraph, Vocabulary
from triplecheck.kg.sparql.client import Binding
from triplecheck.kg.sparql.profiles import PROFILES
from triplecheck.kg.types import Direction, Literal
from triplecheck.language.pipeline import read_text

EX = "http://example.org/"
PREFIXES = "@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"


def oxigraph(turtle: str) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load((PREFIXES + turtle).encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


def graph_of(turtle: str, **options: object) -> SparqlGraph:
    return SparqlGraph(StoreClient(oxigraph(turtle)), **options)  # type: ignore[arg-type]


def node(graph: SparqlGraph, name: str) -> int:
    found = graph.find(EX + name)
    assert found is not None
    return found


def relation(graph: SparqlGraph, name: str) -> int:
    found = graph.find_relation(EX + name)
    assert found is not None
    return found


def test_booleans_are_true_and_false_in_any_form() -> None:
    truth = "<http://www.w3.org/2001/XMLSchema#boolean>"
    graph = graph_of(f'ex:a ex:open "1"^^{truth} , "0"^^{truth} ; ex:size 1 .')
    opened = graph.neighbors(node(graph, "a"), relation(graph, "open"))
    assert sorted(graph.labels(opened)) == ["false", "true"]
    assert graph.labels(graph.neighbors(node(graph, "a"), relation(graph, "size"))) == ["1"]


def counted(turtle: str) -> tuple[SparqlGraph, StoreClient]:
    client = StoreClient(oxigraph(turtle))
    return SparqlGraph(client), client


def test_blank_nodes_are_left_out() -> None:
    graph = graph_of(
        'ex:a ex:owns [ rdfs:label "a thing" ; ex:made_by ex:b ; ex:made_in 1901 ] , ex:c . ex:c ex:near ex:a .'
    )
    a = node(graph, "a")
    assert graph.neighbors(a, relation(graph, "owns")).tolist() == [node(graph, "c")]
    assert graph.degree(a) == 2
    assert graph.num_triples == 2
    assert graph.num_nodes == 2
    assert graph.find(EX + "b") is None
    assert graph.find_relation(EX + "made_in") is None


class TestCost:
    def test_nodes_go_in_chunks_and_a_batch_is_the_sum_of_its_nodes(self) -> None:
        graph, client = counted("\n".join(f"ex:n{i} ex:next ex:n{i + 1} ; rdfs:label 'N {i}' ." for i in range(450)))
        nodes = [node(graph, f"n{i}") for i in range(450)]
        client.asked.clear()
        edges = graph.expand(nodes, direction=Direction.OUT)
        assert len(edges) == 450
        assert graph.labels(nodes) == [f"N {i}" for i in range(450)]
        assert graph.contains_many(edges.heads, edges.relations, edges.tails).all()
        assert len(client.asked) == 9

    def test_a_limit_keeps_a_hub_from_being_sent_completely(self) -> None:
        graph, client = counted("\n".join(f"ex:hub ex:has ex:n{i} . ex:n{i} ex:of ex:hub ." for i in range(2000)))
        edges = graph.expand([node(graph, "hub")], limit_per_node=5)
        assert (len(edges), edges.total) == (10, 4000)
        assert len(graph.neighbors(node(graph, "hub"), relation(graph, "has"), limit=3)) == 3
        assert max(rows for _, rows in client.asked) <= 10

    def test_sizes_labels_and_relations_are_asked_for_once(self) -> None:
        graph, client = counted("ex:a ex:p ex:b ; rdfs:label 'A' . ex:p rdfs:label 'p of' .")
        a, p = node(graph, "a"), relation(graph, "p")
        seen = []
        for _ in range(2):
            assert (graph.num_nodes, graph.num_triples, graph.num_relations, graph.has_types) == (2, 1, 1, False)
            assert (graph.label(a), graph.relation(p).label, graph.type_label(EX + "T")) == ("A", "p of", "T")
            seen.append(len(client.asked))
        assert seen[0] == seen[1]


class TestTypes:
    TURTLE = "ex:a a ex:T , ex:U ; ex:p ex:b . ex:b a ex:T . ex:T rdfs:label 'the T' ."

    def test_types_and_their_labels_take_two_queries(self) -> None:
        graph, client = counted(self.TURTLE)
        assert graph.type_ids == (EX + "T", EX + "U")
        assert [graph.type_label(type_id) for type_id in graph.type_ids] == ["the T", "U"]
        assert len(client.asked) == 2

    def test_they_may_be_given(self) -> None:
        graph = graph_of(self.TURTLE, type_ids=[EX + "U"])
        assert graph.type_ids == (EX + "U",)

    def test_a_store_too_slow_to_count_them_gives_those_of_a_sample(self, caplog: pytest.LogCaptureFixture) -> None:
        class Slow(StoreClient):
            def select(self, query: str) -> list[Binding]:
                if "ORDER BY" in query and "LIMIT 100000" not in query:
                    raise GraphUnavailableError("too slow")
                return super().select(query)

        graph = SparqlGraph(Slow(oxigraph(self.TURTLE)))
        assert graph.type_ids == (EX + "T", EX + "U")
        assert "Types are counted on a sample only" in caplog.text

    def test_more_nodes_of_a_type_than_can_be_sent_are_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("triplecheck.kg.queried.MOST_NODES_OF_TYPE", 1)
        graph = graph_of(self.TURTLE)
        assert len(graph.nodes_of_type(EX + "U")) == 1
        with pytest.raises(GraphUnavailableError, match="more than 1 nodes of the type"):
            graph.nodes_of_type(EX + "T")

    def test_a_type_of_blank_nodes_is_left_out(self) -> None:
        assert graph_of("ex:a a ex:T ; ex:p [ a ex:U ] .").type_ids == (EX + "T",)


class TestVocabulary:
    def test_predicates_are_configurable(self) -> None:
        words = Vocabulary(types=(EX + "isA",), labels=(EX + "title",), ignored=(EX + "link",))
        graph = graph_of(
            "ex:a ex:isA ex:T ; ex:title 'A' ; ex:link ex:b ; ex:p ex:c ; rdfs:label 'x' .", vocabulary=words
        )
        assert graph.entity(node(graph, "a")).types == (EX + "T",)
        assert graph.label(node(graph, "a")) == "A"
        assert graph.find(EX + "b") is None
        assert graph.find_relation(EX + "link") is None
        assert graph.num_triples == 2  # rdfs:label is a relation like others here

    def test_it_may_be_empty(self) -> None:
        nothing = Vocabulary((), (), (), (), (), (), (), (), ())
        graph = graph_of("ex:a rdfs:label 'A' . ex:b a ex:T .", vocabulary=nothing)
        assert (graph.num_triples, graph.num_nodes, graph.has_types) == (2, 4, False)
        assert graph.entity(node(graph, "a")).label == graph.label(node(graph, "a")) == "a"
        label = graph.find_relation("http://www.w3.org/2000/01/rdf-schema#label")
        assert label is not None
        assert (graph.relation(label).label, graph.schema(label).domain) == ("label", ())

    def test_another_language_may_be_preferred(self) -> None:
        graph = graph_of(
            "ex:a ex:p ex:b ; rdfs:label 'Vienna'@en , 'Wien'@de-AT , 'Bécs'@hu .", vocabulary=Vocabulary(language="de")
        )
        entity = graph.entity(node(graph, "a"))
        assert (entity.label, set(entity.aliases)) == ("Wien", {"Vienna", "Bécs"})
        assert graph.label(node(graph, "a")) == "Wien"

    def test_a_label_in_a_foreign_language_is_better_than_none(self) -> None:
        graph = graph_of("ex:a ex:p ex:b ; rdfs:label 'Bécs'@hu .")
        assert graph.labels([node(graph, "a"), node(graph, "b")]) == ["Bécs", "b"]


class TestValues:
    TURTLE = "ex:a ex:says 'so'@en , 'so'@fr . ex:b ex:says 'so' . ex:c ex:says 'so'@de-CH ."

    def test_one_string_in_several_languages_is_one_node_with_the_edges_of_all(self) -> None:
        graph = graph_of(self.TURTLE)
        so = graph.find(Literal("so"))
        assert so is not None
        found = graph.neighbors(so, relation(graph, "says"), Direction.IN)
        assert sorted(graph.node_id(n) for n in found) == [EX + "a", EX + "b", EX + "c"]
        assert graph.num_triples == graph.degree(so) == 3

    def test_kinds_of_values_may_be_given(self) -> None:
        french = replace(PROFILES["general"], literal_kinds=((Literal("").datatype, "fr"),))
        graph = graph_of(self.TURTLE, profile=french)
        so = graph.find("so")
        assert so is not None
        assert graph.degree(so) == 2

    def test_a_store_too_large_to_tell_is_asked_for_common_kinds(self, caplog: pytest.LogCaptureFixture) -> None:
        class Large(StoreClient):
            def select(self, query: str) -> list[Binding]:
                if "DATATYPE(?y) AS ?d" in query:
                    raise GraphUnavailableError("too slow")
                return super().select(query)

        graph = SparqlGraph(Large(oxigraph(self.TURTLE + " ex:d ex:year 1901 .")))
        assert graph.find("1901") is not None
        assert graph.find("so") is not None
        assert caplog.text.count("searched in common datatypes only") == 1

    def test_numbers_keep_the_lexical_form_that_the_store_gives(self) -> None:
        graph = graph_of("ex:a ex:p 1.50 .")  # this engine stores the value and writes it canonically
        found = graph.find(Literal("1.50", "http://www.w3.org/2001/XMLSchema#decimal"))
        assert found is not None
        assert graph.node_id(found) == "1.5"
        assert graph.contains(node(graph, "a"), relation(graph, "p"), found)


def test_threads_agree_on_numbers() -> None:
    graph = graph_of("\n".join(f"ex:n{i} ex:p{i % 7} ex:n{(i * 7) % 100} ." for i in range(100)))

    def look(start: int) -> dict[str, int]:
        order = [(start * 13 + i) % 100 for i in range(100)]
        found = {EX + f"n{i}": node(graph, f"n{i}") for i in order}
        edges = graph.expand(list(found.values()))
        return found | {graph.node_id(int(n)): int(n) for n in np.concatenate([edges.heads, edges.tails])}

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(look, range(8)))
    assert all(result == results[0] for result in results)
    assert sorted(results[0].values()) == list(range(100))


def test_edges_in_named_graphs_count_as_edges() -> None:
    store = pyoxigraph.Store()
    store.load(b"<e:g> { <e:a> <e:p> <e:b> } <e:h> { <e:a> <e:p> <e:b> , <e:c> }", pyoxigraph.RdfFormat.TRIG)
    graph = SparqlGraph(StoreClient(store))
    assert (graph.num_triples, graph.num_nodes) == (2, 3)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Bill and Tedd", "ex:bill"),
        ("ABC", "ex:abc"),
        ("X.Y.Z. Motors", "ex:xyz"),
        (unicodedata.normalize("NFD", "Dvořák und Söhne"), "ex:dvorak"),
        ("Řím", "ex:rim"),
        ("Ｂｉｌｌ ＆ Ｔｅｄｄ", "ex:bill"),
        ("Bill & Te\N{SOFT HYPHEN}dd", "ex:bill"),
    ],
)
def test_a_name_is_looked_up_in_other_spellings(asked: str, found: str) -> None:
    client = StoreClient(
        oxigraph(
            'ex:bill rdfs:label "Bill & Tedd" . ex:tedd rdfs:label "Tedd" . ex:abc rdfs:label "A.B.C." . '
            'ex:xyz rdfs:label "XYZ Motors" . ex:dvorak rdfs:label "Dvořák & Söhne" . '
            f'ex:rim rdfs:label "{unicodedata.normalize("NFD", "Řím")}" .'
        )
    )
    linker = QueriedLinker(SparqlGraph(client))
    assert [c.id for c in linker.candidates(asked)] == [found.replace("ex:", EX)]
    (mention,) = linker.mentions(read_text(f"Where is {asked} located?"))
    assert [c.id for c in linker.candidates(mention)] == [found.replace("ex:", EX)]
