"""Simpler programs behind the same interface, to compare the systems with."""

from triplecheck.programs.baselines.closed_book import IO, ChainOfThought, SelfConsistency
from triplecheck.programs.baselines.exploring import ExploringLimits
from triplecheck.programs.baselines.pog import PoG
from triplecheck.programs.baselines.ranking import BM25, VSS, MultiVSS, VSSReranker
from triplecheck.programs.baselines.tog import ToG
from triplecheck.programs.baselines.with_references import (
    SKR,
    BlendFilter,
    ChainOfKnowledge,
    KnowledgeCard,
    RAGChainOfThought,
    RAGDirect,
    Recite,
)

__all__ = [
    "BM25",
    "BlendFilter",
    "ChainOfKnowledge",
    "ChainOfThought",
    "ExploringLimits",
    "IO",
    "KnowledgeCard",
    "MultiVSS",
    "PoG",
    "RAGChainOfThought",
    "RAGDirect",
    "Recite",
    "SKR",
    "SelfConsistency",
    "ToG",
    "VSS",
    "VSSReranker",
]
