"""What compiling gives: the lines of its tables, the program, and the bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from triplecheck.evals.configuration import switches
from triplecheck.evals.metrics.statistics import write_p
from triplecheck.evals.summary import Scores, score
from triplecheck.lms import Usage
from triplecheck.optimize.bracket import Bracket
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.paired import Measured, gain_of
from triplecheck.optimize.tuning.state import State
from triplecheck.optimize.tuning.tries import CASCADE, DEMONSTRATIONS, INSTRUCTION, STUDENT, Try
from triplecheck.programs import Program
from triplecheck.programs.base import make_program

PLAIN, WRITTEN, ALL = "plain signatures, without demonstrations", "as written", "all that was kept"
HEADER = (
    *("test questions", "n", "Hits@1", "95%", "wrong", "proved", "of these right", "calls", "tokens", "seconds"),
    *("won:lost", "p"),
)


@dataclass(frozen=True)
class Choice:
    """A line of the table.

    Attributes:
        name: of the choice, which is tried on top of those that were kept before.
        kept: whether it is part of the result.
        validation: the program with it; None: it was not tried.
        gain: against the program as written, on the validation questions.
        test: on the test questions, for the program as written and the result.
        note: why it was not tried, or what the step's own metric says.
    """

    name: str
    kept: bool = False
    validation: Measured | None = None
    gain: Gain | None = None
    test: Measured | None = None
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


@dataclass(frozen=True)
class Row:
    """A line of the table of results: a kind of choice alone on the test questions, against the program as written.

    Attributes:
        scores: on the test questions.
        calls: of language models, of one question.
        tokens, seconds: that these take.
        gain: of Hits@1 against the program as written; None: it is that program.
    """

    name: str
    scores: Scores
    calls: float
    tokens: float
    seconds: float
    gain: Gain | None

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        own = {name: getattr(self, name) for name in ("name", "calls", "tokens", "seconds")}
        return own | {"scores": asdict(self.scores), "gain": None if self.gain is None else self.gain.to_json()}

    def cells(self) -> list[str]:
        """The texts below `HEADER`."""
        scores, gain = self.scores, self.gain
        low, high = scores.intervals.get("hits_at_1", (0.0, 1.0))
        return [
            *(self.name, str(scores.n), _share(scores.hits_at_1), f"{low:.2f}-{high:.2f}"),
            *(_share(scores.hallucination), _share(scores.proved), _share(scores.proved_right)),
            *(f"{self.calls:.1f}", f"{self.tokens:,.0f}", f"{self.seconds:.2f}"),
            "" if gain is None else f"{gain.won}:{gain.lost}",
            "" if gain is None else write_p(gain.p),
        ]


def alone(written: State, tried: Sequence[Try], cascade: Try) -> Iterator[tuple[str, State]]:
    """The program with plain signatures, then the program as written with one kind of choice at a time."""
    program = written.program
    bare = {**switches(program), "prompts": "plain", "demos": "none"}
    yield PLAIN, State(make_program(type(program), program.sources, bare), written.roles)
    for kind, name in ((DEMONSTRATIONS, "demonstrations compiled"), (INSTRUCTION, "instructions rewritten")):
        changes = [one.change for one in tried if one.kind == kind and one.change is not None]
        if changes:
            yield name, reduce(lambda state, change: change(state), changes, written)
    for one in (*(one for one in tried if one.kind == STUDENT), cascade):
        if one.change is not None:
            yield (CASCADE if one is cascade else one.name), one.change(written)


def table_rows(measured: Mapping[str, Measured]) -> list[Row]:
    """The lines of the table, by name of the choice."""
    hits = {name: _hits(one) for name, one in measured.items()}
    found = []
    for name, one in measured.items():
        both = [id for id in hits[name] if id in hits[WRITTEN]]
        gain = gain_of([hits[name][id] for id in both], [hits[WRITTEN][id] for id in both])
        own = None if name == WRITTEN else gain
        found.append(Row(name, score(list(one.rows.values())), one.calls, one.tokens, one.seconds, own))
    return found


def _hits(measured: Measured) -> dict[str, float]:
    rows = ((id, measured.rows[id]["hits_at_1"]) for id in measured.scored)
    return {id: float(hit) for id, hit in rows if hit is not None}


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
