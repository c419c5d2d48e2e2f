"""Overhead of the evaluation runner: time per question outside the program, and utilisation of a model server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import dspy

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.timing import interleaved
from tests.model_stand_ins import STAND_IN, ChatRequest, StandInServer, stand_in_server
from triplecheck.evals import Question, bundled_questions, evaluate, read_questions
from triplecheck.evals.asking import names_for
from triplecheck.evals.rows import scored_row
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import language_model, session
from triplecheck.programs import KERAG, Outcome, Program, Sources
from triplecheck.programs.steps import Trace

_SLOTS, _WORKERS = 16, 32
_LATENCIES = (1.0, 0.5, 0.1)
_CALLS_PER_SLOT = 60  # enough that the start and end of a run, with empty slots, hardly matter


class Idle(Program):
    """Abstains at once, so that only the runner is measured."""

    name = "idle"

    def run(self, question: str, trace: Trace) -> Outcome:
        return Outcome(abstained="no_facts")


class Replies:
    """Replies of the extractive engine, cached by prompt."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, asked: ChatRequest) -> str:
        key = "\n".join(str(message["content"]) for message in asked.messages)
        if key not in self._known:
            self._known[key] = str(language_model("extractive")(messages=asked.messages)[0])
        return self._known[key]


def evaluating(options: Options) -> Iterator[Measurement]:
    """The runner on the bundled knowledge base."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    kb = fixtures.bundled(options.work / "evaluated")
    yield from _overhead(options, kb)
    yield _scoring(options, kb)
    yield from _capacity(options, kb)


def _overhead(options: Options, kb: KnowledgeBase) -> Iterator[Measurement]:
    asked = _questions(500 if options.quick else 5_000)
    for name, workers, timeout in (("one worker", 1, None), ("four workers, a time limit", 4, 60.0)):
        started, cpu = time.perf_counter(), time.process_time()
        evaluate(
            Idle(Sources.of(kb)),
            asked,
            options.work / f"idle-{workers}",
            roles="extractive",
            knowledge_base=kb,
            workers=workers,
            timeout=timeout,
        )
        wall, used = time.perf_counter() - started, time.process_time() - cpu
        yield Measurement(
            f"runner, per question outside the program ({name})",
            wall / len(asked) * 1e3,
            "ms",
            bound=2,
            note=f"{len(asked):,} questions; {used / len(asked) * 1e3:.2f} ms of it CPU time",
        )


def _scoring(options: Options, kb: KnowledgeBase) -> Measurement:
    """The time to score answered questions, compared with the time to answer them without a language model."""
    program = KERAG(Sources.of(kb))
    names = names_for(program, kb)
    asked = _questions(20 if options.quick else 115)
    with session("extractive"):
        found = [program(question=question.question) for question in asked]

        def answer() -> None:
            for question in asked:
                program(question=question.question)

        def score() -> None:
            for question, prediction in zip(asked, found, strict=True):
                scored_row(program, question, prediction, names, "key", 0.0)

        median = interleaved({"ours": score, "theirs": answer}, options.rounds, len(asked))
    return Measurement(
        "scoring a row",
        median["ours"] * 1e3,
        "ms",
        "KERAG's answer, without a language model",
        median["theirs"] * 1e3,
        least_ratio=10,
        note=f"{len(asked)} questions",
    )


def _capacity(options: Options, kb: KnowledgeBase) -> Iterator[Measurement]:
    """Share of slots in use between the first request and the last reply."""
    replies = Replies()
    with stand_in_server(replies, slots=_SLOTS) as server:
        _ask(server, kb, 115, options.work / "warm")
        calls = server.calls / 115
    count = int((10 if options.quick else _CALLS_PER_SLOT) * _SLOTS / calls)
    for latency in _LATENCIES[1:] if options.quick else _LATENCIES:
        with stand_in_server(replies, latency, _SLOTS) as server:
            cpu = time.process_time()
            _ask(server, kb, count, options.work / f"busy-{latency}")
            used = (time.process_time() - cpu) / server.calls * 1e3
        note = f"{server.calls} calls of KERAG, {_WORKERS} threads; {used:.1f} ms of CPU per call, including the server"
        name = f"utilisation of a server with {_SLOTS} slots, {latency:g} s per call"
        yield Measurement(name, server.share_used(), "share", bound=0.95, note=note)


def _ask(server: StandInServer, kb: KnowledgeBase, count: int, out: Path) -> None:
    program = KERAG(Sources.of(kb))
    with server.environment():
        evaluate(program, _questions(count), out, roles=STAND_IN, knowledge_base=kb, workers=_WORKERS)


def _questions(count: int) -> list[Question]:
    """The bundled test questions, repeated."""
    once = read_questions(bundled_questions("test"))
    return [replace(question, id=f"{number}") for number, question in enumerate(islice(cycle(once), count))]
