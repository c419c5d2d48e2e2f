"""The knowledge-graph library of Triplecheck. It does not depend on any language model."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.kg.errors import (
        GraphUnavailableError,
        KnowledgeBaseError,
        MissingExtraError,
        ReadError,
        TriplecheckError,
        UnavailableError,
        UserError,
    )
    from triplecheck.kg.graph import Graph, IntArray
    from triplecheck.kg.knowledge_base import KnowledgeBase, build
    from triplecheck.kg.linking import Candidate, Linker
    from triplecheck.kg.names import Words, normalize
    from triplecheck.kg.types import Direction, Entity, Literal, Name, Pattern, Relation, Triple, Variable

__all__ = [
    "Candidate",
    "Direction",
    "Entity",
    "Graph",
    "GraphUnavailableError",
    "IntArray",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "Linker",
    "Literal",
    "MissingExtraError",
    "Name",
    "Pattern",
    "ReadError",
    "Relation",
    "Triple",
    "TriplecheckError",
    "UnavailableError",
    "UserError",
    "Variable",
    "Words",
    "build",
    "normalize",
]

__getattr__ = lazily(__name__)
