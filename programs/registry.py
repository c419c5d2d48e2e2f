"""From a program's name, as one types it, to its class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from triplecheck.kg import UserError

if TYPE_CHECKING:
    from triplecheck.programs.base import Program

# Where the class of each name is; a program is imported when it is needed.
_PROGRAMS = {
    "anchorrag": "anchorrag.program.AnchorRAG",
    "4stepfocus": "fourstepfocus.program.FourStepFocus",
    "kerag": "kerag.KERAG",
    "know3rag": "know3rag.program.Know3RAG",
    "io": "baselines.closed_book.IO",
    "cot": "baselines.closed_book.ChainOfThought",
    "selfconsistency": "baselines.closed_book.SelfConsistency",
    "tog": "baselines.tog.ToG",
    "pog": "baselines.pog.PoG",
    "bm25": "baselines.ranking.BM25",
    "vss": "baselines.ranking.VSS",
    "multivss": "baselines.ranking.MultiVSS",
    "vssreranker": "baselines.ranking.VSSReranker",
    "ragdirect": "baselines.with_references.RAGDirect",
    "ragcot": "baselines.with_references.RAGChainOfThought",
    "recite": "baselines.with_references.Recite",
    "skr": "baselines.with_references.SKR",
    "knowledgecard": "baselines.with_references.KnowledgeCard",
    "chainofknowledge": "baselines.with_references.ChainOfKnowledge",
    "blendfilter": "baselines.with_references.BlendFilter",
}
_COMPOSED = {"cascade": "cascade.Cascade"}
"""Programs that are made of others."""


def program_names() -> list[str]:
    """Names of all programs, without those that are made of others."""
    return sorted(_PROGRAMS)


def resolve_program(name: str) -> type[Program]:
    """The class of a program.

    Raises:
        UserError: no such program; the message lists those there are.
    """
    try:
        module, _, found = (_PROGRAMS | _COMPOSED)[name.lower().replace("-", "").replace("_", "")].rpartition(".")
    except KeyError:
        raise UserError(f"no program {name!r}; there are: {', '.join(program_names())}") from None
    program: type[Program] = getattr(import_module(f"triplecheck.programs.{module}"), found)
    return program
