"""Building a knowledge base, opening it, and what is refused."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kg_parts import built, raw_graph, write

from triplecheck.kg import KnowledgeBase, KnowledgeBaseError, _checked, build, manifest
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseReplacedError, StorageError
from triplecheck.kg.manifest import FILE, VERSION
from triplecheck.kg.names import NameIndex
from triplecheck.kg.readers import ReadOptions, read_graph
from triplecheck.kg.readers.documents import DocumentFile
from triplecheck.kg.types import Direction
from triplecheck.language.pipeline import read_text

EDGES = [("ada", "knows", "charles"), ("charles", "born in", "London"), ("ada", "age", "36")]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(raw_graph(EDGES), tmp_path_factory.mktemp("pristine") / "kb", encoder=None).path


@pytest.fixture
def folder(pristine: Path, tmp_path: Path) -> Path:
    """A good knowledge base to be damaged."""
    return Path(shutil.copytree(pristine, tmp_path / "kb"))


def listing(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def edit_manifest(folder: Path, **changes: object) -> None:
    about = json.loads((folder / FILE).read_text("utf-8"))
    (folder / FILE).write_text(json.dumps(about | changes), "utf-8")


class TestBuild:
    def test_what_was_built_is_opened(self, pristine: Path) -> None:
        kb = KnowledgeBase.open(str(pristine))
        assert kb.manifest.counts == {
            "entities": 3,
            "values": 1,
            "relations": 3,
            "triples": 3,
            "types": 0,
            "names": 4,
            "documents": 0,
        }
        assert kb.graph.num_triples == 3
        assert kb.documents is kb.encoder is kb.relation_vectors is kb.name_vectors is None
        kb.verify()

    def test_the_same_content_has_the_same_hash(self, pristine: Path, tmp_path: Path) -> None:
        hashes = {build(raw_graph(EDGES), tmp_path / name, encoder=None).manifest.content_hash for name in ("a", "b")}
        assert hashes == {KnowledgeBase.open(pristine).manifest.content_hash}
        other = build(raw_graph(EDGES[:2]), tmp_path / "c", encoder=None)
        assert other.manifest.content_hash not in hashes

    def test_an_older_knowledge_base_is_replaced(self, folder: Path) -> None:
        kb = build(raw_graph(EDGES[:1]), folder, encoder=None)
        assert kb.graph.num_triples == 1
        kb.verify()
        assert [p.name for p in folder.parent.iterdir()] == ["kb"]

    def test_one_that_is_open_stays_readable_while_it_is_replaced(self, folder: Path) -> None:
        graph = KnowledgeBase.open(folder).graph
        build(raw_graph([("x", "y", "z")]), folder, encoder=None)
        assert graph.find("charles") is not None
        assert graph.num_triples == 3

    def test_an_empty_directory_is_accepted_and_missing_parents_are_made(self, tmp_path: Path) -> None:
        (tmp_path / "kb").mkdir()
        for place in ("kb", "a/b/kb"):
            assert build(raw_graph(EDGES), tmp_path / place, encoder=None).graph.num_triples == 3

    def test_it_can_be_moved(self, folder: Path) -> None:
        moved = folder.rename(folder.parent / "elsewhere")
        KnowledgeBase.open(moved).verify()

    def test_sources_and_skipped_lines_are_noted(self, tmp_path: Path) -> None:
        triples = write(tmp_path / "t.tsv", "a\tr\tb\nbad\n")
        entities = write(tmp_path / "e.tsv", "id\tlabel\na\tAda\nbad\n")
        raw = read_graph([triples], entities, how=ReadOptions(skip_bad=True))
        documents = DocumentFile(write(tmp_path / "d.jsonl", '{"id": "1", "text": "Ada"}\nbad\n'), skip_bad=True)
        kb = build(raw, tmp_path / "kb", documents=documents, encoder=None, sources=["t.tsv", "e.tsv", "d.jsonl"])
        assert (kb.manifest.sources, kb.manifest.skipped) == (["d.jsonl", "e.tsv", "t.tsv"], 3)

    def test_progress_is_reported(self, tmp_path: Path) -> None:
        told: list[str] = []
        build(raw_graph(EDGES), tmp_path / "kb", encoder=None, progress=lambda what, _done, _total: told.append(what))
        assert told[0] == "numbering nodes"
        assert told[-1] == "writing the manifest"

    def test_documents_and_vectors_are_built_in(self, tmp_path: Path, encoder: Encoder) -> None:
        documents = [Document("d1", "ada", "Ada", "Ada wrote programs.")]
        kb = build(raw_graph(EDGES), tmp_path / "kb", encoder=encoder, name_vectors=True, documents=documents)
        assert kb.manifest.counts["documents"] == 1
        assert kb.documents is not None
        assert kb.relation_vectors is not None
        assert kb.name_vectors is not None
        assert kb.relation_vectors.against("birthplace").argmax() == kb.graph.find_relation("born in")
        kb.verify()

    def test_an_empty_graph(self, tmp_path: Path, encoder: Encoder) -> None:
        kb = built(tmp_path, "", encoder=encoder, name_vectors=True)
        assert set(kb.manifest.counts.values()) == {0}
        assert [m.forms for m in kb.linker.mentions(read_text("Who was Ada?"))] == [()]
        assert kb.linker.candidates("Ada", "Who was Ada?") == []
        kb.verify()


class TestFailedBuild:
    @pytest.mark.parametrize(
        "when", ["numbering nodes", "indexing names", "indexing documents", "writing the manifest"]
    )
    def test_the_old_one_stays_as_it_was_and_nothing_else(self, folder: Path, when: str) -> None:
        def fail(what: str, _done: int, _total: int | None) -> None:
            if what == when:
                raise KeyboardInterrupt

        before = listing(folder.parent)
        with pytest.raises(KeyboardInterrupt):
            build(raw_graph([("x", "y", "z")]), folder, encoder=None, documents=[], progress=fail)
        assert listing(folder.parent) == before
        assert [p.name for p in folder.parent.iterdir()] == ["kb"]

    def test_a_failed_write_leaves_nothing_behind(self, tmp_path: Path) -> None:
        def documents() -> Iterator[Document]:
            yield Document("d1", None, "", "text")
            raise OSError("the disk is full")

        with pytest.raises(StorageError, match="disk"):
            build(raw_graph(EDGES), tmp_path / "kb", encoder=None, documents=documents())
        assert list(tmp_path.iterdir()) == []

    def test_one_that_is_killed_leaves_the_old_one(self, folder: Path) -> None:
        before = listing(folder)
        code = (
            "import os, sys\n"
            "from triplecheck.kg import build\n"
            "from kg_parts import raw_graph\n"
            "stop = lambda what, done, total: os._exit(9) if what == 'writing the manifest' else None\n"
            "build(raw_graph([('x', 'y', 'z')]), sys.argv[1], encoder=None, progress=stop)\n"
        )
        assert start(code, folder).wait(60) == 9
        assert listing(folder) == before
        KnowledgeBase.open(folder).verify()

    @pytest.mark.parametrize("content", ["file", "folder"])
    def test_a_directory_that_is_not_a_knowledge_base_is_not_replaced(self, tmp_path: Path, content: str) -> None:
        target = tmp_path / "mine"
        if content == "file":
            target.write_text("precious")
        else:
            target.mkdir()
            (target / "thesis.txt").write_text("precious")
        before = listing(tmp_path)
        with pytest.raises(KnowledgeBaseError, match=r"mine: exists and is not a knowledge base"):
            build(raw_graph(EDGES), target, encoder=None)
        assert listing(tmp_path) == before

    def test_a_folder_with_somebody_elses_manifest_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / FILE).write_text('{"name": "a web application"}')
        with pytest.raises(KnowledgeBaseError, match="not a knowledge base"):
            build(raw_graph(EDGES), tmp_path / "mine", encoder=None)
        assert (tmp_path / "mine" / FILE).read_text() == '{"name": "a web application"}'


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Run code in a Python process that can import the tests' helpers."""
    here = Path(__file__)
    path = f"import sys; sys.path[:0] = {[str(here.parent), str(here.parents[2])]!r}\n"
    return subprocess.Popen([sys.executable, "-c", path + code, *map(str, arguments)])


def test_two_processes_that_build_the_same_target_leave_one_complete_directory(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from triplecheck.kg import build\n"
        "from kg_parts import raw_graph\n"
        "mark, ready = sys.argv[2], Path(sys.argv[3])\n"
        "(ready / mark).touch()\n"
        "while len(list(ready.iterdir())) < 2: time.sleep(0.01)\n"
        "for _ in range(12):\n"
        "    build(raw_graph([(mark, 'r', f'{mark}{i}') for i in range(50)]), sys.argv[1], encoder=None)\n"
    )
    ready = tmp_path / "ready"
    ready.mkdir()
    started = [start(code, tmp_path / "kb", mark, ready) for mark in ("one", "other")]
    assert [process.wait(60) for process in started] == [0, 0]
    assert {p.name for p in tmp_path.iterdir()} == {"kb", "ready"}
    kb = KnowledgeBase.open(tmp_path / "kb")
    kb.verify()
    assert (kb.graph.find("one") is None) != (kb.graph.find("other") is None)


def test_one_that_is_replaced_while_it_is_checked_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "kb"
    build(raw_graph([("a", "r", "b")]), target, encoder=None)
    is_one = manifest.is_one

    def looked_at_too_late(folder: Path) -> bool:
        monkeypatch.setattr(manifest, "is_one", is_one)
        build(raw_graph([("c", "r", "d")]), target, encoder=None)
        return False  # as if what was begun to be read had been moved away

    monkeypatch.setattr(manifest, "is_one", looked_at_too_late)
    assert build(raw_graph([("e", "r", "f")]), target, encoder=None).graph.find("e") is not None


class TestRefused:
    def test_no_such_directory(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseError, match=r"nowhere: no such knowledge base.*kb build"):
            KnowledgeBase.open(tmp_path / "nowhere")

    def test_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseError, match=r"a\.tsv"):
            KnowledgeBase.open(write(tmp_path / "a.tsv", "a\tr\tb\n"))

    def test_a_directory_without_a_manifest(self, folder: Path) -> None:
        (folder / FILE).unlink()
        with pytest.raises(KnowledgeBaseError, match=r"kb: not a knowledge base"):
            KnowledgeBase.open(folder)

    @pytest.mark.parametrize(
        "content",
        b' { [] null 7 {} \0 \xff\xfe\0 {"format":1} {"format":"triplecheck-knowledge-base"}'.split(b" "),
    )
    def test_a_damaged_or_foreign_manifest(self, folder: Path, content: bytes) -> None:
        (folder / FILE).write_bytes(content)
        with pytest.raises(KnowledgeBaseError, match=r"manifest\.json"):
            KnowledgeBase.open(folder)

    @pytest.mark.parametrize("further", [{}, {"shards": 7}])
    def test_another_format_version(self, folder: Path, further: dict[str, int]) -> None:
        edit_manifest(folder, version=VERSION + 1, **further)
        with pytest.raises(KnowledgeBaseError, match=rf"version {VERSION + 1}.* reads {VERSION}; build it again"):
            KnowledgeBase.open(folder)

    def test_every_truncated_and_every_missing_file_is_named(self, folder: Path) -> None:
        for name, (size, _) in KnowledgeBase.open(folder).manifest.files.items():
            content = (folder / name).read_bytes()
            if content:
                (folder / name).write_bytes(content[:-1])
                with pytest.raises(KnowledgeBaseError, match=rf"{name}: {size - 1} bytes instead of {size}"):
                    KnowledgeBase.open(folder)
            (folder / name).unlink()
            with pytest.raises(KnowledgeBaseError, match=rf"{name}: missing"):
                KnowledgeBase.open(folder)
            (folder / name).write_bytes(content)

    def test_a_changed_file_is_found_by_verifying(self, folder: Path) -> None:
        path = folder / "graph" / "out_ends.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        kb = KnowledgeBase.open(folder)
        with pytest.raises(KnowledgeBaseError, match=r"out_ends\.npy: its content has changed"):
            kb.verify()

    @pytest.mark.parametrize("name", ["graph/out_ends.npy", "names/name_nodes.npy", "names/trigram_sizes.npy"])
    def test_an_array_of_objects_is_never_unpickled(self, folder: Path, tmp_path: Path, name: str) -> None:
        np.save(folder / name, np.array([Mischief(tmp_path / "mischief")] * 4, object), allow_pickle=True)
        size, files = (folder / name).stat().st_size, json.loads((folder / FILE).read_text("utf-8"))["files"]
        edit_manifest(folder, files=files | {name: [size, "0"]})
        kb = KnowledgeBase.open(folder)
        with pytest.raises((KnowledgeBaseError, ValueError)):
            _ = kb.linker
        assert not (tmp_path / "mischief").exists()

    def test_there_is_nothing_pickled_in_it(self, people_with_vectors: KnowledgeBase) -> None:
        for name in people_with_vectors.manifest.files:
            path = people_with_vectors.path / name
            if path.suffix == ".npy":
                np.load(path, allow_pickle=False)
            assert path.suffix in {".npy", ".json", ".arrow", ".marisa"}, name


class Mischief:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


class TestReplacedWhileOpen:
    """Parts are opened when they are needed. None of them may come from another knowledge base."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> KnowledgeBase:
        documents = [Document("d", "alien", "Alien", "A film by Ridley Scott.")]
        build(raw_graph([("alien", "by", "scott")]), tmp_path / "kb", encoder=None, documents=documents)
        return KnowledgeBase.open(tmp_path / "kb")

    @staticmethod
    def replace(kb: KnowledgeBase) -> None:
        documents = [Document("d", "aliens", "Aliens", "A film by James Cameron.")]
        build(raw_graph([("aliens", "by", "cameron")]), kb.path, encoder=None, documents=documents)

    @pytest.mark.parametrize("part", ["graph", "names", "trigrams", "documents", "node_search"])
    def test_a_part_that_was_not_open_yet_is_an_error_that_says_so(self, opened: KnowledgeBase, part: str) -> None:
        self.replace(opened)
        with pytest.raises(
            KnowledgeBaseReplacedError, match="was replaced or changed while it was open; open it again"
        ):
            getattr(opened, part)

    def test_a_part_that_was_open_stays_what_it_was(self, opened: KnowledgeBase) -> None:
        graph, documents = opened.graph, opened.documents
        assert documents is not None
        self.replace(opened)
        assert [graph.label(node) for node in range(graph.num_entities)] == ["alien", "scott"]
        assert documents.document(0).title == "Alien"

    def test_the_same_content_built_again_is_no_replacement(self, opened: KnowledgeBase) -> None:
        documents = [Document("d", "alien", "Alien", "A film by Ridley Scott.")]
        build(raw_graph([("alien", "by", "scott")]), opened.path, encoder=None, documents=documents)
        assert opened.graph.num_triples == 1
        assert opened.names.nodes("alien")

    def test_replaced_while_its_files_are_opened_is_an_error(
        self, opened: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def in_between(folder: Path, sums: object) -> object:
            monkeypatch.undo()
            (folder / "graph.json").read_text("utf-8")
            self.replace(opened)
            return object()

        monkeypatch.setattr("triplecheck.kg.knowledge_base.ColumnarGraph", in_between)
        with pytest.raises(KnowledgeBaseReplacedError):
            _ = opened.graph

    def test_a_part_that_was_another_in_between_is_noticed(self, folder: Path) -> None:
        kb = KnowledgeBase.open(folder)
        with pytest.raises(KnowledgeBaseReplacedError), kb.generation.opening("names"):
            build(raw_graph([("x", "y", "z")]), folder, encoder=None)
            build(raw_graph(EDGES), folder, encoder=None)
        assert KnowledgeBase.open(folder).manifest.files == kb.manifest.files

    def test_a_part_made_for_the_old_one_stays_out_of_the_new_one(self, tmp_path: Path) -> None:
        kb = build(raw_graph(EDGES), tmp_path / "kb", encoder=None)
        _ = kb.graph
        build(raw_graph(EDGES[:1]), kb.path, encoder=None)
        before = listing(kb.path)
        with pytest.raises(KnowledgeBaseReplacedError):
            _ = kb.node_search
        with pytest.raises(KnowledgeBaseReplacedError), kb.generation.replaced_part("embeddings") as folder:
            (folder / "weights").write_text("of the old one")
        assert listing(kb.path) == before

    def test_node_documents_of_another_graph_are_made_again(self, tmp_path: Path) -> None:
        one = build(raw_graph(EDGES), tmp_path / "one", encoder=None)
        two = build(raw_graph([("x", "y", "z")]), tmp_path / "two", encoder=None)
        _ = one.node_search
        shutil.copytree(one.path / "node_documents", two.path / "node_documents")
        assert two.node_search.documents.store.document(0).title == "x"


def test_a_base_that_a_killed_build_moved_aside_is_opened(pristine: Path, tmp_path: Path) -> None:
    shutil.copytree(pristine, tmp_path / ".kb.old-abc" / "kb")
    assert KnowledgeBase.open(tmp_path / "kb").graph.num_triples == 3
    assert [p.name for p in tmp_path.iterdir()] == ["kb"]


def everything(kb: KnowledgeBase) -> object:
    """All that a knowledge base says."""
    graph, nodes, relations = kb.graph, range(kb.graph.num_nodes), range(kb.graph.num_relations)
    edges = graph.expand(np.array(nodes))
    triples = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
    return (
        [(graph.entity(node), graph.literal(node), graph.find(graph.node_id(node))) for node in nodes],
        [(graph.relations_of(node), graph.degree(node)) for node in nodes],
        graph.relation_counts(list(nodes)),
        [graph.neighbors(node, r, way).tolist() for node in nodes for r in relations for way in Direction],
        [graph.labels([node]) for node in nodes],
        [graph.contains(*triple) for triple in triples],
        [graph.nodes_of_type(t).tolist() for t in graph.type_ids],
        [(graph.relation(r), graph.schema(r)) for r in relations],
        [array.tolist() for way in Direction for array in graph.rows(way)],
        [kb.names.nodes(kb.names.form(i)) for i in range(len(kb.names))],
        kb.trigrams.within("charles"),
    )


class TestDamage:
    """A flipped bit in any file is an error, or was never read."""

    @pytest.fixture(params=["whole", "by block"])
    def checked(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        if request.param == "by block":
            monkeypatch.setattr(manifest, "CHECKED_WHOLE", 0)
            monkeypatch.setattr(manifest, "BLOCK", 1)
            monkeypatch.setattr(_checked, "BLOCK", 64)
        kb = built(
            tmp_path,
            "a\tknows\tb\nb\tborn in\tc\nc\tage\t12\n",
            "id\tlabel\ttype\tdescription\taliases\na\tAda\tperson\tOne\tA|Aa\nb\tCharles\tperson\t\t\n",
        )
        return kb.path

    def test_undamaged_files_say_the_same_checked_by_block(self, checked: Path) -> None:
        kb = KnowledgeBase.open(checked)
        said = everything(kb)
        plain = KnowledgeBase.open(checked)
        plain.columnar = ColumnarGraph(checked / "graph")
        plain.names = NameIndex(checked / "names")
        assert said == everything(plain)

    def test_a_flipped_bit_is_an_error_or_was_never_read(self, checked: Path) -> None:
        expected = everything(KnowledgeBase.open(checked))
        rng, noticed = random.Random(1), 0
        files = sorted(path for part in ("graph", "names") for path in (checked / part).iterdir())
        for file in files:
            content = file.read_bytes()
            for at in {len(content) - 1, *(rng.randrange(len(content)) for _ in range(6))}:
                file.write_bytes(content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :])
                try:
                    assert everything(KnowledgeBase.open(checked)) == expected, (file, at)
                except KnowledgeBaseError as error:
                    noticed += 1
                    assert file.name in str(error)
            file.write_bytes(content)
        assert noticed > 50

    def test_a_base_without_checksums_of_blocks_is_read_and_checked_by_its_hashes(self, folder: Path) -> None:
        edit_manifest(folder, blocks={})
        assert KnowledgeBase.open(folder).graph.num_triples == 3
        content = bytearray((folder / "graph/out_ends.npy").read_bytes())
        content[-4] ^= 1
        (folder / "graph/out_ends.npy").write_bytes(content)
        with pytest.raises(KnowledgeBaseError, match=r"out_ends\.npy: its content has changed since it was built"):
            _ = KnowledgeBase.open(folder).graph
