"""The assist `without_topics`: an answer that has other things does not have the topic itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triplecheck.programs.conclusion import Conclusion


def without_topics(conclusion: Conclusion, nodes: Sequence[int]) -> list[int]:
    """The nodes of an answer without the topics, unless the question asks to choose one, or there are no others."""
    assists, topics = conclusion.program.assists, conclusion.reading.topics
    if "without_topics" not in assists or conclusion.asked.chooses:
        return list(nodes)
    kept = [node for node in nodes if node not in topics] or list(nodes)
    labels = conclusion.graph.labels
    assists.note(conclusion.trace, "without_topics", "AnswerFromFacts", labels(list(nodes)), labels(kept))
    return kept
