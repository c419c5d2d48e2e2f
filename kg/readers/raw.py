"""`RawGraph`: what every reader returns and the builder of knowledge bases takes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.errors import ReadError, ReadWarning

ENTITY_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("label", pa.string()),  # null if not given
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("types", pa.list_(pa.string())),
    ]
)
RELATION_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("domain", pa.string()),
        ("range", pa.string()),
    ]
)

EDGE_PROPERTY_SCHEMA = pa.schema(
    [
        ("edge", pa.int64()),  # row of the triple that has the property
        ("name", pa.string()),
        ("value", pa.string()),  # lexical form of a literal, id of an entity
        ("datatype", pa.string()),  # null for an entity
    ]
)

UNKNOWN = "?"
"""Datatype of what may be an entity or a literal, where the source does not say: the builder decides."""


def open_packed(path: Path) -> IO[bytes]:
    """Open a file for reading, plain or compressed (.gz, .bz2, .xz)."""
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return cast(IO[bytes], openers.get(path.suffix.lower(), open)(path, "rb"))


@dataclass(frozen=True)
class BadLine:
    """A line that was skipped under `skip_bad`, and the reason."""

    path: str
    line: int | None
    reason: str


def bad_line(
    skipped: list[BadLine] | None, path: Path, line: int | None, reason: str, error: Exception | None = None
) -> None:
    """Note a malformed line.

    Raises:
        ReadError: there is nowhere to note it.
    """
    if skipped is None:
        raise ReadError(path, line, reason) from error
    skipped.append(BadLine(str(path), line, reason))


@dataclass
class RawGraph:
    """Triples as dictionary-encoded columns, with descriptions of entities, relations and types.

    Attributes:
        heads: entity ids, `dictionary<int32, string>`, length n.
        relations: relation ids, same type and length.
        tails: entity ids or lexical forms, same type and length.
        datatypes: datatype IRI of a literal tail, null if the tail is an entity; same type and length. None if the
            source does not distinguish literals from entities (plain TSV).
        entities: rows of `ENTITY_SCHEMA`; several rows of one id are merged.
        relation_rows: rows of `RELATION_SCHEMA`; several rows of one id are merged.
        edge_properties: rows of `EDGE_PROPERTY_SCHEMA`: what is said about single triples, such as a start time.
        superclasses: direct superclasses by class id; what has a type has its superclasses as types, too.
        skipped: lines skipped under `skip_bad`.
        read: `statements`, if they are not as many as triples.
        inferred: number of triples, and of their properties, that follow from an ontology; see `kg.inference`.
        described: number of statements that became descriptions (labels, comments, types), not edges.
        left_out: number of statements that became neither, by the reason.
        notes: what a reader was not sure of.
        recognised: of each table, whether it was read as triples or as a wide table, and its first triples.
        reading: what files that are added later must be read with, too: `axioms`, `language`, and `inverses` of
            relations.
    """

    heads: pa.DictionaryArray
    relations: pa.DictionaryArray
    tails: pa.DictionaryArray
    datatypes: pa.DictionaryArray | None = None
    entities: pa.Table = field(default_factory=lambda: ENTITY_SCHEMA.empty_table())
    relation_rows: pa.Table = field(default_factory=lambda: RELATION_SCHEMA.empty_table())
    edge_properties: pa.Table = field(default_factory=lambda: EDGE_PROPERTY_SCHEMA.empty_table())
    type_labels: dict[str, str] = field(default_factory=dict)
    superclasses: dict[str, list[str]] = field(default_factory=dict)
    skipped: list[BadLine] = field(default_factory=list)
    read: int | None = None
    inferred: int = 0
    described: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recognised: list[str] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def statements(self) -> int:
        """Number of statements in the source."""
        return len(self) if self.read is None else self.read


def filtered(raw: RawGraph, kept: npt.NDArray[np.bool_]) -> RawGraph:
    """A graph with some of its edges, and with what is said about these."""
    names = [name for name in ("heads", "relations", "tails", "datatypes") if getattr(raw, name) is not None]
    columns: dict[str, Any] = {name: getattr(raw, name).filter(pa.array(kept)) for name in names}
    about = raw.edge_properties.filter(pa.array(kept[raw.edge_properties["edge"].to_numpy()]))
    edges = pa.array((np.cumsum(kept) - 1)[about["edge"].to_numpy()], pa.int64())
    return replace(raw, **columns, edge_properties=about.set_column(0, EDGE_PROPERTY_SCHEMA.field("edge"), edges))


def property_table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Rows of `EDGE_PROPERTY_SCHEMA`."""
    return pa.table([*zip(*rows, strict=True)] or [()] * len(EDGE_PROPERTY_SCHEMA), EDGE_PROPERTY_SCHEMA)


def nothing() -> RawGraph:
    """A graph without triples."""
    return RawGraph(*(pa.array([], pa.string()).dictionary_encode() for _ in range(3)))


def warn_of(raw: RawGraph) -> None:
    """Warn of what a reader was not sure of."""
    for note in raw.notes:
        warnings.warn(note, ReadWarning, stacklevel=5)


def without_triples(part: RawGraph) -> RawGraph:
    """What a graph says besides its triples."""
    none = nothing().heads
    return replace(part, heads=none, relations=none, tails=none, datatypes=none, read=part.statements)


class StringColumns:
    """String columns that grow by batches; each batch is dictionary-encoded."""

    def __init__(self, width: int) -> None:
        self._chunks: list[list[pa.DictionaryArray]] = [[] for _ in range(width)]

    def add(self, rows: Sequence[tuple[str | None, ...]]) -> None:
        """Add a batch of rows."""
        if rows:
            for chunks, values in zip(self._chunks, zip(*rows, strict=True), strict=True):
                chunks.append(pa.array(values, pa.string()).dictionary_encode())

    def counted(self, predicates: Iterable[str]) -> int:
        """Number of rows with one of these predicates."""
        wanted = pa.array(list(predicates), pa.string())
        return sum(pc.sum(pc.is_in(chunk, value_set=wanted)).as_py() or 0 for chunk in self._chunks[1])

    def rows(self, column: int, values: Iterable[str]) -> list[tuple[Any, ...]]:
        """Rows whose column 0 (subject) or 1 (predicate) has one of these values, without languages."""
        wanted = pa.array(list(values), pa.string())
        found: list[tuple[Any, ...]] = []
        for chunks in zip(*self._chunks, strict=True):
            there = pc.is_in(chunks[column], value_set=wanted)
            found += [(*row, None) for row in zip(*(c.filter(there).to_pylist() for c in chunks), strict=True)]
        return found

    def arrays(self, about: pa.Array | None = None) -> list[pa.DictionaryArray]:
        """The columns, each with one dictionary; of columns that are stored elsewhere only what is `about` some ids."""
        kind = pa.dictionary(pa.int32(), pa.string())
        return [
            pa.chunked_array(chunks, kind).unify_dictionaries().combine_chunks()
            if chunks
            else pa.array([], pa.string()).dictionary_encode()
            for chunks in self._chunks
        ]
