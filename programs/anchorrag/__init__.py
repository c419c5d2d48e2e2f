"""AnchorRAG (arXiv 2509.01238): `predictor` finds the anchors, an `agent` explores from each, `program` supervises."""

from triplecheck.programs.anchorrag.agent import Limits
from triplecheck.programs.anchorrag.program import AnchorRAG

__all__ = ["AnchorRAG", "Limits"]
