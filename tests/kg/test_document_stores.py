"""Documents in LanceDB and Qdrant answer as the built-in store does."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_documents import DOCUMENTS

from triplecheck.kg import KnowledgeBase
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.document_stores import StoredDocuments, _stored_length, open_documents, upload
from triplecheck.kg.documents import Document, Documents, DocumentStore
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError, MissingExtraError, UnavailableError, UserError

KINDS = ("lancedb", "qdrant")
QUESTIONS = (
    "Who taught Bernhard Heiden?",
    "the longest river in Germany",
    "composer of an opera",
    "a city on the Danube with a university",
    "painter born in Vienna",
    "What is the population of the capital of France?",
    "books by a winner of the Nobel prize",
    "film directed by Hitchcock",
    "zzzz",
    "",
)


@pytest.fixture(scope="session")
def texts(bundled: KnowledgeBase) -> DocumentStore:
    """The texts of all nodes of the bundled graph."""
    return bundled.node_search.documents.store


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"lancedb": "lancedb", "qdrant": "qdrant_client"}[request.param])
    return str(request.param)


@pytest.fixture(scope="session")
def words(kind: str, texts: DocumentStore, tmp_path_factory: pytest.TempPathFactory) -> StoredDocuments:
    """The texts of the bundled graph, without vectors."""
    return upload(texts, f"{kind}:{tmp_path_factory.mktemp(kind)}/bundled", None)


class Sometimes:
    """An encoder that fails at some call."""

    def __init__(self, encoder: Encoder, calls: int) -> None:
        self.name, self.fingerprint, self.dimensions = encoder.name, encoder.fingerprint, encoder.dimensions
        self._encoder, self._left = encoder, calls

    def encode(self, texts: Sequence[str], *_: object) -> FloatArray:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._encoder.encode(texts)


@pytest.fixture
def stored(kind: str, tmp_path: Path, encoder: Encoder) -> Iterator[StoredDocuments]:
    yield upload(DOCUMENTS, f"{kind}:{tmp_path}/store#passages", encoder)


class TestWords:
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_the_same_documents_of_the_bundled_graph(
        self, kind: str, words: StoredDocuments, texts: DocumentStore, question: str
    ) -> None:
        expected, found = texts.search(question, 10), words.search(question, 10)
        assert len(found) == len(expected)
        if kind == "qdrant":
            assert [hit.row for hit in found] == [hit.row for hit in expected]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=1e-5)
        # LanceDB knows the exact length of a document, which changes a score by less than 4 %.
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=0.04)
        scores = {hit.row: hit.score for hit in texts.search(question, 40)}
        assert all(hit.score == pytest.approx(scores[hit.row], rel=0.04) for hit in found)

    def test_equal_scores_are_in_the_order_of_rows(self, kind: str, tmp_path: Path) -> None:
        same = [Document(f"d{i}", None, "", "tea" if i % 2 else "tea and coffee") for i in range(80)]
        assert [hit.row for hit in upload(same, f"{kind}:{tmp_path}/a", None).search("tea", 5)] == [1, 3, 5, 7, 9]

    def test_a_search_by_meaning_needs_vectors(self, words: StoredDocuments, encoder: Encoder) -> None:
        assert not words.has_vectors
        with pytest.raises(KnowledgeBaseError, match="without vectors"):
            words.search_dense("a river", encoder=encoder)


class TestVectors:
    def test_the_same_documents_with_the_same_scores(
        self, stored: StoredDocuments, encoder: Encoder, tmp_path: Path
    ) -> None:
        built_in = DocumentStore.build(DOCUMENTS, tmp_path / "files")
        built_in.build_vectors(encoder)
        for question in ("Who was killed by a cart?", "chemistry", "ballet", ""):
            expected, found = (documents.search_dense(question, 4, encoder) for documents in (built_in, stored))
            assert [(hit.row, hit.id, hit.text) for hit in found] == [(h.row, h.id, h.text) for h in expected]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)

    def test_vectors_that_are_ready_are_copied(self, kind: str, tmp_path: Path, encoder: Encoder) -> None:
        built_in = DocumentStore.build(DOCUMENTS, tmp_path / "files")
        built_in.build_vectors(encoder)
        copied = upload(built_in, f"{kind}:{tmp_path}/b", Sometimes(encoder, 0))  # type: ignore[arg-type]
        expected = built_in.search_dense("physics", 3, encoder)
        assert [hit.score for hit in copied.search_dense("physics", 3, encoder)] == pytest.approx(
            [hit.score for hit in expected], abs=1e-6
        )

    def test_another_encoder_is_refused(self, stored: StoredDocuments, encoder: Encoder) -> None:
        other = Sometimes(encoder, 1)
        other.fingerprint = "other"
        with pytest.raises(KnowledgeBaseError, match="use the same encoder"):
            stored.search_dense("physics", encoder=other)  # type: ignore[arg-type]


class TestStored:
    def test_documents_are_found_by_node_and_by_row(self, stored: StoredDocuments) -> None:
        documents: Documents = stored
        assert len(documents) == len(DOCUMENTS)
        assert [document.id for document in documents.of_node("Q2")] == ["d1", "d5"]
        assert documents.of_node("Ünïcode:ñ") == [DOCUMENTS[4]]
        assert documents.of_node("it's none") == []
        assert stored.backend.document(2) == DOCUMENTS[2]
        with pytest.raises(IndexError):
            stored.backend.document(6)

    def test_an_interrupted_upload_is_resumed(
        self, kind: str, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("triplecheck.kg.document_stores._BATCH", 2)
        place = f"{kind}:{tmp_path}/resumed"
        with pytest.raises(KeyboardInterrupt):
            upload(DOCUMENTS, place, Sometimes(encoder, 2))  # type: ignore[arg-type]
        done = upload(DOCUMENTS, place, Sometimes(encoder, 1))  # type: ignore[arg-type]
        assert [done.backend.document(row) for row in range(len(done))] == DOCUMENTS
        assert [hit.id for hit in done.search("curie radium", 2)] == ["d0", "d5"]
        done.backend.close()
        assert len(upload(DOCUMENTS, place, Sometimes(encoder, 0))) == len(DOCUMENTS)  # type: ignore[arg-type]

    def test_other_documents_are_not_mixed_with_those_that_are_there(
        self, kind: str, tmp_path: Path, encoder: Encoder
    ) -> None:
        place = f"{kind}:{tmp_path}/mixed"
        upload(DOCUMENTS, place, None).backend.close()
        with pytest.raises(UserError, match="other documents"):
            upload(DOCUMENTS[::-1], place, None)
        with pytest.raises(UserError, match="other documents"):
            upload(DOCUMENTS[:2], place, None)
        with pytest.raises(UserError, match="another encoder"):
            upload(DOCUMENTS, place, encoder)

    def test_they_are_opened_by_their_place(self, kind: str, tmp_path: Path) -> None:
        place = f"{kind}:{tmp_path}/here#some"
        upload(DOCUMENTS, place, None).backend.close()
        opened = open_documents(place)
        assert opened.place == place
        assert [hit.id for hit in opened.search("unit of radioactivity", 1)] == ["d5"]

    def test_none_at_all(self, kind: str, tmp_path: Path) -> None:
        assert upload([], f"{kind}:{tmp_path}/empty", None).search("tea") == []


class TestRefused:
    def test_a_place_without_documents(self, kind: str, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseError, match="kb upload"):
            open_documents(f"{kind}:{tmp_path}/nothing")

    @pytest.mark.parametrize("place", ["passages", "pinecone:x", "lancedb:", "qdrant:#a"])
    def test_no_place(self, place: str) -> None:
        with pytest.raises(UserError, match="no place of documents"):
            open_documents(place)

    def test_a_server_that_does_not_answer(self) -> None:
        pytest.importorskip("qdrant_client")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            with pytest.raises(UnavailableError, match="cannot be reached"):
                open_documents(f"qdrant:http://127.0.0.1:{free.getsockname()[1]}")

    @pytest.mark.parametrize(("kind", "module"), [("lancedb", "lancedb"), ("qdrant", "qdrant_client")])
    def test_a_missing_client(self, kind: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(MissingExtraError, match=rf"triplecheck\[{kind}\]"):
            open_documents(f"{kind}:anywhere")


def test_a_length_is_rounded_as_in_the_word_index() -> None:
    kept = [_stored_length(n) for n in (0, 23, 24, 39, 40, 41, 42, 55, 57, 60, 1000, 1023)]
    assert kept == [0, 23, 24, 39, 40, 40, 42, 54, 56, 60, 984, 984]


def test_programs_and_searches_read_documents_elsewhere(
    kind: str, people: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triplecheck.programs import Sources

    monkeypatch.setattr(people, "documents_elsewhere", stored := upload(DOCUMENTS, f"{kind}:{tmp_path}/x", None))
    assert people.documents is None
    assert people.searchable_documents is stored
    assert Sources.of(people).documents is stored
