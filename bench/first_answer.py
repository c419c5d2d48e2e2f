"""Cold start: CPU time and memory of commands, time to the first linked question, and import times."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.timing import ROOT, fresh_process, percentile, timed

_IMPORTS = ("kg", "spacy", "torch", "onnxruntime", "dspy")
_LINK = """
import json, sys, time
start = time.perf_counter()
from triplecheck import kg
from triplecheck.language.pipeline import read_text
imported = time.perf_counter()
linker = kg.KnowledgeBase.open(sys.argv[1]).linker
opened = time.perf_counter()
for mention in linker.mentions(read_text(sys.argv[2])):
    linker.candidates(mention.forms[0], sys.argv[2])
linked = time.perf_counter()
modules = [name for name in ("spacy", "torch", "onnxruntime", "dspy") if name in sys.modules]
print(json.dumps([imported - start, opened - imported, linked - opened, modules]))
"""

_QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
# CPU seconds and peak memory in MB of a process; its own output is dropped.
_COST = """
import contextlib, io, json, sys, time
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    exec(sys.argv.pop(1))
used = time.process_time()
from bench.timing import peak_memory
print(json.dumps([used, peak_memory() / 1e6]))
"""
_COMMAND = "import sys; sys.argv[0] = 'triplecheck'; from triplecheck.app.main import run; run()"
_COLD = (
    ("triplecheck ask", (_COMMAND, "ask", _QUESTION), 2.5, 420.0),
    ("triplecheck --help", (_COMMAND, "--help"), 0.4, None),
    ("import triplecheck", ("import triplecheck",), 0.3, None),
)
_SECOND = """
import json, sys, time
from triplecheck import KERAG, KnowledgeBase, session
kerag = KERAG(KnowledgeBase.open("bundled"))
with session():
    kerag(question=sys.argv[1])
    start = time.process_time()
    kerag(question=sys.argv[2])
print(json.dumps(time.process_time() - start))
"""


def cold_start(options: Options) -> Iterator[Measurement]:
    """CPU time and memory of commands in a new process, next to importing DSPy alone, and of a second question."""
    fresh_process(_COST, _COMMAND, "ask", _QUESTION)  # builds the bundled knowledge base and compiles the modules
    peer, _ = _cost(options, "import dspy")
    first = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            first.append(fresh_process(_COST, _COMMAND, "ask", _QUESTION, TRIPLECHECK_CACHE=cache)[0])
    note = "builds the bundled knowledge base"
    yield Measurement("first triplecheck ask: CPU time", min(first), "s", "import dspy", peer, note=note, bound=2.5)
    for name, arguments, most_seconds, most_memory in _COLD:
        seconds, memory = _cost(options, *arguments)
        yield Measurement(f"{name}: CPU time", seconds, "s", "import dspy", peer, bound=most_seconds)
        if most_memory is not None:
            yield Measurement(f"{name}: peak memory", memory, "MB", bound=most_memory)
    second = min(fresh_process(_SECOND, _QUESTION, "Who taught Paul Hindemith?") for _ in range(options.rounds))
    yield Measurement("second question in a process: CPU time", second, "s", bound=0.1)


def _cost(options: Options, *arguments: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB, each the least of the rounds."""
    seconds, memory = zip(*(fresh_process(_COST, *arguments) for _ in range(options.rounds)), strict=True)
    return min(seconds), min(memory)


def first_answer(options: Options) -> Iterator[Measurement]:
    """From interpreter start to a linked question on the bundled knowledge base, and each import alone."""
    kb = fixtures.bundled(options.work / "bundled")
    hub = max(range(kb.graph.num_entities), key=kb.graph.degree)
    question = f"What is connected with {kb.graph.label(hub)}?"
    command = [sys.executable, "-c", _LINK, str(kb.path), question]
    whole = [
        timed(lambda: subprocess.run(command, cwd=ROOT, check=True, capture_output=True)) for _ in range(options.rounds)
    ]
    imported, opened, linked, modules = fresh_process(_LINK, kb.path, question)
    note = (
        f"import kg {imported:.2f} s, open {opened:.2f} s (encoder included), link {linked:.2f} s; "
        f"large modules imported: {', '.join(modules) or 'none'}"
    )
    yield Measurement("first linked question, bundled knowledge base", percentile(whole, 0.5), "s", note=note)
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
