"""Questions to rank nodes for: made from any knowledge base, or written by hand with a condition."""

from triplecheck.evals.retrieval.conditions import Condition, Written, answers, materialise, read_written
from triplecheck.evals.retrieval.generate import generate

__all__ = ["Condition", "Written", "answers", "generate", "materialise", "read_written"]
