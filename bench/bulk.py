"""How long a knowledge base of many triples takes to build, and how much memory: synthetic triples as a TSV file.

python -m bench.bulk --triples 5000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.timing import peak_memory
from triplecheck.kg import build

_BATCH = 1_000_000


def write(path: Path, triples: int, seed: int = 0) -> None:
    """Triples with four per entity, skewed as in real graphs, and 500 relations."""
    random = np.random.default_rng(seed)
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
    """Build one knowledge base and print its rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=5_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "triples.tsv"
        write(source, asked.triples)
        began, processor = time.perf_counter(), time.process_time()
        counts = build(source, Path(folder) / "kb", encoder=None).manifest.counts
        seconds, used = time.perf_counter() - began, time.process_time() - processor
    peak = peak_memory() / 1e6
    print(f"{asked.triples:,} triples, {counts['triples']:,} kept, {counts['entities']:,} entities")
    print(
        f"{seconds:.0f} s ({used:.0f} s of processor), {asked.triples / seconds:,.0f} triples/s, {peak:.1f} GB at most"
    )


if __name__ == "__main__":
    main()
