"""Between DSPy and the metrics: which candidate made a prediction, its score, and the feedback to an optimizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from triplecheck.evals.configuration import digest
from triplecheck.lms import session
from triplecheck.optimize.candidates import Candidates
from triplecheck.optimize.halting import Halted, Watch
from triplecheck.optimize.metrics import Case, StepCall, StepScore, feedback, proved, step_metric, whole
from triplecheck.optimize.metrics.feedback import TraceRow
from triplecheck.optimize.state import state_of
from triplecheck.programs import Program


class OneStep(dspy.Module):  # type: ignore[misc]
    """Asks one step.

    Args:
        step: a `RolePredict`.
    """

    def __init__(self, step: dspy.Predict) -> None:
        super().__init__()
        self.step = step

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The step's outputs, and what it took as `usage`."""
        with session() as ledger:
            outputs = self.step(**inputs)
        return dspy.Prediction(**dict(outputs.items()), usage=ledger.usage())


CASE = "case_id"
"""Field of an example that names its question."""


class Tagging(BaseCallback):  # type: ignore[misc]
    """Puts on each prediction the key of the candidate that made it, as `candidate`; tells the watch how runs end."""

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
            prediction.candidate = self._candidates.seen(state_of(instance))


class Metric:
    """Scores predictions for an optimizer, and writes every score down.

    Args:
        cases: by id.
        candidates: told each score.
        watch: told where the metric itself fails: that is no wrong answer.
        step: the step that predictions are of; None where they are of a whole program.
        progress: told after each score.
    """

    def __init__(
        self,
        cases: Mapping[str, Case],
        candidates: Candidates,
        watch: Watch,
        *,
        step: type[dspy.Signature] | None = None,
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
        if self._step is not None:
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

    def _scored(self, example: dspy.Example, prediction: Any, note: bool = True) -> StepScore:
        if prediction is None:
            return StepScore(0.0, "The program failed. ")
        with self._own_errors():
            case = self._cases[example[CASE]]
            scored = whole(case, prediction) if self._step is None else self._of_step(example, prediction, case)
        candidate = prediction.get("candidate")
        if note and candidate is not None:
            self._candidates.score(candidate, inputs_key(example.inputs()), scored.score, prediction.usage.calls)
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

    def _of_step(self, example: dspy.Example, prediction: Any, case: Case) -> StepScore:
        metric = None if self._step is None else step_metric(self._step)
        found = None if metric is None else metric(StepCall(dict(example.inputs()), dict(prediction.items())), case)
        return found or StepScore(0.0, "This reply cannot be scored. ")


def inputs_key(inputs: Mapping[str, Any]) -> str:
    """Names an example by what is asked."""
    return digest(json.dumps(dict(inputs), sort_keys=True, default=str, ensure_ascii=False))[:16]
