"""Knowledge-graph embeddings: trained with PyKEEN, stored as arrays, scored memory-mapped."""

from triplecheck.kg.embedding.models import TrainingOptions
from triplecheck.kg.embedding.scoring import ArrayScorer

__all__ = ["ArrayScorer", "TrainingOptions"]
