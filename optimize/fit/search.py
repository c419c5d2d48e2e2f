"""The search: one option after the other, each at the best of its values given those that were settled before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triplecheck.evals.asking import names_for
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import scored_row
from triplecheck.lms import BudgetExceededError
from triplecheck.optimize.candidates import Candidate
from triplecheck.optimize.fit.asking import Asking, Row
from triplecheck.optimize.fit.observed import Observed, candidate, observe
from triplecheck.optimize.fit.space import Option, held, label
from triplecheck.optimize.pareto import Objective, choose
from triplecheck.programs import Know3RAG, Program
from triplecheck.programs.know3rag.replay import REPLAYED, Recorded, read_turns, replay_turns

FITTING = "fitting"
"""Names the half that options are chosen on."""


@dataclass(frozen=True)
class Tried:
    """One candidate.

    Attributes:
        setting: values of the options that are fitted.
        observed: what came of it, question by question.
        replayed: whether it is told by the trace of a run that took all turns.
    """

    setting: Mapping[str, Any]
    observed: tuple[Observed, ...]
    replayed: bool

    @property
    def scored(self) -> Candidate:
        """Its accuracy and its calls."""
        return candidate(label(self.setting), self.observed)


@dataclass(frozen=True)
class Searched:
    """What the search found.

    Attributes:
        chosen: the best candidate by the objective.
        tried: all, in order; the first is the program as it was given.
        left_out: settings that were not evaluated, each with the reason.
    """

    chosen: Tried
    tried: tuple[Tried, ...]
    left_out: Mapping[str, str]


@dataclass
class Search:
    """Tries settings on one half of the questions.

    Attributes:
        asking: where questions are asked.
        questions: of that half.
        space: the options to be fitted, in the order in which they are settled.
        objective: how to choose (`optimize.pareto`).
        reserved: questions of the other half, for which the budget must leave enough.
    """

    asking: Asking
    questions: Sequence[Question]
    space: Sequence[Option]
    objective: Objective
    reserved: int
    _recorded: dict[str, list[tuple[Row, Recorded]]] = field(default_factory=dict)

    def run(self) -> Searched:
        """Try the program as it is, then the values of one option after the other.

        Raises:
            BudgetExceededError: not even the program as it is could be asked all questions.
        """
        given = self.asking.make({})
        start = held(given, self.space)
        tried = {label(start): self._try(start, given)}
        left_out = {}
        for option in self.space:
            best = self._best(tried)
            for value in option.values:
                setting = {**best.setting, option.name: value}
                key = label(setting)
                if key in tried:
                    continue
                try:
                    tried[key] = self._try(setting, given)
                except BudgetExceededError as error:
                    left_out[key] = str(error)
        return Searched(self._best(tried), tuple(tried.values()), left_out)

    def _best(self, tried: Mapping[str, Tried]) -> Tried:
        return tried[choose([one.scored for one in tried.values()], self.objective).key]

    def _try(self, setting: Mapping[str, Any], given: Program) -> Tried:
        if isinstance(given, Know3RAG):
            return Tried(setting, observe(self._replayed(setting, given)), replayed=True)
        rows = self.asking.rows(setting, self.questions, FITTING, self.reserved)
        return Tried(setting, observe(rows), replayed=False)

    def _replayed(self, setting: Mapping[str, Any], given: Know3RAG) -> list[Row]:
        """By one run that takes all turns: it tells of every theta_0 and of every number of turns."""
        turns = [value for option in self.space if option.name == "turns" for value in option.values]
        others = {name: value for name, value in setting.items() if name not in REPLAYED}
        all_turns = {**others, "adaptive": False, "turns": max([given.turns, *turns])}
        program = self.asking.make(setting)
        assert isinstance(program, Know3RAG)
        if label(all_turns) not in self._recorded:
            rows = self.asking.rows(all_turns, self.questions, FITTING, self.reserved)
            self._recorded[label(all_turns)] = [
                (row, read_turns(program, row["question"], row["steps"])) for row in rows
            ]
        names = names_for(program, self.asking.knowledge_base)
        return [
            # What ended in an error says nothing of its turns, and stays one.
            row
            if row["status"] == "error"
            else scored_row(program, question, replay_turns(program, recorded), names, row["key"], seconds=0.0)
            for question, (row, recorded) in zip(self.questions, self._recorded[label(all_turns)], strict=True)
        ]
