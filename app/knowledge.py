"""From a configuration to the knowledge base that it names."""

from __future__ import annotations

from app.bundled import bundled_knowledge_base
from app.config import Settings
from app.progress import Tell
from kg import KnowledgeBase

BUNDLED = "bundled"


def open_knowledge_base(settings: Settings, progress: Tell | None = None) -> KnowledgeBase:
    """The knowledge base that is configured, else the bundled one.

    Raises:
        KnowledgeBaseError: there is none at that place, or it is damaged.
    """
    if settings.kb is None or str(settings.kb) == BUNDLED:
        return bundled_knowledge_base(settings.cache, progress)
    return KnowledgeBase.open(settings.kb.expanduser())
