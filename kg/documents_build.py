"""Writes the directory that `kg.documents.DocumentStore` opens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sized
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triplecheck.kg.errors import UserError

if TYPE_CHECKING:
    from triplecheck.kg.documents import Document
    from triplecheck.kg.progress import ProgressCallback

FORMAT = "triplecheck-documents"
VERSION = 1
MANIFEST = "documents.json"
TEXTS = "documents.arrow"
NODE_ORDER = "node_order.npy"
WORDS = "words"

_BATCH = 4096  # documents per record batch


def write_store(records: Iterable[Document], place: Path, progress: ProgressCallback | None, language: str) -> None:
    """Write texts, word index and manifest into an empty folder; see `DocumentStore.build`."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import tantivy

    schema = pa.schema([("id", pa.string()), ("node", pa.string()), ("title", pa.string()), ("text", pa.string())])
    total = len(records) if isinstance(records, Sized) else None
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", tokenizer_name="words", index_option="freq")
    builder.add_integer_field("row", indexed=True, fast=True)
    (place / WORDS).mkdir()
    index = tantivy.Index(builder.build(), str(place / WORDS))
    index.register_tokenizer("words", analyzer(language))
    writer = index.writer(128_000_000)
    ids: set[str] = set()
    source = iter(records)
    try:
        with pa.ipc.new_file(str(place / TEXTS), schema) as texts:
            while batch := list(islice(source, _BATCH)):
                for row, document in enumerate(batch, start=len(ids)):
                    if document.id in ids:
                        raise UserError(f"two documents have the id {document.id!r}; ids must be unique")
                    ids.add(document.id)
                    words = f"{document.title}\n{document.text}"
                    if words != valid(words):
                        raise UserError(f"document {document.id!r} holds half a character (a lone surrogate)")
                    writer.add_document(tantivy.Document(words=words, row=row))
                columns = [[getattr(document, name) for document in batch] for name in schema.names]
                texts.write_batch(pa.record_batch(columns, schema=schema))
                if progress is not None:
                    progress("indexing documents", len(ids), total)
        writer.commit()
    finally:
        writer.wait_merging_threads()  # else they would go on writing while the caller clears up
    nodes = pa.ipc.open_file(pa.memory_map(str(place / TEXTS))).read_all()["node"]
    # By the bytes of UTF-8, which is Python's order of strings too; nulls last; equal ones in order of rows.
    order = pc.sort_indices(nodes).to_numpy()[: len(nodes) - nodes.null_count]
    np.save(place / NODE_ORDER, order.astype(np.int64))
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    sizes = {path.relative_to(place).as_posix(): path.stat().st_size for path in files}
    manifest = {"format": FORMAT, "version": VERSION, "rows": len(ids), "language": language, "files": sizes}
    write_json(place / MANIFEST, manifest)


def analyzer(language: str) -> Any:
    """Text to words: split at what is no letter or digit, lower case, without accents and endings."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(80))
    try:
        stemmer = Filter.stemmer(language)
        return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).filter(stemmer).build()
    except ValueError as error:
        raise UserError(f"no stemmer for the language {language!r} ({error})") from error


def valid(text: str) -> str:
    """The text with lone surrogates, which are no Unicode, replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a small file whole or not at all."""
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(value, indent=1), "utf-8")
    draft.replace(path)
