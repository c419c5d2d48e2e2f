"""Fine-tuning data: the steps of programs whose answers are correct and supported by evidence.

    manifest = collect(KERAG(Sources.of(kb)), read_questions("train.jsonl"), "traces", roles="openai/gpt-4o-mini")
    export(read_traces("traces"), "trl", Path("traces/trl"))

Source: KERAG (arXiv 2509.04716).
"""

from triplecheck.optimize.traces.collect import GOLD, VERIFIED, collect
from triplecheck.optimize.traces.export import FORMS, export
from triplecheck.optimize.traces.records import SOURCES, Source, TraceManifest, TraceRow, read_traces

__all__ = [
    "FORMS",
    "GOLD",
    "SOURCES",
    "VERIFIED",
    "TraceManifest",
    "Source",
    "TraceRow",
    "collect",
    "export",
    "read_traces",
]
