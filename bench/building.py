"""Building a knowledge base from a file, and opening it in a fresh process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from bench import fixtures, synthetic
from bench.measurement import Measurement, Options
from bench.timing import fresh_process, interleaved, percentile
from triplecheck.kg import build
from triplecheck.kg.readers import read_graph

_BUILD = """
import json, sys, time
from pathlib import Path
from bench.timing import peak_memory
from triplecheck import kg
from triplecheck.kg.readers import ReadOptions, read_graph
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.errors import UnavailableError
stages = []
def say(what, done, total):
    stages.append((time.perf_counter(), what))
start, busy = time.perf_counter(), time.process_time()
raw = read_graph([Path(sys.argv[1])], how=ReadOptions(progress=say))
stages.append((time.perf_counter(), "loading the encoder"))
try:
    encoder = load_encoder()
except UnavailableError:
    encoder = None
kg.build(raw, sys.argv[2], encoder=encoder, progress=say)
stages.append((time.perf_counter(), ""))
spent = {}
for (begin, what), (end, _) in zip(stages, stages[1:]):
    spent[what] = spent.get(what, 0) + end - begin
print(json.dumps({
    "seconds": stages[-1][0] - start, "busy": time.process_time() - busy, "spent": spent,
    "peak": peak_memory(),
}))
"""

_OPEN = """
import json, sys, time
from pathlib import Path
from triplecheck import kg
from triplecheck.kg.columnar import ColumnarGraph
start = time.perf_counter()
folder = Path(sys.argv[1])
graph = kg.KnowledgeBase.open(folder).graph if (folder / "manifest.json").is_file() else ColumnarGraph(folder)
node = graph.find(graph.node_id(graph.num_nodes // 2))
edges = graph.relations_of(node)
print(json.dumps(time.perf_counter() - start))
"""


def building(options: Options) -> Iterator[Measurement]:
    """Triples per second from a gzipped TSV file to a finished knowledge base, and the time to open it."""
    size = "1M" if options.quick else "8M"
    out = options.work / "built"
    found = fresh_process(_BUILD, fixtures.triples(options, size), out)
    triples = synthetic.SIZES[size].triples
    longest = sorted(found["spent"].items(), key=lambda stage: -stage[1])[:4]
    shares = ", ".join(f"{what} {seconds / found['seconds']:.0%}" for what, seconds in longest)
    yield Measurement(
        f"build from gzipped TSV, {size} triples",
        triples / found["seconds"],
        "triples/s",
        bound=300_000,
        note=f"reading, graph, names, encoder; {found['seconds']:.1f} s, {found['busy']:.1f} s of CPU; "
        f"peak {found['peak'] / 1e9:.1f} GB; {shares}",
    )
    yield from _against_parsers("200k" if options.quick else "1M", options)
    yield _opening(f"open a knowledge base, {size} triples", out, options)
    shutil.rmtree(out)
    for name in options.sizes:
        yield _opening(f"open a graph, {name} triples", fixtures.graph(options, name), options)


def _opening(name: str, folder: Path, options: Options) -> Measurement:
    times = [fresh_process(_OPEN, folder) for _ in range(options.rounds)]
    note = "in a new process, with one lookup; imports not counted, files in the page cache"
    return Measurement(name, percentile(times, 0.5), "s", bound=0.2, note=note)


def _against_parsers(size: str, options: Options) -> Iterator[Measurement]:
    """The same triples: ours from TSV to a finished knowledge base, the peers from N-Triples into memory."""
    import pyoxigraph as ox
    import rdflib

    encoder = fixtures.encoder()
    small = "200k"
    for peer, of in (("pyoxigraph bulk_load", size), ("rdflib parse", small)):
        tsv, nt = fixtures.triples(options, of), fixtures.ntriples(options, of)

        def theirs(peer: str = peer, nt: Path = nt) -> None:
            if peer.startswith("rdflib"):
                rdflib.Graph().parse(nt, format="nt")
            else:
                ox.Store().bulk_load(path=str(nt), format=ox.RdfFormat.N_TRIPLES)

        def ours(tsv: Path = tsv) -> None:
            build(read_graph([tsv]), options.work / "small", encoder=encoder)

        median = interleaved({"ours": ours, "theirs": theirs}, rounds=3)
        triples = synthetic.SIZES[of].triples
        yield Measurement(
            f"build, {of} triples",
            triples / median["ours"],
            "triples/s",
            peer,
            triples / median["theirs"],
            note="ours can then be searched by name and is on disk; the encoder was loaded before",
        )
