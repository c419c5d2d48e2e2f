"""Data that several benchmarks share, created once per run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from bench import synthetic
from bench.measurement import Options
from bench.timing import ROOT
from triplecheck.kg import KnowledgeBase, build, columnar_build
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import UnavailableError
from triplecheck.kg.readers import read_graph


def graph(options: Options, size: str) -> Path:
    """The folder of a `ColumnarGraph` of this size."""

    def make(folder: Path) -> None:
        folder.mkdir()
        columnar_build.write_graph(synthetic.numbered(synthetic.SIZES[size]), folder)

    return _once(options, f"graph-{size}", make)


def triples(options: Options, size: str) -> Path:
    """A gzipped TSV file of this size."""
    return _once(options, f"{size}.tsv.gz", lambda path: synthetic.write_tsv(synthetic.SIZES[size], path))


def ntriples(options: Options, size: str) -> Path:
    """An N-Triples file of the same triples."""
    return _once(options, f"{size}.nt", lambda path: synthetic.write_ntriples(synthetic.SIZES[size], path))


def _once(options: Options, name: str, make: Callable[[Path], None]) -> Path:
    if name not in options.made:
        path = options.work / name
        make(path)
        options.made[name] = path
    return options.made[name]


def bundled(place: Path) -> KnowledgeBase:
    """The bundled knowledge base, built in this directory."""
    return build(read_graph(sorted((ROOT / "kg" / "bundled").glob("*.ttl"))), place, encoder=encoder())


def encoder() -> Encoder | None:
    """The default encoder; None if it is not installed."""
    try:
        return load_encoder()
    except UnavailableError:
        return None


def shared_data() -> Path:
    """Folder of the public data sets: TRIPLECHECK_DATA, else `../shared/data`."""
    return Path(os.environ.get("TRIPLECHECK_DATA") or ROOT.parent / "shared" / "data")
