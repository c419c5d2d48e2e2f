"""From a program's name, as one types it, to its class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from triplecheck.kg import UserError

if TYPE_CHECKING:
    from triplecheck.programs.base import Program

# Where the class of each name is; a program is imported when it is needed.
_PROGRAMS = {
    "anchorrag": "anchorrag.AnchorRAG",
    "4stepfocus": "fourstepfocus.FourStepFocus",
    "kerag": "kerag.KERAG",
    "know3rag": "know3rag.Know3RAG",
    "io": "baselines.IO",
    "cot": "baselines.ChainOfThought",
    "selfconsistency": "baselines.SelfConsistency",
    "tog": "baselines.ToG",
    "pog": "baselines.PoG",
    "bm25": "baselines.BM25",
    "vss": "baselines.VSS",
    "multivss": "baselines.MultiVSS",
    "vssreranker": "baselines.VSSReranker",
    "ragdirect": "baselines.RAGDirect",
    "ragcot": "baselines.RAGChainOfThought",
    "recite": "baselines.Recite",
    "skr": "baselines.SKR",
    "knowledgecard": "baselines.KnowledgeCard",
    "chainofknowledge": "baselines.ChainOfKnowledge",
    "blendfilter": "baselines.BlendFilter",
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
        module, _, found = (_PROGRAMS | _COMPOSED)[name.lower().replace("-", "").replace("_", "")].partition(".")
    except KeyError:
        raise UserError(f"no program {name!r}; there are: {', '.join(program_names())}") from None
    program: type[Program] = getattr(import_module(f"triplecheck.programs.{module}"), found)
    return program
