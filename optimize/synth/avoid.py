"""Questions that are not made again."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, normalize


class Avoided:
    """Test questions; `question in avoided` if one asks the same.

    That is one with the same text, or with the same answers and the same topics, by id or by name. Where its topics are
    not known, those are its topics whose names are in its text.
    """

    def __init__(self, kb: KnowledgeBase, questions: Sequence[Question]) -> None:
        self._graph = kb.graph
        self._texts = {normalize(one.question) for one in questions}
        self._as_written = {
            (frozenset(one.topic), frozenset(one.answers)) for one in questions if one.topic and one.answers
        }
        self._asked: set[tuple[frozenset[int], frozenset[int]]] = set()
        self._without_topics: dict[frozenset[int], list[str]] = {}
        names = linker_names(kb.linker)
        for one in questions:
            gold = resolve_gold(one, kb.graph, names)
            answers = frozenset[int]().union(*(answer.nodes for answer in gold.answers))
            topics = frozenset[int]().union(*gold.topics)
            if topics and answers:
                self._asked.add((topics, answers))
            elif answers:
                self._without_topics.setdefault(answers, []).append(normalize(one.question))

    def __contains__(self, question: Question) -> bool:
        if normalize(question.question) in self._texts:
            return True
        if (frozenset(question.topic), frozenset(question.answers)) in self._as_written:
            return True
        topics, answers = self._nodes(question.topic), self._nodes(question.answers)
        if (topics, answers) in self._asked:
            return True
        labels = [f" {normalize(label)} " for label in self._graph.labels(list(topics))]
        return any(label in f" {text} " for text in self._without_topics.get(answers, ()) for label in labels)

    def _nodes(self, ids: Sequence[str]) -> frozenset[int]:
        return frozenset(node for id in ids if (node := self._graph.find(id)) is not None)
