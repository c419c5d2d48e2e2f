"""What compiling gives: the lines of the table, the program, and the bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.lms import Usage
from triplecheck.optimize.bracket import Bracket
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.tuning.rows import Row
from triplecheck.programs import Program


@dataclass(frozen=True)
class Choice:
    """A line of the table.

    Attributes:
        name: of the choice, which is tried on top of those that were kept before.
        kept: whether it is part of the result.
        validation: the program with it; None: it was not tried.
        gain: against the program as written, on the validation questions.
        test: on the test questions, for the program as written and the result.
        tokens: of the prompts of one question, roughly.
        dollars: what they cost; None: not known.
        note: why it was not tried, or what the step's own metric says.
    """

    name: str
    kept: bool = False
    validation: Measured | None = None
    gain: Gain | None = None
    test: Measured | None = None
    tokens: float | None = None
    dollars: float | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        parts = {name: getattr(self, name) for name in ("validation", "gain", "test")}
        return vars(self) | {name: None if part is None else part.to_json() for name, part in parts.items()}


@dataclass(frozen=True)
class Tuned:
    """The result.

    Attributes:
        program: with what won; as it was, if nothing did. Models of its own are set on its steps.
        brackets: what each step is worth, most room first.
        choices: the lines of the table, the program as written first and the result last.
        gain: of the result against the program as written, on the test questions; None: nothing won or saved calls, or
            the budget was used up before it was measured.
        bundle: None: nothing won or saved calls.
        usage: of the whole run.
        rows: results on the test questions: of the program as written, of each kind of choice alone if `TunePlan.each`
            is set, and of the result if something won.
        stopped: the message that the budget was used up, so that not all was tried or measured; None: all was.
    """

    program: Program
    brackets: tuple[Bracket, ...]
    choices: tuple[Choice, ...]
    gain: Gain | None
    bundle: Path | None
    usage: Usage
    rows: tuple[Row, ...] = ()
    stopped: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Contents of `report.json`."""
        return {
            "brackets": [one.to_json() for one in self.brackets],
            "choices": [one.to_json() for one in self.choices],
            "gain": None if self.gain is None else self.gain.to_json(),
            "bundle": None if self.bundle is None else str(self.bundle),
            "usage": self.usage.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "stopped": self.stopped,
        }
