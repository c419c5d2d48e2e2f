"""Semi-structured knowledge bases: nodes with documents, searched by words and by vectors."""

from triplecheck.kg.skb.node_documents import NodeDocuments, described, documented_types
from triplecheck.kg.skb.search import NodeSearch, NodeSearches, Ranking, VectorSearch

__all__ = ["NodeDocuments", "NodeSearch", "NodeSearches", "Ranking", "VectorSearch", "described", "documented_types"]
