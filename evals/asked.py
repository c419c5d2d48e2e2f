"""Where a question writes its topic: the part of it that is one of the topic's names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Linker, normalize

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Asked:
    """A question, one of its topics, and where the question writes it.

    Attributes:
        question: as asked.
        start, end: the characters of the topic's name, [start, end).
        nodes: the nodes that the data set means by it.
    """

    question: str
    start: int
    end: int
    nodes: frozenset[int]

    @property
    def mention(self) -> str:
        """The name as the question writes it."""
        return self.question[self.start : self.end]

    def rewritten(self, name: str) -> Asked:
        """The same with the topic's name written so."""
        question = self.question[: self.start] + name + self.question[self.end :]
        return Asked(question, self.start, self.start + len(name), self.nodes)


def asked_topics(questions: Sequence[Question], graph: Graph, linker: Linker) -> list[Asked]:
    """The topics that the questions write by one of their names, but for case, accents and punctuation."""
    names = linker_names(linker)
    found = []
    for question in questions:
        for nodes in resolve_gold(question, graph, names).topics:
            entities = [graph.entity(node) for node in nodes]
            forms = {normalize(name) for entity in entities for name in (entity.label, *entity.aliases)}
            span = _written(question.question, forms)
            if span is not None:
                found.append(Asked(question.question, *span, nodes))
    return found


def _written(question: str, forms: set[str]) -> tuple[int, int] | None:
    """The longest part of a question that is one of some normalised names."""
    words = [match.span() for match in _WORD.finditer(question)]
    spans = [
        (start, end)
        for i, (start, _) in enumerate(words)
        for _, end in words[i:]
        if normalize(question[start:end]) in forms
    ]
    return max(spans, key=lambda span: span[1] - span[0], default=None)
