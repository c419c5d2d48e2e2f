"""AnchorRAG (arXiv 2509.01238): `predictor` finds the anchors, an `agent` explores from each, `program` supervises."""
