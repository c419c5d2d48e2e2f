"""Which references are kept: the relevant ones, the most plausible first.

Source: Know³-RAG (arXiv 2505.12662), section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import dspy

from triplecheck.kg import TriplecheckError
from triplecheck.kg.plausibility import TextTriple
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.know3rag import near_relations, triples_of
from triplecheck.programs.base import Ask
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.know3rag.generation import Reference
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import CheckPassages, ExtractTriples, JudgePassage, SelectPassages

# Calls at the same time: two for each reference of a turn.
_AT_ONCE = 64


@dataclass(frozen=True)
class ReferenceVerdict:
    """The result of the checks of one reference.

    Attributes:
        relevant: whether it helps to answer the question (Eq. 6); None if not checked.
        score: of its triples, lower is more plausible; +inf if none can be scored or they were not checked.
    """

    relevant: bool | None = None
    score: float = math.inf


def choose(verdicts: Sequence[ReferenceVerdict], top_k: int) -> list[int]:
    """Places of the references to keep: no irrelevant ones; ascending score, ties by order, unscored last."""
    relevant = [at for at, verdict in enumerate(verdicts) if verdict.relevant is not False]
    return sorted(relevant, key=lambda at: verdicts[at].score)[:top_k]


class ReferenceFilter(dspy.Module):
    """Checks references against the question and against the graph.

    Args:
        supervisor: scores their triples.
        relevance: ask whether they help.
        triples: score what they say.
        at_once: references that one call checks, in both ways; None: a call for each check of each, as in the paper.
    """

    def __init__(
        self, assists: Assists, supervisor: Supervisor, *, relevance: bool, triples: bool, at_once: int | None
    ) -> None:
        super().__init__()
        self.assists = assists
        self.supervisor = supervisor
        self.relevance = relevance
        self.triples = triples
        self.at_once = at_once
        self.checks_together = at_once is not None and relevance and triples
        if self.checks_together:
            self.check_passages = RolePredict(CheckPassages, role="judge")
        elif relevance and at_once:
            self.select_passages = RolePredict(SelectPassages, role="judge")
        elif relevance:
            self.judge_passage = RolePredict(JudgePassage, role="judge")
        if triples and not self.checks_together:
            self.extract_triples = RolePredict(ExtractTriples, role="extract")

    def forward(
        self, question: str, entities: Sequence[str], references: Sequence[Reference], trace: Trace, ask: Ask
    ) -> list[ReferenceVerdict]:
        """A verdict on each reference, in order. An unreadable reply counts as not relevant.

        Args:
            entities: E_Q with their descriptions.
        """
        texts = [reference.text for reference in references]
        found = _Found()
        results = concurrently(self._tasks(question, list(entities), texts, ask), trace, at_once=_AT_ONCE)
        for result in results:
            if not isinstance(result, TriplecheckError):
                found.helps |= result.helps
                found.triples |= result.triples
            elif isinstance(result, ModelReplyError | PromptTooLongError):
                trace.add(Checked("references", False, str(result)))
            else:
                raise result
        return [
            ReferenceVerdict(
                found.helps.get(at, False) if self.relevance else None,
                self.supervisor.rate(found.triples.get(at, []), question).score,
            )
            for at in range(len(texts))
        ]

    def _tasks(self, question: str, entities: list[str], texts: list[str], ask: Ask) -> list[_Task]:
        checks: list[_Check] = [self._check_all] if self.checks_together else []
        if self.relevance and not self.checks_together:
            checks.append(self._select if self.at_once else self._judge)
        if self.triples and not self.checks_together:
            checks.append(self._extract)
        size = self.at_once or 1
        groups = [dict(list(enumerate(texts))[at : at + size]) for at in range(0, len(texts), size)]
        return [partial(check, ask, question, entities, group) for check in checks for group in groups]

    def _check_all(self, ask: Ask, question: str, entities: list[str], some: _Texts, trace: Trace) -> _Found:
        given = {"entities": entities, "relations": self._relations(some), "passages": list(some.values())}
        reply = ask(trace, self.check_passages, question=question, **given)
        return _Found(_helps(reply, some, trace), self._triples(reply, some, [question, *entities], trace))

    def _select(self, ask: Ask, question: str, entities: list[str], some: _Texts, trace: Trace) -> _Found:
        passages = list(some.values())
        reply = ask(trace, self.select_passages, question=question, entities=entities, passages=passages)
        return _Found(_helps(reply, some, trace))

    def _judge(self, ask: Ask, question: str, entities: list[str], some: _Texts, trace: Trace) -> _Found:
        ((at, text),) = some.items()
        reply = ask(trace, self.judge_passage, question=question, entities=entities, passage=text)
        return _Found({at: reply.helps})

    def _extract(self, ask: Ask, _: str, entities: list[str], some: _Texts, trace: Trace) -> _Found:
        texts, relations = list(some.values()), self._relations(some)
        reply = ask(trace, self.extract_triples, texts=texts, entities=entities, relations=relations)
        return _Found(triples=self._triples(reply, some, entities, trace))

    def _relations(self, some: _Texts) -> list[str]:
        return near_relations(self.assists, self.supervisor.sources, list(some.values()))

    def _triples(
        self, reply: dspy.Prediction, some: _Texts, around: list[str], trace: Trace
    ) -> dict[int, list[TextTriple]]:
        language = self.supervisor.sources.language
        found = triples_of(self.assists, reply.triples, list(some.values()), trace, language, around)
        return dict(zip(some, found, strict=True))


def _helps(reply: dspy.Prediction, some: _Texts, trace: Trace) -> dict[int, bool]:
    numbers = set(valid_numbers("passage", reply.useful, len(some), trace))
    return {at: number in numbers for number, at in enumerate(some, 1)}


@dataclass
class _Found:
    """Results of checks, by place of the reference."""

    helps: dict[int, bool] = field(default_factory=dict)
    triples: dict[int, list[TextTriple]] = field(default_factory=dict)


_Texts = dict[int, str]
"""Texts of references, by their places."""
_Task = Callable[[Trace], _Found]
_Check = Callable[[Ask, str, list[str], _Texts, Trace], _Found]
