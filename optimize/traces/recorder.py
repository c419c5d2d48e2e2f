"""Listens to the steps of one question: every finished call of a `RolePredict`.

The recorder uses DSPy's callbacks in `dspy.settings`, which belong to the context: it gets only the steps of this
question, including those on other threads that run in a copy of the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback, callback_context

from triplecheck.lms import RolePredict
from triplecheck.lms.metering import model_name, reply_was_cut
from triplecheck.programs import Program


@dataclass(frozen=True)
class StepRecord:
    """One finished step, including a second reply if the first could not be parsed.

    Attributes:
        inputs, outputs: by field; outputs are those of the last reply.
        cut: whether the last reply ended at its length limit.
    """

    signature: type[dspy.Signature]
    role: str
    model: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    cut: bool = False


@dataclass
class _Open:
    step: RolePredict
    inputs: dict[str, Any]
    model: str = ""
    cut: bool = False


class Recorder(BaseCallback):  # type: ignore[misc]  # DSPy is not typed
    """Records the steps of one question, and the prediction of the program.

    Attributes:
        calls: in the order in which they ended.
        prediction: of the outermost program; None if it raised an error.
    """

    def __init__(self) -> None:
        self.calls: list[StepRecord] = []
        self.prediction: dspy.Prediction | None = None
        self._open: dict[str, _Open] = {}
        self._programs: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember a step or a program that starts."""
        if isinstance(instance, RolePredict):
            given = inputs.get("kwargs", inputs)
            self._open[call_id] = _Open(instance, {name: given[name] for name in instance.signature.input_fields})
        elif isinstance(instance, Program):
            self._programs.add(call_id)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Record whether the reply was cut, which is known only here."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None and exception is None:
            call.cut = reply_was_cut()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Record the model of a call."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None:
            call.model = model_name(instance)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Record a finished step, or the prediction. Failed steps have no outputs and are dropped."""
        call = self._open.pop(call_id, None)
        if call is not None and exception is None and call.model:
            signature = call.step.signature
            written = {name: outputs[name] for name in signature.output_fields}
            self.calls.append(StepRecord(signature, call.step.role, call.model, call.inputs, written, call.cut))
        elif call_id in self._programs and exception is None:
            self.prediction = outputs


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record the steps in this context; other callbacks stay active."""
    recorder = Recorder()
    with dspy.context(callbacks=[*dspy.settings.get("callbacks", []), recorder]):
        yield recorder
