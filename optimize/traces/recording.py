"""What the language models did within one question: every step that a `RolePredict` took, as it ended.

The recorder listens through DSPy's callbacks, which travel in `dspy.settings`: so it hears the steps of
this question alone, also those that run on other threads in a copy of its context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback, callback_context

from triplecheck.lms import RolePredict
from triplecheck.lms.metering import model_name, reply_was_cut
from triplecheck.programs import Program


@dataclass(frozen=True)
class Call:
    """One step that came to its end. A second reply that mended the first belongs to the same call.

    Attributes:
        signature: what was asked.
        role: who was asked.
        model: the model that played the role.
        inputs, outputs: by field; outputs are those of the last reply.
        replies: how many there were; 2 where the first could not be read.
        cut: whether the last reply ended at its length limit.
    """

    signature: type[dspy.Signature]
    role: str
    model: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    replies: int = 1
    cut: bool = False


@dataclass
class _Open:
    step: RolePredict
    inputs: dict[str, Any]
    models: list[str] = field(default_factory=list)
    cut: bool = False


class Recorder(BaseCallback):  # type: ignore[misc]  # DSPy is not typed
    """Notes the calls of one question, and what the program returned.

    Attributes:
        calls: in the order in which they ended.
        prediction: of the outermost program; None where it raised an error.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.prediction: dspy.Prediction | None = None
        self._open: dict[str, _Open] = {}
        self._programs: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A module begins: a step, a program, or something else."""
        if isinstance(instance, RolePredict):
            given = inputs.get("kwargs", inputs)
            self._open[call_id] = _Open(instance, {name: given[name] for name in instance.signature.input_fields})
        elif isinstance(instance, Program):
            self._programs.add(call_id)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A reply came; whether it was cut is known only here."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None and exception is None:
            call.cut = reply_was_cut()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A model is asked."""
        call = self._open.get(callback_context.ACTIVE_CALL_ID.get() or "")
        if call is not None:
            call.models.append(model_name(instance))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A module ends. Steps that failed are not kept: they have no outputs."""
        call = self._open.pop(call_id, None)
        if call is not None and exception is None and call.models:
            signature = call.step.signature
            written = {name: outputs[name] for name in signature.output_fields}
            self.calls.append(
                Call(signature, call.step.role, call.models[-1], call.inputs, written, len(call.models), call.cut)
            )
        elif call_id in self._programs and exception is None:
            self.prediction = outputs


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record what happens inside, beside whatever else listens."""
    recorder = Recorder()
    with dspy.context(callbacks=[*dspy.settings.get("callbacks", []), recorder]):
        yield recorder
