"""From a configuration to the knowledge base that it names."""

from __future__ import annotations

from triplecheck.app.config import Settings
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.knowledge_base import BUNDLED, open_bundled
from triplecheck.kg.progress import ProgressCallback


def open_knowledge_base(settings: Settings, progress: ProgressCallback | None = None) -> KnowledgeBase:
    """The knowledge base that is configured, else the bundled one.

    Raises:
        KnowledgeBaseError: there is none at that place, or it is damaged.
    """
    if settings.kb is None or str(settings.kb) == BUNDLED:
        return open_bundled(settings.cache, progress)
    return KnowledgeBase.open(settings.kb.expanduser())
