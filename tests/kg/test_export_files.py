"""Files of a graph, built again: the same graph."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_changes import content, edges

from triplecheck.kg import Entity, KnowledgeBase, Literal, Triple, UserError, build
from triplecheck.kg.documents import Document
from triplecheck.kg.export import raw_of, to_raw
from triplecheck.kg.export_files import export_documents, export_entities, export_graph, export_relations
from triplecheck.kg.merging import merge
from triplecheck.kg.readers import ReadOptions, read_graph
from triplecheck.kg.readers.documents import DocumentFile
from triplecheck.kg.types import XSD

TABLES = (".tsv", ".tsv.gz", ".csv", ".parquet")
EVERY = (".nt", ".nt.gz", ".graphml", *TABLES)


def again(kb: KnowledgeBase, folder: Path, suffix: str) -> KnowledgeBase:
    """A knowledge base built from what was exported."""
    folder.mkdir(exist_ok=True)
    out, tables = folder / f"graph{suffix}", {}
    export_graph(kb.columnar, out)
    if not suffix.startswith(".nt"):
        tables = {name: folder / f"{name}.tsv" for name in ("entities", "relations")}
        export_entities(kb.columnar, tables["entities"])
        export_relations(kb.columnar, tables["relations"])
    how = ReadOptions(edge_properties="*")
    raw = read_graph([out], tables.get("entities"), tables.get("relations"), how)
    return build(raw, folder / "again", encoder=None)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Ids with spaces, values of several datatypes, statements about edges, types, names."""
    folder = tmp_path_factory.mktemp("team")
    relations = folder / "relations.tsv"
    relations.write_text("id\tlabel\taliases\tdomain\tdescription\nworks in\tis employed in\tjob at\tPerson\twork\n")
    triples = [
        ("Ada Novak", "works in", "Billing", {"since": 2017, "role": "lead"}),
        ("Ada Novak", "works in", "Billing", {"since": 2021}),
        ("Ada Novak", "works in", "Search"),
        ("Ada Novak", "born", Literal("1980-01-02", XSD + "date")),
        ("Ada Novak", "says", Literal('tab "quoted" | ü', XSD + "string")),
        ("Ada Novak", "height", Literal("1.70", XSD + "decimal")),
        ("Ada Novak", "http://ex.org/size", Literal("L", "http://ex.org/size")),
        ("http://ex.org/Oslo_City", "http://www.w3.org/2000/01/rdf-schema#seeAlso", "Billing"),
        ("Billing", "instance of", "team"),
        ("a:b", "c/d#e", "%41 ü"),
    ]
    entities = [Entity("Ada Novak", "Ada", ("Novak", "A. N."), "An engineer.", ("Person", "http://ex.org/Lead"))]
    entities.append(Entity("nobody", "Nobody Else"))
    return build([*read_graph(triples), raw_of([], entities)], folder / "kb", relations=relations, encoder=None)


@pytest.mark.parametrize("suffix", EVERY)
def test_a_graph_that_is_exported_and_built_again_is_the_same(team: KnowledgeBase, tmp_path: Path, suffix: str) -> None:
    assert content(again(team, tmp_path, suffix)) == content(team)


@pytest.mark.parametrize("suffix", EVERY)
def test_the_bundled_graph_comes_back(bundled: KnowledgeBase, tmp_path: Path, suffix: str) -> None:
    built = again(bundled, tmp_path, suffix)
    assert edges(built.columnar) == edges(bundled.columnar)
    found, expected = content(built), content(bundled)
    assert found[1] == expected[1], "labels, aliases, descriptions and types"  # type: ignore[index]
    assert found[2] == expected[2], "relations"  # type: ignore[index]
    if suffix.startswith(".nt"):
        assert found[3] == expected[3], "labels of types"  # type: ignore[index]


def test_edges_can_be_left_out_and_added(tmp_path: Path) -> None:
    triples = [Triple("a", "knows", "b"), Triple("a", "knows", "c"), Triple("a", "born", Literal("1900"))]
    first = build(raw_of(triples, [Entity("a", "Anna", ("Annie",))]), tmp_path / "first", encoder=None).columnar
    a, knows, b = first.find("a"), first.find_relation("knows"), first.find("b")
    assert a is not None and knows is not None and b is not None
    more = raw_of([Triple("c", "knows", "d")])
    second = build([to_raw(first, without=[(a, knows, b)]), more], tmp_path / "second", encoder=None).columnar
    assert set(edges(second)) == {("a", "knows", "c"), ("a", "born", Literal("1900")), ("c", "knows", "d")}
    assert second.find("b") is not None, "the node stays known, without edges"
    assert second.entity(second.find("a") or 0).aliases == ("Annie",)


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda t: bool(t.strip())
)


@given(triples=st.lists(st.builds(Triple, TEXTS, TEXTS, TEXTS | st.builds(Literal, TEXTS)), max_size=5))
@settings(max_examples=25)
def test_any_text_comes_back_from_n_triples(triples: list[Triple], tmp_path: Path) -> None:
    kb = build(raw_of(triples), tmp_path / "kb", encoder=None)
    assert set(edges(again(kb, tmp_path / "files", ".nt").columnar)) == set(edges(kb.columnar))


def test_predicates_that_describe_stay_edges(tmp_path: Path) -> None:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    kb = build([("urn:ada", rdf, "urn:Person"), ("urn:ada", "urn:knows", "urn:mary")], tmp_path / "kb", encoder=None)
    assert edges(again(kb, tmp_path / "files", ".nt").columnar) == edges(kb.columnar)


def test_blank_nodes_stay_blank_nodes(tmp_path: Path) -> None:
    kb = build([("_:b0", "knows", "_:b1"), ("_:b1", "knows", "ada")], tmp_path / "kb", encoder=None)
    export_graph(kb.columnar, tmp_path / "graph.nt")
    assert "_:b0 <urn:triplecheck:knows> _:b1 ." in (tmp_path / "graph.nt").read_text()
    assert edges(again(kb, tmp_path / "files", ".nt").columnar) == edges(kb.columnar)


def test_documents_come_back(tmp_path: Path) -> None:
    documents = [Document("d1", "ada", "Ada", "Ada\nwrote."), Document("d2", None, "", "Ü")]
    assert export_documents(documents, tmp_path / "texts.jsonl.gz") == 2
    assert list(DocumentFile(tmp_path / "texts.jsonl.gz")) == documents


def test_the_same_graph_gives_the_same_file(team: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("one.nt.gz", "two.nt.gz"):
        export_graph(team.columnar, tmp_path / name)
    assert (tmp_path / "one.nt.gz").read_bytes() == (tmp_path / "two.nt.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.nt.gz").read_bytes()).startswith(b"<")


@pytest.mark.parametrize(
    ("triple", "suffix", "said"),
    [
        (("a", "r", "x\ty"), ".tsv", "tab or a line break; export to .csv"),
        (("a", "r", "x\x01y"), ".graphml", "character that XML cannot hold"),
        (("a", "r", "b", {"head": 1}), ".tsv", "edge property is called 'head'"),
        (("a", "r", "b", {"label": 1}), ".graphml", "edge property is called 'label'"),
        (("a", "r", "b"), ".xlsx", "no writer for '.xlsx'; known: .nt"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_nothing_is_written(
    tmp_path: Path, triple: tuple[object, ...], suffix: str, said: str
) -> None:
    kb = build([triple], tmp_path / "kb", encoder=None)
    out = tmp_path / f"graph{suffix}"
    out.write_text("old")
    with pytest.raises(UserError, match=said):
        export_graph(kb.columnar, out)
    assert out.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"kb", out.name}


class TestMerge:
    @pytest.fixture
    def base(self, tmp_path: Path) -> Callable[..., KnowledgeBase]:
        def make(name: str, triples: list[Triple], *entities: Entity, texts: str = "") -> KnowledgeBase:
            documents = [Document(str(n), None, "", text) for n, text in enumerate(texts.split(), 1)] or None
            return build(raw_of(triples, entities), tmp_path / name, encoder=None, documents=documents)

        return make

    def test_nodes_of_the_same_id_become_one(self, base: Callable[..., KnowledgeBase], tmp_path: Path) -> None:
        one = base("one", [Triple("ada", "knows", "mary")], Entity("ada", "Ada"), texts="engines looms")
        two = base(
            "two",
            [Triple("ada", "knows", "mary"), Triple("ada", "born", Literal("1815"))],
            Entity("ada", "Ada Lovelace", (), "wrote"),
            Entity("mary", "Mary"),
            texts="engines cards",
        )
        merged = merge(tmp_path / "all", [one, two])
        assert set(edges(merged.columnar)) == {("ada", "knows", "mary"), ("ada", "born", Literal("1815"))}
        ada = merged.columnar.entity(merged.columnar.find("ada") or 0)
        assert ada == Entity("ada", "Ada", ("Ada Lovelace",), "wrote")
        assert merged.columnar.label(merged.columnar.find("mary") or 0) == "Mary"
        assert merged.documents is not None
        assert [(d.id, d.text) for d in merged.documents] == [("1", "engines"), ("2", "looms"), ("two:2", "cards")]
        merged.verify()

    def test_blank_nodes_of_two_bases_are_two(self, base: Callable[..., KnowledgeBase], tmp_path: Path) -> None:
        bases = [base(name, [Triple(name, "has", "_:b0")]) for name in ("one", "two")]
        assert set(edges(merge(tmp_path / "all", bases).columnar)) == {("one", "has", "_:b0"), ("two", "has", "_:b1")}

    def test_vectors_are_taken_from_the_bases(
        self, tmp_path: Path, encoder: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bases = [build([("a", name, "b")], tmp_path / name, encoder=encoder) for name in ("knows", "likes")]  # type: ignore[arg-type]
        monkeypatch.setattr(type(encoder), "encode", lambda *_: pytest.fail("encodes"))
        merged = merge(tmp_path / "all", bases)
        assert merged.manifest.encoder == bases[0].manifest.encoder
        merged.verify()

    def test_nothing_to_merge_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="nothing to merge"):
            merge(tmp_path / "all", [])
