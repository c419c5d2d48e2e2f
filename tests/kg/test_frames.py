"""Knowledge bases from what Python holds: lists, data frames, networkx graphs; and back."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rdflib

from triplecheck import kg
from triplecheck.kg import KnowledgeBase, KnowledgeBaseError, Literal, Triple, UserError
from triplecheck.kg.errors import ReadWarning
from triplecheck.kg.readers import read_graph
from triplecheck.kg.types import XSD

ROWS: list[tuple[Any, ...]] = [
    ("Ada", "works in", "Billing"),
    ("Ben", "works in", "Billing"),
    ("Billing", "located in", "Oslo"),
    ("Ada", "born", 1990),
    ("Ben", "joined", dt.date(2019, 5, 1)),
]


def base(triples: object, **options: Any) -> KnowledgeBase:
    return KnowledgeBase.from_triples(triples, encoder=None, **options)


def edges(kb: KnowledgeBase) -> set[tuple[str, str, str, str | None]]:
    frame = kb.to_pandas()
    frame = frame[["head", "relation", "tail", "datatype"]].astype(object)
    return set(frame.where(frame.notna(), None).itertuples(index=False, name=None))


WANTED = {
    ("Ada", "works in", "Billing", None),
    ("Ben", "works in", "Billing", None),
    ("Billing", "located in", "Oslo", None),
    ("Ada", "born", "1990", XSD + "integer"),
    ("Ben", "joined", "2019-05-01", XSD + "date"),
}


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["subject", "predicate", "object"])


class TestTriples:
    @pytest.mark.parametrize(
        "triples",
        [
            ROWS,
            iter(ROWS),
            [Triple(*row) for row in ROWS[:3]] + [("Ada", "born", Literal("1990", XSD + "integer")), ROWS[4]],
            [dict(zip("spo", row, strict=True)) for row in ROWS],
            frame(),
            frame().rename(columns={"subject": "a", "predicate": "b", "object": "c"}),
            frame()[["object", "subject", "predicate"]],
        ],
        ids=["tuples", "iterator", "Triples", "dicts", "pandas", "pandas by position", "pandas in another order"],
    )
    def test_the_same_graph_from_each(self, triples: object) -> None:
        assert edges(base(triples)) == WANTED

    def test_an_arrow_table(self) -> None:
        table = pa.table({"head": ["a", "b"], "relation": ["age", "age"], "tail": [3, 4]})
        assert edges(base(table)) == {(h, "age", t, XSD + "integer") for h, t in (("a", "3"), ("b", "4"))}

    def test_a_polars_frame(self) -> None:
        polars = pytest.importorskip("polars")
        found = base(polars.DataFrame({"s": ["a"], "p": ["knows"], "o": ["b"]}))
        assert edges(found) == {("a", "knows", "b", None)}

    def test_an_array_of_triples(self) -> None:
        assert edges(base(np.array([("a", "knows", "b")]))) == {("a", "knows", "b", None)}

    def test_a_graph_of_rdflib_is_read_as_its_file_is(self, tmp_path: Path) -> None:
        text = "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        text += ":a a :Boat ; rdfs:label 'Otter'@en , 'Otaria'@it ; :length 7 . _:x :owns :a ."
        (tmp_path / "a.ttl").write_text(text)
        kb = base(rdflib.Graph().parse(tmp_path / "a.ttl"), language="it")
        assert edges(kb) == edges(base(tmp_path / "a.ttl"))
        node = kb.columnar.find("http://e.org/a")
        assert node is not None
        assert (kb.columnar.label(node), kb.columnar.entity(node).types) == ("Otaria", ("http://e.org/Boat",))

    def test_one_edge_property_may_be_named_without_a_list(self, tmp_path: Path) -> None:
        given = frame().assign(since=2019)
        given.to_csv(tmp_path / "x.csv", index=False)
        for triples in (given, tmp_path / "x.csv"):
            assert base(triples, edge_properties="since").columnar.has_edge_properties

    def test_ids_that_are_numbers_are_entities(self) -> None:
        kb = base(pd.DataFrame({"source": [1, 2, 3], "type": ["cites"] * 3, "target": [2, 3, 1]}))
        assert edges(kb) == {("1", "cites", "2", None), ("2", "cites", "3", None), ("3", "cites", "1", None)}

    def test_columns_are_named_by_a_mapping(self) -> None:
        given = pd.DataFrame({"id": [7], "customer": ["Ada"], "verb": ["bought"], "product": ["tea"]})
        mapping = {"head": "customer", "relation": "verb", "tail": "product"}
        assert edges(base(given, mapping=mapping)) == {("Ada", "bought", "tea", None)}

    def test_entities_are_described_by_a_frame(self) -> None:
        people = pd.DataFrame(
            {"id": ["Ada"], "label": ["Ada Novak"], "aliases": [["A. N.", "Ada"]], "type": ["Person"]}
        )
        kb = base(ROWS, entities=people)
        node = kb.graph.find("Ada")
        assert node is not None
        about = kb.graph.entity(node)
        assert (about.label, about.aliases, about.types) == ("Ada Novak", ("A. N.", "Ada"), ("Person",))

    def test_a_path_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").write_text("a\tr\tb\n", "utf-8")
        assert edges(base(tmp_path / "a.tsv")) == edges(base([str(tmp_path / "a.tsv")])) == {("a", "r", "b", None)}


class TestErrors:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (pd.DataFrame({"a": [1]}), "no column for head and relation and tail"),
            (pd.DataFrame({"s": ["a", None], "p": ["r", "r"], "o": ["b", "c"]}), "row 2 has no head"),
            ([("a", "r")], "item 1 is no triple"),
            ([("a", "r", ["b"])], "row 1: the tail is list"),
            (3, "int is no graph"),
            (pd.Series(["a"]), "Series is no graph"),
            ({"a": "b"}, "dict is no graph"),
        ],
    )
    def test_what_is_wrong_is_said(self, given: object, said: str) -> None:
        with pytest.raises(UserError, match=said):
            base(given)

    def test_files_are_read_by_paths(self, tmp_path: Path) -> None:
        (tmp_path / "x.tsv").write_text("a\tr\tb\n", "utf-8")
        assert len(read_graph([str(tmp_path / "x.tsv")])[0]) == 1

    def test_a_knowledge_base_is_opened_by_the_path_of_its_directory(self, tmp_path: Path) -> None:
        (tmp_path / "x.tsv").write_text("a\tr\tb\n", "utf-8")
        with pytest.raises(UserError, match=r"not DataFrame.*from_triples"):
            KnowledgeBase.open(frame())
        with pytest.raises(UserError, match=r"KnowledgeBase\.open"):
            KnowledgeBase(tmp_path)
        with pytest.raises(KnowledgeBaseError, match=r"a file, not a knowledge base.*--triples"):
            KnowledgeBase.open(tmp_path / "x.tsv")

    @pytest.mark.parametrize("memory", [None, 1.0])
    def test_an_odd_first_line_is_a_warning(self, tmp_path: Path, memory: float | None) -> None:
        (tmp_path / "x.tsv").write_text("who\thow\twhom\na\tknows\tb\nb\tknows\tc\n", "utf-8")
        with pytest.warns(ReadWarning, match=r"who how whom.*--header"):
            base(tmp_path / "x.tsv", memory=memory)
        with pytest.warns(ReadWarning, match=r"who how whom"):
            base([("a", "knows", "b")]).add(tmp_path / "x.tsv")
        with warnings.catch_warnings(action="error", category=ReadWarning):
            base(tmp_path / "x.tsv", header=True)


class TestPlace:
    def test_without_a_directory_it_is_removed_with_the_object(self) -> None:
        kb = base(ROWS)
        path = kb.path
        assert kb.names.nodes("ada")
        del kb
        assert not path.exists()

    def test_with_a_directory_it_is_kept(self, tmp_path: Path) -> None:
        kg.build(frame(), tmp_path / "kb", encoder=None)
        kg.build(triples=frame(), out=tmp_path / "other", encoder=None)
        assert edges(KnowledgeBase.open(tmp_path / "kb")) == edges(KnowledgeBase.open(tmp_path / "other")) == WANTED


class TestNetworks:
    def test_attributes_describe_nodes_and_edges(self) -> None:
        network = nx.DiGraph()
        network.add_node(1, label="Ada Novak", type="Person", age=36)
        network.add_node(2, name="Billing")
        network.add_edge(1, 2, relation="works in", since=2019)
        network.add_edge(2, 1)
        kb = base(network)
        graph = kb.graph
        ada, team = graph.find("1"), graph.find("2")
        assert ada is not None and team is not None
        assert (graph.label(ada), graph.types(ada), graph.label(team)) == ("Ada Novak", ("Person",), "Billing")
        assert edges(kb) == {
            ("1", "works in", "2", None),
            ("2", "linked to", "1", None),
            ("1", "age", "36", XSD + "integer"),
        }
        relation = graph.find_relation("works in")
        assert relation is not None
        assert graph.edge_properties(ada, relation, team) == ((("since", Literal("2019", XSD + "integer")),),)

    def test_a_network_and_back(self) -> None:
        kb = base(ROWS)
        network = kb.to_networkx()
        assert network.number_of_edges() == 5
        assert network.nodes["Ada"]["label"] == "Ada"
        assert edges(base(network)) == WANTED

    def test_a_frame_and_back(self) -> None:
        kb = base(ROWS)
        assert edges(base(kb.to_pandas())) == WANTED


class TestEdgeProperties:
    def test_a_statement_made_twice_keeps_both(self, tmp_path: Path) -> None:
        rows = [
            ("Grover", "president of", "US", {"start": 1885, "end": 1889}),
            ("Grover", "president of", "US", {"start": 1893, "end": 1897}),
            ("Ada", "knows", "Grover"),
        ]
        kb = kg.build(rows, tmp_path / "kb", encoder=None)
        graph = kb.graph
        edge = [graph.find("Grover"), graph.find_relation("president of"), graph.find("US")]
        number = XSD + "integer"
        assert graph.edge_properties(*edge) == (  # type: ignore[arg-type]
            (("start", Literal("1885", number)), ("end", Literal("1889", number))),
            (("start", Literal("1893", number)), ("end", Literal("1897", number))),
        )
        assert graph.has_edge_properties
        assert graph.edge_properties(0, 0, 0) == ()
        kb.verify()
        assert kb.to_pandas()["properties"].tolist().count([]) == 1

    def test_columns_of_a_frame(self) -> None:
        given = frame().assign(since=[2019, None, None, None, None])
        kb = base(given, edge_properties=["since"])
        assert "since" in str(kb.to_pandas()["properties"].tolist())
        assert not base(given).graph.has_edge_properties


def test_a_notebook_shows_the_counts() -> None:
    assert "<td>5</td>" in base(ROWS)._repr_html_()


HUGE = 10**20


def test_integers_beyond_64_bits_are_values_of_named_things() -> None:
    rows = [("a", "size", HUGE), ("b", "size", HUGE + 1), ("c", "size", 7)]
    expected = {(head, relation, str(tail), XSD + "integer") for head, relation, tail in rows}
    named = [dict(zip(("head", "relation", "tail"), row, strict=True)) for row in rows]
    for given in (rows, pd.DataFrame(named), named):
        assert edges(base(given)) == expected


def test_integers_beyond_64_bits_are_names_where_they_are_heads() -> None:
    rows = [(HUGE, "knows", HUGE + 1), (HUGE + 1, "knows", HUGE)]
    named = [dict(zip(("head", "relation", "tail"), row, strict=True)) for row in rows]
    for given in (rows, pd.DataFrame(named), named):
        assert edges(base(given)) == {(str(head), "knows", str(tail), None) for head, _, tail in rows}
    wide = base(pd.DataFrame({"id": [HUGE, HUGE + 1], "name": ["Ada", "Ben"], "size": [HUGE, 3]}))
    assert {(tail, kind) for _, relation, tail, kind in edges(wide) if relation == "size"} == {
        (str(HUGE), XSD + "integer"),
        ("3", XSD + "integer"),
    }
