"""Questions to rank nodes for: made from any knowledge base, or written by hand with a condition."""

from triplecheck.evals.retrieval.conditions import Condition, answers
from triplecheck.evals.retrieval.generate import generate
from triplecheck.evals.retrieval.written import Written, materialise, read_written

__all__ = ["Condition", "Written", "answers", "generate", "materialise", "read_written"]
