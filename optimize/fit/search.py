"""Coordinate search: fit one option after the other, with the options before it fixed at their best values."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplecheck.evals import evaluate
from triplecheck.evals.asking import names_for
from triplecheck.evals.configuration import digest
from triplecheck.evals.metrics.trace import Row
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import scored_row
from triplecheck.evals.run_directory import ROWS, complete_lines, read_rows
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import BudgetExceededError, Usage
from triplecheck.lms.ledger import LIMITS, Ledger, total
from triplecheck.optimize.candidates import CandidateProgram, choose
from triplecheck.optimize.fit.risk_control import Sample, sample_of
from triplecheck.optimize.paired import raise_stopped
from triplecheck.programs import Know3RAG, Program
from triplecheck.programs.know3rag.replay import REPLAYED, Recorded, read_turns, replay_turns

Space = Mapping[str, tuple[Any, ...]]
"""Options to fit, as on the command line (a dot separates a table and its key, `matching.cutoff`), each with the values
to try in addition to the current one."""
_SPACES: dict[str, Space] = {
    "know3rag": {
        "theta_0": (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        "turns": (0, 1, 2),
        "references": (5, 3),
    },
    "kerag": {"hops": (1, 2, 3), "limits.candidates": (1, 3)},
    "anchorrag": {"prefilter": (0.1, 0.3, None), "depth": (2, 3)},
    "4stepfocus": {"matching.cutoff": (0.7, 0.8, 0.9), "share": (0.3, 0.5, 0.8), "least": (0.3, 0.5, 0.7)},
}


def space_of(program: str) -> Space:
    """The options of a program that are fitted by default; empty for a program without thresholds."""
    return _SPACES.get(program, {})


def read_space(items: Iterable[str]) -> Space:
    """Parse items such as `theta_0=0.01,0.1,1`.

    Raises:
        UserError: an item is not NAME=VALUE,VALUE..., or a name is given twice.
    """
    options: dict[str, tuple[Any, ...]] = {}
    for item in items:
        name, separator, text = (part.strip() for part in item.partition("="))
        values = tuple(dict.fromkeys(_value(part.strip()) for part in text.split(",") if part.strip()))
        if not separator or not name or not values:
            raise UserError(f"--try {item!r}: write NAME=VALUE,VALUE, such as theta_0=0.01,0.1,1")
        if name in options:
            raise UserError(f"--try: {name!r} is given twice; write all its values after one")
        options[name] = values
    return options


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


_MISSING = object()
"""In place of an option that a program does not have."""


def held(program: Program, names: Iterable[str]) -> dict[str, Any]:
    """The current values of options in a program; options that it does not have are left out."""
    found = {}
    for name in names:
        value: Any = program.options
        for part in name.split("."):
            value = vars(value).get(part, _MISSING) if hasattr(value, "__dict__") else _MISSING
        if value is not _MISSING:
            found[name] = value
    return found


def nested(options: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a program updated with a setting; a dot in a name separates a table and its key.

    Raises:
        UserError: the name before a dot is not a table.
    """
    result = dict(options)
    for name, value in setting.items():
        *tables, key = name.split(".")
        place = result
        for table in tables:
            inner = place.get(table, {})
            if not isinstance(inner, Mapping):
                raise UserError(f"{name}: {table!r} is {inner!r}, not a table; leave it out or set its keys")
            place[table] = dict(inner)
            place = place[table]
        place[key] = "none" if value is None else value
    return result


def label(setting: Mapping[str, Any]) -> str:
    """A setting in one line."""
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in setting.items()) or "as given"


# The result of each question: whether it was answered, whether correctly, and with which confidence.


@dataclass(frozen=True)
class Observed:
    """The result of one question.

    Attributes:
        answered: whether the program gave an answer.
        right: whether the answer is correct; an abstention is correct if the question has no answer (CRAG).
        confidence: of the answer; None if there is no answer or no confidence.
        calls: number of model calls.
        failed: whether it ended in an error; then it is neither answered nor right.
    """

    answered: bool
    right: bool
    confidence: float | None
    calls: int
    failed: bool = False


def observe(rows: Iterable[Mapping[str, Any]]) -> tuple[Observed, ...]:
    """Results from the rows of an evaluation (`evals.rows`)."""
    return tuple(
        Observed(
            answered=bool(row["answer"]) and not row["abstained"],
            right=row["crag"] == "accurate",
            confidence=row["confidence"],
            calls=row["usage"]["calls"],
            failed=row["status"] == "error",
        )
        for row in rows
    )


def sample(observed: Sequence[Observed]) -> Sample:
    """The answers with their confidences."""
    answers = [one for one in observed if one.answered]
    return sample_of([one.confidence for one in answers], [not one.right for one in answers], len(observed))


# Running a program on one half of the questions with given options, under one budget, with results kept on disk.

Make = Callable[[Mapping[str, Any]], Program]
"""Makes the program with a setting that overrides its options; see `nested`."""


@dataclass
class Asking:
    """Evaluates candidates, each in its own run directory (`evals.evaluate`), so that no question is asked twice.

    Attributes:
        out: directory of the run.
        ledger: ledger of the session, with the budget of the whole run.
        knowledge_base: the knowledge base of the graph, if any.
        workers: questions to run in parallel.
        progress: called after each question.
    """

    make: Make
    out: Path
    ledger: Ledger
    knowledge_base: KnowledgeBase | None = None
    workers: int = 1
    progress: Callable[[str, Progress], None] | None = None
    _taken: list[Usage] = field(default_factory=list)
    """Usage of each question so far."""

    def rows(
        self, setting: Mapping[str, Any], questions: Sequence[Question], part: str, reserved: int = 0
    ) -> list[Row]:
        """The rows of these questions, in the same order.

        Args:
            setting: options of the program, by name.
            reserved: number of questions that the rest of the budget must still cover.

        Raises:
            BudgetExceededError: the rest of the budget would not cover the reserved questions, and nothing was asked;
                or it was used up during the run.
            UnavailableError: a model or the graph is not available.
        """
        place = self.out / part / digest(setting)[:12]
        wanted = {question.id for question in questions}
        there = sum(row is not None and row["id"] in wanted for _, row in complete_lines(place / ROWS))
        self._check(len(questions) - there + reserved if len(questions) > there else 0)
        tell = self.progress
        summary = evaluate(
            self.make(setting),
            questions,
            place,
            knowledge_base=self.knowledge_base,
            workers=self.workers,
            progress=None if tell is None else lambda progress: tell(part, progress),
        )
        if summary.stopped is not None:
            raise_stopped(f"{summary.stopped}; run the same command again to resume {self.out}")
        by_id = {row["id"]: row for row in read_rows(place)}
        rows: list[Row] = [by_id[question.id] for question in questions]
        self._taken += [_usage(row) for row in rows]
        return rows

    def _check(self, questions: int) -> None:
        """Raise BudgetExceededError if these questions, at the mean cost so far, exceed the rest of the budget."""
        if not self._taken:
            return
        so_far = total(self._taken)
        for budget, spent in self.ledger.limits():
            for name in LIMITS:
                allowed = getattr(budget, name)
                needed = getattr(so_far, name) / len(self._taken) * questions
                if allowed is not None and needed and getattr(spent, name) + needed > allowed:
                    raise BudgetExceededError(
                        f"{questions} more questions may take {needed:.6g} {name}, and of {allowed:g} "
                        f"{max(0, allowed - getattr(spent, name)):.6g} are left"
                    )


def _usage(row: Row) -> Usage:
    names = ("calls", "prompt_tokens", "completion_tokens", "seconds", "dollars")
    return Usage(**{name: row["usage"][name] for name in names})


FITTING = "fitting"
"""Name of the half that options are chosen on."""


@dataclass(frozen=True)
class Tried:
    """One candidate.

    Attributes:
        setting: values of the fitted options.
        observed: the result of each question.
        replayed: whether it was computed from the trace of a run with all turns.
    """

    setting: Mapping[str, Any]
    observed: tuple[Observed, ...]
    replayed: bool

    @property
    def scored(self) -> CandidateProgram:
        """Accuracy and mean calls."""
        count = max(1, len(self.observed))
        accuracy = sum(one.right for one in self.observed) / count
        calls = sum(one.calls for one in self.observed) / count
        return CandidateProgram(label(self.setting), len(self.observed), accuracy, calls, size=0)


@dataclass(frozen=True)
class Searched:
    """What the search found.

    Attributes:
        chosen: the best candidate.
        tried: all candidates, in order; the first is the unchanged program.
        left_out: settings that were not evaluated, each with the reason.
    """

    chosen: Tried
    tried: tuple[Tried, ...]
    left_out: Mapping[str, str]


@dataclass
class Search:
    """Tries settings on one half of the questions.

    Attributes:
        asking: runs the questions.
        space: see `Space`; in this order.
        reserved: number of questions of the other half that the budget must still cover.
    """

    asking: Asking
    questions: Sequence[Question]
    space: Space
    reserved: int
    _recorded: dict[str, list[tuple[Row, Recorded]]] = field(default_factory=dict)

    def run(self) -> Searched:
        """Try the unchanged program, then the values of one option after the other.

        Raises:
            BudgetExceededError: the budget does not cover the unchanged program.
        """
        given = self.asking.make({})
        start = held(given, self.space)
        tried = {label(start): self._try(start, given)}
        left_out = {}
        for name, values in self.space.items():
            best = self._best(tried)
            for value in values:
                setting = {**best.setting, name: value}
                key = label(setting)
                if key in tried:
                    continue
                try:
                    tried[key] = self._try(setting, given)
                except BudgetExceededError as error:
                    left_out[key] = str(error)
        return Searched(self._best(tried), tuple(tried.values()), left_out)

    def _best(self, tried: Mapping[str, Tried]) -> Tried:
        return tried[choose([one.scored for one in tried.values()]).key]

    def _try(self, setting: Mapping[str, Any], given: Program) -> Tried:
        if isinstance(given, Know3RAG):
            return Tried(setting, observe(self._replayed(setting, given)), replayed=True)
        rows = self.asking.rows(setting, self.questions, FITTING, self.reserved)
        return Tried(setting, observe(rows), replayed=False)

    def _replayed(self, setting: Mapping[str, Any], given: Know3RAG) -> list[Row]:
        """Rows computed from one run with all turns, which covers every theta_0 and every number of turns."""
        others = {name: value for name, value in setting.items() if name not in REPLAYED}
        all_turns = {**others, "adaptive": False, "turns": max([given.turns, *self.space.get("turns", ())])}
        program = self.asking.make(setting)
        assert isinstance(program, Know3RAG)
        if label(all_turns) not in self._recorded:
            rows = self.asking.rows(all_turns, self.questions, FITTING, self.reserved)
            self._recorded[label(all_turns)] = [
                (row, read_turns(program, row["question"], row["steps"])) for row in rows
            ]
        names = names_for(program, self.asking.knowledge_base)
        return [
            # A question that ended in an error has no turns to replay.
            row
            if row["status"] == "error"
            else scored_row(program, question, replay_turns(program, recorded), names, row["key"], seconds=0.0)
            for question, (row, recorded) in zip(self.questions, self._recorded[label(all_turns)], strict=True)
        ]
