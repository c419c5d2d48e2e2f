"""Check which steps of a program a model can do: each step alone, on inputs that are right."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import dspy

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.evals.executors.threads import spread
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import ModelReplyError, PromptTooLongError, language_model, session
from triplecheck.optimize.metrics.case import Case, TracedCall
from triplecheck.optimize.metrics.feedback import score_call
from triplecheck.optimize.traces.gold.engine import check_computable, gold_engine
from triplecheck.optimize.traces.gold.known import NoRightReplyError
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.base import make_program

KINDS = ("one_hop", "two_hop", "conjunction", "count", "comparison")
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
    workers: int = 1,
    progress: ProgressCallback = no_progress,
    **settings: Any,
) -> tuple[list[StepCheck], list[Question]]:
    """Ask a model for the replies of each step of a program, without cache.

    The inputs of a step are those that right replies to the steps before it lead to, so a step is checked even if
    the model fails at an earlier one.

    Args:
        questions: with answers in it; None: five of the bundled ones.
        workers: calls of a step in parallel.
        progress: called as ("asking", calls done, calls in all).

    Returns:
        What it did at each step, and the questions that are left out, see `calls_by_step`.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        UserError: there is no such program or option, or the right replies to its steps cannot be computed.
    """
    questions = five_questions() if questions is None else questions
    made = make_program(resolve_program(program), Sources.of(base), options or {})
    check_computable(made)
    with session(language_model(model, **settings)):
        by_step, left_out = calls_by_step(made, questions)
        total, done = sum(map(len, by_step.values())), 0
        found = []
        for calls in by_step.values():
            found.append(_check(calls, workers, progress, done, total))
            done += len(calls)
        return found, left_out


def five_questions() -> list[Question]:
    """The bundled questions that are asked by default."""
    asked = read_questions(bundled_questions("dev"))
    return [next(question for question in asked if question.kind == kind) for kind in KINDS]


def calls_by_step(
    program: Program, questions: Sequence[Question]
) -> tuple[dict[str, list[tuple[TracedCall, Case]]], list[Question]]:
    """The calls that right replies lead to, by step, and the questions that are left out.

    No right reply to a step of these can be computed. Only their calls before this step stay.
    """
    found: dict[str, list[tuple[TracedCall, Case]]] = {}
    left_out = []
    with gold_engine(program, questions) as (name, _), session(name):
        for question in questions:
            with dspy.context(trace=[]):
                try:
                    program(question=question.question)
                except NoRightReplyError:
                    left_out.append(question)
                for call in dspy.settings.trace:
                    case = Case(question, program.sources)
                    found.setdefault(call[0].signature.__name__, []).append((call, case))
    return found, left_out


@dataclass(frozen=True)
class _Reply:
    """The reply to one call."""

    read: bool
    score: float | None
    """None: the call cannot be scored."""
    problem: str
    """Why the reply could not be read, or what is wrong with it."""
    seconds: float


def _reply(call: TracedCall, case: Case) -> _Reply:
    step, inputs, _ = call
    started = time.perf_counter()
    try:
        reply = step(**inputs, config={"cache": False})
    except (ModelReplyError, PromptTooLongError) as error:
        problem = f"{getattr(error, 'problem', error)}; reply: {getattr(error, 'reply', '')!r}"
        return _Reply(False, 0.0, problem, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    found = score_call((step, inputs, reply), case)
    if found is None:
        return _Reply(True, None, "", seconds)
    outputs = ", ".join(f"{name}={value!r}" for name, value in reply.items())
    problem = f"{found.feedback.strip()} reply: {outputs}" if found.score < _RIGHT else ""
    return _Reply(True, found.score, problem, seconds)


def _check(
    calls: list[tuple[TracedCall, Case]], workers: int, progress: ProgressCallback, before: int, total: int
) -> StepCheck:
    found: dict[int, _Reply] = {}
    with session() as ledger:
        for at, reply in spread(lambda at: (at, _reply(*calls[at])), range(len(calls)), workers, threading.Event()):
            found[at] = reply
            progress("asking", before + len(found), total)
    replies = [found[at] for at in sorted(found)]
    scores = [reply.score for reply in replies if reply.score is not None]
    usage, count = ledger.usage(), len(calls)
    return StepCheck(
        calls[0][0][0].signature.__name__,
        count,
        sum(reply.read for reply in replies),
        len(scores),
        sum(score >= _RIGHT for score in scores),
        mean(scores) if scores else None,
        usage.prompt_tokens // count,
        usage.completion_tokens // count,
        mean(reply.seconds for reply in replies),
        next((reply.problem for reply in replies if reply.problem), "")[:_SHOWN],
    )
