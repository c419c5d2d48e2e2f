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
from triplecheck.programs.assists.near_relations import near_relations
from triplecheck.programs.assists.stated_triples import triples_of
from triplecheck.programs.base import Note
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
        self, question: str, entities: Sequence[str], references: Sequence[Reference], trace: Trace, wrote: Note
    ) -> list[ReferenceVerdict]:
        """A verdict on each reference, in order. An unreadable reply counts as not relevant.

        Args:
            entities: E_Q with their descriptions.
            trace: records replies and errors.
        """
        texts = [reference.text for reference in references]
        found = _Found()
        results = concurrently(self._tasks(question, list(entities), texts, wrote), trace, at_once=_AT_ONCE)
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

    def _relations(self, texts: list[str]) -> list[str]:
        return near_relations(self.assists, self.supervisor.sources, texts)

    def _triples(
        self, reply: dspy.Prediction, texts: list[str], trace: Trace, around: list[str]
    ) -> list[list[TextTriple]]:
        return triples_of(self.assists, reply.triples, texts, trace, self.supervisor.sources.language, around)

    def _tasks(self, question: str, entities: list[str], texts: list[str], wrote: Note) -> list[_Task]:
        if not texts:
            return []
        places = range(len(texts))
        groups = [list(places[at : at + (self.at_once or 1)]) for at in places[:: self.at_once or 1]]
        if self.checks_together:
            return [partial(self._check_all, question, entities, texts, group, wrote) for group in groups]
        tasks: list[_Task] = []
        if self.relevance:
            check = self._select if self.at_once else self._judge
            tasks += [partial(check, question, entities, texts, group, wrote) for group in groups]
        if self.triples:
            tasks += [partial(self._extract, entities, texts, group, wrote) for group in groups]
        return tasks

    def _check_all(
        self, question: str, entities: list[str], texts: list[str], places: list[int], wrote: Note, trace: Trace
    ) -> _Found:
        some = [texts[at] for at in places]
        reply = self.check_passages(
            question=question, entities=entities, relations=self._relations(some), passages=some
        )
        wrote(trace, self.check_passages, reply)
        triples = triples_of(
            self.assists, reply.triples, some, trace, self.supervisor.sources.language, [question, *entities]
        )
        return _Found(self._helps(reply.useful, places, trace), dict(zip(places, triples, strict=True)))

    def _select(
        self, question: str, entities: list[str], texts: list[str], places: list[int], wrote: Note, trace: Trace
    ) -> _Found:
        reply = self.select_passages(question=question, entities=entities, passages=[texts[at] for at in places])
        wrote(trace, self.select_passages, reply)
        return _Found(self._helps(reply.useful, places, trace))

    def _helps(self, useful: Sequence[int], places: list[int], trace: Trace) -> dict[int, bool]:
        numbers = set(valid_numbers("passage", useful, len(places), trace))
        return {at: number in numbers for number, at in enumerate(places, 1)}

    def _judge(
        self, question: str, entities: list[str], texts: list[str], places: list[int], wrote: Note, trace: Trace
    ) -> _Found:
        (at,) = places
        reply = self.judge_passage(question=question, entities=entities, passage=texts[at])
        wrote(trace, self.judge_passage, reply)
        return _Found({at: reply.helps})

    def _extract(self, entities: list[str], texts: list[str], places: list[int], wrote: Note, trace: Trace) -> _Found:
        some = [texts[at] for at in places]
        reply = self.extract_triples(texts=some, entities=entities, relations=self._relations(some))
        wrote(trace, self.extract_triples, reply)
        triples = self._triples(reply, some, trace, entities)
        return _Found(triples=dict(zip(places, triples, strict=True)))


@dataclass
class _Found:
    """Results of checks, by place of the reference."""

    helps: dict[int, bool] = field(default_factory=dict)
    triples: dict[int, list[TextTriple]] = field(default_factory=dict)


_Task = Callable[[Trace], _Found]
