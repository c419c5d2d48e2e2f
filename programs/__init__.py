"""The systems: each a DSPy program that reads like its paper, all behind one interface."""

from triplecheck.programs.anchorrag import AnchorRAG
from triplecheck.programs.base import Program, Sources
from triplecheck.programs.fourstepfocus import FourStepFocus
from triplecheck.programs.kerag import KERAG, Bounds
from triplecheck.programs.know3rag import Know3RAG
from triplecheck.programs.outcome import Outcome, replay, to_json
from triplecheck.programs.registry import program_names, resolve_program

__all__ = [
    "AnchorRAG",
    "Bounds",
    "FourStepFocus",
    "KERAG",
    "Know3RAG",
    "Outcome",
    "Program",
    "Sources",
    "program_names",
    "replay",
    "resolve_program",
    "to_json",
]
