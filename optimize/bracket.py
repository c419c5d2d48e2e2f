"""What each step is worth: the whole program with the worst reply, the model's and the right one at this step.

Where the right reply gives no more right answers than the model's, there is nothing to gain at the step; where the
worst one loses none, the step decides nothing. The other steps are the model's each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.paired import Measured, measure
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.traces.gold.engine import GoldEngine, WorstEngine, gold_engine, why_not
from triplecheck.programs import Program

_ENGINES: dict[str, type[GoldEngine]] = {"worst": WorstEngine, "gold": GoldEngine}


@dataclass(frozen=True)
class Bracket:
    """Shares of right answers of the whole program, with three replies at one step.

    Attributes:
        step: its name in the program.
        questions: those for which the right reply can be computed; the others are left out of all three.
        worst: with the opposite of the right reply.
        gold: with the right reply.
        left_out: ids of the questions that are left out.
    """

    step: str
    questions: int
    worst: float
    model: float
    gold: float
    left_out: tuple[str, ...] = ()

    @property
    def room(self) -> float:
        """What right replies at this step would gain."""
        return self.gold - self.model

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "room": self.room}


def measurable(program: Program) -> list[str]:
    """The names of the steps whose right replies can be computed."""
    return [name for name, step in steps_of(program).items() if why_not(step.signature) is None]


def bracket(
    program: Program,
    questions: Sequence[Question],
    out: Path,
    *,
    knowledge_base: KnowledgeBase | None = None,
    workers: int = 1,
    progress: ProgressCallback = no_progress,
) -> list[Bracket]:
    """Measure what each step is worth, with the models of the session; most room first.

    A step that all questions are left out of is missing.

    Args:
        program: it is not changed.
        out: directory, where an interrupted run is resumed.
        knowledge_base: of the program's graph.
        progress: called with what is measured, questions done and in all.

    Raises:
        UserError: the right replies to no step of the program can be computed, or there are no questions.
        BudgetExceededError: the budget of the session is used up.
    """
    names = measurable(program)
    if not names:
        raise UserError(f"the right replies to no step of {program.name!r} can be computed from the graph")
    if not questions:
        raise UserError("there are no questions with known answers to measure the steps on")

    def told(what: str) -> Callable[[Progress], None]:
        return lambda at: progress(what, at.done, at.total)

    asked = partial(measure, questions=questions, knowledge_base=knowledge_base, workers=workers)
    own = asked(program, out=out / "model", progress=told("asking the model"))
    found = []
    with ExitStack() as stack:
        engines = {
            kind: stack.enter_context(gold_engine(program, questions, kind=engine))[0]
            for kind, engine in _ENGINES.items()
        }
        for name in names:
            ends: dict[str, Measured] = {}
            for kind, engine in engines.items():
                other = program.deepcopy()
                steps_of(other)[name].lm = language_model(engine)
                ends[kind] = asked(other, out=out / f"{name}-{kind}", progress=told(f"{kind} replies to {name}"))
            ids = sorted(set(own.scored).intersection(*(one.scored for one in ends.values())))
            if ids:
                worst, model, gold = (mean(one.right(ids)) for one in (ends["worst"], own, ends["gold"]))
                left_out = tuple(question.id for question in questions if question.id not in ids)
                found.append(Bracket(name, len(ids), worst, model, gold, left_out))
    return sorted(found, key=lambda one: -one.room)
