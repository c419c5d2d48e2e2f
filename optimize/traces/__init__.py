"""Fine-tuning data: the steps of programs whose answers are correct and supported by evidence.

    manifest = collect(KERAG(Sources.of(kb)), read_questions("train.jsonl"), "traces", roles="openai/gpt-4o-mini")
    export(read_traces("traces"), "trl", Path("traces/trl"))

Source: KERAG (arXiv 2509.04716).
"""

from triplecheck.optimize.traces.collect import collect
from triplecheck.optimize.traces.collector import GOLD, VERIFIED
from triplecheck.optimize.traces.export import FORMS, examples, export
from triplecheck.optimize.traces.manifest import TraceManifest
from triplecheck.optimize.traces.reading import read_traces
from triplecheck.optimize.traces.records import TraceRow

__all__ = [
    "FORMS",
    "GOLD",
    "VERIFIED",
    "TraceManifest",
    "TraceRow",
    "collect",
    "examples",
    "export",
    "read_traces",
]
