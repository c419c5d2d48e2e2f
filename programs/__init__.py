"""The systems: each a DSPy program that reads like its paper, all behind one interface."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.programs.anchorrag import AnchorRAG, AnchorRAGLimits, AnchorRAGOptions
    from triplecheck.programs.base import Program, Sources
    from triplecheck.programs.cascade import Cascade
    from triplecheck.programs.fourstepfocus import FourStepFocus, FourStepFocusLimits, FourStepFocusOptions, Matching
    from triplecheck.programs.kerag import KERAG, KERAGLimits, KERAGOptions
    from triplecheck.programs.know3rag import Know3RAG, Know3RAGLimits, Know3RAGOptions
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
