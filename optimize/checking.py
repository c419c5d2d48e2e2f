"""Check which steps of KERAG a model can do: each step alone, on inputs that are right."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import mean
from typing import Any

import dspy

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import ModelReplyError, PromptTooLongError, language_model, session
from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.feedback import TracedCall, score_call
from triplecheck.optimize.traces.gold import gold_engine
from triplecheck.programs import Program, Sources, resolve_program

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
    right: int
    """Replies with a score of at least 0.5 by the step's metric."""
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


def check_steps(model: str, base: KnowledgeBase, **options: Any) -> list[StepCheck]:
    """Ask a model for the replies of each step of KERAG on three of the bundled questions, without cache.

    The inputs of a step are those that right replies to the steps before it lead to, so a step is checked even if
    the model fails at an earlier one.

    Args:
        model: see `lms.language_model`.
        base: the bundled knowledge base.
        **options: settings of `dspy.LM`.

    Raises:
        ModelUnavailableError: the model cannot be reached.
    """
    asked = read_questions(bundled_questions("dev"))
    questions = [next(question for question in asked if question.kind == kind) for kind in KINDS]
    program = resolve_program("kerag")(Sources.of(base))
    with session(language_model(model, **options)):
        return [_check(calls) for calls in _by_step(program, questions).values()]


def _by_step(program: Program, questions: list[Question]) -> dict[str, list[tuple[TracedCall, Case]]]:
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


def _check(calls: list[tuple[TracedCall, Case]]) -> StepCheck:
    scores: list[float] = []
    read, sample, started = 0, "", time.perf_counter()
    step = calls[0][0][0]
    with session() as ledger:
        for (_, inputs, _), case in calls:
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
        sum(score >= _RIGHT for score in scores),
        mean(scores) if scores else None,
        usage.prompt_tokens // count,
        usage.completion_tokens // count,
        (time.perf_counter() - started) / count,
        sample,
    )
