"""Spans of OpenTelemetry for questions and for calls to language models, with the names of its GenAI conventions.

A question is a span `invoke_agent PROGRAM`; the steps are its events, and each call to a model is a span `chat MODEL`
inside it. Questions and replies are not in the spans, unless the log has them as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from triplecheck.app.serve.types import Answer, Step
from triplecheck.lms.ledger import Usage


class Tracing:
    """Makes spans.

    Args:
        show_texts: put questions, answers and the texts of steps into the spans.
    """

    def __init__(self, provider: TracerProvider, *, show_texts: bool = False) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("triplecheck", version("triplecheck"))
        self._show_texts = show_texts

    def follow(self, headers: Mapping[str, str]) -> None:
        """Make the spans of this task parts of the caller's trace, if its headers name one."""
        context.attach(propagate.extract(dict(headers)))

    @contextmanager
    def question(self, question: str, base: str, program: str) -> Iterator[Question]:
        """The span of a question."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": program,
            "gen_ai.data_source.id": base,
        }
        if self._show_texts:
            attributes["triplecheck.question"] = question
        with self._tracer.start_as_current_span(f"invoke_agent {program}", attributes=attributes) as span:
            yield Question(span, self._show_texts)

    def call(self, role: str, model: str, usage: Usage) -> None:
        """The span of a call to a language model that has just ended; see `lms.metering.ON_CALL`."""
        now = time.time_ns()
        provider, _, name = model.rpartition("/")
        span = self._tracer.start_span(
            f"chat {name}",
            kind=SpanKind.CLIENT,
            start_time=now - int(usage.seconds * 1e9),
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider or "triplecheck",
                "gen_ai.request.model": name,
                "gen_ai.usage.input_tokens": usage.prompt_tokens,
                "gen_ai.usage.output_tokens": usage.completion_tokens,
                "triplecheck.role": role,
                "triplecheck.cached": usage.cached_calls > 0,
            },
        )
        if usage.failed_calls:
            span.set_attribute("error.type", "failed")
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_time=now)

    def flush(self) -> None:
        """Send what has not been sent yet."""
        self._provider.force_flush()


@dataclass(frozen=True)
class Question:
    """The open span of a question."""

    span: trace.Span
    show_texts: bool

    def step(self, step: Step) -> None:
        """Add a step."""
        self.span.add_event(step.kind, {"triplecheck.step": step.text} if self.show_texts else None)

    def answered(self, answer: Answer) -> None:
        """Add the answer and what it cost."""
        about: dict[str, Any] = {
            "gen_ai.usage.input_tokens": answer.usage.prompt_tokens,
            "gen_ai.usage.output_tokens": answer.usage.completion_tokens,
            "triplecheck.verdict": answer.verdict,
            "triplecheck.calls": answer.usage.calls,
            "triplecheck.dollars": answer.usage.dollars,
        }
        if answer.confidence is not None:
            about["triplecheck.confidence"] = answer.confidence
        if self.show_texts:
            about["triplecheck.answer"] = answer.answer
        self.span.set_attributes(about)


def tracing_to_collector(*, show_texts: bool = False) -> Tracing:
    """Tracing to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, by OTLP over HTTP; see `Tracing`."""
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: "triplecheck"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider, show_texts=show_texts)
