"""Between DSPy and the metrics: which candidate made a prediction, and what an optimizer is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from triplecheck.evals.configuration import digest
from triplecheck.lms import Usage
from triplecheck.optimize.candidates import Candidates
from triplecheck.optimize.halting import Halted, Watch
from triplecheck.optimize.metrics import Case, Scored, feedback, proved, score_call, whole
from triplecheck.optimize.metrics.feedback import TraceRow
from triplecheck.optimize.one_step import OneStep
from triplecheck.optimize.state import state_of
from triplecheck.programs import Program

CASE = "case_id"
"""Field of an example that names its question."""


class Tagging(BaseCallback):  # type: ignore[misc]
    """Writes on each prediction which candidate made it, and tells the watch how each run ended."""

    def __init__(self, candidates: Candidates, watch: Watch) -> None:
        self._candidates = candidates
        self._watch = watch
        self._running: dict[str, tuple[Any, dict[str, Any]]] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember who runs."""
        if isinstance(instance, Program | OneStep):
            given = inputs.get("kwargs", inputs)
            self._running[call_id] = instance, {name: given[name] for name in given if name != "on_step"}

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Tag the prediction."""
        if call_id not in self._running:
            return
        instance, inputs = self._running.pop(call_id)
        self._watch.ran(exception)
        if isinstance(exception, Exception):
            # What cannot answer an example has nothing right there.
            self._candidates.score(self._candidates.seen(state_of(instance)), inputs_key(inputs), 0.0, 0)
        # Where DSPy records traces, it returns them beside the prediction.
        prediction = outputs[0] if isinstance(outputs, tuple) else outputs
        if isinstance(prediction, dspy.Prediction):
            prediction._candidate = self._candidates.seen(state_of(instance))


class Metric:
    """Scores predictions for an optimizer, and writes every score down.

    Args:
        cases: by id.
        candidates: told each score.
        watch: told where the metric itself fails: that is no wrong answer.
        step: whether predictions are of one step.
        progress: told after each score.
    """

    def __init__(
        self,
        cases: Mapping[str, Case],
        candidates: Candidates,
        watch: Watch,
        *,
        step: bool = False,
        progress: Callable[[], None] | None = None,
    ) -> None:
        self._cases = cases
        self._candidates = candidates
        self._watch = watch
        self._step = step
        self._progress = progress

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> float | bool:
        """A score from 0 to 1; while examples are collected (`trace`), whether this one is fit to be shown."""
        scored = self._scored(example, prediction)
        if trace is None:
            return scored.score
        if self._step:
            return scored.score == 1
        with self._own_errors():
            return scored.score == 1 and proved(self._cases[example[CASE]], prediction)

    def with_feedback(
        self,
        gold: dspy.Example,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Sequence[TraceRow] | None = None,
    ) -> dspy.Prediction:
        """The score with what was wrong in words: the metric as GEPA asks for it. The score is that of the whole."""
        scored = self._scored(gold, pred, note=pred_name is None)
        with self._own_errors():
            told = feedback(self._cases[gold[CASE]], scored, pred, pred_trace or ())
        return dspy.Prediction(score=scored.score, feedback=told)

    def _scored(self, example: dspy.Example, prediction: Any, note: bool = True) -> Scored:
        if prediction is None:
            return Scored(0.0, "The program failed. ")
        with self._own_errors():
            case = self._cases[example[CASE]]
            scored = self._of_step(example, prediction, case) if self._step else whole(case, prediction)
        candidate = getattr(prediction, "_candidate", None)
        if note and candidate is not None:
            usage: Usage = getattr(prediction, "_usage", None) or prediction.usage
            self._candidates.score(candidate, inputs_key(example.inputs()), scored.score, usage.calls)
            if self._progress is not None:
                self._progress()
        return scored

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """An error of the metric is no wrong answer: it stops everything."""
        try:
            yield
        except Exception as error:
            self._watch.halted = error
            raise Halted(error) from error

    def _of_step(self, example: dspy.Example, prediction: Any, case: Case) -> Scored:
        step = _Asked(list(prediction.keys()))
        found = score_call((step, dict(example.inputs()), prediction), case)
        return found or Scored(0.0, "It cannot be told whether this is right. ")


class _Asked:
    """Stands for a predictor where only its output fields are known."""

    def __init__(self, outputs: Sequence[str]) -> None:
        self.signature = self
        self.output_fields = outputs


def inputs_key(inputs: Mapping[str, Any]) -> str:
    """Names an example by what is asked."""
    return digest(json.dumps(dict(inputs), sort_keys=True, default=str, ensure_ascii=False))[:16]
