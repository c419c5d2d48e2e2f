"""Connects DSPy's optimizers with the metrics: which candidate made a prediction, its score, and when to stop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import LMError

from triplecheck.evals.configuration import digest
from triplecheck.kg import UnavailableError
from triplecheck.lms import Budget, BudgetExceededError, Usage, session
from triplecheck.lms.ledger import LIMITS
from triplecheck.lms.predict import explain
from triplecheck.optimize.candidates import Candidates
from triplecheck.optimize.dspy_patches import patient
from triplecheck.optimize.metrics import Case, StepCall, StepScore, feedback, proved, score_call, step_metric, whole
from triplecheck.optimize.metrics.case import TracedCall
from triplecheck.optimize.state import state_of
from triplecheck.programs import Program


class Halted(BaseException):
    """Stops the optimizer; `optimize.compile` turns it back into the original error.

    DSPy's optimizers catch every `Exception`, score it 0 and continue: a used-up budget or a dead server would count as
    wrong answers and make the compiled program worse. They do not catch a `BaseException`.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class ErrorWatch:
    """Errors while an optimizer runs."""

    failures: Counter[str] = field(default_factory=Counter)
    """Number of runs that ended in an error, by type of the error; they count as wrong answers."""
    halted: Exception | None = None

    def ran(self, error: BaseException | None) -> None:
        """Record how a run of the program ended.

        Raises:
            Halted: a model or the graph is not available. The first such error stops the optimizer, since a wrong
                score would stay when the run is resumed.
        """
        if error is None or isinstance(error, Halted):
            return
        if isinstance(error, UnavailableError):
            self.halted = error
            raise Halted(error)
        self.failures[type(error).__name__] += 1

    def check(self) -> None:
        """Raise `Halted` if the optimizer must stop."""
        if self.halted is not None:
            raise Halted(self.halted)


@dataclass(frozen=True)
class HaltingBudget(Budget):
    """A budget that stops the whole optimizer when it is used up, not only the call."""

    watch: ErrorWatch = field(default_factory=ErrorWatch)

    def check(self, usage: Usage) -> None:
        """Raise `Halted` if no further call may start."""
        self.watch.check()
        try:
            super().check(usage)
        except BudgetExceededError as error:
            raise Halted(error) from error


def _remaining(budget: Budget, spent: Usage, watch: ErrorWatch) -> HaltingBudget:
    """The rest of a budget, as one that stops the optimizer."""
    limited = [name for name in LIMITS if getattr(budget, name) is not None]
    left = {name: max(0, getattr(budget, name) - getattr(spent, name)) for name in limited}
    return HaltingBudget(**left, watch=watch)


class OneStep(dspy.Module):  # type: ignore[misc]
    """One step of a program as a separate module, which can be compiled alone: one call per example."""

    def __init__(self, step: dspy.Predict) -> None:
        super().__init__()
        self.step = step

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The step's outputs, and `usage`."""
        with session() as ledger:
            outputs = self.step(**inputs)
        return dspy.Prediction(**dict(outputs.items()), usage=ledger.usage())


CASE = "case_id"
"""Field of an example that names its question."""


class Tagging(BaseCallback):  # type: ignore[misc]
    """Adds to each prediction the field `candidate`, the key of its program; reports errors to the watch.

    Args:
        writer: the model that writes instructions: optimizers go on where it cannot be asked.
    """

    def __init__(self, candidates: Candidates, watch: ErrorWatch, writer: Any) -> None:
        self._candidates = candidates
        self._watch = watch
        self._writer = writer
        self._running: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._writing: set[str] = set()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember that the writer is asked."""
        if instance is self._writer:
            self._writing.add(call_id)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Report that the writer cannot be asked."""
        if call_id in self._writing and isinstance(exception, LMError):
            error = explain(exception, self._writer, "prompt model")
            if isinstance(error, UnavailableError):
                self._watch.ran(error)

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember the running module."""
        if isinstance(instance, Program | OneStep):
            given = inputs.get("kwargs", inputs)
            self._running[call_id] = instance, {name: given[name] for name in given if name != "on_step"}

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Add the candidate to the prediction."""
        if call_id not in self._running:
            return
        instance, inputs = self._running.pop(call_id)
        self._watch.ran(exception)
        if isinstance(exception, Exception):
            # A run that fails scores 0.
            self._candidates.score(self._candidates.seen(state_of(instance)), inputs_key(inputs), 0.0, 0)
        # With traces, DSPy returns them beside the prediction.
        prediction = outputs[0] if isinstance(outputs, tuple) else outputs
        if isinstance(prediction, dspy.Prediction):
            prediction.candidate = self._candidates.seen(state_of(instance))


@contextmanager
def halting(candidates: Candidates, watch: ErrorWatch, budget: Budget, spent: Usage, writer: Any) -> Iterator[None]:
    """A used-up budget, or a model that is not available, stops the optimizer that runs here.

    Args:
        writer: the model that writes instructions.

    Raises:
        Halted: with the error that stopped it.
    """
    callbacks = [*(dspy.settings.get("callbacks") or []), Tagging(candidates, watch, writer)]
    with session(budget=_remaining(budget, spent, watch)), dspy.context(callbacks=callbacks), patient():
        yield


@dataclass(frozen=True, eq=False)
class Metric:
    """Scores predictions for an optimizer, and records every score.

    Attributes:
        watch: records errors of the metric itself; they do not count as wrong answers.
        step: signature of the step that is scored; None for a whole program.
        progress: called after each score.
    """

    cases: Mapping[str, Case]
    candidates: Candidates
    watch: ErrorWatch
    step: type[dspy.Signature] | None = None
    progress: Callable[[], None] | None = None

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> float | bool:
        """A score from 0 to 1; with `trace`, whether the run can be a demonstration."""
        scored = self._scored(example, prediction)
        if trace is None:
            return scored.score
        if self.step is not None:
            return scored.score == 1
        with self._own_errors():
            return scored.score == 1 and proved(self.cases[example[CASE]], prediction, trace)

    def is_right(self, example: dspy.Example, call: TracedCall) -> bool:
        """Whether one call of a step, in a run on this example, has the full score of the step's own metric."""
        with self._own_errors():
            scored = score_call(call, self.cases[example[CASE]])
        return scored is not None and scored.score == 1

    def with_feedback(
        self,
        gold: dspy.Example,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Sequence[TracedCall] | None = None,
    ) -> dspy.Prediction:
        """The score of the program with feedback in words, with the interface of GEPA's metrics."""
        scored = self._scored(gold, pred, note=pred_name is None)
        with self._own_errors():
            text = feedback(self.cases[gold[CASE]], scored, pred, pred_trace or ())
        return dspy.Prediction(score=scored.score, feedback=text)

    def _scored(self, example: dspy.Example, prediction: Any, note: bool = True) -> StepScore:
        if prediction is None:
            return StepScore(0.0, "The program failed. ")
        with self._own_errors():
            case = self.cases[example[CASE]]
            if self.step is None:
                scored = whole(case, prediction)
            else:
                metric, outputs = step_metric(self.step), dict(prediction.items())
                found = None if metric is None else metric(StepCall(dict(example.inputs()), outputs), case)
                scored = found or StepScore(0.0, "This reply cannot be scored. ")
        candidate = prediction.get("candidate")
        if note and candidate is not None:
            self.candidates.score(candidate, inputs_key(example.inputs()), scored.score, prediction.usage.calls)
            if self.progress is not None:
                self.progress()
        return scored

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """An error of the metric is not a wrong answer: it stops the optimizer."""
        try:
            yield
        except Exception as error:
            self.watch.halted = error
            raise Halted(error) from error


def inputs_key(inputs: Mapping[str, Any]) -> str:
    """A key for an example, by its inputs."""
    return digest(json.dumps(dict(inputs), sort_keys=True, default=str, ensure_ascii=False))[:16]
