"""From strings to numbers: what is a value, what an entity, and what is said about each."""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_parts import built, raw_graph

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.types import XSD, Direction, Literal, Relation


def tails(kb: KnowledgeBase, relation: str) -> list[str | Literal]:
    """Everything at the tail of a relation: ids of entities, values."""
    graph = kb.graph
    number = graph.find_relation(relation)
    assert number is not None
    found = {int(t) for t in graph.expand(range(graph.num_nodes), number, Direction.OUT).tails}
    return [graph.literal(node) or graph.node_id(node) for node in sorted(found)]


class TestValues:
    def test_numbers_and_dates_are_values_of_their_datatype(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "a\tage\t42\na\theight\t1.65\na\tborn\t1815-12-10\na\ttemperature\t-7\na\tknows\tb\n")
        assert tails(kb, "age") == [Literal("42", XSD + "integer")]
        assert tails(kb, "height") == [Literal("1.65", XSD + "decimal")]
        assert tails(kb, "born") == [Literal("1815-12-10", XSD + "date")]
        assert tails(kb, "temperature") == [Literal("-7", XSD + "integer")]
        assert tails(kb, "knows") == ["b"]
        assert kb.manifest.counts["values"] == 4

    def test_a_year_is_a_value_of_one_relation_and_an_entity_of_another(self, tmp_path: Path) -> None:
        kb = built(
            tmp_path,
            "aliens\treleased\t1986\nbrazil\treleased\t1985\nbrazil\tsequel\t1984\n1984\tby\torwell\n"
            "aliens\tsequel\tprometheus\norwell\twrote\t1984\n",
        )
        assert set(tails(kb, "released")) == {Literal("1985", XSD + "integer"), Literal("1986", XSD + "integer")}
        assert set(tails(kb, "sequel")) == {"1984", "prometheus"}
        assert tails(kb, "wrote") == ["1984"]

    def test_ids_that_are_numbers_stay_entities(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "".join(f"{i}\tnext\t{i + 1}\n" for i in range(50)))
        assert kb.manifest.counts["entities"] == 51
        assert kb.manifest.counts["values"] == 0

    def test_a_number_in_the_table_of_entities_is_an_entity(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "a\tlikes\t42\n", "id\tlabel\n42\tthe answer\n")
        assert tails(kb, "likes") == ["42"]

    def test_one_number_among_names_is_a_name(self, tmp_path: Path) -> None:
        names = "".join(f"band\talbum\talbum {i}\n" for i in range(10))
        assert "25" in tails(built(tmp_path, names + "band\talbum\t25\n"), "album")

    def test_one_name_among_many_numbers_leaves_them_numbers(self, tmp_path: Path) -> None:
        numbers = "".join(f"a{i}\tsize\t{i}\n" for i in range(40))
        found = tails(built(tmp_path, numbers + "b\tsize\tunknown\n"), "size")
        assert found[0] == "unknown"
        assert all(isinstance(value, Literal) for value in found[1:])

    @pytest.mark.parametrize("text", ["1e5", "12 km", "1,5", "1986-13", "٤٢", "0x10", "1234567890123456789", "-", "."])
    def test_what_is_not_plainly_a_number_or_a_date_is_an_entity(self, tmp_path: Path, text: str) -> None:
        assert tails(built(tmp_path, f"a\tr\t{text}\n"), "r") == [text]

    def test_a_head_is_never_a_value(self, tmp_path: Path) -> None:
        graph = built(tmp_path, "1986\tfollows\t1985\n").graph
        node = graph.find("1986")
        assert node is not None
        assert graph.literal(node) is None

    def test_the_same_value_of_two_relations_is_one_node(self, tmp_path: Path) -> None:
        graph = built(tmp_path, "a\tage\t42\na\tsize\t42\n").graph
        node = graph.find("42")
        assert node is not None
        assert graph.degree(node) == 2


class TestDescriptions:
    def test_of_several_labels_the_first_counts_and_the_others_are_aliases(self, tmp_path: Path) -> None:
        kb = built(
            tmp_path,
            "a\tknows\tb\n",
            "id\tlabel\taliases\ttype\tdescription\na\tAda\tCountess\tPerson\t\na\tAugusta\tCountess|Byron\tPoet|Person\tFirst.\n",
        )
        node = kb.graph.find("a")
        assert node is not None
        entity = kb.graph.entity(node)
        assert entity.label == "Ada"
        assert set(entity.aliases) == {"Countess", "Augusta", "Byron"}
        assert (entity.types, entity.description) == (("Person", "Poet"), "First.")

    def test_an_entity_without_a_row_has_a_label_made_from_its_id(self, tmp_path: Path) -> None:
        graph = built(tmp_path, "New_York\tin\thttp://ex.org/United_States\n").graph
        assert graph.labels(range(graph.num_nodes)) == ["New York", "United States"]
        assert not graph.has_types

    def test_types_are_counted_by_frequency(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "a\tr\tb\n", "id\ttype\na\tCity\nb\tCity|Capital\nc\tCapital|City\nd\tzoo\n")
        assert kb.graph.type_ids == ("City", "Capital", "zoo")

    def test_relations_are_described_and_those_without_edges_left_out(self, tmp_path: Path) -> None:
        kb = built(
            tmp_path,
            "a\tborn\tb\n",
            relations="id\tlabel\taliases\tdomain\trange\tdescription\n"
            "born\tborn in\tbirthplace\tP\tC\tWhere.\n"
            "died\tdied in\t\t\t\t\n",
        )
        assert kb.graph.num_relations == 1
        assert kb.graph.relation(0) == Relation("born", "born in", ("birthplace",), "Where.", "P", "C")

    def test_a_path_without_a_label_is_also_known_by_all_its_words(self, tmp_path: Path) -> None:
        relation = built(tmp_path, "a\t/film/film/directed_by\tb\n").graph.relation(0)
        assert (relation.label, relation.aliases) == ("directed by", ("film directed by",))


def test_several_sources_are_one_graph(tmp_path: Path) -> None:
    parts = [
        raw_graph([("a", "knows", "b"), ("b", "knows", "c")]),
        raw_graph([("c", "likes", "a"), ("a", "knows", "b")]),
    ]
    graph = build(parts, tmp_path / "kb", encoder=None).graph
    assert (graph.num_nodes, graph.num_relations, graph.num_triples) == (3, 2, 3)
