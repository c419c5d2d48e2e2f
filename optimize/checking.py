"""Check which steps of a program a model can do: each step alone, on inputs that are right."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

import dspy

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import ModelReplyError, PromptTooLongError, language_model, session
from triplecheck.optimize.metrics.case import Case, TracedCall
from triplecheck.optimize.metrics.feedback import score_call
from triplecheck.optimize.traces.gold import gold_engine
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.base import make_program

KINDS = ("one_hop", "two_hop", "conjunction")
"""The kinds of the bundled questions that are asked, one each."""

_RIGHT = 0.5
"""The score from which a reply counts as right."""
_SHOWN = 300


@dataclass(frozen=True)
class StepCheck:
    """What a model did at one step."""

    step: str
    calls: int
    """Replies asked for."""
    read: int
    """Replies that could be read, at the first or the second try."""
    scored: int
    """Replies that the step's metric can score, those that could not be read included."""
    right: int
    """Replies with a score of at least 0.5 by the metric."""
    score: float | None
    """Mean of the metric, 0 for a reply that could not be read; None if no call can be scored."""
    prompt_tokens: int
    """Mean of a call, second tries included."""
    completion_tokens: int
    seconds: float
    """Mean of a call."""
    sample: str = ""
    """The first reply that could not be read or was wrong, and why."""

    @property
    def fails(self) -> bool:
        """Whether no reply could be read, or less than half of the score was reached."""
        return self.read == 0 or (self.score is not None and self.score < _RIGHT)


def check_steps(
    model: str,
    base: KnowledgeBase,
    questions: Sequence[Question] | None = None,
    *,
    program: str = "kerag",
    options: Mapping[str, Any] | None = None,
    demos: bool | None = None,
    progress: ProgressCallback = no_progress,
    **settings: Any,
) -> list[StepCheck]:
    """Ask a model for the replies of each step of a program, without cache.

    The inputs of a step are those that right replies to the steps before it lead to, so a step is checked even if
    the model fails at an earlier one.

    Args:
        model: see `lms.language_model`.
        base: a knowledge base.
        questions: with answers in it; None: three of the bundled ones.
        program: name of the program.
        options: of the program.
        demos: whether the steps show their worked examples; None: the default.
        progress: called as ("asking", calls done, calls in all).
        **settings: of `dspy.LM`.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        UserError: there is no such program or option.
    """
    if questions is None:
        asked = read_questions(bundled_questions("dev"))
        questions = [next(question for question in asked if question.kind == kind) for kind in KINDS]
    made = make_program(resolve_program(program), Sources.of(base), options or {})
    with session(language_model(model, **settings), demos=demos):
        by_step = _by_step(made, questions)
        total, done = sum(map(len, by_step.values())), 0
        found = []
        for calls in by_step.values():
            found.append(_check(calls, partial(_tell, progress, done, total)))
            done += len(calls)
        return found


def _by_step(program: Program, questions: Sequence[Question]) -> dict[str, list[tuple[TracedCall, Case]]]:
    """The calls that right replies lead to, by step."""
    found: dict[str, list[tuple[TracedCall, Case]]] = {}
    with gold_engine(program, questions) as (name, _), session(name):
        for question in questions:
            with dspy.context(trace=[]):
                program(question=question.question)
                for call in dspy.settings.trace:
                    case = Case(question, program.sources)
                    found.setdefault(call[0].signature.__name__, []).append((call, case))
    return found


def _tell(progress: ProgressCallback, before: int, total: int, done: int) -> None:
    progress("asking", before + done, total)


def _check(calls: list[tuple[TracedCall, Case]], tell: Callable[[int], None]) -> StepCheck:
    scores: list[float] = []
    read, sample, started = 0, "", time.perf_counter()
    step = calls[0][0][0]
    with session() as ledger:
        for done, ((_, inputs, _), case) in enumerate(calls):
            tell(done)
            try:
                reply = step(**inputs, config={"cache": False})
            except (ModelReplyError, PromptTooLongError) as error:
                scores.append(0.0)
                sample = (
                    sample or f"{getattr(error, 'problem', error)}; reply: {getattr(error, 'reply', '')!r}"[:_SHOWN]
                )
                continue
            read += 1
            found = score_call((step, inputs, reply), case)
            if found is not None:
                scores.append(found.score)
                if found.score < _RIGHT:
                    outputs = ", ".join(f"{name}={value!r}" for name, value in reply.items())
                    sample = sample or f"{found.feedback.strip()} reply: {outputs}"[:_SHOWN]
    usage, count = ledger.usage(), len(calls)
    return StepCheck(
        step.signature.__name__,
        count,
        read,
        len(scores),
        sum(score >= _RIGHT for score in scores),
        mean(scores) if scores else None,
        usage.prompt_tokens // count,
        usage.completion_tokens // count,
        (time.perf_counter() - started) / count,
        sample,
    )
