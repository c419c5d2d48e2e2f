"""Time from process start to the first linked question, and import times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from bench import fixtures
from bench.registry import Measurement, Options, figure
from bench.timing import ROOT, fresh_process, percentile, timed
from triplecheck.kg import build
from triplecheck.kg.readers import read_graph

_IMPORTS = ("kg", "spacy", "torch", "onnxruntime", "dspy")
_LINK = """
import json, sys, time
start = time.perf_counter()
from triplecheck import kg
imported = time.perf_counter()
linker = kg.KnowledgeBase.open(sys.argv[1]).linker
opened = time.perf_counter()
for mention in linker.mentions(sys.argv[2]):
    linker.candidates(mention.forms[0], sys.argv[2])
linked = time.perf_counter()
modules = [name for name in ("spacy", "torch", "onnxruntime", "dspy") if name in sys.modules]
print(json.dumps([imported - start, opened - imported, linked - opened, modules]))
"""


@figure("first_answer")
def first_answer(options: Options) -> Iterator[Measurement]:
    """From interpreter start to a linked question on the bundled knowledge base, and each import alone."""
    sources = sorted((ROOT / "kg" / "bundled").glob("*.ttl"))
    if sources:
        kb = build(read_graph(sources), options.work / "bundled", encoder=fixtures.encoder())
        hub = max(range(kb.graph.num_entities), key=kb.graph.degree)
        question = f"What is connected with {kb.graph.label(hub)}?"
        command = [sys.executable, "-c", _LINK, str(kb.path), question]
        whole = [
            timed(lambda: subprocess.run(command, cwd=ROOT, check=True, capture_output=True))
            for _ in range(options.rounds)
        ]
        imported, opened, linked, modules = fresh_process(_LINK, kb.path, question)
        note = (
            f"import kg {imported:.2f} s, open {opened:.2f} s (encoder included), link {linked:.2f} s; "
            f"large modules imported: {', '.join(modules) or 'none'}"
        )
        yield Measurement("first linked question, bundled knowledge base", percentile(whole, 0.5), "s", note=note)
    else:
        yield Measurement("first linked question", None, "s", note="kg/bundled has no Turtle files")
    bare = percentile([_seconds("pass") for _ in range(options.rounds)], 0.5)
    for name in _IMPORTS:
        if find_spec(name) is None:
            yield Measurement(f"import {name}", None, "s", note="not installed")
            continue
        times = [_seconds(f"import {name}") for _ in range(options.rounds)]
        yield Measurement(
            f"import {name}", percentile(times, 0.5), "s", note=f"in a process of its own; empty process {bare:.2f} s"
        )


def _seconds(code: str) -> float:
    return timed(lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True))
