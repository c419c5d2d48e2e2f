"""Retrieval questions: generated from any knowledge base, or hand-written with a condition."""

from triplecheck.evals.retrieval.conditions import Condition, Written, answers, materialise, read_written
from triplecheck.evals.retrieval.generate import generate

__all__ = ["Condition", "Written", "answers", "generate", "materialise", "read_written"]
