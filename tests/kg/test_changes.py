"""Additions to a knowledge base, removals and updates: what they make of it, and who sees it when."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_parts import write

from triplecheck.kg import Entity, KnowledgeBase, KnowledgeBaseError, Literal, Triple, UserError, build, changes
from triplecheck.kg.change_writing import STALE
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseReplacedError
from triplecheck.kg.export import raw_of
from triplecheck.kg.graph import plain_properties
from triplecheck.kg.manifest import StaleWarning
from triplecheck.kg.types import XSD, Direction

XSD_INTEGER = XSD + "integer"
EDGES = [
    Triple("ada", "knows", "charles"),
    Triple("ada", "born", Literal("1815", XSD_INTEGER)),
    Triple("charles", "lives_in", "london"),
]
ADA = Entity("ada", "Ada Lovelace", ("Countess",), "wrote programs", ("Person",))


def edges(graph: ColumnarGraph) -> dict[tuple[object, ...], object]:
    """All edges with what is said about them."""
    found = {}
    for head in range(graph.num_entities):
        out = graph.expand([head], direction=Direction.OUT)
        for relation, tail in zip(out.relations.tolist(), out.tails.tolist(), strict=True):
            about = graph.edge_properties(head, relation, tail)
            key = (graph.node_id(head), graph.relation(relation).id, graph.literal(tail) or graph.node_id(tail))
            found[key] = sorted(json.dumps(plain_properties(one), sort_keys=True) for one in about)
    return found


def content(kb: KnowledgeBase) -> object:
    """All that a knowledge base says, whatever its numbers."""
    graph = kb.columnar
    entities = {graph.node_id(node): graph.entity(node) for node in range(graph.num_entities)}
    plain = {id: (e.label, sorted(e.aliases), e.description, sorted(e.types)) for id, e in entities.items()}
    relations = {graph.relation(r).id: graph.relation(r) for r in range(graph.num_relations)}
    types = {id: graph.type_label(id) for id in graph.type_ids}
    documents = [] if kb.documents is None else sorted(kb.documents, key=lambda d: d.id)
    return edges(graph), plain, relations, types, documents


def names(kb: KnowledgeBase) -> object:
    """The nodes of every name, and the names similar to some texts."""
    graph, index = kb.columnar, kb.names
    forms = [index.form(number) for number in range(len(index))]
    nodes = {form: sorted((graph.node_id(n.node), n.source) for n in index.nodes(form)) for form in forms}
    texts = ("ada lovelac", "charls and mary", "lady byron", "abot 1800", "number 7")
    similar = [sorted(form for _, form in kb.trigrams.within(text)) for text in texts]
    return nodes, similar, sorted(form for text in texts for _, form in kb.trigrams.overlapping(text))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    documents = [Document("d1", "ada", "", "Ada wrote programs."), Document("d2", None, "", "Engines are large.")]
    return build(raw_of(EDGES, [ADA]), tmp_path / "kb", encoder=None, documents=documents)


class TestAdd:
    def test_triples_descriptions_and_documents_are_added(self, kb: KnowledgeBase) -> None:
        new = raw_of(
            [Triple("mary", "knows", "ada"), EDGES[0]], [Entity("mary", "Mary Somerville"), Entity("ada", "Ada King")]
        )
        after = kb.add(new, documents=[Document("d3", "mary", "", "Mary taught Ada.")])
        assert set(edges(after.columnar)) == {
            *edges(kb.columnar),
            ("mary", "knows", "ada"),
        }
        ada = after.columnar.entity(after.columnar.find("ada") or 0)
        assert (ada.label, ada.aliases) == ("Ada Lovelace", ("Countess", "Ada King")), "what is there wins"
        assert after.linker.candidates("Mary Somerville")[0].id == "mary"
        assert after.documents is not None
        assert [hit.id for hit in after.documents.search("taught")] == ["d3"]
        assert after.manifest.counts["documents"] == 3
        after.verify()

    def test_what_is_counted(self, kb: KnowledgeBase) -> None:
        done = changes.add(kb, [("ada", "knows", "mary"), ("ada", "knows", "charles")])
        assert (done.added, done.already_there, done.entities_added) == (1, 1, 1)
        assert done.manifest.changes == 1

    def test_nothing_new_writes_nothing(self, kb: KnowledgeBase) -> None:
        before = (kb.path / "manifest.json").stat().st_ino
        done = changes.add(kb, [("ada", "knows", "charles")])
        assert (done.added, done.already_there) == (0, 1)
        assert (kb.path / "manifest.json").stat().st_ino == before

    def test_a_given_label_replaces_one_that_was_derived_from_the_id(self, kb: KnowledgeBase) -> None:
        after = kb.add(raw_of([], [Entity("london", "London, England")]))
        found = after.columnar.entity(after.columnar.find("london") or 0)
        assert (found.label, found.aliases) == ("London, England", ())

    @pytest.mark.parametrize(
        ("tail", "expected"),
        [("1871", Literal("1871", XSD_INTEGER)), ("unknown", "unknown"), ("1815", Literal("1815", XSD_INTEGER))],
    )
    def test_a_plain_tail_is_what_the_tails_of_its_relation_are(
        self, kb: KnowledgeBase, tail: str, expected: object
    ) -> None:
        assert ("charles", "born", expected) in edges(kb.add([("charles", "born", tail)]).columnar)

    def test_a_number_is_an_entity_where_the_relation_leads_to_entities(
        self, kb: KnowledgeBase, tmp_path: Path
    ) -> None:
        after = kb.add(str(write(tmp_path / "more.tsv", "ada\tknows\t1984\n")))
        assert ("ada", "knows", "1984") in edges(after.columnar)

    def test_a_document_that_is_there_is_an_error_that_names_the_way_out(self, kb: KnowledgeBase) -> None:
        with pytest.raises(UserError, match=r"'d1' already.*kb update"):
            kb.add(documents=[Document("d1", None, "", "other")])

    def test_blank_nodes_of_another_file_are_others(self, tmp_path: Path) -> None:
        file = write(tmp_path / "one.nt", "<urn:a> <urn:p> _:x .\n")
        kb = build(str(file), tmp_path / "kb", encoder=None)
        after = kb.add(str(write(tmp_path / "two.nt", "<urn:b> <urn:p> _:x .\n")))
        assert set(edges(after.columnar)) == {("urn:a", "urn:p", "_:b0"), ("urn:b", "urn:p", "_:b1")}

    def test_statements_about_an_edge_are_kept_and_added(self, tmp_path: Path) -> None:
        kb = KnowledgeBase.from_triples(
            [("a", "r", "b", {"since": 1990}), ("a", "r", "b", {"since": 2001})], tmp_path / "kb"
        )
        after = kb.add([("a", "r", "b", {"since": 2010}), ("a", "r", "b", {"since": 1990})])
        assert edges(after.columnar) == {
            ("a", "r", "b"): ['{"since": "1990"}', '{"since": "2001"}', '{"since": "2010"}']
        }


class TestRemove:
    def test_exactly_these_triples_go_and_what_is_left_over_of_them(self, kb: KnowledgeBase) -> None:
        done = changes.remove(kb, [("charles", "lives_in", "london"), ("charles", "lives_in", "paris")])
        after = KnowledgeBase.open(kb.path)
        assert (done.removed, done.not_found, done.entities_removed) == (1, 1, 1)
        assert after.columnar.find("london") is None
        assert after.columnar.find_relation("lives_in") is None
        assert after.linker.candidates("london") == []

    def test_literals_by_their_form(self, kb: KnowledgeBase) -> None:
        assert ("ada", "born", Literal("1815", XSD_INTEGER)) not in edges(kb.remove([("ada", "born", "1815")]).columnar)

    def test_what_is_described_or_documented_stays(self, kb: KnowledgeBase) -> None:
        after = kb.add(documents=[Document("d3", "charles", "", "Charles built engines.")])
        after = after.remove([("ada", "knows", "charles"), ("charles", "lives_in", "london"), ("ada", "born", "1815")])
        assert [after.columnar.node_id(n) for n in range(after.columnar.num_nodes)] == ["ada", "charles"]
        assert after.manifest.counts["triples"] == 0

    @pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "countess"])
    def test_an_entity_by_id_or_name_with_all_its_triples(self, kb: KnowledgeBase, name: str) -> None:
        done = changes.remove(kb, entities=[name])
        after = KnowledgeBase.open(kb.path)
        assert set(edges(after.columnar)) == {("charles", "lives_in", "london")}
        assert after.columnar.find("ada") is None
        assert "1 documents are about removed entities" in done.notes[0]

    def test_a_name_of_several_entities_is_refused(self, kb: KnowledgeBase) -> None:
        after = kb.add(raw_of([], [Entity("ada2", "Ada Lovelace")]))
        with pytest.raises(UserError, match="2 entities are called 'Ada Lovelace'; give the id: 'ada', 'ada2'"):
            after.remove(entities=["Ada Lovelace"])

    def test_documents_by_id(self, kb: KnowledgeBase) -> None:
        done = changes.remove(kb, documents=["d1", "d9"])
        assert (done.documents_removed, done.documents_not_found) == (1, 1)
        after = KnowledgeBase.open(kb.path)
        assert after.documents is not None
        assert [document.id for document in after.documents] == ["d2"]
        emptied = after.remove(documents=["d2"])
        assert emptied.documents is None
        emptied.verify()

    def test_types_that_came_from_removed_edges_go(self, tmp_path: Path) -> None:
        triples = [("ada", "instance of", "Person"), ("ada", "instance of", "Author"), ("ada", "knows", "mary")]
        kb = build(triples, tmp_path / "kb", encoder=None)
        after = kb.remove(triples[:1]).columnar
        assert after.types(after.find("ada") or 0) == ("Author",)

    def test_what_is_removed_already_leaves_no_draft_of_a_killed_process(self, kb: KnowledgeBase) -> None:
        draft = kb.path.with_name(".kb.new-killed")
        draft.mkdir()
        with pytest.raises(UserError, match="nothing to remove was found"):
            kb.remove([("nobody", "likes", "this")])
        assert not draft.exists()

    def test_nothing_found_is_an_error(self, kb: KnowledgeBase) -> None:
        with pytest.raises(UserError, match="nothing to remove was found"):
            kb.remove([("x", "y", "z")], entities=["nobody"], documents=["d9"])

    def test_everything_can_go(self, kb: KnowledgeBase) -> None:
        after = kb.remove(raw_of(EDGES), entities=["ada"], documents=["d1", "d2"])
        assert set(after.manifest.counts.values()) == {0}
        assert after.add([("a", "b", "c")]).manifest.counts["triples"] == 1


class TestUpdate:
    def test_tails_are_replaced(self, kb: KnowledgeBase) -> None:
        done = changes.update(
            kb, [("charles", "lives_in", "paris"), ("ada", "knows", "charles"), ("ada", "knows", "mary")]
        )
        assert (done.added, done.removed, done.already_there) == (2, 1, 1)
        after = KnowledgeBase.open(kb.path)
        assert set(edges(after.columnar)) == {
            ("ada", "born", Literal("1815", XSD_INTEGER)),
            ("ada", "knows", "charles"),
            ("ada", "knows", "mary"),
            ("charles", "lives_in", "paris"),
        }
        assert after.columnar.find("london") is None

    def test_descriptions_are_replaced_where_they_are_given(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        table = write(tmp_path / "entities.tsv", "id\tlabel\ttype\nada\tAda King\tAuthor\n")
        after = kb.update(entities=table)
        ada = after.columnar.entity(after.columnar.find("ada") or 0)
        assert ada == Entity("ada", "Ada King", ("Countess",), "wrote programs", ("Author",))

    def test_a_relation_keeps_its_name_when_all_its_edges_are_replaced(self, tmp_path: Path) -> None:
        relations = write(tmp_path / "relations.tsv", "id\tlabel\taliases\nr\tworks at\temployer\n")
        kb = build([("a", "r", "b")], tmp_path / "kb", relations=relations, encoder=None)
        after = kb.update([("a", "r", "c")])
        assert (after.columnar.relation(0).label, after.columnar.relation(0).aliases) == ("works at", ("employer",))

    def test_labels_and_types_of_an_rdf_file_replace_the_old_ones(self, tmp_path: Path) -> None:
        label, kind = (
            "<http://www.w3.org/2000/01/rdf-schema#label>",
            "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        )
        old = write(
            tmp_path / "old.nt", f'<urn:a> <urn:p> <urn:b> .\n<urn:a> {label} "A" .\n<urn:a> {kind} <urn:T> .\n'
        )
        new = write(tmp_path / "new.nt", f'<urn:a> {label} "Z" .\n<urn:a> {kind} <urn:U> .\n')
        after = build(str(old), tmp_path / "kb", encoder=None).update(str(new)).columnar
        assert after.entity(after.find("urn:a") or 0) == Entity("urn:a", "Z", (), "", ("urn:U",))

    def test_documents_of_the_same_id_are_replaced_and_others_added(self, kb: KnowledgeBase) -> None:
        done = changes.update(kb, documents=[Document("d2", None, "", "Small."), Document("d3", None, "", "New.")])
        assert (done.documents_replaced, done.documents_added) == (1, 1)
        store = KnowledgeBase.open(kb.path).documents
        assert store is not None
        assert [(d.id, d.text) for d in store] == [("d1", "Ada wrote programs."), ("d2", "Small."), ("d3", "New.")]

    def test_what_is_said_about_an_edge_is_replaced(self, tmp_path: Path) -> None:
        kb = KnowledgeBase.from_triples([("a", "r", "b", {"since": 1990})], tmp_path / "kb")
        assert edges(kb.update([("a", "r", "b", {"since": 2001})]).columnar) == {("a", "r", "b"): ['{"since": "2001"}']}


NAMES = st.sampled_from(["ada", "charles", "mary_s", "http://ex.org/LadyByron"])
RELATIONS = st.sampled_from(["knows", "instance of", "works_in"])
TRIPLES = st.builds(Triple, NAMES, RELATIONS, NAMES) | st.builds(
    Triple, NAMES, st.just("born"), st.sampled_from([Literal("1815", XSD_INTEGER), Literal("about 1800")])
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "update"]), st.lists(TRIPLES, min_size=1, max_size=4)), max_size=6
)


@given(start=st.sets(TRIPLES), steps=STEPS)
@settings(max_examples=25)
def test_a_sequence_of_changes_equals_a_base_built_at_once(
    start: set[Triple], steps: Sequence[tuple[str, list[Triple]]], tmp_path: Path
) -> None:
    described = [ADA, Entity("mary_s", "Mary Somerville", (), "", ("Author",))]
    kb = build(raw_of(sorted(start, key=str), described), tmp_path / "kb", encoder=None)
    expected = set(start)
    for step, triples in steps:
        if step == "add":
            kb = kb.add(raw_of(triples))
            expected |= set(triples)
        elif step == "remove":
            if expected.isdisjoint(triples):
                with pytest.raises(UserError):
                    kb.remove(raw_of(triples))
            else:
                kb = kb.remove(raw_of(triples))
            expected -= set(triples)
        else:
            kb = kb.update(raw_of(triples))
            pairs = {(t.head, t.relation) for t in triples}
            expected = {t for t in expected if (t.head, t.relation) not in pairs} | set(triples)
    at_once = build(raw_of(sorted(expected, key=str), described), tmp_path / "at_once", encoder=None)
    assert content(kb) == content(at_once)
    assert names(kb) == names(at_once)
    assert {k: n for k, n in kb.manifest.counts.items() if k != "documents"} == {
        k: n for k, n in at_once.manifest.counts.items() if k != "documents"
    }
    kb.verify()


class TestKept:
    def test_unchanged_documents_are_linked(self, kb: KnowledgeBase) -> None:
        inode = (kb.path / "documents" / "documents.arrow").stat().st_ino
        after = kb.add([("mary", "knows", "ada")])
        assert (after.path / "documents" / "documents.arrow").stat().st_ino == inode
        assert after.node_search.bm25.rank("mary").nodes.tolist() == [after.columnar.find("ada")]
        after.verify()

    def test_texts_with_vectors_are_not_encoded_again(
        self, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        documents = [Document("d1", "ada", "", "Ada wrote programs."), Document("d2", None, "", "Engines.")]
        kb = build(raw_of(EDGES, [ADA]), tmp_path / "kb", encoder=encoder, name_vectors=True, documents=documents)
        assert kb.documents is not None
        kb.documents.build_vectors(encoder)
        kb.node_search.dense.encode_all()
        kb = KnowledgeBase.open(kb.path)
        told: list[str] = []
        encode = type(encoder).encode

        def counted(self: Encoder, texts: Sequence[str], *more: object, **options: object) -> object:
            told.extend(texts)
            return encode(self, texts, *more, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(type(encoder), "encode", counted)
        after = kb.add([("mary", "teaches", "charles")], documents=[Document("d3", None, "", "Looms.")])
        assert sorted(told) == ["Looms.", "mary", "teaches"]
        assert after.documents is not None
        assert after.documents.search_dense("looms", 1, encoder=encoder)[0].id == "d3"
        assert after.node_search.dense.complete
        at_once = build(
            [raw_of(EDGES, [ADA]), raw_of([Triple("mary", "teaches", "charles")])],
            tmp_path / "at_once",
            encoder=encoder,
            name_vectors=True,
        )
        rows = [[base.columnar.find(id) for id in ("ada", "charles", "london", "mary")] for base in (after, at_once)]
        vectors = [base.name_vectors.vectors for base in (after, at_once) if base.name_vectors is not None]
        np.testing.assert_allclose(vectors[0][rows[0]], vectors[1][rows[1]], atol=2e-3)
        after.verify()

    def test_added_documents_are_found_as_if_all_were_indexed_at_once(self, tmp_path: Path) -> None:
        words = ["loom", "engine", "card", "ada wrote", "cards and looms", "engines"]
        documents = [Document(f"d{n}", None, "", f"{words[n % 6]} {words[n * 5 % 6]}") for n in range(40)]
        kb = build(raw_of(EDGES), tmp_path / "kb", encoder=None, documents=documents[:10])
        for start in range(10, 40, 10):
            kb = kb.add(documents=documents[start : start + 10])
        at_once = build(raw_of(EDGES), tmp_path / "at_once", encoder=None, documents=documents).documents
        assert kb.documents is not None
        assert at_once is not None
        assert list(kb.documents) == list(at_once) == documents
        for word in ("looms", "ada", "cards engines"):
            assert kb.documents.search(word, 20) == at_once.search(word, 20)
        kb.verify()

    def test_the_index_of_names_is_extended(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        old = [Triple(f"number {n}", "next", f"number {n + 1}") for n in range(50)]
        old += [Triple(f"number {n}", "called", Literal(f"name of {n}")) for n in range(9)]
        new = [
            Triple("number 7", "called", Literal("about 1800")),
            Triple("x1", "next", "ada"),
            Triple("ada", "r", "é_b"),
        ]
        more = [Entity("ada", "Ada Lovelace", ("Number 7", "Countess"))]
        at_once = build([raw_of(old), raw_of(new, more)], tmp_path / "at_once", encoder=None)
        kb = build(raw_of(old), tmp_path / "kb", encoder=None)
        monkeypatch.setattr("triplecheck.kg.building.build_names", lambda *_: pytest.fail("all names are indexed"))
        after = kb.add(raw_of(new, more))
        assert names(after) == names(at_once)
        assert after.manifest.counts == at_once.manifest.counts

    def test_files_that_are_copied_keep_their_hashes(self, kb: KnowledgeBase) -> None:
        damaged = kb.path / "documents" / "documents.arrow"
        data = damaged.read_bytes().replace(b"wrote", b"wrota")
        opened = KnowledgeBase.open(kb.path)
        opened.documents  # noqa: B018 - opened while it is good
        damaged.write_bytes(data)
        after = opened.add([("mary", "knows", "ada")])
        with pytest.raises(KnowledgeBaseError, match="content has changed"):
            after.verify()


class TestStale:
    @pytest.fixture
    def trained(self, kb: KnowledgeBase) -> KnowledgeBase:
        """A base with a part that is not ours."""
        with kb.generation.replaced_part("other") as folder:
            (folder / "weights.json").write_text("{}")
        return KnowledgeBase.open(kb.path)

    def test_a_trained_part_stays_and_says_that_it_is_stale(self, trained: KnowledgeBase) -> None:
        after = trained.add([("mary", "knows", "ada")])
        assert after.manifest.stale == {"other": STALE}
        assert KnowledgeBase.open(after.path).manifest.stale == after.manifest.stale
        with pytest.warns(StaleWarning, match="`other` is stale: the graph has changed") as told:
            for _ in range(2):
                with after.generation.opening("other") as folder:
                    assert (folder / "weights.json").is_file()
        assert len(told) == 1
        after.verify()

    def test_training_it_again_ends_that(self, trained: KnowledgeBase) -> None:
        after = trained.add([("mary", "knows", "ada")])
        with after.generation.replaced_part("other") as folder:
            (folder / "weights.json").write_text("[]")
        assert KnowledgeBase.open(after.path).manifest.stale == {}

    def test_documents_alone_make_nothing_stale(self, trained: KnowledgeBase) -> None:
        assert trained.add(documents=[Document("d3", None, "", "Looms.")]).manifest.stale == {}

    def test_embeddings_stay_where_numbers_stay_and_go_where_they_do_not(self, kb: KnowledgeBase) -> None:
        pytest.importorskip("pykeen")
        from triplecheck.kg.embedding import TrainingOptions
        from triplecheck.kg.embedding.embeddings import train_into
        from triplecheck.kg.plausibility import Plausibility

        more = kb.add([(f"p{n}", "knows", f"p{n * 7 % 20}") for n in range(20)])
        options = TrainingOptions(loop="sampled", dimensions=4, epochs=1, batch_size=8, evaluate_every=1)
        train_into(more.columnar, more.generation, options)
        added = KnowledgeBase.open(kb.path).add([("mary", "teaches", "p1"), ("mary", "knows", "p1")])
        assert added.manifest.stale == {"embeddings": STALE}
        with pytest.warns(StaleWarning, match="embeddings"):
            found = Plausibility.of(added)
        graph = added.columnar
        p1, mary, knows = graph.find("p1"), graph.find("mary"), graph.find_relation("knows")
        assert p1 is not None
        assert mary is not None
        assert knows is not None
        assert found.relative_score([(p1, knows, 0), (mary, knows, p1)]).triples[1].skipped is not None
        removed = changes.remove(added, entities=["ada"])
        assert "embeddings were removed" in " ".join(removed.notes)
        assert KnowledgeBase.open(kb.path).embeddings is None
        assert removed.manifest.stale == {}


class TestTogether:
    def test_a_second_process_is_refused(self, kb: KnowledgeBase) -> None:
        code = (
            "import sys, triplecheck.kg._atomic as atomic\n"
            "from pathlib import Path\n"
            "with atomic.only_writer(Path(sys.argv[1])) as alone:\n"
            "    print(alone, flush=True); sys.stdin.read()\n"
        )
        command = [sys.executable, "-c", code, str(kb.path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline() == "True\n"
            with pytest.raises(KnowledgeBaseError, match="another process is changing it; try again"):
                kb.add([("mary", "knows", "ada")])
            other.stdin.close()
        assert kb.add([("mary", "knows", "ada")]).manifest.changes == 1

    def test_a_base_that_was_replaced_is_not_overwritten(self, kb: KnowledgeBase) -> None:
        def replace_it(what: str, _done: int, _total: int | None) -> None:
            if what == "writing the manifest":
                build([("x", "y", "z")], kb.path, encoder=None)

        with pytest.raises(KnowledgeBaseReplacedError, match="was replaced"):
            kb.add([("mary", "knows", "ada")], progress=replace_it)
        assert set(edges(KnowledgeBase.open(kb.path).columnar)) == {("x", "y", "z")}
        with pytest.raises(KnowledgeBaseReplacedError):
            kb.add([("mary", "knows", "ada")])
        assert [path.name for path in kb.path.parent.iterdir()] == ["kb"]

    def test_a_change_that_fails_changes_nothing(self, kb: KnowledgeBase) -> None:
        def fail(what: str, _done: int, _total: int | None) -> None:
            if what == "writing the manifest":
                raise KeyboardInterrupt

        before = content(kb)
        with pytest.raises(KeyboardInterrupt):
            kb.add([("mary", "knows", "ada")], progress=fail)
        assert content(KnowledgeBase.open(kb.path)) == before
        assert [path.name for path in kb.path.parent.iterdir()] == ["kb"]

    def test_readers_see_the_old_state_or_the_new_one(self, tmp_path: Path) -> None:
        def state(number: int) -> list[tuple[str, str, str]]:
            return [("a", "is at", f"place {number}"), ("b", "is at", f"place {number}")]

        kb = build(state(0), tmp_path / "kb", encoder=None)
        done = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not done.is_set():
                opened = KnowledgeBase.open(kb.path)
                try:
                    graph = opened.columnar
                    tails = {graph.node_id(tail) for tail in graph.expand(range(graph.num_entities)).tails.tolist()}
                    names = [found.id for found in opened.linker.candidates(f"place {min(tails)[6:]}", limit=1)]
                except KnowledgeBaseReplacedError:
                    continue  # it says so
                if names != [*tails & set(names)] or len(tails) != 1:
                    wrong.append((tails, names))

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for number in range(1, 12):
                kb = kb.update(state(number))
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert wrong == []

    def test_a_temporary_base_can_be_changed(self) -> None:
        kb = KnowledgeBase.from_triples([("a", "r", "b")], encoder=None)
        after = kb.add([("b", "r", "c")])
        del kb
        assert after.columnar.num_triples == 2
        after.verify()

    def test_the_bundled_base_is_not_changed(self) -> None:
        with pytest.raises(UserError, match="copy it with"):
            KnowledgeBase.open("bundled").add([("a", "r", "b")])
