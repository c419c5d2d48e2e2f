"""Documents: reading them, storing them, finding them by words and by meaning."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError, ReadError, UserError
from triplecheck.kg.readers.documents import DocumentFile

DOCUMENTS = [
    Document("d0", "Q1", "Marie Curie", "She discovered polonium and radium, and won two Nobel prizes."),
    Document("d1", "Q2", "Pierre Curie", "A French physicist, husband of Marie, killed by a horse-drawn cart."),
    Document("d2", None, "", "Polonium is a chemical element named after Poland."),
    Document("d3", "Q1", "Marie Curie", "Born in Warsaw, she moved to Paris to study physics."),
    Document("d4", "Ünïcode:ñ", "Café Müller", "A dance piece by Pina Bausch."),
    Document("d5", "Q2", "Pierre Curie", "The curie, a unit of radioactivity, was named after him."),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> DocumentStore:
    place = tmp_path_factory.mktemp("documents") / "store"
    built = DocumentStore.build(DOCUMENTS, place)
    built.build_vectors(encoder)
    return DocumentStore.open(place)


def ids(hits: Sequence[object]) -> list[str]:
    return [hit.id for hit in hits]  # type: ignore[attr-defined]


class InterruptedEncoder:
    """An encoder that is killed after some calls, and notes what it was asked for."""

    name, fingerprint, dimensions = "interrupted", "f1", 4

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], progress: object = None) -> FloatArray:
        if not self.calls:
            raise KeyboardInterrupt
        self.calls -= 1
        self.texts += texts
        vectors = np.array([[1, len(text), text.count("7"), 2] for text in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# --- reading ---------------------------------------------------------------------------------
def write_lines(path: Path, *lines: str | bytes | dict[str, object]) -> Path:
    encoded = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
    data = b"\n".join(line.encode() if isinstance(line, str) else line for line in encoded) + b"\n"
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_documents_are_read_from_json_lines(tmp_path: Path, name: str) -> None:
    path = write_lines(
        tmp_path / name, {"id": "a", "title": "T", "text": "x", "node": "Q1"}, "", {"text": "y", "src": 1}
    )
    assert list(DocumentFile(path)) == [Document("a", "Q1", "T", "x"), Document("3", None, "", "y")]


def test_fields_of_other_names_are_mapped(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "corpus.jsonl", {"_id": 7, "passage": "x", "entity": 42, "text": None})
    mapping = {"id": "_id", "text": "passage", "node": "entity", "head": "subject"}
    assert list(DocumentFile(path, mapping)) == [Document("7", "42", "", "x")]


BAD_LINES = {
    "not JSON": b'{"text": "x"',
    "JSON object": b"[1, 2]",
    "no field 'text'": b'{"title": "x"}',
    "'text' contains int": b'{"text": 5}',
    "'node' contains list": b'{"text": "x", "node": ["Q1"]}',
    "'id' contains bool": b'{"text": "x", "id": true}',
    "not UTF-8": b'{"text": "\xff"}',
    "surrogate": b'{"text": "\\ud83d"}',
}


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_malformed_line_is_named(tmp_path: Path, reason: str) -> None:
    path = write_lines(tmp_path / "corpus.jsonl", {"text": "x"}, BAD_LINES[reason])
    with pytest.raises(ReadError, match=reason) as caught:
        list(DocumentFile(path))
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_skipped_malformed_lines_are_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "corpus.jsonl", {"text": "x"}, *BAD_LINES.values(), {"text": "y"})
    documents = DocumentFile(path, skip_bad=True)
    assert ids(list(documents)) == ["1", "10"]
    assert [bad.line for bad in documents.skipped] == list(range(2, 10))


def test_a_file_that_is_missing_or_cut_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        list(DocumentFile(tmp_path / "none.jsonl"))
    path = write_lines(tmp_path / "corpus.jsonl.gz", *({"text": str(n)} for n in range(1000)))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadError, match="end"):
        list(DocumentFile(path, skip_bad=True))
    (tmp_path / "plain.jsonl.gz").write_bytes(b'{"text": "x"}')
    with pytest.raises(ReadError, match="gzip"):
        list(DocumentFile(tmp_path / "plain.jsonl.gz"))


# --- look-ups --------------------------------------------------------------------------------
def test_documents_come_back_as_they_were_stored(store: DocumentStore) -> None:
    assert len(store) == 6
    assert [store.document(row) for row in range(6)] == DOCUMENTS


def test_the_documents_of_a_node_are_found(store: DocumentStore) -> None:
    assert ids(store.of_node("Q1")) == ["d0", "d3"]
    assert ids(store.of_node("Q2")) == ["d1", "d5"]
    assert ids(store.of_node("Ünïcode:ñ")) == ["d4"]
    for unknown in ("", "Q", "Q11", "Q3", "\U0010ffff"):
        assert store.of_node(unknown) == []


# --- search by words -------------------------------------------------------------------------
def test_the_documents_whose_words_fit_best_come_first(store: DocumentStore) -> None:
    hits = store.search("Which elements did Marie Curie discover?", 3)
    assert hits[0].id == "d0"
    assert hits[0].node == "Q1"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_accents_case_and_endings_do_not_matter(store: DocumentStore) -> None:
    assert ids(store.search("CAFES muller")) == ["d4"]


def test_rows_are_restricted_without_changing_scores(store: DocumentStore) -> None:
    free = {hit.row: hit.score for hit in store.search("polonium Curie", 10)}
    assert set(free) == {0, 1, 2, 3, 5}
    rows, scores = store.best_rows("polonium Curie", 10, np.array([3, 0, 4]))
    assert (rows.tolist(), scores.tolist()) == ([0, 3], pytest.approx([free[0], free[3]]))
    assert len(store.best_rows("polonium", 10, np.array([], int))[0]) == 0


@pytest.mark.parametrize(
    "text",
    [
        'title:"Marie',
        "polonium AND (NOT",
        "text:* OR [a TO",
        '+-!(){}[]^"~*?:\\/ polonium^-3~',
        "\x00\ud83d polonium \N{GRINNING FACE}",
        "polonium " * 5000,
        "row:0 /.*/ IN [1 2]",
        "",
        "   ",
        "?!",
        "x" * 100_000,
    ],
)
def test_any_text_is_a_query(store: DocumentStore, text: str) -> None:
    assert "polonium" not in text or "d2" in ids(store.search(text, 3))
    assert len(store.best_rows(text, 3, np.array([0, 1]))[0]) <= 2


def test_operators_are_words(store: DocumentStore) -> None:
    assert set(ids(store.search("radium NOT polonium"))) >= {"d0", "d2"}


def test_k_bounds_the_hits(store: DocumentStore) -> None:
    assert len(store.search("Curie", 2)) == 2
    assert store.search("Curie", 0) == store.search("Curie", -1) == []
    assert len(store.search("Curie", 10**6)) == 4


def test_equal_scores_are_ordered_by_row(tmp_path: Path) -> None:
    store = DocumentStore.build((Document(str(n), None, "", "the same words") for n in range(9)), tmp_path / "s")
    assert [hit.row for hit in store.search("same words", 5)] == [0, 1, 2, 3, 4]


# --- search by meaning -----------------------------------------------------------------------
def test_documents_are_found_by_meaning(store: DocumentStore, encoder: Encoder) -> None:
    assert store.search_dense("choreography", 1, encoder=encoder)[0].id == "d4"
    assert store.search_dense("Which accident ended his life?", 1)[0].id == "d1"


def test_vectors_of_another_encoder_are_refused(store: DocumentStore) -> None:
    with pytest.raises(KnowledgeBaseError, match="same encoder"):
        store.search_dense("x", encoder=InterruptedEncoder(9))


def test_without_vectors_the_way_out_is_named(tmp_path: Path) -> None:
    store = DocumentStore.build(DOCUMENTS, tmp_path / "s")
    assert not store.has_vectors
    with pytest.raises(KnowledgeBaseError, match="build_vectors"):
        store.search_dense("x")


def test_interrupted_encoding_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecheck.kg.vectors._CHUNK", 10)
    documents = [Document(str(n), None, f"title {n}", "text " * n) for n in range(75)]
    store = DocumentStore.build(documents, tmp_path / "s")
    killed = InterruptedEncoder(3)
    with pytest.raises(KeyboardInterrupt):
        store.build_vectors(killed)
    assert len(killed.texts) == 30
    assert not store.has_vectors

    calls: list[tuple[str, int, int | None]] = []
    resumed = InterruptedEncoder(99)
    store = DocumentStore.open(tmp_path / "s")
    store.build_vectors(resumed, lambda *call: calls.append(call))
    assert [text.split("\n")[0] for text in resumed.texts] == [f"title {n}" for n in range(30, 75)]
    assert (calls[0], calls[-1]) == (("encoding documents", 30, 75), ("encoding documents", 75, 75))

    whole = InterruptedEncoder(99)
    expected = whole.encode([f"title {n}\n{'text ' * n}" for n in range(75)])
    np.testing.assert_allclose(store.vectors.vectors, expected, atol=1e-3)
    assert not (tmp_path / "s/vectors.draft").exists()

    again = InterruptedEncoder(0)
    store.build_vectors(again)
    assert again.texts == []


def test_another_encoder_restarts_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecheck.kg.vectors._CHUNK", 2)
    store = DocumentStore.build(DOCUMENTS, tmp_path / "s")
    with pytest.raises(KeyboardInterrupt):
        store.build_vectors(InterruptedEncoder(1))
    other = InterruptedEncoder(99)
    other.fingerprint = "f2"
    store.build_vectors(other)
    assert len(other.texts) == 6
    assert store.search_dense("x", 1, encoder=other)[0].score > 0
    store.build_vectors(InterruptedEncoder(99))
    assert len(store.search_dense("x", 9, encoder=InterruptedEncoder(1))) == 6


# --- on disk ---------------------------------------------------------------------------------
def test_no_documents_are_a_store_too(tmp_path: Path, encoder: Encoder) -> None:
    store = DocumentStore.build([], tmp_path / "s")
    store.build_vectors(encoder)
    assert len(store) == 0
    assert store.search("x") == store.search_dense("x", encoder=encoder) == store.of_node("Q1") == []


def test_building_again_replaces_the_store(tmp_path: Path) -> None:
    DocumentStore.build(DOCUMENTS, tmp_path / "s")
    assert len(DocumentStore.build(DOCUMENTS[:2], tmp_path / "s")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_failed_build_changes_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield DOCUMENTS[0]
        raise ReadError("corpus.jsonl", 2, "not JSON")

    DocumentStore.build(DOCUMENTS, tmp_path / "s")
    with pytest.raises(ReadError):
        DocumentStore.build(broken(), tmp_path / "s")
    with pytest.raises(UserError, match="'d0'"):
        DocumentStore.build([DOCUMENTS[0], DOCUMENTS[0]], tmp_path / "s")
    assert len(DocumentStore.open(tmp_path / "s")) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_directory_with_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(KnowledgeBaseError, match="something other than documents"):
        DocumentStore.build(DOCUMENTS, tmp_path)
    with pytest.raises(KnowledgeBaseError, match="no documents here"):
        DocumentStore.open(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("pattern", ["documents.arrow", "node_order.npy", "words/*.idx", "words/meta.json"])
def test_a_damaged_store_is_refused(tmp_path: Path, pattern: str) -> None:
    DocumentStore.build(DOCUMENTS, tmp_path / "s")
    path = next((tmp_path / "s").glob(pattern))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    with pytest.raises(KnowledgeBaseError, match="bytes instead of"):
        DocumentStore.open(tmp_path / "s")
    path.unlink()
    with pytest.raises(KnowledgeBaseError, match="missing"):
        DocumentStore.open(tmp_path / "s")


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"format": "triplecheck-documents", "version": 99}'])
def test_a_foreign_manifest_is_refused(tmp_path: Path, manifest: str) -> None:
    DocumentStore.build(DOCUMENTS, tmp_path / "s")
    (tmp_path / "s/documents.json").write_text(manifest)
    with pytest.raises(KnowledgeBaseError):
        DocumentStore.open(tmp_path / "s")


@pytest.mark.parametrize(("language", "found"), [("de_core_news_sm", ["1"]), ("DE-at", ["1"]), ("en", []), ("xx", [])])
def test_words_have_the_stems_of_their_language(tmp_path: Path, language: str, found: list[str]) -> None:
    texts = [Document("1", None, "", "Die Häuser am Fluss"), Document("2", None, "", "Der Wald")]
    store = DocumentStore.build(texts, tmp_path / "store", language=language)
    assert ids(store.search("Haus")) == found
    added = DocumentStore.build([Document("3", None, "", "Alte Häuser")], tmp_path / "more", store)
    assert added.stemmer == store.stemmer
    assert set(ids(added.search("Haus"))) == {*found, *(["3"] if found else [])}
