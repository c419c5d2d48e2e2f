"""What may pay: a ranker, demonstrations and instructions of steps, roles without a model, and a threshold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import dspy

from triplecheck.evals.configuration import switches
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json
from triplecheck.lms import Budget, Roles
from triplecheck.lms.resolve import is_extractive, language_model, suited
from triplecheck.optimize.bracket import Bracket
from triplecheck.optimize.examples import Split
from triplecheck.optimize.metrics import Case
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.state import state_of, steps_of, with_state
from triplecheck.optimize.tuning.cost import CALLS_OF_REWRITING, CALLS_OF_SETS, Purse
from triplecheck.optimize.tuning.recorded import Recorded, RecordedCall
from triplecheck.optimize.tuning.steps import StepChoice, best_demos, rewritten, sample
from triplecheck.programs import Program
from triplecheck.programs.base import make_program

BASELINE = "extractive"
TOO_DEAR = "the budget does not allow it"


@dataclass(frozen=True)
class TunePlan:
    """What to compile.

    Attributes:
        program: it is not changed.
        questions: to draw demonstrations from, to choose by, and to measure on.
        roles: the models.
        prompt_model: writes instructions; None: none are written.
        seed: of all draws.
        workers: questions in parallel.
        budget: of the whole run.
    """

    program: Program
    questions: Split
    roles: Roles = field(default_factory=Roles)
    prompt_model: str | None = None
    seed: int = 0
    workers: int = 1
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True)
class State:
    """A program and its models."""

    program: Program
    roles: Roles

    def with_own_models(self) -> Program:
        """A copy of the program that has the models of its roles, where they differ from the default, on its steps."""
        program: Program = self.program.deepcopy()
        sources = program.sources
        for step in steps_of(program).values():
            if step.role in self.roles.by_role and step.lm is None:
                step.lm = language_model(suited(self.roles.by_role[step.role], sources.own_ranker, sources.language))
        return program


@dataclass(frozen=True)
class Try:
    """A choice.

    Attributes:
        name: in the table.
        change: what it makes of a program; None: it is not tried.
        note: why it is not tried, or what is known of it before the whole program is asked.
    """

    name: str
    change: Callable[[State], State] | None
    note: str = ""


@dataclass(frozen=True)
class Tries:
    """All that is tried, in order.

    Attributes:
        plan: of the run.
        out: directory of the run; what was chosen for a step is kept there.
        knowledge_base: of the program's graph.
        train, validation: recorded calls.
        brackets: what each step is worth, most room first.
        purse: what is left of the budget.
        progress: called with the stage.
    """

    plan: TunePlan
    out: Path
    knowledge_base: KnowledgeBase | None
    train: Recorded
    validation: Recorded
    brackets: Sequence[Bracket]
    purse: Purse
    progress: ProgressCallback = no_progress

    def all(self, best: Callable[[], tuple[State, Measured]]) -> Iterator[Try]:
        """The choices; `best` is the program with those that were kept so far, and its validation questions."""
        yield self._ranker()
        rooms = {one.step: one.room for one in self.brackets}
        cases = self._cases()
        for name in sorted(self.train, key=lambda name: -rooms.get(name, 0.0)):
            if rooms.get(name, 1.0) <= 0:
                yield Try(f"{name}: demonstrations", None, "right replies there gain nothing")
                continue
            calls = sample(self.validation.get(name, ()), self.plan.seed)
            yield self._of_step(name, "demonstrations", CALLS_OF_SETS, partial(self._demos, name, calls, cases))
            if self.plan.prompt_model is not None:
                rewrite = partial(self._instruction, best, name, calls, cases)
                yield self._of_step(name, "instruction", CALLS_OF_REWRITING, rewrite)
        for role in dict.fromkeys(step.role for step in self.plan.program.predictors()):
            if not is_extractive(self.plan.roles.model(role)):
                yield Try(f"{role}: {BASELINE}", partial(_with_baseline, role), "no model in this role")
        threshold = threshold_of(best()[1])
        if threshold is None:
            yield Try("abstain below a confidence", None, "it would not answer more questions rightly")
        else:
            yield Try(f"abstain below a confidence of {threshold:.2f}", partial(_with_threshold, threshold))

    def _cases(self) -> dict[str, Case]:
        asked = (*self.plan.questions.train, *self.plan.questions.validation)
        return {question.id: Case(question, self.plan.program.sources) for question in asked}

    def _ranker(self) -> Try:
        from triplecheck.optimize.distil.graph_ranker import train_ranker

        name = "a ranker of paths, trained"
        if self.knowledge_base is None or self.knowledge_base.is_remote:
            return Try(name, None, "it needs a knowledge base on this machine")
        try:
            with dspy.context(ledger=None):  # it asks no model
                trained = train_ranker(
                    self.knowledge_base, self.plan.questions.train, self.out / "ranker", progress=self.progress
                )
        except UserError as error:
            return Try(name, None, str(error))
        about = trained.about["held_out"]
        note = (
            f"{about['before']:.2f} to {about['after']:.2f} with {BASELINE} on {about['questions']} training questions"
        )
        return Try(name, partial(_with_ranker, trained.path), note)

    def _of_step(self, name: str, what: str, takes: int, find: Callable[[], StepChoice | None]) -> Try:
        """What is best for a step by its own metric, from a file where an earlier run wrote it."""
        file = self.out / "steps" / f"{name}-{what}.json"
        if not file.is_file():
            if not self.purse.allows(takes):
                return Try(f"{name}: {what}", None, TOO_DEAR)
            self.progress(f"{what} of {name}", 0, None)
            found = find()
            file.parent.mkdir(parents=True, exist_ok=True)
            row = None if found is None else found.to_json()
            write_text(file, json.dumps(row, ensure_ascii=False, indent=1) + "\n")
        row = parse_json(file.read_text("utf-8"))
        if row is None:
            return Try(f"{name}: {what}", None, "none is better by the step's own metric")
        choice = StepChoice.from_json(row, steps_of(self.plan.program)[name].signature)
        note = f"{choice.before:.2f} to {choice.after:.2f} on {choice.calls} recorded calls"
        return Try(f"{name}: {choice.what}", partial(_with_choice, choice), note)

    def _demos(self, name: str, calls: Sequence[RecordedCall], cases: Mapping[str, Case]) -> StepChoice | None:
        plan = self.plan
        if not calls:
            return None
        return best_demos(plan.program, name, self.train[name], calls, cases, seed=plan.seed, workers=plan.workers)

    def _instruction(
        self,
        best: Callable[[], tuple[State, Measured]],
        name: str,
        calls: Sequence[RecordedCall],
        cases: Mapping[str, Case],
    ) -> StepChoice | None:
        plan = self.plan
        if not calls or plan.prompt_model is None:
            return None
        return rewritten(
            best()[0].program,
            name,
            self.train[name],
            calls,
            cases,
            prompt_model=plan.prompt_model,
            out=self.out / "instructions" / name,
            seed=plan.seed,
            workers=plan.workers,
        )


def threshold_of(measured: Measured) -> float | None:
    """The confidence below which abstaining gives most right answers; None: it gives no more than answering.

    It is right to abstain where there is no answer, and wrong where the answer was right. An answer whose confidence is
    not known counts as the least sure.
    """
    answered = [
        (-1.0 if row.get("confidence") is None else float(row["confidence"]), row)
        for row in (measured.rows[id] for id in measured.scored)
        if row["status"] == "ok"
    ]

    def gain(threshold: float) -> int:
        below = [row for confidence, row in answered if confidence < threshold]
        return sum((not row["answerable"]) - (row["crag"] == "accurate") for row in below)

    best = max(sorted({confidence for confidence, _ in answered}), key=gain, default=0.0)
    return best if gain(best) > 0 else None


def _with_threshold(threshold: float, state: State) -> State:
    program = state.program.deepcopy()
    program.abstain_below = threshold
    return replace(state, program=program)


def _with_choice(choice: StepChoice, state: State) -> State:
    return replace(state, program=choice.applied(state.program))


def _with_baseline(role: str, state: State) -> State:
    return replace(state, roles=Roles(state.roles.default, {**state.roles.by_role, role: BASELINE}))


def _with_ranker(ranker: Path, state: State) -> State:
    program = state.program
    bare = make_program(type(program), program.sources.with_ranker(ranker), switches(program))
    return replace(state, program=with_state(bare, state_of(program)))
