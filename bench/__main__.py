"""`python -m bench [names...] [--quick] [--size 8M,50M] [--json]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import synthetic
from bench.anchorrag import anchorrag
from bench.building import building
from bench.embeddings import embeddings
from bench.evaluating import evaluating
from bench.first_answer import cold_start, first_answer
from bench.grounding import grounding
from bench.know3rag import know3rag
from bench.linking import linking
from bench.lookups import lookups
from bench.measurement import Measurement, Options
from bench.memory import memory
from bench.patterns import patterns
from bench.plans import plans
from bench.questions import questions
from bench.serving import serving

FIGURES = {
    measure.__name__: measure
    for measure in (
        lookups,
        patterns,
        plans,
        memory,
        linking,
        grounding,
        embeddings,
        building,
        cold_start,
        first_answer,
        questions,
        anchorrag,
        know3rag,
        evaluating,
        serving,
    )
}
_PEERS = ("numpy", "pyarrow", "pyoxigraph", "rdflib", "spacy", "rapidfuzz")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Benchmark Triplecheck and comparable libraries."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run: {', '.join(FIGURES)}; default: all"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and few rounds, to check that everything runs"
    )
    parser.add_argument(
        "--size",
        help=f"graph sizes, comma-separated, from {', '.join(synthetic.SIZES)} (default: 8M,50M; with --quick: 1M)",
    )
    parser.add_argument("--json", action="store_true", help="also write bench/results.json")
    given = parser.parse_args()
    sizes = tuple((given.size or ("1M" if given.quick else "8M,50M")).split(","))
    for kind, asked, known in (("figure", given.names, FIGURES), ("size", sizes, synthetic.SIZES)):
        if unknown := set(asked) - set(known):
            parser.error(f"unknown {kind}: {', '.join(sorted(unknown))} (known: {', '.join(known)})")
    rows = _measure(given.names or list(FIGURES), sizes, given.quick)
    Console(width=None if sys.stdout.isatty() else 180).print(_table(rows))
    if given.json:
        report = {"machine": _machine(), "quick": given.quick, "rows": [_record(row) for row in rows]}
        Path(__file__).with_name("results.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


def _measure(names: list[str], sizes: tuple[str, ...], quick: bool) -> list[Measurement]:
    place = os.environ.get("TRIPLECHECK_BENCH_DIR")
    work = Path(tempfile.mkdtemp(prefix="triplecheck-bench-", dir=place))
    options = Options(work, sizes, quick)
    console = Console(stderr=True)
    rows = []
    try:
        for name in names:
            console.print(f"measuring {name} ...")
            for row in FIGURES[name](options):
                rows.append(row)
                value = "skipped" if row.ours is None else f"{row.ours:,.4g} {row.unit}"
                console.print(f"  {row.figure}: {value}", highlight=False)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return rows


def _table(rows: list[Measurement]) -> Table:
    table = Table(title="Ratio: how many times better than the peer, measured in the same run", title_justify="left")
    for name in ("figure", "ours", "peer", "theirs", "ratio", "target", "met?", "note"):
        table.add_column(name, justify="right" if name in ("ours", "theirs", "ratio") else "left", overflow="fold")
    for row in rows:
        met = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[row.met]
        ours = "skipped" if row.ours is None else f"{_short(row.ours)} {row.unit}"
        theirs = "" if row.theirs is None else f"{_short(row.theirs)} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2g}x" if row.ratio < 10 else f"{row.ratio:,.0f}x"
        table.add_row(row.figure, ours, row.peer, theirs, ratio, row.target, met, row.note)
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _record(row: Measurement) -> dict[str, Any]:
    return asdict(row) | {"ratio": row.ratio, "target": row.target, "met": row.met}


def _machine() -> dict[str, Any]:
    return {
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PEERS},
    }


if __name__ == "__main__":
    sys.exit(main())
