"""The extractive engine: a rule-based baseline, not a language model, for the steps of this project.

It reads the rendered prompt as a model does, and answers by sentence embeddings, string matching and the values in
the prompt: deterministic, in milliseconds, without trained weights. It is the default model and the lower bound of
every evaluation.
"""

from triplecheck.lms.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
