"""Builds that sort triples on disk: the same files as builds in memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kg_parts import raw_graph, write
from test_graph_contract import TURTLE

from triplecheck.kg import KnowledgeBase, build, bulk, names, numbering
from triplecheck.kg.bundled_files import turtle_files
from triplecheck.kg.errors import MissingExtraError, ReadError, StorageError, UserError
from triplecheck.kg.readers import ReadOptions, TripleFiles, rdf, tables
from triplecheck.kg.types import XSD, Literal

FILMS = """subject\tpredicate\tobject
aliens\treleased\t1986
brazil\treleased\t1985
brazil\tsequel\t1984
1984\tby\torwell
aliens\tsequel\tprometheus
aliens\tlength\t137.5
brazil\tis a\tfilm
aliens\tis a\tfilm
brazil\treleased\t1985
orwell\tborn\t1903-06-25
orwell\tis a\tPerson
ärger\tknows\torwell
"""
ENTITIES = (
    "id\tlabel\tdescription\taliases\ttype\naliens\tAliens\tA film.\tAliens 2|Alien II\tfilm|sequel\n1985\t\t\t\t\n"
)
ENTITIES += "unused\tNot an end of an edge\t\t\tthing\naliens\tAliens (1986)\t\tAliens 2\tfilm\n"
RELATIONS = "id\tlabel\taliases\nreleased\trelease year\tyear|came out\n"


@pytest.fixture(autouse=True)
def _many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs, in as many parts as large ones."""
    monkeypatch.setattr(tables, "_PART_BYTES", 40)
    monkeypatch.setattr(tables, "_PART_ROWS", 3)
    monkeypatch.setattr(rdf, "_BLOCK_BYTES", 200)
    monkeypatch.setattr(bulk, "_ROWS", 4)


def same(folder: Path, files: object, **options: object) -> KnowledgeBase:
    """The knowledge base that is sorted on disk, if it has the same files and report as the one built in memory."""
    in_memory = build(files, folder / "memory", encoder=None, **options)  # type: ignore[arg-type]
    on_disk = build(files, folder / "disk", encoder=None, memory=0.5, **options)  # type: ignore[arg-type]
    assert on_disk.manifest.files == in_memory.manifest.files
    assert on_disk.manifest.counts == in_memory.manifest.counts
    assert on_disk.manifest.report == in_memory.manifest.report
    assert on_disk.manifest.skipped == in_memory.manifest.skipped
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["disk", "memory"]
    return on_disk


class TestSameFiles:
    def test_of_a_table_with_values_types_and_descriptions(self, tmp_path: Path) -> None:
        kb = same(
            tmp_path,
            write(tmp_path / "films.tsv", FILMS),
            entities=write(tmp_path / "entities.tsv", ENTITIES),
            relations=write(tmp_path / "relations.tsv", RELATIONS),
        )
        assert kb.manifest.report["duplicates"] == 1
        assert kb.graph.find(Literal("137.5", XSD + "decimal")) is not None
        assert kb.graph.find("1985") is not None and kb.graph.literal(kb.graph.find("1985") or 0) is None

    def test_of_compressed_tables_parquet_and_csv_together(self, tmp_path: Path) -> None:
        packed = tmp_path / "films.tsv.gz"
        packed.write_bytes(gzip.compress(FILMS.encode()))
        columns = {"head": ["a", "b", "b"] * 3, "relation": ["r"] * 9, "tail": [*"bcaxyzabc"]}
        pq.write_table(pa.table(columns), tmp_path / "letters.parquet")
        quoted = write(tmp_path / "lines.csv", 'head,relation,tail\na,says,"two\nlines"\nb,says,"one, line"\n')
        kb = same(tmp_path, [packed, tmp_path / "letters.parquet", quoted])
        assert kb.graph.find("two\nlines") is not None

    def test_of_datatypes_that_are_given(self, tmp_path: Path) -> None:
        rows = (
            f"head\trelation\ttail\tdatatype\na\tage\t4\t{XSD}int\na\tsize\t4\t{XSD}string\nb\tage\t4\t\nb\tsees\tx\t\n"
        )
        kb = same(tmp_path, write(tmp_path / "typed.tsv", rows), mapping={"head": "head", "datatype": "datatype"})
        assert kb.manifest.counts["values"] == 2

    def test_of_every_rdf_statement_of_the_contract(self, tmp_path: Path) -> None:
        same(tmp_path, write(tmp_path / "contract.ttl", TURTLE))

    def test_of_n_triples_with_blank_nodes(self, tmp_path: Path) -> None:
        lines = "".join(f"_:n{i} <http://e.org/next> _:n{i + 1} .\n" for i in range(20))
        lines += '<http://e.org/FirstNode> <http://www.w3.org/2000/01/rdf-schema#label> "first"@en .\n'
        lines += "<http://e.org/FirstNode> <http://e.org/is> _:n0 .\n"
        same(tmp_path, write(tmp_path / "list.nt", lines))

    @pytest.mark.parametrize("axioms", [None, True, False])
    def test_of_an_ontology(self, tmp_path: Path, axioms: bool | None) -> None:
        ontology = """
@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog a owl:Class ; rdfs:subClassOf :Animal , [ a owl:Restriction ; owl:onProperty :eats ; owl:someValuesFrom :Meat ] .
:Animal a owl:Class ; rdfs:label "animal"@en , "Tier"@de . :Meat a owl:Class . :eats a owl:ObjectProperty .
:rex a :Dog ; :eats :bone .
"""
        same(tmp_path, write(tmp_path / "dogs.ttl", ontology), axioms=axioms, language="de")

    def test_of_the_bundled_graph(self, tmp_path: Path) -> None:
        same(tmp_path, turtle_files())

    def test_of_random_triples_in_many_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bulk, "_ROWS", 50)
        monkeypatch.setattr(names, "_CHUNK", 40)
        monkeypatch.setattr(names, "_MERGED_AT_ONCE", 100)
        monkeypatch.setattr(numbering, "_AT_ONCE", 30)
        random = np.random.default_rng(3)
        rows = zip(random.integers(0, 300, 900), random.integers(0, 20, 900), random.integers(0, 300, 900), strict=True)
        lines = "".join(f"http://e.org/n_{a}\tr {r}\thttp://e.org/n_{b}\n" for a, r, b in rows)
        kb = same(tmp_path, write(tmp_path / "random.tsv", lines))
        monkeypatch.undo()
        assert build(tmp_path / "random.tsv", tmp_path / "one", encoder=None).manifest.files == kb.manifest.files

    def test_of_a_file_with_bad_lines(self, tmp_path: Path) -> None:
        path = write(tmp_path / "bad.tsv", FILMS + "only two\tfields\n" + "a\tr\tb\n" * 9 + "a\t\tb\n")
        kb = same(tmp_path, path, skip_bad=True)
        assert kb.manifest.skipped == 2
        files = TripleFiles(path, how=ReadOptions(skip_bad=True))
        build(files, tmp_path / "listed", encoder=None)
        assert [(bad.line, bad.reason) for bad in files.skipped] == [
            (14, "2 fields, 3 expected"),
            (24, "empty relation"),
        ]

    def test_of_no_triples(self, tmp_path: Path) -> None:
        same(tmp_path, write(tmp_path / "none.tsv", "head\trelation\ttail\n"))


class TestRefused:
    def test_a_bad_line_is_named_and_nothing_is_left(self, tmp_path: Path) -> None:
        path = write(tmp_path / "bad.tsv", FILMS + "a\tb\n")
        with pytest.raises(ReadError, match=r"bad\.tsv:14: 2 fields, 3 expected"):
            build(path, tmp_path / "kb", encoder=None, memory=1)
        assert [found.name for found in tmp_path.iterdir()] == ["bad.tsv"]

    def test_edge_properties_are_for_memory(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.tsv", "head\trelation\ttail\tsince\na\tr\tb\t1990\n")
        with pytest.raises(UserError, match="edge properties"):
            build(path, tmp_path / "kb", encoder=None, memory=1, edge_properties=["since"])
        stated = write(tmp_path / "a.ttl", "@prefix : <http://e.org/> . << :a :r :b >> :since 1990 .")
        with pytest.raises(UserError, match="statements about statements"):
            build(stated, tmp_path / "kb", encoder=None, memory=1)

    def test_triples_in_memory_are_no_files(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="path of a file"):
            build(raw_graph([("a", "r", "b")]), tmp_path / "kb", encoder=None, memory=1)

    def test_too_little_memory_is_explained(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()  # parts of the usual size: there are many lines
        lines = "".join(f"node number {i} of many\tis before\tnode number {i + 1} of many\n" for i in range(60_000))
        with pytest.raises(StorageError, match="--memory"):
            build(write(tmp_path / "a.tsv", lines), tmp_path / "kb", encoder=None, memory=0.001)
        assert [found.name for found in tmp_path.iterdir()] == ["a.tsv"]

    def test_the_extra_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
        with pytest.raises(MissingExtraError, match=r"triplecheck\[sql\]"):
            build(write(tmp_path / "a.tsv", "a\tr\tb\n"), tmp_path / "kb", encoder=None, memory=1)


def test_it_is_measured_once_per_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    from bench import bulk as measured

    out = tmp_path / "bulk.jsonl"
    arguments = ["bulk", "--triples", "2000", "--memory", "0.5", "--work", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr("sys.argv", arguments)
    measured.main()
    first = capsys.readouterr().out
    assert "| 2,000 |" in first and json.loads(out.read_text())["triples"] == 2000
    measured.main()
    assert capsys.readouterr().out == first and len(out.read_text().splitlines()) == 1
