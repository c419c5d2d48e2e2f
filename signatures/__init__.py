"""The LLM steps of Triplecheck, one `dspy.Signature` each: an instruction and typed fields, no logic.

This is the only place where prompt text lives. Optimizers rewrite these; programs compose them.
"""

from signatures.planning import NameTopics, SelectPaths
from signatures.summarize import AnswerFromFacts, Operation

__all__ = ["AnswerFromFacts", "NameTopics", "Operation", "SelectPaths"]
