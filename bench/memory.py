"""Memory per triple after all pages of a graph have been read."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench import fixtures, synthetic
from bench.measurement import Measurement, Options
from bench.timing import fresh_process

_TOUCH = """
import ctypes, json, re, sys
from pathlib import Path
import numpy as np
from triplecheck.kg.columnar import ColumnarGraph
folder = sys.argv[1]
anonymous = lambda: 1024 * int(re.search(r"Anonymous: +(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])
before = anonymous()
graph = ColumnarGraph(Path(folder))
graph.find("x"); graph.labels(range(1000))
private = anonymous() - before
for line in Path("/proc/self/maps").read_text().splitlines():
    if folder in line:
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        np.frombuffer((ctypes.c_char * (high - low)).from_address(low), np.uint8)[::512].max()
mapped = sum(int(size) for name, size in re.findall(
    r"^[0-9a-f]+-[0-9a-f]+ .*?(\\S*)\\n(?:.*\\n)*?Rss: +(\\d+)", Path("/proc/self/smaps").read_text(), re.M)
    if folder in name) * 1024
print(json.dumps({"private": private, "mapped": mapped, "triples": graph.num_triples}))
"""


def memory(options: Options) -> Iterator[Measurement]:
    """Mapped bytes per triple, measured in a new process."""
    for size in options.sizes:
        yield _row(size, options)


def _row(size: str, options: Options) -> Measurement:
    folder = fixtures.graph(options, size)
    name = f"memory per triple, {size} triples"
    if sys.platform != "linux":
        return Measurement(name, None, "bytes", note="read from /proc, which only Linux has")
    found = fresh_process(_TOUCH, folder)
    stored = sum(path.stat().st_size for path in folder.iterdir())
    triples = found["triples"]
    note = (
        f"mapped, all pages read; on disk {stored / triples:.1f}, private {found['private'] / 1e6:.1f} MB in total; "
        f"{synthetic.SIZES[size].nodes:,} nodes"
    )
    return Measurement(name, found["mapped"] / triples, "bytes", bound=20, note=note)
