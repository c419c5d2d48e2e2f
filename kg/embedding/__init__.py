"""Knowledge-graph embeddings: trained with PyKEEN, stored as arrays, scored memory-mapped."""

from triplecheck.kg.embedding.embeddings import About, Embeddings, RankedTail
from triplecheck.kg.embedding.models import TrainingOptions
from triplecheck.kg.embedding.ranking import Quality
from triplecheck.kg.embedding.scoring import ArrayScorer, Scorer

__all__ = ["About", "ArrayScorer", "Embeddings", "Quality", "RankedTail", "Scorer", "TrainingOptions"]
