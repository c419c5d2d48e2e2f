"""How long a knowledge base of many triples takes to build, and how much memory: synthetic triples as a TSV file.

python -m bench.bulk --triples 1000000 10000000 --memory 2
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.timing import fresh_process

_BATCH = 1_000_000
_BUILD = """
import json, sys, time
from bench.timing import peak_memory
from triplecheck.kg import build
stages = []
def say(what, done, total):
    stages.append((time.perf_counter(), what.partition(" triples.tsv")[0]))
start, busy = time.perf_counter(), time.process_time()
source, out, memory = sys.argv[1:]
counts = build(source, out, encoder=None, memory=float(memory) or None, progress=say).manifest.counts
stages.append((time.perf_counter(), ""))
spent = {}
for (begin, what), (end, _) in zip(stages, stages[1:]):
    spent[what] = spent.get(what, 0) + end - begin
seconds, busy = time.perf_counter() - start, time.process_time() - busy
print("\\n" + json.dumps({"seconds": seconds, "busy": busy, "spent": spent, "peak": peak_memory(), **counts}))
"""


def write(path: Path, triples: int) -> None:
    """Triples with four per entity, skewed as in real graphs, and 500 relations."""
    random = np.random.default_rng(0)
    entities = max(triples // 4, 10)
    schema = pa.schema([(name, pa.string()) for name in ("head", "relation", "tail")])
    options = pa_csv.WriteOptions(delimiter="\t", quoting_style="none")
    with pa_csv.CSVWriter(path, schema, write_options=options) as sink:
        for start in range(0, triples, _BATCH):
            size = min(_BATCH, triples - start)
            heads = random.integers(0, entities, size)
            tails = (entities * random.random(size) ** 3).astype(np.int64)
            relations = (500 * random.random(size) ** 2).astype(np.int64)
            named = zip(("entity ", "relation ", "entity "), (heads, relations, tails), strict=True)
            sink.write_table(pa.table([pa.array([f"{name}{i}" for i in ids.tolist()]) for name, ids in named], schema))


def main() -> None:
    """Build one knowledge base per size, each in a new process, and print a table; what is in --out is not repeated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", type=float, help="gigabytes for sorting on disk; without it all is in memory")
    parser.add_argument("--work", type=Path, help="where to build; 200 bytes per triple")
    parser.add_argument("--out", type=Path, default=Path("build/bench/bulk.jsonl"), help="measurements, one a line")
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    print("| triples | entities | memory | seconds | of processor | triples/s | at most |\n|" + "---|" * 7)
    for triples in asked.triples:
        key = {"triples": triples, "memory": asked.memory}
        found = next((row for row in known if key.items() <= row.items()), None)
        if found is None:
            with tempfile.TemporaryDirectory(dir=asked.work) as folder:
                source = Path(folder) / "triples.tsv"
                write(source, triples)
                found = fresh_process(_BUILD, source, Path(folder) / "kb", asked.memory or 0) | key
            with asked.out.open("a") as rows:
                rows.write(json.dumps(found) + "\n")
        limit = "no limit" if asked.memory is None else f"{asked.memory:g} GB"
        print(
            f"| {triples:,} | {found['entities']:,} | {limit} | {found['seconds']:.0f} | {found['busy']:.0f} "
            f"| {triples / found['seconds']:,.0f} | {found['peak'] / 1e9:.1f} GB |"
        )
        print("  ".join(f"{what} {seconds:.0f} s" for what, seconds in found["spent"].items()), file=sys.stderr)


if __name__ == "__main__":
    main()
