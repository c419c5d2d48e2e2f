"""`triplecheck serve` under load: how much of a model server's capacity 50 clients get, and its memory over time."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import httpx
import psutil

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.timing import ROOT
from tests.model_stand_ins import STAND_IN, ChatRequest, StandInServer, stand_in_server
from triplecheck.evals import bundled_questions, read_questions

_SLOTS, _CLIENTS = 16, 50
_WARM_UP = 5.0  # seconds
# Each question counts, so replies must not come from a cache.
_SERVE = """
import dspy
dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
from triplecheck.app.main import run
run()
"""


def _reply(asked: ChatRequest) -> str:
    """A readable reply to a step of KERAG: the first names, the first paths, the first fact."""
    items = re.findall(r"^- (.+)$", asked.prompt, re.M)
    known = {
        "Topics": re.sub(r" \(.*\)$", "", items[-1]).rpartition(" = ")[2] if items else "",
        "Domain": "unknown",
        "Keep": "\n".join(items[:3]),
        "Cited": "\n".join(items[:1]),
        "Operation": "none",
        "Answers": items[0].rpartition(" → ")[2] if items else "none",
    }
    labels = re.findall(r"^([A-Z]\w*): <", asked.system.partition("Reply in this form:\n")[2], re.M)
    return "\n".join(f"{label}: {known.get(label, 'as the first fact says')}" for label in labels)


def serving(options: Options) -> Iterator[Measurement]:
    """Runs the server in its own process, on the bundled knowledge base."""
    base = fixtures.bundled(options.work / "served").path
    asked = [question.question for question in read_questions(bundled_questions("test"))]
    for latency in (0.5,) if options.quick else (1.0, 0.5):
        with stand_in_server(_reply, latency, _SLOTS) as model, _served(base, model) as (url, process):
            yield asyncio.run(_capacity(url, asked, model, process, 15.0 if options.quick else 60.0))
    with _served(base) as (url, process):
        yield asyncio.run(_memory(url, asked, process, 500 if options.quick else 20_000))


@contextmanager
def _served(base: Path, model: StandInServer | None = None) -> Iterator[tuple[str, psutil.Process]]:
    """A server in a new process; without a model the rule-based baseline answers."""
    words = ["serve", "--kb", str(base), "--port", "0", "--lm", "extractive" if model is None else STAND_IN]
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    if model is not None:
        environment |= {"OPENAI_API_BASE": model.api_base, "OPENAI_API_KEY": "none"}
    log = (base.parent / "serve.log").open("w+", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-c", _SERVE, *words], cwd=ROOT, env=environment, stderr=log)
    try:
        while not (found := re.search(r"http://[0-9.:]+", Path(log.name).read_text("utf-8"))):
            if process.poll() is not None:
                raise RuntimeError(f"the server did not start:\n{Path(log.name).read_text('utf-8')[-2000:]}")
            time.sleep(0.1)
        yield found[0], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()
        log.close()


async def _capacity(
    url: str, asked: list[str], model: StandInServer, process: psutil.Process, seconds: float
) -> Measurement:
    """Share of the slots in use, between a warm-up and the end."""
    questions = cycle(asked)
    times: list[float] = []
    done = asyncio.Event()

    async def client(http: httpx.AsyncClient) -> None:
        while not done.is_set():
            began = time.perf_counter()
            await _ask(http, next(questions))
            times.append(time.perf_counter() - began)

    async with httpx.AsyncClient(base_url=url, timeout=120, limits=httpx.Limits(max_connections=None)) as http:
        clients = [asyncio.create_task(client(http)) for _ in range(_CLIENTS)]
        await asyncio.sleep(_WARM_UP + 4 * model.latency)
        calls, cpu, began = model.calls, sum(process.cpu_times()[:2]), time.perf_counter()
        await asyncio.sleep(seconds)
        passed = time.perf_counter() - began
        calls, cpu = model.calls - calls, sum(process.cpu_times()[:2]) - cpu
        done.set()
        await asyncio.gather(*clients)
    share = calls * model.latency / (_SLOTS * passed)
    note = (
        f"{_CLIENTS} clients, {passed:.0f} s, {len(times)} questions, {calls} calls of KERAG; "
        f"{cpu / calls * 1e3:.1f} ms of CPU per call in the server"
    )
    name = f"serve: utilisation of a model server with {_SLOTS} slots, {model.latency:g} s per call"
    return Measurement(name, share, "share", bound=0.95, note=note)


async def _memory(url: str, asked: list[str], process: psutil.Process, count: int) -> Measurement:
    """Growth of the resident memory from a tenth of the questions to the last."""
    questions = cycle(asked)
    at_tenth = process.memory_info().rss
    began = time.perf_counter()
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:

        async def some(number: int) -> None:
            for _ in range(number):
                await _ask(http, next(questions))

        for part in range(10):
            await asyncio.gather(*(some(count // 10 // 4) for _ in range(4)))
            if part == 0:
                at_tenth = process.memory_info().rss
    passed = time.perf_counter() - began
    rss = process.memory_info().rss
    note = (
        f"{at_tenth / 1e6:.0f} MB after {count // 10:,} questions, {rss / 1e6:.0f} MB after {count:,}; {passed:.0f} s"
    )
    return Measurement("serve: growth of its memory under questions", (rss - at_tenth) / 1e6, "MB", bound=20, note=note)


async def _ask(http: httpx.AsyncClient, question: str) -> None:
    reply = await http.post("/v1/ask", json={"question": question, "picture": True})
    if reply.status_code != 200:
        raise RuntimeError(f"{question}: {reply.text}")
