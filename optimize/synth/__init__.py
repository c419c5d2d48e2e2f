"""Synthetic questions from a knowledge base, with answers, gold paths and several wordings.

made = synthesise(KnowledgeBase.open("kbs/films"), 1_000, seed=0)
write_questions(made.questions, "films.jsonl")
"""

from triplecheck.optimize.synth.make import Synthesis, synthesise
from triplecheck.optimize.synth.shapes import KINDS

__all__ = ["KINDS", "Synthesis", "synthesise"]
