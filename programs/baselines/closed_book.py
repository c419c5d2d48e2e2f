"""The baselines that ask a model without retrieval: IO, chain of thought, self-consistency.

Sources: Brown et al. (arXiv 2005.14165), Wei et al. (arXiv 2201.11903), Wang et al. (arXiv 2203.11171).
Their answers are never grounded; with `grounded_only` they abstain without a call.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from triplecheck.kg import TriplecheckError, UserError, normalize
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.closed_book import from_memory, recall
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Scored, Stopped, Trace
from triplecheck.signatures import AnswerDirectly, AnswerFromMemory, Step


class ClosedBook(Program):
    """A program that answers from a model's own knowledge."""

    cites_graph: ClassVar[bool] = False

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        if not self.options.grounded_only:
            self.make_steps()

    @abstractmethod
    def make_steps(self) -> None:
        """Make the steps of `recall`."""

    def run(self, question: str, trace: Trace) -> Outcome:
        """Ask the model, unless only grounded answers are wanted."""
        if self.options.grounded_only:
            return abstention("not_grounded", "an answer from a model's own knowledge rests on no fact", trace)
        return self.recall(question, trace)

    @abstractmethod
    def recall(self, question: str, trace: Trace) -> Outcome:
        """The answer from the model's own knowledge."""


class IO(ClosedBook):
    """One call: the question in, the answer out."""

    name: ClassVar[str] = "io"
    step: ClassVar[type[Step]] = AnswerDirectly

    def make_steps(self) -> None:
        """Make the step that answers."""
        self.answer = RolePredict(self.step, role="answer")

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Ask for the answer."""
        return recall(self, self.answer, question, trace)


class ChainOfThought(IO):
    """One call: reasoning, then the answer."""

    name: ClassVar[str] = "cot"
    step: ClassVar[type[Step]] = AnswerFromMemory


@dataclass(frozen=True)
class SelfConsistencyOptions(ProgramOptions):
    """Options of `SelfConsistency`.

    Attributes:
        samples: how many.
        temperature: above 0.
        seed: the same seed gives the same samples if the model supports seeds.
    """

    samples: int = 5
    temperature: float = 0.7
    seed: int = 0


class SelfConsistency(ChainOfThought):
    """Several chains of thought, sampled at the same time; the answer of most of them.

    Each reply has one vote for its answers as a set, after `kg.normalize`; a reply without an answer, or that
    cannot be read, has none. Of sets with equal votes the one sampled first wins. The share of votes is the
    confidence.

    Raises:
        UserError: no sample, a negative seed, or a temperature of 0 or below.
    """

    name: ClassVar[str] = "selfconsistency"
    Options: ClassVar[type[ProgramOptions]] = SelfConsistencyOptions
    options: SelfConsistencyOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        samples, seed, temperature = self.options.samples, self.options.seed, self.options.temperature
        if samples < 1 or seed < 0 or temperature <= 0:
            raise UserError(
                f"samples must be at least 1, seed at least 0 and temperature above 0, "
                f"not {samples}, {seed} and {temperature}"
            )

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Sample, and take the majority."""
        asked = concurrently([partial(self._sample, question, number) for number in range(self.options.samples)], trace)
        replies: list[list[str]] = []
        for reply in asked:
            if isinstance(reply, ModelReplyError):
                trace.add(Stopped("unreadable_reply", str(reply)))
            elif isinstance(reply, TriplecheckError):
                raise reply
            else:
                replies.append(reply)
        answers, votes = majority(replies)
        trace.add(Scored("votes", [(", ".join(a), v / self.options.samples) for a, v in _votes(replies)]))
        outcome = from_memory(self.graph, self.sources.linker, answers, trace)
        return replace(outcome, confidence=votes / self.options.samples) if answers else outcome

    def _sample(self, question: str, number: int, trace: Trace) -> list[str]:
        # A separate rollout id makes each sample a separate call for DSPy's cache, and seeds an embedded engine.
        rollout = 1 + self.options.seed * self.options.samples + number
        config = {"temperature": self.options.temperature, "rollout_id": rollout}
        return list(self.ask(trace, self.answer, question=question, config=config).answers)


def majority(replies: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """The answers that most replies give, as the first of these wrote them, and how many those are."""
    votes = _votes(replies)
    return votes[0] if votes else ([], 0)


def _votes(replies: Sequence[Sequence[str]]) -> list[tuple[list[str], int]]:
    """Each set of answers as it was first written, with its votes, most first; replies without an answer left out."""
    counts: Counter[frozenset[str]] = Counter()
    written: dict[frozenset[str], list[str]] = {}
    for answers in replies:
        given = [answer.strip() for answer in answers if answer.strip()]
        key = frozenset(map(normalize, given))
        if key:
            counts[key] += 1
            written.setdefault(key, given)
    return [(written[key], count) for key, count in counts.most_common()]
