"""Edges of symmetric and of inverse relations hold both ways; they say what they follow from, and are counted apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_parts import write

from triplecheck.kg import KnowledgeBase, build, changes
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.merging import merge

PREFIXES = """@prefix : <http://firms.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
ONTOLOGY = (
    ":partner a owl:ObjectProperty , owl:SymmetricProperty . :owns owl:inverseOf :ownedBy . "
    ":ownedBy rdfs:label 'owned by' . :near a owl:SymmetricProperty .\n"
)
DATA = (
    ":a :partner :b , :a . :b :size 7 . :c :partner :a . :a :partner :c . :a :owns :x . :y :ownedBy :b . :x :kind :k ."
)
Edges = dict[tuple[str, str, str], str]


def rdf(path: Path, text: str) -> Path:
    return write(path, PREFIXES + text)


def edges(kb: KnowledgeBase) -> Edges:
    """What each edge follows from; empty if it is given."""
    rows = kb.to_pandas()
    about = rows["properties"] if "properties" in rows else [[]] * len(rows)
    names = (rows[name].str.rpartition("/")[2] for name in ("head", "relation", "tail"))
    said = (statements[0]["inferred"] if statements else "" for statements in about)
    return dict(zip(zip(*names, strict=True), said, strict=True))


GIVEN: Edges = dict.fromkeys(
    [
        ("a", "partner", "a"),
        ("a", "partner", "b"),
        ("a", "partner", "c"),
        ("c", "partner", "a"),
        ("a", "owns", "x"),
        ("y", "ownedBy", "b"),
        ("b", "size", "7"),
        ("x", "kind", "k"),
    ],
    "",
)
INFERRED: Edges = {
    ("b", "partner", "a"): "symmetric",
    ("x", "ownedBy", "a"): "inverse of owns",
    ("b", "owns", "y"): "inverse of owned by",
}


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return build([rdf(tmp_path / "o.ttl", ONTOLOGY), rdf(tmp_path / "d.ttl", DATA)], tmp_path / "kb", encoder=None)


def test_edges_hold_both_ways_and_are_counted(kb: KnowledgeBase) -> None:
    assert edges(kb) == GIVEN | INFERRED
    report = kb.manifest.report
    assert (report["inferred"], report["duplicates"], report["properties"]) == (3, 0, 0)
    assert report["read"] == len(GIVEN) + report["descriptions"] + sum(report["left_out"].values())
    assert kb.manifest.counts["triples"] == len(GIVEN) + len(INFERRED)
    assert kb.query("ASK { <b> <partner> <a> }").boolean
    assert kb.query("SELECT ?x { <x> <owned by> ?x }").rows


def test_without_axioms_nothing_is_inferred(tmp_path: Path) -> None:
    kb = build([rdf(tmp_path / "d.ttl", ONTOLOGY + DATA)], tmp_path / "kb", axioms=False, encoder=None)
    assert edges(kb) == GIVEN


def test_sorted_on_disk_nothing_is_inferred_and_a_note_says_so(tmp_path: Path) -> None:
    with pytest.warns(match="have an inverse"):
        kb = build([rdf(tmp_path / "d.ttl", ONTOLOGY + DATA)], tmp_path / "kb", memory=0.5, encoder=None)
    assert edges(kb) == GIVEN


def test_additions_follow(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = changes.add(kb, rdf(tmp_path / "more.ttl", ":d :partner :b . :b :partner :a . :a :partner :b ."))
    assert (done.added, done.already_there) == (2, 1)  # b - a was inferred only
    now = KnowledgeBase.open(kb.path)
    added = {("d", "partner", "b"): "", ("b", "partner", "d"): "symmetric", ("b", "partner", "a"): ""}
    assert edges(now) == GIVEN | INFERRED | added
    done = changes.add(now, rdf(tmp_path / "axiom.ttl", ":kind owl:inverseOf :kindOf . :x :kind :k . :e :size 9 ."))
    assert (done.added, done.already_there) == (1, 1)
    assert edges(KnowledgeBase.open(kb.path))["k", "kindOf", "x"] == "inverse of kind"


def test_what_an_edge_followed_from_is_removed_with_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = changes.remove(kb, rdf(tmp_path / "gone.ttl", ":a :partner :b ; :owns :x ."))
    assert (done.added, done.removed) == (0, 2)
    left = GIVEN | INFERRED
    for gone in (("a", "partner", "b"), ("b", "partner", "a"), ("a", "owns", "x"), ("x", "ownedBy", "a")):
        del left[gone]
    assert edges(KnowledgeBase.open(kb.path)) == left


def test_what_an_edge_followed_from_is_replaced_with_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = changes.update(kb, rdf(tmp_path / "new.ttl", ":c :partner :d ."))
    assert (done.added, done.removed) == (1, 1)
    now = edges(KnowledgeBase.open(kb.path))
    assert (now["a", "partner", "c"], now["c", "partner", "a"]) == ("", "symmetric")  # the other way, it is still given
    assert (now["c", "partner", "d"], now["d", "partner", "c"]) == ("", "symmetric")


def test_they_stay_in_merged_and_exported_graphs(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert edges(merge(tmp_path / "merged", [kb])) == edges(kb)
    export_graph(kb.columnar, tmp_path / "out.nt")
    assert edges(build(tmp_path / "out.nt", tmp_path / "again", encoder=None)) == edges(kb)
