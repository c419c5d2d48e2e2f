"""`DocumentStore`: passages of text, each about one node of the graph or about none, with search.

The texts are in a memory-mapped Arrow file and the words in a tantivy index (BM25 with k1 = 1.2, b = 0.75;
Robertson and Zaragoza 2009). Vectors, if built, are in a `kg.vectors.VectorIndex`.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import RowArray, load_array
from triplecheck.kg._atomic import link_tree, replaced_directory, write_text
from triplecheck.kg.errors import KnowledgeBaseError, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import HALF_A_CHARACTER, parse_json, valid

if TYPE_CHECKING:
    from triplecheck.kg.encode import Encoder
    from triplecheck.kg.vectors import VectorIndex

_VECTORS = "vectors"
_DRAFT = "vectors.draft"

QUERY_WORDS = 256  # distinct words of a query that are searched
_LISTED_ROWS = 4096  # up to this many rows are passed to the index; more are filtered from its results
_SPARE_HITS = 16  # fetched beyond k, to order equal scores by row
_BUILD_AGAIN = "build the documents again"


@dataclass(frozen=True, slots=True)
class Document:
    """A passage of text.

    Attributes:
        id: unique within a store.
        node: id of the node it is about, or None.
        title: may be empty.
    """

    id: str
    node: str | None
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that a search found.

    Attributes:
        row: its position in the store.
        score: BM25 from `search`, cosine from `search_dense`; higher is better.
    """

    row: int
    id: str
    node: str | None
    title: str
    text: str
    score: float


class Documents(Protocol):
    """Documents that can be searched. `DocumentStore` holds them in files, `kg.document_stores` in a database."""

    def __len__(self) -> int: ...

    @property
    def has_vectors(self) -> bool:
        """Whether `search_dense` can be used."""

    def of_node(self, node_id: str) -> list[Document]:
        """The documents about a node, in row order; none if the node is unknown."""

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The best documents by BM25, see `DocumentStore.search`."""

    def search_dense(self, text: str, k: int = 10, encoder: Encoder | None = None) -> list[Hit]:
        """The nearest documents by cosine, see `DocumentStore.search_dense`."""


def embedded_text(title: str, text: str) -> str:
    """What is encoded of a document."""
    return f"{title}\n{text}" if title else text


class DocumentStore:
    """Documents on disk, opened by `DocumentStore.open`. Read-only and thread-safe."""

    def __init__(self, directory: Path, manifest: Mapping[str, Any]) -> None:
        import pyarrow as pa
        import tantivy

        self.directory = directory
        self._table = pa.ipc.open_file(pa.memory_map(str(directory / TEXTS))).read_all()
        self._columns = {name: self._table[name] for name in ("id", "node", "title", "text")}
        self._node_order: RowArray = load_array(directory / NODE_ORDER)
        self.stemmer: str = manifest["language"]
        self._analyzer = analyzer(self.stemmer)
        index = tantivy.Index.open(str(directory / WORDS))
        index.register_tokenizer("words", self._analyzer)
        self._schema = index.schema
        self._searcher = index.searcher()
        self._vectors_lock = threading.Lock()
        if not self._table.num_rows == self._searcher.num_docs == manifest["rows"]:
            raise KnowledgeBaseError(
                f"{directory}: {self._table.num_rows} texts, {self._searcher.num_docs} indexed, "
                f"{manifest['rows']} expected; {_BUILD_AGAIN}"
            )

    def __len__(self) -> int:
        return int(self._table.num_rows)

    # --- build, open -------------------------------------------------------------------------
    @classmethod
    def build(
        cls,
        records: Iterable[Document],
        out_dir: Path | str,
        after: DocumentStore | None = None,
        language: str = "en",
    ) -> DocumentStore:
        """Write a store and open it. If this fails, nothing is left behind or replaced.

        Args:
            records: the documents; row numbers follow this order.
            out_dir: created; a store already there is replaced, anything else is refused.
            after: a store whose documents come first. Only the others are indexed; its files must not change later.
            language: of the documents, as of a knowledge base; that of `after` if there is one.

        Raises:
            UserError: two documents share an id, or a text is not valid Unicode.
            KnowledgeBaseError: `out_dir` contains something other than a store.
        """
        place = Path(out_dir)
        if place.exists() and not (place.is_dir() and ((place / MANIFEST).exists() or not any(place.iterdir()))):
            raise KnowledgeBaseError(f"{place} contains something other than documents; choose another directory")
        with replaced_directory(place) as new:
            _write_store(records, new, after, stemmer_of(language) if after is None else after.stemmer)
        return cls.open(place)

    @classmethod
    def open(cls, directory: Path | str) -> DocumentStore:
        """Open a store without reading it.

        Raises:
            KnowledgeBaseError: there is no store, or one of its files is missing, damaged or of another version.
        """
        place = Path(directory)
        try:
            manifest = parse_json((place / MANIFEST).read_text("utf-8"))
            if (manifest["format"], manifest["version"]) != (FORMAT, VERSION):
                raise KnowledgeBaseError(
                    f"{place}: documents of format {manifest['format']} {manifest['version']}, this version reads "
                    f"{FORMAT} {VERSION}; {_BUILD_AGAIN}"
                )
            for name, size in manifest["files"].items():
                found = (place / name).stat().st_size
                if found != size:
                    raise KnowledgeBaseError(f"{place / name}: {found} bytes instead of {size}; {_BUILD_AGAIN}")
            return cls(place, manifest)
        except FileNotFoundError as error:
            raise KnowledgeBaseError(f"{place}: no documents here ({error.filename} is missing)") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeBaseError(f"{place}: damaged documents ({error}); {_BUILD_AGAIN}") from error

    # --- look-ups ----------------------------------------------------------------------------
    def document(self, row: int) -> Document:
        """The document of a row (IndexError if there is none)."""
        return Document(**{name: column[row].as_py() for name, column in self._columns.items()})

    def of_node(self, node_id: str) -> list[Document]:
        """The documents about a node, in row order; none if the node is unknown."""
        names = self._columns["node"]

        def name_at(row: np.int64) -> Any:
            return names[int(row)].as_py()

        order: Sequence[np.int64] = self._node_order  # type: ignore[assignment]  # an array is enough for bisect
        rows = slice(bisect_left(order, node_id, key=name_at), bisect_right(order, node_id, key=name_at))
        return [self.document(row) for row in self._node_order[rows].tolist()]

    def node_ids(self) -> Iterator[str | None]:
        """The node of each document, in row order."""
        for chunk in self._columns["node"].chunks:
            yield from chunk.to_pylist()

    def ids(self) -> list[str]:
        """The id of each document, in row order."""
        ids: list[str] = self._columns["id"].to_pylist()
        return ids

    def batches(self) -> list[Any]:
        """The documents as record batches of Arrow, in row order."""
        batches: list[Any] = self._table.to_batches()
        return batches

    def __iter__(self) -> Iterator[Document]:
        """All documents, in row order."""
        for batch in self.batches():
            yield from (Document(**row) for row in batch.to_pylist())

    def embedded_texts(self, start: int = 0, length: int | None = None) -> list[str]:
        """The texts that `build_vectors` encodes, of some rows."""
        rows = self._table.slice(start, length).select(["title", "text"]).to_pylist()
        return [embedded_text(row["title"], row["text"]) for row in rows]

    # --- search ------------------------------------------------------------------------------
    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The best documents by BM25 over title and text, best first, then by row.

        Args:
            text: any text; read as words, never as query syntax.
        """
        return self._hits(*self.best_rows(text, k))

    def best_rows(
        self, text: str, k: int, within: npt.NDArray[np.integer] | None = None
    ) -> tuple[RowArray, npt.NDArray[np.float32]]:
        """Rows and scores of the best documents: `search` without the documents.

        Args:
            k: number of rows; a document without any of the words is never returned.
            within: search only these rows, in any order.
        """
        words = dict.fromkeys(self._analyzer.analyze(valid(text)))
        if k <= 0 or not words or (within is not None and not len(within)):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if within is None or len(within) <= _LISTED_ROWS:
            found, scores = self._bm25(words, k, within)
        else:
            allowed = np.zeros(len(self), bool)
            allowed[within] = True
            fetched = k * len(self) // len(within)
            while True:
                found, scores = self._bm25(words, fetched, None)
                keep = allowed[found]
                if keep.sum() >= k or len(found) < fetched:
                    break
                fetched *= 4
            found, scores = found[keep], scores[keep]
        return found[:k], scores[:k]

    def _bm25(
        self, words: Iterable[str], k: int, within: npt.NDArray[np.integer] | None
    ) -> tuple[RowArray, npt.NDArray[np.float32]]:
        from tantivy import Occur, Query

        terms = [Query.term_query(self._schema, "words", word, "freq") for word in islice(words, QUERY_WORDS)]
        query = Query.boolean_query([(Occur.Should, term) for term in terms])
        if within is not None:
            among = Query.const_score_query(Query.term_set_query(self._schema, "row", within.tolist()), 0.0)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, among)])
        fetched = min(k, len(self)) + _SPARE_HITS
        while True:
            hits = self._searcher.search(query, fetched, count=False).hits
            # Equal scores come in arbitrary order: fetch all that equal the k-th score.
            if len(hits) < fetched or hits[-1][0] < hits[k - 1][0]:
                break
            fetched *= 4
        rows = np.array(self._searcher.fast_field_values("row", [address for _, address in hits]), np.int64)
        scores = np.array([score for score, _ in hits], np.float32)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]

    def search_dense(self, text: str, k: int = 10, encoder: Encoder | None = None) -> list[Hit]:
        """The nearest documents by cosine of vectors, best first, then by row.

        Args:
            encoder: the encoder of the vectors; loaded by name if not given.

        Raises:
            KnowledgeBaseError: there are no vectors, or another encoder made them.
        """
        if not self.has_vectors:
            raise KnowledgeBaseError(
                f"{self.directory}: no document vectors; run `triplecheck kb encode --documents` (build_vectors)"
            )
        vectors = self.vectors
        if encoder is None:
            from triplecheck.kg.encode import load_encoder

            encoder = load_encoder(vectors.metadata["encoder"])
        if encoder.fingerprint != vectors.metadata["fingerprint"]:
            raise KnowledgeBaseError(
                f"{self.directory}: the document vectors were made by {vectors.metadata['encoder']} "
                f"({vectors.metadata['fingerprint'][:12]}), the query by {encoder.name} "
                f"({encoder.fingerprint[:12]}); use the same encoder or build the vectors again"
            )
        return self._hits(*vectors.search(encoder.encode([text])[0], k))

    def _hits(self, rows: RowArray, scores: npt.NDArray[np.floating[Any]]) -> list[Hit]:
        pairs = zip(rows.tolist(), scores.tolist(), strict=True)
        return [Hit(row, **asdict(self.document(row)), score=score) for row, score in pairs]

    # --- vectors -----------------------------------------------------------------------------
    @property
    def has_vectors(self) -> bool:
        """Whether `search_dense` can be used."""
        return (self.directory / _VECTORS / "vectors.json").is_file()

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vectors, by row.

        Raises:
            KnowledgeBaseError: there are none, or they are damaged.
        """
        from triplecheck.kg.vectors import VectorIndex

        vectors = VectorIndex.open(self.directory / _VECTORS)
        if len(vectors) != len(self) or not {"encoder", "fingerprint"} <= vectors.metadata.keys():
            raise KnowledgeBaseError(
                f"{self.directory / _VECTORS}: {len(vectors)} vectors for {len(self)} documents; build them again"
            )
        return vectors

    def build_vectors(self, encoder: Encoder, progress: ProgressCallback = no_progress) -> None:
        """Encode every document (title and text). If interrupted, the next call resumes.

        Vectors are stored in half precision. Vectors of the same encoder are kept; those of another encoder are
        replaced.

        Args:
            encoder: the default one encodes about 40 paragraphs per second and core.
            progress: called as ("encoding documents", done, total).
        """
        from triplecheck.kg.vectors import LazyVectors, VectorIndex

        with self._vectors_lock:
            if self.has_vectors and self.vectors.metadata["fingerprint"] == encoder.fingerprint:
                return
            draft = self.directory / _DRAFT
            draft.mkdir(exist_ok=True)  # fails at once where nothing can be written
            vectors = LazyVectors(draft, len(self), lambda row: self.embedded_texts(row, 1)[0], encoder)
            vectors.fill(progress=progress)
            metadata = {"encoder": encoder.name, "fingerprint": encoder.fingerprint}
            VectorIndex(vectors.matrix, metadata).save(self.directory / _VECTORS)
            self.__dict__.pop("vectors", None)
            shutil.rmtree(draft)


# --- writing a store -----------------------------------------------------------------------------
FORMAT = "triplecheck-documents"
VERSION = 1
MANIFEST = "documents.json"
LANGUAGE = "english"
"""The stemmer where nothing else is said."""
TEXTS = "documents.arrow"
NODE_ORDER = "node_order.npy"
WORDS = "words"

_BATCH = 4096  # documents per record batch
_STEMMERS = {
    **{"ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": LANGUAGE, "es": "spanish", "fi": "finnish"},
    **{"fr": "french", "hu": "hungarian", "it": "italian", "nb": "norwegian", "nl": "dutch", "pt": "portuguese"},
    **{"ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
_LOCKS = (".tantivy-writer.lock", ".tantivy-meta.lock")


def _write_store(records: Iterable[Document], place: Path, after: DocumentStore | None, stemmer: str) -> None:
    """Write texts, word index and manifest into an empty folder; see `DocumentStore.build`."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import tantivy

    schema = pa.schema([("id", pa.string()), ("node", pa.string()), ("title", pa.string()), ("text", pa.string())])
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", tokenizer_name="words", index_option="freq")
    builder.add_integer_field("row", indexed=True, fast=True)
    (place / WORDS).mkdir()
    if after is None:
        index = tantivy.Index(builder.build(), str(place / WORDS))
    else:
        # tantivy never changes a file in place.
        link_tree(after.directory / WORDS, place / WORDS, _LOCKS)
        index = tantivy.Index.open(str(place / WORDS))
    index.register_tokenizer("words", analyzer(stemmer))
    writer = index.writer(128_000_000)
    ids: set[str] = set() if after is None else set(after.ids())
    source = iter(records)
    try:
        with pa.ipc.new_file(str(place / TEXTS), schema) as texts:
            for old in () if after is None else after.batches():
                texts.write_batch(old)
            while batch := list(islice(source, _BATCH)):
                for row, document in enumerate(batch, start=len(ids)):
                    if document.id in ids:
                        raise UserError(f"two documents have the id {document.id!r}; ids must be unique")
                    ids.add(document.id)
                    words = f"{document.title}\n{document.text}"
                    if words != valid(words):
                        raise UserError(f"document {document.id!r} contains {HALF_A_CHARACTER}")
                    writer.add_document(tantivy.Document(words=words, row=row))
                columns = [[getattr(document, name) for document in batch] for name in schema.names]
                texts.write_batch(pa.record_batch(columns, schema=schema))
        writer.commit()
    finally:
        writer.wait_merging_threads()  # otherwise they would still write while the caller cleans up
    nodes = pa.ipc.open_file(pa.memory_map(str(place / TEXTS))).read_all()["node"]
    # By UTF-8 bytes, the order of Python's strings; nulls last; equal ones by row.
    order = pc.sort_indices(nodes).to_numpy()[: len(nodes) - nodes.null_count]
    np.save(place / NODE_ORDER, order.astype(np.int64))
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    sizes = {path.relative_to(place).as_posix(): path.stat().st_size for path in files}
    manifest = {"format": FORMAT, "version": VERSION, "rows": len(ids), "language": stemmer, "files": sizes}
    write_text(place / MANIFEST, json.dumps(manifest, indent=1))


def stemmer_of(language: str) -> str:
    """The stemmer of a language, given by its code or a spaCy pipeline of it; empty if there is none."""
    return _STEMMERS.get(re.split("[-_]", language)[0].lower(), "")


def analyzer(stemmer: str = LANGUAGE) -> Any:
    """Text to words: split at everything but letters and digits, lower case, without accents, stemmed."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(80)).filter(Filter.lowercase())
    builder = builder.filter(Filter.ascii_fold())
    return (builder.filter(Filter.stemmer(stemmer)) if stemmer else builder).build()
