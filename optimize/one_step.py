"""One step of a program as a program of its own, to be compiled alone: one call an example, not a whole run."""

from __future__ import annotations

from typing import Any

import dspy

from triplecheck.lms import session


class OneStep(dspy.Module):  # type: ignore[misc]
    """Asks one step.

    Args:
        step: a `RolePredict`.
    """

    def __init__(self, step: dspy.Predict) -> None:
        super().__init__()
        self.step = step

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The step's outputs; what it took is kept in `_usage`."""
        with session() as ledger:
            prediction = self.step(**inputs)
        prediction._usage = ledger.usage()
        return prediction
