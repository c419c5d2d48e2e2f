"""A right reply to a step, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from triplecheck.lms.prompt import COMPLETED, HEADER, Prompt
from triplecheck.lms.values import render
from triplecheck.optimize.traces.gold.known import Known


@dataclass(frozen=True)
class GoldReply:
    """A right reply.

    Attributes:
        outputs: by output field.
        taught: whether it can be told from its prompt alone. One that cannot (a passage written from what only
            the graph says) leads the program on, but who learnt it would learn to make things up.
    """

    outputs: Mapping[str, Any]
    taught: bool = True

    @property
    def text(self) -> str:
        """As a model would write it."""
        sections = (f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in self.outputs.items())
        return "\n\n".join([*sections, f"{COMPLETED}\n"])


Solver = Callable[[Known, Prompt], GoldReply | None]
"""From what is known of a question and a prompt about it to the right reply; None where it cannot be computed."""


def _written(value: Any) -> str:
    kind: Any = type(value)
    if isinstance(value, list):
        kind = list[type(value[0])] if value else list[str]  # type: ignore[misc]  # a type that is known at run time
    return render(kind, value)
