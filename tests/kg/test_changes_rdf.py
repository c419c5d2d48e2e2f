"""Ontologies that change: added files are read as the knowledge base was, and types follow the superclasses."""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_parts import write
from test_changes import content

from triplecheck.kg import KnowledgeBase, build, changes
from triplecheck.kg.merging import merge

PREFIXES = """@prefix : <http://zoo.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
ZOO = ":Mammal a owl:Class ; rdfs:subClassOf :Animal ; rdfs:label 'Mammal'@en , 'Säugetier'@de . "
ZOO += ":Otter a owl:Class ; rdfs:subClassOf :Mammal ; rdfs:label 'Otter'@en ."
MORE = ":SeaOtter a owl:Class ; rdfs:subClassOf :Otter ; rdfs:label 'Sea otter'@en , 'Seeotter'@de . "
MORE += (
    ":bella a :SeaOtter ; :eats :fred . :fred rdfs:label 'Fred'@en , 'Friedrich'@de ; :sees :bella . :bella :in :pool ."
)
DATA = ":bella a :Otter ; :eats :fred . :fred :in :pool . :pool :near :sea . :carl :in :pool . "
ANIMALS = ["SeaOtter", "Otter", "Mammal", "Animal"]


def rdf(path: Path, text: str) -> Path:
    return write(path, PREFIXES + text)


def types(kb: KnowledgeBase, name: str) -> list[str]:
    node = kb.columnar.find(f"http://zoo.example/{name}")
    assert node is not None
    return [kind.rpartition("/")[2] for kind in kb.columnar.entity(node).types]


@pytest.mark.parametrize("how", ["add", "update"])
def test_a_file_of_instances_is_read_as_the_ontology_it_is_added_to(tmp_path: Path, how: str) -> None:
    zoo, more = rdf(tmp_path / "zoo.ttl", ZOO), rdf(tmp_path / "more.ttl", MORE)
    kb = build(zoo, tmp_path / "kb", language="de", encoder=None)
    changed = getattr(kb, how)(more)
    at_once = build([zoo, more], tmp_path / "at-once", axioms=True, language="de", encoder=None)
    assert content(changed) == content(at_once)
    assert types(changed, "bella") == ANIMALS
    assert changed.columnar.superclasses == at_once.columnar.superclasses


def test_options_that_are_given_win(tmp_path: Path) -> None:
    kb = build(rdf(tmp_path / "zoo.ttl", ZOO), tmp_path / "kb", language="de", encoder=None)
    changed = kb.add(rdf(tmp_path / "more.ttl", MORE), axioms=False, language="en")
    assert changed.columnar.find("http://zoo.example/SeaOtter") is None
    fred = changed.columnar.find("http://zoo.example/fred")
    assert fred is not None
    assert changed.columnar.label(fred) == "Fred"


def test_what_an_addition_leaves_out_is_counted(tmp_path: Path) -> None:
    kb = build(rdf(tmp_path / "data.ttl", DATA), tmp_path / "kb", encoder=None)
    more = MORE + "".join(f" :fish{i} :near :fish{i + 1} ." for i in range(5))
    done = changes.add(kb, rdf(tmp_path / "more.ttl", more))
    assert done.left_out == {"axioms of the schema (--axioms makes them edges)": 1}


def test_instances_in_later_files_inherit_superclasses_from_earlier_ones(tmp_path: Path) -> None:
    known = ":Otter rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal . "
    kb = build(rdf(tmp_path / "data.ttl", known + DATA), tmp_path / "kb", encoder=None)
    assert types(kb, "bella") == ANIMALS[1:]
    kb = kb.add(rdf(tmp_path / "more.ttl", ":dora a :SeaOtter ; :near :sea . :emil a :Otter ; :near :sea . "))
    assert types(kb, "emil") == ANIMALS[1:]
    kb = kb.add(rdf(tmp_path / "class.ttl", ":SeaOtter rdfs:subClassOf :Otter . :sea :near :coast . :x :near :y ."))
    assert types(kb, "dora") == ANIMALS
    assert types(merge(tmp_path / "merged", [kb]), "dora") == ANIMALS


def test_superclasses_are_exported(tmp_path: Path) -> None:
    from triplecheck.kg.export_files import export_graph

    known = ":Otter rdfs:subClassOf :Mammal . "
    kb = build(rdf(tmp_path / "data.ttl", known + DATA), tmp_path / "kb", encoder=None)
    export_graph(kb.columnar, tmp_path / "out.nt")
    again = build(tmp_path / "out.nt", tmp_path / "again", encoder=None)
    assert content(again) == content(kb)
    assert again.columnar.superclasses == kb.columnar.superclasses


def test_removing_a_type_or_a_superclass_removes_what_was_inherited_by_it(tmp_path: Path) -> None:
    kb = build(rdf(tmp_path / "zoo.ttl", ZOO + MORE), tmp_path / "kb", axioms=True, encoder=None)
    kb = kb.remove(rdf(tmp_path / "axiom.ttl", ":Otter rdfs:subClassOf :Mammal ."))
    assert types(kb, "bella") == ANIMALS[:2]
    assert "http://zoo.example/Otter" not in kb.columnar.superclasses
    kb = kb.remove(rdf(tmp_path / "type.ttl", ":bella a :SeaOtter ."))
    assert types(kb, "bella") == []
