"""The systems: each a DSPy program that reads like its paper, all behind one interface."""

from programs.base import Program, Sources
from programs.kerag import KERAG, Bounds
from programs.outcome import Outcome, replay, to_json
from programs.registry import program_names, resolve_program

__all__ = ["Bounds", "KERAG", "Outcome", "Program", "Sources", "program_names", "replay", "resolve_program", "to_json"]
