"""Spans of OpenTelemetry."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from serving import TEACHER, service_of, serving

from triplecheck.app.serve.tracing import Tracing, tracing_to_collector
from triplecheck.kg import KnowledgeBase

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def tracing_to(spans: InMemorySpanExporter, **options: Any) -> Tracing:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return Tracing(provider, **options)


def test_a_question_and_its_calls_are_spans_of_the_callers_trace(
    bundled: KnowledgeBase, spans: InMemorySpanExporter
) -> None:
    service = service_of(str(bundled.path), "extractive")
    service.tracing = tracing_to(spans)
    with serving(service) as running:
        running.http.headers["traceparent"] = f"00-{TRACE}-{PARENT}-01"
        assert running.ask().json()["answer"] == "German"
    *calls, question = spans.get_finished_spans()
    assert question.name == "invoke_agent kerag"
    assert question.parent is not None
    assert f"{question.parent.span_id:016x}" == PARENT
    about = dict(question.attributes or {})
    assert about["gen_ai.operation.name"] == "invoke_agent"
    assert (about["gen_ai.data_source.id"], about["triplecheck.verdict"]) == ("kb", "proved")
    assert {event.name for event in question.events} > {"linked", "pruned", "answered"}
    assert [call.name for call in calls] == ["chat extractive"] * 4
    for call in calls:
        assert f"{call.context.trace_id:032x}" == TRACE
        assert call.parent is not None
        assert call.parent.span_id == question.context.span_id
    roles = [dict(call.attributes or {})["triplecheck.role"] for call in calls]
    assert roles == ["extract", "prune", "prune", "answer"]


def test_texts_are_in_the_spans_only_where_asked(bundled: KnowledgeBase, spans: InMemorySpanExporter) -> None:
    service = service_of(str(bundled.path), "extractive")
    for show_texts in (False, True):
        spans.clear()
        service.tracing = tracing_to(spans, show_texts=show_texts)
        service.ask(TEACHER)
        assert any("Heiden" in span.to_json() for span in spans.get_finished_spans()) == show_texts


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """An address that takes traces, and what it got."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", got
        server.shutdown()


def test_the_environment_names_the_collector(
    collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch, bundled: KnowledgeBase
) -> None:
    address, got = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    tracing = tracing_to_collector()
    service = service_of(str(bundled.path), "extractive")
    service.tracing = tracing
    service.ask(TEACHER)
    tracing.flush()
    assert b"invoke_agent kerag" in got[0]
