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
    from triplecheck.kg.graph import Edges, Graph, IntArray, RelationCount, RelationSchema
    from triplecheck.kg.knowledge_base import KnowledgeBase, build
    from triplecheck.kg.linking import Candidate, GraphLinker, Linker
    from triplecheck.kg.mentions import Mention
    from triplecheck.kg.names import Words, normalize
    from triplecheck.kg.types import Direction, Entity, Literal, Name, Pattern, Relation, Triple, Variable

__all__ = [
    "Candidate",
    "Direction",
    "Edges",
    "Entity",
    "Graph",
    "GraphLinker",
    "GraphUnavailableError",
    "IntArray",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "Linker",
    "Literal",
    "Mention",
    "MissingExtraError",
    "Name",
    "Pattern",
    "ReadError",
    "Relation",
    "RelationCount",
    "RelationSchema",
    "Triple",
    "TriplecheckError",
    "UnavailableError",
    "UserError",
    "Variable",
    "Words",
    "build",
    "normalize",
]

__getattr__ = lazily(
    __name__,
    {
        "errors": "GraphUnavailableError KnowledgeBaseError MissingExtraError ReadError TriplecheckError "
        "UnavailableError UserError",
        "graph": "Edges Graph IntArray RelationCount RelationSchema",
        "knowledge_base": "KnowledgeBase build",
        "linking": "Candidate GraphLinker Linker",
        "mentions": "Mention",
        "names": "Words normalize",
        "types": "Direction Entity Literal Name Pattern Relation Triple Variable",
    },
)
