"""The extractive engine: no language model, but it answers the project's own signatures.

It reads the rendered prompt like any model, and answers with sentence embeddings, string matching and
the values in the prompt: deterministic, in milliseconds, without weights of its own. It is the default
where nothing is configured and the floor of every evaluation.
"""

from triplecheck.lms.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
