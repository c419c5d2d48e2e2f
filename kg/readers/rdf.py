"""Reads RDF: N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, plain or gzipped.

pyoxigraph parses all but JSON-LD, which is rdflib's. Statements go into dictionary-encoded Arrow
columns batch by batch: what is held in memory is the distinct strings and one integer per use.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers._rdf_describe import Descriptions, describe
from triplecheck.kg.readers._rdf_parse import Statement, statements
from triplecheck.kg.readers.raw import BadLine, RawGraph
from triplecheck.kg.vocabulary import Vocabulary


def read_rdf(
    paths: Path | str | Iterable[Path | str],
    *,
    skip_bad: bool = False,
    progress: ProgressCallback | None = None,
    vocabulary: Vocabulary | None = None,
) -> RawGraph:
    """Read one or several RDF files as one graph.

    Predicates of the vocabulary (labels, aliases, descriptions, types, domains, ranges) describe
    their subject and are no edges. What they say about a relation (used as a predicate, or typed as
    a property) goes to `relation_rows`, about a class (object of a type statement, or typed as a
    class) to `type_labels`; relations and classes are entities only if they have edges, too.
    Blank nodes become entities `_:b0`, `_:b1` ... in order of appearance. A literal keeps its
    lexical form and datatype; language tags are dropped. In JSON-LD, rdflib brings numbers and
    booleans into their canonical form, and a remote `@context` is fetched.

    Args:
        paths: files; the extension tells the format (.nt .nq .ttl .trig .rdf .owl .xml .jsonld, and .gz after it).
        skip_bad: leave malformed lines of N-Triples and N-Quads out and list them in `skipped`;
            the other formats cannot be read past an error.
        progress: called after each batch with the number of statements read so far.
        vocabulary: which predicates describe; RDFS, SKOS, schema.org, FOAF by default.

    Raises:
        ReadError: a file is missing, of no known extension, or malformed (with the line).
    """
    files = [Path(paths)] if isinstance(paths, Path | str) else [Path(p) for p in paths]
    words = vocabulary or Vocabulary()
    edges, said = _Columns(4), _Columns(4)
    blanks: dict[tuple[int, str], str] = {}
    skipped: list[BadLine] = []
    done = 0
    for number, path in enumerate(files):

        def blank(label: str, number: int = number) -> str:
            return blanks.setdefault((number, label), f"_:b{len(blanks)}")

        for batch in statements(path, blank, skipped if skip_bad else None):
            _encode(batch, words, edges, said)
            done += len(batch)
            if progress is not None:
                progress(f"reading {path.name}", done, None)
    heads, relations, tails, datatypes = edges.arrays()
    found = describe(Descriptions(*said.arrays()), heads, relations, tails, datatypes, words)
    return RawGraph(
        heads=heads,
        relations=relations,
        tails=tails,
        datatypes=datatypes,
        entities=found.entities,
        relation_rows=found.relation_rows,
        type_labels=found.type_labels,
        skipped=skipped,
    )


class _Columns:
    """String columns that grow by batches, each batch encoded at once."""

    def __init__(self, width: int) -> None:
        self._chunks: list[list[pa.DictionaryArray]] = [[] for _ in range(width)]

    def add(self, rows: list[tuple[str | None, ...]]) -> None:
        if rows:
            for chunks, values in zip(self._chunks, zip(*rows, strict=True), strict=True):
                chunks.append(pa.array(values, pa.string()).dictionary_encode())

    def arrays(self) -> list[pa.DictionaryArray]:
        kind = pa.dictionary(pa.int32(), pa.string())
        return [
            pa.chunked_array(chunks, kind).unify_dictionaries().combine_chunks()
            if chunks
            else pa.array([], pa.string()).dictionary_encode()
            for chunks in self._chunks
        ]


def _encode(batch: list[Statement], words: Vocabulary, edges: _Columns, said: _Columns) -> None:
    not_edges = frozenset(words.not_edges)
    edges.add([s[:4] for s in batch if s[1] not in not_edges])
    said.add([_description(s) for s in batch if s[1] in not_edges])


def _description(statement: Statement) -> tuple[str | None, ...]:
    """(subject, predicate, object, language), the language null where the object is an entity."""
    subject, predicate, target, datatype, language = statement
    return subject, predicate, target, None if datatype is None else language or ""
