"""The systems: each a DSPy program that reads like its paper, all behind one interface."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.programs.anchorrag.options import AnchorRAGLimits, AnchorRAGOptions
    from triplecheck.programs.anchorrag.program import AnchorRAG
    from triplecheck.programs.base import Program, Sources
    from triplecheck.programs.cascade import Cascade
    from triplecheck.programs.fourstepfocus.options import FourStepFocusLimits, FourStepFocusOptions
    from triplecheck.programs.fourstepfocus.program import FourStepFocus
    from triplecheck.programs.fourstepfocus.substitution import Matching
    from triplecheck.programs.kerag import KERAG, KERAGLimits, KERAGOptions
    from triplecheck.programs.know3rag.generation import Know3RAGLimits
    from triplecheck.programs.know3rag.options import Know3RAGOptions
    from triplecheck.programs.know3rag.program import Know3RAG
    from triplecheck.programs.options import ProgramOptions
    from triplecheck.programs.outcome import Outcome, replay, to_json
    from triplecheck.programs.registry import program_names, resolve_program

__all__ = [
    "AnchorRAG",
    "AnchorRAGLimits",
    "AnchorRAGOptions",
    "Cascade",
    "FourStepFocus",
    "FourStepFocusLimits",
    "FourStepFocusOptions",
    "KERAG",
    "KERAGLimits",
    "KERAGOptions",
    "Know3RAG",
    "Know3RAGLimits",
    "Know3RAGOptions",
    "Matching",
    "Outcome",
    "Program",
    "program_names",
    "ProgramOptions",
    "replay",
    "resolve_program",
    "Sources",
    "to_json",
]

__getattr__ = lazily(__name__)
