"""Documents and their vectors in LanceDB or Qdrant, for more documents than one index on one machine holds.

    upload(DocumentStore.open(...), "lancedb:passages", encoder)
    documents = open_documents("lancedb:passages")
    documents.search("who taught Bernhard Heiden", k=5)

A place is `lancedb:WHERE#TABLE` (WHERE is a directory, or `s3://bucket/folder` and the like) or
`qdrant:WHERE#COLLECTION` (WHERE is the URL of a server, or a directory for the client's local mode); `#` and the name
may be left out. A search by words scores by BM25 (k1 = 1.2, b = 0.75) and a search by meaning by cosine, as in
`kg.documents.DocumentStore`. LanceDB does not round the lengths of documents above 40 words, the other two do.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.documents import LANGUAGE, QUERY_WORDS, Document, DocumentStore, Hit, analyzer, embedded_text
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import KnowledgeBaseError, UnavailableError, UserError, extra
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.redaction import redacted
from triplecheck.kg.values import parse_json, valid

_BATCH = 512  # documents encoded and written at once
_SAMPLE = 100_000  # documents from which the mean length is taken
_SPARE_HITS = 16  # fetched beyond k, to order equal scores by row
_INDEXED_ROWS = 200_000  # rows above which LanceDB searches vectors by an index, as `VectorIndex` does
_K1, _B = 1.2, 0.75
_ROUNDING = 1e-5
_NAME = "documents"
_KEY = "QDRANT_API_KEY"

T = TypeVar("T")


@dataclass(frozen=True)
class About:
    """What is noted with stored documents.

    Attributes:
        words: mean number of words of a document.
        encoder, fingerprint, dimensions: of the vectors; None, None and 0 without vectors.
        language: whose stemmer made the words.
    """

    words: float
    encoder: str | None = None
    fingerprint: str | None = None
    dimensions: int = 0
    language: str = LANGUAGE


@dataclass(frozen=True)
class Record:
    """A document as it is stored: its row, its words in order, and its vector (float32) if there is one."""

    row: int
    document: Document
    words: list[str]
    vector: FloatArray | None


class Backend(Protocol):
    """Where documents are stored. Row numbers run from 0 in the order in which they were added."""

    about: About

    def count(self) -> int:
        """Number of documents."""

    def add(self, records: Sequence[Record]) -> None:
        """Add documents; they are stored when it returns."""

    def finish(self) -> None:
        """Index what was added."""

    def document(self, row: int) -> Document:
        """The document of a row (IndexError if there is none)."""

    def of_node(self, node: str) -> list[tuple[int, Document]]:
        """The documents about a node, and their rows."""

    def matching(self, words: Sequence[str], k: int) -> list[Hit]:
        """The k best by BM25, best first."""

    def nearest(self, vector: FloatArray, k: int) -> list[tuple[Hit, FloatArray]]:
        """The k best by inner product, best first, and their vectors."""

    def close(self) -> None:
        """Release the connection; a directory of Qdrant's local mode can then be opened again."""


class StoredDocuments:
    """Documents in a backend: a `kg.documents.Documents`.

    Attributes:
        place: where they are, without anything secret.
    """

    def __init__(self, place: str, backend: Backend) -> None:
        self.place = place
        self.backend = backend
        self._analyzer = analyzer(backend.about.language)

    def __len__(self) -> int:
        return self.backend.count()

    def __deepcopy__(self, memo: dict[int, object]) -> StoredDocuments:
        return self

    @property
    def has_vectors(self) -> bool:
        return self.backend.about.encoder is not None

    def of_node(self, node_id: str) -> list[Document]:
        return [document for _, document in sorted(self.backend.of_node(node_id), key=lambda found: found[0])]

    def search(self, text: str, k: int = 10) -> list[Hit]:
        words = list(islice(dict.fromkeys(self._analyzer.analyze(valid(text))), QUERY_WORDS))
        return _best(lambda n: self.backend.matching(words, n), k, 0.0) if k > 0 and words else []

    def search_dense(self, text: str, k: int = 10, encoder: Encoder | None = None) -> list[Hit]:
        about = self.backend.about
        if about.encoder is None:
            raise KnowledgeBaseError(f"{self.place}: the documents were stored without vectors; store them again")
        encoder = encoder or load_encoder(about.encoder)
        if encoder.fingerprint != about.fingerprint:
            raise KnowledgeBaseError(
                f"{self.place}: the vectors were made by {about.encoder} ({str(about.fingerprint)[:12]}), the query by "
                f"{encoder.name} ({encoder.fingerprint[:12]}); use the same encoder"
            )
        if k <= 0:
            return []
        vector = encoder.encode([text])[0]
        exact = vector.astype(np.float64)

        def scored(n: int) -> list[Hit]:
            found = self.backend.nearest(vector, n)
            scores = (float(np.float32((stored.astype(np.float64) * exact).sum())) for _, stored in found)
            return [replace(hit, score=score) for (hit, _), score in zip(found, scores, strict=True)]

        return _best(scored, k, _ROUNDING)


def _best(search: Callable[[int], list[Hit]], k: int, rounding: float) -> list[Hit]:
    """The k best hits, equal scores by row: more are fetched until the last is below the k-th."""
    fetched = k + _SPARE_HITS
    while True:
        hits = search(fetched)
        ranked = sorted(hits, key=lambda hit: (-hit.score, hit.row))
        if len(hits) < fetched or hits[-1].score < ranked[k - 1].score - rounding:
            return ranked[:k]
        fetched *= 4


def open_documents(place: str) -> StoredDocuments:
    """Open documents that `upload` stored.

    Args:
        place: see the module. A Qdrant server is asked with the key in the environment variable QDRANT_API_KEY, if it
            is set.

    Raises:
        UserError: it is no such place.
        KnowledgeBaseError: there are no documents there.
        UnavailableError: the server does not answer.
        MissingExtraError: the client is not installed.
    """
    return StoredDocuments(redacted(place), _backend(place, None))


def upload(
    documents: Iterable[Document], place: str, encoder: Encoder | None, progress: ProgressCallback = no_progress
) -> StoredDocuments:
    """Store documents. If interrupted, the next call resumes.

    Args:
        documents: read twice, the first time for the mean length of 100,000. The vectors of a `DocumentStore` are
            used if the encoder made them.
        encoder: makes the vectors; None stores none.
        progress: called as ("storing documents", done, total or None).

    Raises:
        UserError: it is no such place, or it holds other documents, or those of another encoder or language.
        UnavailableError: as `open_documents`.
    """
    ready: npt.NDArray[np.floating[Any]] | None = None
    if isinstance(documents, DocumentStore) and documents.has_vectors:
        same = encoder is not None and documents.vectors.metadata["fingerprint"] == encoder.fingerprint
        ready = documents.vectors.vectors if same else None
    stemmer = documents.stemmer if isinstance(documents, DocumentStore) else LANGUAGE
    analyze = analyzer(stemmer).analyze
    lengths = [len(analyze(_text(document))) for document in islice(documents, _SAMPLE)]
    about = About(float(np.mean(lengths)) if lengths else 1.0, language=stemmer)
    if encoder is not None:
        about = replace(about, encoder=encoder.name, fingerprint=encoder.fingerprint, dimensions=encoder.dimensions)
    backend = _backend(place, about)
    with contextlib.ExitStack() as held:
        held.callback(backend.close)
        done = backend.count()
        if (backend.about.fingerprint, backend.about.language) != (about.fingerprint, about.language):
            raise UserError(
                f"{redacted(place)}: has documents of another encoder or language; name another one behind #"
            )
        total = len(documents) if isinstance(documents, Sized) else None
        source = iter(documents)
        last = next(islice(source, done - 1, None), None) if done else None
        if done and (last is None or last != backend.document(done - 1)):
            raise UserError(f"{redacted(place)}: has other documents; name another one behind #")
        while batch := list(islice(source, _BATCH)):
            progress("storing documents", done, total)
            vectors: Iterable[FloatArray | None] = [None] * len(batch)
            if encoder is not None:
                texts = [embedded_text(document.title, document.text) for document in batch]
                some = encoder.encode(texts) if ready is None else ready[done : done + len(batch)]
                vectors = some.astype(np.float16).astype(np.float32)
            rows = enumerate(zip(batch, vectors, strict=True), start=done)
            backend.add([Record(row, document, analyze(_text(document)), vector) for row, (document, vector) in rows])
            done += len(batch)
        backend.finish()
        held.pop_all()
    return StoredDocuments(redacted(place), backend)


def _text(document: Document) -> str:
    return valid(f"{document.title}\n{document.text}")


def _backend(place: str, about: About | None) -> Backend:
    """The backend of a place, created if there is none and `about` is given."""
    kind, _, rest = place.partition(":")
    where, _, name = rest.partition("#")
    known: dict[str, type[LanceBackend | QdrantBackend]] = {"lancedb": LanceBackend, "qdrant": QdrantBackend}
    if kind not in known or not where:
        raise UserError(
            f"{redacted(place)}: no place of documents; write lancedb:DIRECTORY#TABLE, lancedb:s3://BUCKET/FOLDER, "
            "qdrant:http://HOST:6333#COLLECTION or qdrant:DIRECTORY"
        )
    return known[kind](where, name or _NAME, about)


def _missing(place: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(f"{redacted(place)}: no documents there; store them with `triplecheck kb upload`")


class LanceBackend:
    """A table of LanceDB. Vectors are in half precision; above 200,000 rows an index proposes the nearest."""

    def __init__(self, where: str, name: str, about: About | None) -> None:
        with extra("lancedb", "Documents in LanceDB"):
            import lancedb
        import pyarrow as pa

        self._place = f"lancedb:{where}#{name}"
        with _reached(self._place, (OSError, RuntimeError, ValueError)):
            database = lancedb.connect(where)
            try:
                self._table = database.open_table(name)
            except (ValueError, FileNotFoundError):
                if about is None:
                    raise _missing(self._place) from None
                columns = [(column, pa.string()) for column in ("id", "node", "title", "text", "words")]
                if about.dimensions:
                    columns.append(("vector", pa.list_(pa.float16(), about.dimensions)))
                schema = pa.schema([("row", pa.int64()), *columns], {"triplecheck": json.dumps(asdict(about))})
                self._table = database.create_table(name, schema=schema)
            noted = (self._table.schema.metadata or {}).get(b"triplecheck")
        if noted is None:
            raise KnowledgeBaseError(f"{self._place}: a table that Triplecheck has not made; name another one")
        self.about = About(**parse_json(noted.decode()))
        self._columns = ["row", "id", "node", "title", "text"]

    def count(self) -> int:
        return int(self._table.count_rows())

    def add(self, records: Sequence[Record]) -> None:
        import pyarrow as pa

        columns: dict[str, Any] = {name: [getattr(r.document, name) for r in records] for name in self._columns[1:]}
        columns |= {"row": [record.row for record in records], "words": [" ".join(record.words) for record in records]}
        if self.about.dimensions:
            columns["vector"] = [record.vector.astype(np.float16) for record in records if record.vector is not None]
        schema = self._table.schema.remove_metadata()
        self._table.add(pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}))

    def finish(self) -> None:
        from lancedb.index import FTS, BTree, HnswSq

        if not self.count():
            return
        words = FTS(
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            with_position=False,
            max_token_length=100,
        )
        self._table.create_index("words", config=words, replace=True)
        self._table.create_index("node", config=BTree(), replace=True)
        if self.about.dimensions and self.count() > _INDEXED_ROWS:
            self._table.create_index("vector", config=HnswSq(distance_type="dot"), replace=True)
        self._table.optimize()

    def document(self, row: int) -> Document:
        return self._found(f"row = {row}")[0][1]

    def of_node(self, node: str) -> list[tuple[int, Document]]:
        quoted = node.replace("'", "''")
        return self._found(f"node = '{quoted}'")

    def _found(self, condition: str) -> list[tuple[int, Document]]:
        rows = self._table.search().where(condition).select(self._columns).to_arrow().to_pylist()
        return [(row.pop("row"), Document(**row)) for row in rows]

    def matching(self, words: Sequence[str], k: int) -> list[Hit]:
        from lancedb.query import MatchQuery

        if not self.count():
            return []
        query = self._table.search(MatchQuery(" ".join(words), "words"), query_type="fts")
        rows = query.select([*self._columns, "_score"]).limit(k).to_arrow().to_pylist()
        return [Hit(score=row.pop("_score"), **row) for row in rows]

    def nearest(self, vector: FloatArray, k: int) -> list[tuple[Hit, FloatArray]]:
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        found = query.select([*self._columns, "vector", "_distance"]).refine_factor(4).limit(k).to_arrow()
        stored = np.array(found["vector"].to_pylist(), np.float32).reshape(found.num_rows, self.about.dimensions)
        rows = found.drop_columns(["vector"]).to_pylist()
        return [(Hit(score=1.0 - row.pop("_distance"), **row), one) for row, one in zip(rows, stored, strict=True)]

    def close(self) -> None:
        """Nothing is held."""


class QdrantBackend:
    """A collection of Qdrant: a dense vector and a sparse one of BM25 weights for each document."""

    def __init__(self, where: str, name: str, about: About | None) -> None:
        with extra("qdrant", "Documents in Qdrant"):
            import qdrant_client
            from qdrant_client.http.exceptions import ApiException
        self._models = models = qdrant_client.models
        self._name = name
        self._place = f"qdrant:{where}#{name}"
        self._errors = (ApiException, OSError, RuntimeError)
        self._is_server = where.startswith(("http://", "https://"))
        # The client's local mode is for one thread.
        self._lock: contextlib.AbstractContextManager[Any] = (
            contextlib.nullcontext() if self._is_server else threading.RLock()
        )
        with _reached(self._place, self._errors):
            if self._is_server:
                self._client = qdrant_client.QdrantClient(
                    url=where, api_key=os.environ.get(_KEY), timeout=60, check_compatibility=False
                )
            elif about is None and not Path(where).is_dir():
                raise _missing(self._place)
            else:
                self._client = qdrant_client.QdrantClient(path=where, force_disable_check_same_thread=True)
            if not self._client.collection_exists(name):
                if about is None:
                    raise _missing(self._place)
                dense = models.VectorParams(size=about.dimensions, distance=models.Distance.DOT)
                self._client.create_collection(
                    name,
                    vectors_config={"dense": dense} if about.dimensions else {},
                    sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    metadata={"triplecheck": json.dumps(asdict(about))},
                )
                if self._is_server:
                    self._client.create_payload_index(name, "node", models.PayloadSchemaType.KEYWORD)
            noted = (self._client.get_collection(name).config.metadata or {}).get("triplecheck")
        if noted is None:
            raise KnowledgeBaseError(f"{self._place}: a collection that Triplecheck has not made; name another one")
        self.about = About(**parse_json(noted))

    def _ask(self, call: Callable[..., T], **arguments: Any) -> T:
        with self._lock, _reached(self._place, self._errors):
            return call(collection_name=self._name, **arguments)

    def count(self) -> int:
        return int(self._ask(self._client.count, exact=True).count)

    def add(self, records: Sequence[Record]) -> None:
        points = []
        for record in records:
            vectors: dict[str, Any] = {"words": self._models.SparseVector(**_weights(record.words, self.about.words))}
            if record.vector is not None:
                vectors["dense"] = record.vector.tolist()
            points.append(self._models.PointStruct(id=record.row, vector=vectors, payload=asdict(record.document)))
        self._ask(self._client.upsert, points=points, wait=True)

    def finish(self) -> None:
        """Nothing is left to do: the server indexes by itself."""

    def document(self, row: int) -> Document:
        return Document(**self._ask(self._client.retrieve, ids=[row], with_payload=True)[0].payload or {})

    def of_node(self, node: str) -> list[tuple[int, Document]]:
        found: list[tuple[int, Document]] = []
        after: Any = None
        same = self._models.FieldCondition(key="node", match=self._models.MatchValue(value=node))
        among = self._models.Filter(must=[same])
        while True:
            points, after = self._ask(
                self._client.scroll, scroll_filter=among, limit=256, offset=after, with_payload=True
            )
            found += [(int(point.id), Document(**point.payload or {})) for point in points]
            if after is None:
                return found

    def matching(self, words: Sequence[str], k: int) -> list[Hit]:
        places = [*dict.fromkeys(map(_place, words))]
        query = self._models.SparseVector(indices=places, values=[1.0] * len(places))
        return [hit for hit, _ in self._query(query, "words", k)]

    def nearest(self, vector: FloatArray, k: int) -> list[tuple[Hit, FloatArray]]:
        return self._query(vector.tolist(), "dense", k)

    def _query(self, query: Any, using: str, k: int) -> list[tuple[Hit, FloatArray]]:
        found = self._ask(
            self._client.query_points,
            query=query,
            using=using,
            limit=k,
            with_payload=True,
            with_vectors=["dense"] if using == "dense" else False,
        )
        return [
            (
                Hit(row=int(point.id), score=point.score, **point.payload or {}),
                np.array(point.vector["dense"] if isinstance(point.vector, dict) else [], np.float32),
            )
            for point in found.points
        ]

    def close(self) -> None:
        self._client.close()


def _weights(words: Sequence[str], mean: float) -> dict[str, list[Any]]:
    """The part of BM25 that belongs to the document, by word; the server multiplies by the inverse document frequency.

    Source: Robertson and Zaragoza 2009, equation 3.15. The length is rounded as tantivy stores it.
    """
    norm = _K1 * (1 - _B + _B * _stored_length(len(words)) / max(mean, 1e-9))
    counts = Counter(map(_place, words))
    return {"indices": [*counts], "values": [(_K1 + 1) * n / (n + norm) for n in counts.values()]}


def _place(word: str) -> int:
    return zlib.crc32(word.encode())


def _stored_length(words: int) -> int:
    """A number as it is kept in one byte: exact to 40, then rounded down to four significant bits above 24."""
    above = words - 24
    if above < 16:
        return words
    shift = above.bit_length() - 4
    return 24 + (above >> shift << shift)


@contextlib.contextmanager
def _reached(place: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UnavailableError(f"{redacted(place)}: the documents cannot be reached: {redacted(reason[0])}") from error
