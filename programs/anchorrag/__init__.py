"""AnchorRAG (arXiv 2509.01238): `predictor` finds the anchors, an `agent` explores from each, `program` supervises."""

from triplecheck.programs.anchorrag.options import AnchorRAGLimits, AnchorRAGOptions
from triplecheck.programs.anchorrag.program import AnchorRAG

__all__ = ["AnchorRAG", "AnchorRAGLimits", "AnchorRAGOptions"]
