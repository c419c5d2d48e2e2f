"""Small source files and small knowledge bases."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import RawGraph, read_graph


def write(path: Path, content: str | bytes) -> Path:
    """A file of this content, gzipped where its name ends so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def raw_graph(edges: Iterable[Sequence[str]]) -> RawGraph:
    """Edges as a reader of plain triples gives them."""
    rows = list(edges)
    heads, relations, tails = (pa.array([row[i] for row in rows], pa.string()).dictionary_encode() for i in range(3))
    return RawGraph(heads, relations, tails)


def built(folder: Path, triples: str, entities: str = "", relations: str = "", **options: object) -> KnowledgeBase:
    """A knowledge base from the texts of its tables."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"entities": entities, "relations": relations}
    paths = {name: write(folder / f"{name}.tsv", text) for name, text in tables.items() if text}
    raw = read_graph([write(folder / "triples.tsv", triples)], **paths)
    return build(raw, folder / "kb", **{"encoder": None} | options)  # type: ignore[arg-type]
