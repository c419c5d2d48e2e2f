"""From a program's name, as one types it, to its class."""

from __future__ import annotations

from triplecheck.kg import UserError
from triplecheck.programs.anchorrag import AnchorRAG
from triplecheck.programs.base import Program
from triplecheck.programs.baselines import (
    BM25,
    IO,
    SKR,
    VSS,
    BlendFilter,
    ChainOfKnowledge,
    ChainOfThought,
    KnowledgeCard,
    MultiVSS,
    PoG,
    RAGChainOfThought,
    RAGDirect,
    Recite,
    SelfConsistency,
    ToG,
    VSSReranker,
)
from triplecheck.programs.fourstepfocus import FourStepFocus
from triplecheck.programs.kerag import KERAG
from triplecheck.programs.know3rag import Know3RAG

_PROGRAMS: dict[str, type[Program]] = {
    program.name: program
    for program in (
        AnchorRAG,
        FourStepFocus,
        KERAG,
        Know3RAG,
        IO,
        ChainOfThought,
        SelfConsistency,
        ToG,
        PoG,
        BM25,
        VSS,
        MultiVSS,
        VSSReranker,
        RAGDirect,
        RAGChainOfThought,
        Recite,
        SKR,
        KnowledgeCard,
        ChainOfKnowledge,
        BlendFilter,
    )
}


def program_names() -> list[str]:
    """Names of all programs."""
    return sorted(_PROGRAMS)


def resolve_program(name: str) -> type[Program]:
    """The class of a program.

    Raises:
        UserError: no such program; the message lists those there are.
    """
    try:
        return _PROGRAMS[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        raise UserError(f"no program {name!r}; there are: {', '.join(program_names())}") from None
