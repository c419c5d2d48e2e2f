"""What an executor is given, and what it gives back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from triplecheck.evals.asking import Finished, OutOfBudget
from triplecheck.evals.judge import Judge
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import Program

Result: TypeAlias = Finished | OutOfBudget


@dataclass(frozen=True)
class Job:
    """What all questions of a run have in common. The models are those of the session around the run."""

    program: Program
    knowledge_base: KnowledgeBase | None
    """What was given to `evaluate`."""
    configuration: Mapping[str, Any]
    """`evals.configuration.describe` of the program, the models and the knowledge base."""
    keys: Mapping[str, str]
    """Content key by id of a question."""
    timeout: float | None
    """Seconds for one question."""
    judge: Judge | None = None
    """Asked about answers that are not right by exact comparison."""


class Executor(Protocol):
    """Where questions are asked. Nothing is written there: the caller alone appends rows."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def run(self, job: Job, questions: Sequence[Question], workers: int, stop: threading.Event) -> Iterator[Result]:
        """Results as they are finished, one per question that was begun.

        Args:
            job: what the questions have in common.
            questions: to be asked.
            workers: most questions under way at once.
            stop: once it is set no further question is begun; those under way are waited for.
        """
        ...
