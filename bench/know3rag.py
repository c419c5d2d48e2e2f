"""Know³-RAG: calls per question, and wall time relative to its sequential calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import dspy

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.timing import interleaved
from tests.model_stand_ins import STAND_IN, ChatRequest, stand_in_server
from triplecheck.lms import session
from triplecheck.lms.prompt import COMPLETED, HEADER
from triplecheck.programs import Know3RAG, Sources

_LATENCY, _SLOTS, _KNOWLEDGE_MODELS = 0.5, 64, 4
_MOST_CALLS, _MOST_WALL = 12, 1.3
_SEQUENTIAL = 2 + 4 + 5
"""Sequential calls. Start: answer, triples. Turn 1: passages, checks, answer, triples. Turn 2: next question, and again
passages, checks, answer, triples."""
_QUESTION = "What was the nationality of Bernhard Heiden's teacher?"


def know3rag(options: Options) -> Iterator[Measurement]:
    """Two turns on the bundled knowledge base, with a model server of fixed latency."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    sources = Sources.of(fixtures.bundled(options.work / "supervising"))
    for paper in (False, True):
        how = "a call for each passage and check, as in the paper" if paper else "batched"
        calls, _ = _measured(Know3RAG(sources, relevance_check=True, paper_calls=paper), 0.0, 1)
        yield Measurement(
            f"Know³-RAG, calls per question, one knowledge model, {how}",
            calls,
            "calls",
            bound=None if paper else _MOST_CALLS + 1,
            note="two turns, without an early stop",
        )
    for paper in (False, True):
        how = "a call for each passage and check" if paper else "batched"
        program = Know3RAG(sources, knowledge_models=_KNOWLEDGE_MODELS, relevance_check=True, paper_calls=paper)
        calls, seconds = _measured(program, _LATENCY, options.rounds)
        sequential = _SEQUENTIAL * _LATENCY
        yield Measurement(
            f"Know³-RAG, wall time relative to its sequential calls, {_KNOWLEDGE_MODELS} knowledge models, {how}",
            seconds / sequential,
            "times",
            bound=_MOST_WALL,
            note=f"{_LATENCY:g} s per call: {calls} calls in {seconds:.2f} s; {_SEQUENTIAL} sequential calls take "
            f"{sequential:g} s, all calls in sequence {calls * _LATENCY:g} s",
        )


def _measured(program: Know3RAG, latency: float, rounds: int) -> tuple[int, float]:
    """Calls, and the median seconds of a question."""
    calls = 0

    def ask() -> None:
        nonlocal calls
        calls = program(question=_QUESTION).usage.calls

    with stand_in_server(_replies(), latency, _SLOTS) as server, server.environment(), session(STAND_IN):
        median = interleaved({"ask": ask}, rounds)
    return calls, median["ask"]


def _replies() -> Callable[[ChatRequest], str]:
    """A model whose passages are all new and relevant, so that each turn makes all its calls."""
    number = count()
    values: dict[str, Callable[[], str]] = {
        "passage": lambda: f"Heiden studied with Hindemith, {next(number)}.",
        "passage_with_entities": lambda: f"Hindemith was German, {next(number)}.",
        "useful": lambda: ", ".join(map(str, range(1, 2 * _KNOWLEDGE_MODELS + 1))),
        "helps": lambda: "True",
        "triples": lambda: "1 | Bernhard Heiden | student of | Paul Hindemith",
        "next_question": lambda: "Who was Bernhard Heiden's teacher?",
        "reasoning": lambda: f"So {next(number)}.",
        "answer": lambda: "German",
        "answers": lambda: "German",
    }

    def reply(asked: ChatRequest) -> str:
        wanted = asked.prompt.rpartition("Reply with ")[2]
        fields = [name for name in values if f"`{HEADER.format(name=name)}`" in wanted]
        sections = [f"{HEADER.format(name=name)}\n{values[name]()}" for name in fields]
        return "\n\n".join([*sections, COMPLETED])

    return reply
