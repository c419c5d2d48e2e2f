"""Harder versions of question sets, made by the project: seeded, each change noted."""

from triplecheck.evals.variants.make import make_variant, variants

__all__ = ["make_variant", "variants"]
