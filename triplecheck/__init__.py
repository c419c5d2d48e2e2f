"""Question answering over a knowledge graph in which every answer is checked against the graph.

    import triplecheck

    kb = triplecheck.KnowledgeBase.open("bundled")  # or the directory that `triplecheck kb build` wrote
    kerag = triplecheck.KERAG(kb)
    with triplecheck.session() as ledger:  # or session("openai/gpt-4o-mini"): any DSPy/LiteLLM model
        found = kerag(question="What was the nationality of Bernhard Heiden's teacher?")
    print(found.answer)
    for triple in found.evidence:  # the proof: triples of the graph
        print(triple["head_label"], triple["relation_label"], triple["tail_label"])
    print(ledger.usage().calls, "model calls")

Each name is loaded when it is first used, so that `import triplecheck` is quick.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# A thread of OpenBLAS waits for work by spinning: here for 2 ** 16 cycles, since the default of 2 ** 26 doubles the CPU
# time of a question. OpenBLAS reads this when numpy is first imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

if TYPE_CHECKING:
    from triplecheck.evals import evaluate
    from triplecheck.kg import KnowledgeBase
    from triplecheck.lms import Roles, session
    from triplecheck.optimize.bundle import load_bundle, save_bundle
    from triplecheck.optimize.compile import compile_program
    from triplecheck.optimize.metrics import feedback_metric
    from triplecheck.optimize.tuning.compiled import compile
    from triplecheck.programs import KERAG, AnchorRAG, Cascade, FourStepFocus, Know3RAG, Sources

__all__ = [
    "KERAG",
    "AnchorRAG",
    "Cascade",
    "FourStepFocus",
    "Know3RAG",
    "KnowledgeBase",
    "Roles",
    "Sources",
    "compile",
    "compile_program",
    "evaluate",
    "feedback_metric",
    "load_bundle",
    "save_bundle",
    "session",
]

_HOME = {
    "KERAG": "programs",
    "AnchorRAG": "programs",
    "Cascade": "programs",
    "FourStepFocus": "programs",
    "Know3RAG": "programs",
    "KnowledgeBase": "kg",
    "Roles": "lms",
    "Sources": "programs",
    "compile": "optimize.tuning.compiled",
    "compile_program": "optimize.compile",
    "evaluate": "evals",
    "feedback_metric": "optimize.metrics",
    "load_bundle": "optimize.bundle",
    "save_bundle": "optimize.bundle",
    "session": "lms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
