"""Measurements for Prometheus, one registry for each server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from triplecheck.app.serve.turns import Turns
from triplecheck.app.serve.types import Answer, Cost

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """Counts of one server."""

    def __init__(self, turns: Turns) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter("triplecheck_requests", "Requests.", ["route", "status"], registry=self._registry)
        self._questions = Counter(
            "triplecheck_questions", "Answered questions.", ["base", "program", "verdict"], registry=self._registry
        )
        self._seconds = Histogram(
            "triplecheck_question_seconds",
            "Time of a question.",
            ["program"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._calls = Counter("triplecheck_model_calls", "Calls to language models.", registry=self._registry)
        self._tokens = Counter(
            "triplecheck_model_tokens", "Tokens of new completions.", ["kind"], registry=self._registry
        )
        self._dollars = Counter("triplecheck_model_dollars", "Known cost of calls.", registry=self._registry)
        self.failures = Counter(
            "triplecheck_failures", "Requests that failed, by error.", ["type"], registry=self._registry
        )
        running = Gauge("triplecheck_running", "Pieces of work that run.", registry=self._registry)
        running.set_function(lambda: turns.running)
        waiting = Gauge("triplecheck_waiting", "Pieces of work that wait for their turn.", registry=self._registry)
        waiting.set_function(lambda: turns.waiting)

    def count_answer(self, answer: Answer) -> None:
        """Count a question and its cost."""
        self._questions.labels(answer.base, answer.program, answer.verdict).inc()
        self._seconds.labels(answer.program).observe(answer.seconds)
        self.count_cost(answer.usage)

    def count_cost(self, usage: Cost) -> None:
        """Count calls to models."""
        self._calls.inc(usage.calls)
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("completion").inc(usage.completion_tokens)
        self._dollars.inc(usage.dollars)

    def text(self) -> bytes:
        """All measurements, in Prometheus' text format."""
        return generate_latest(self._registry)
