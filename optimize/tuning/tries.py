"""What may pay: students, demonstrations and instructions of steps, roles without a model, a cascade, a threshold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import mean

from triplecheck.evals.configuration import switches
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json
from triplecheck.lms import Budget, RolePredict, Roles, session
from triplecheck.lms.kinds import EXTRACTIVE as BASELINE
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.optimize.bracket import Bracket
from triplecheck.optimize.examples import Split
from triplecheck.optimize.metrics import Case
from triplecheck.optimize.paired import Measured, gain_of
from triplecheck.optimize.state import state_of, steps_of, with_state
from triplecheck.optimize.students import STUDENTS, Student, Taught, taught
from triplecheck.optimize.tuning.cost import Purse
from triplecheck.optimize.tuning.recorded import Recorded, RecordedCall
from triplecheck.optimize.tuning.state import State, best_rule
from triplecheck.optimize.tuning.steps import (
    Demos,
    StepChoice,
    best_demos,
    calls_of_rewriting,
    demo_sets,
    rewritten,
    sample,
    scores,
)
from triplecheck.programs import Cascade, Program
from triplecheck.programs.base import make_program
from triplecheck.programs.cascade import with_link

TOO_DEAR = "the budget does not allow it"
STUDENT, DEMONSTRATIONS, INSTRUCTION, CASCADE = "student", "demonstrations", "instruction", "cascade"
"""Kinds of choices."""


@dataclass(frozen=True)
class TunePlan:
    """What to compile.

    Attributes:
        program: it is not changed.
        questions: to draw demonstrations from, to choose by, and to measure on.
        prompt_model: writes instructions; None: none are written.
        workers: questions in parallel.
        budget: of the whole run.
        students: to train and try; see `optimize.students`.
        each: measure each kind of choice alone on the test questions too.
    """

    program: Program
    questions: Split
    roles: Roles = field(default_factory=Roles)
    prompt_model: str | None = None
    seed: int = 0
    workers: int = 1
    budget: Budget = field(default_factory=Budget)
    students: tuple[Student, ...] = STUDENTS
    each: bool = False


@dataclass(frozen=True)
class Try:
    """A choice.

    Attributes:
        change: what it makes of a program; None: it is not tried.
        note: why it is not tried, or what is known of it before the whole program is asked.
        kind: of choice; empty: another one.
        calls: of a question with it; None: as many as without it.
    """

    name: str
    change: Callable[[State], State] | None
    note: str = ""
    model: str | None = None
    kind: str = ""
    calls: float | None = None


@dataclass(frozen=True)
class Tries:
    """All that is tried, in order.

    Attributes:
        out: directory of the run; what was chosen for a step is kept there.
        knowledge_base: of the program's graph.
        train, validation: recorded calls.
        brackets: what each step is worth, most room first.
        purse: what is left of the budget.
        best: the program with the choices that were kept so far, and its validation questions.
        measured: a state on the validation questions.
        left: the number of validation questions that a state still has to be asked.
        progress: called with the stage.
    """

    plan: TunePlan
    out: Path
    knowledge_base: KnowledgeBase | None
    train: Recorded
    validation: Recorded
    brackets: Sequence[Bracket]
    purse: Purse
    best: Callable[[], tuple[State, Measured]]
    measured: Callable[[State], Measured]
    left: Callable[[State], int]
    progress: ProgressCallback = no_progress

    def all(self) -> Iterator[Try]:
        """The choices; each is told from `best` when it is its turn."""
        firsts = {BASELINE: Roles(BASELINE)}
        for student in self.plan.students:
            one = self._taught(student)
            if one.change is not None and one.model is not None and student.role is not None:
                firsts[student.name] = Roles(BASELINE, {student.role: one.model})
            yield one
        # A cascade asks the model fewest questions: with it, all that is tried after it is cheap to measure.
        alone, measured = self.best()
        for name, first in firsts.items():
            yield self.cascade(name, first, alone, measured)
        yield from self._of_steps()
        yield from self._of_roles()
        threshold = threshold_of(self.best()[1])
        if threshold is None:
            yield Try("abstain below a confidence", None, "it would not answer more questions rightly")
        else:
            yield Try(f"abstain below a confidence of {threshold:.2f}", partial(_with_threshold, threshold))

    def _of_steps(self) -> Iterator[Try]:
        rooms = {one.step: one.room for one in self.brackets}
        cases = self._cases()
        for name in sorted(self.train, key=lambda name: -rooms.get(name, 0.0)):
            state = self.best()[0]
            if _is_free(state.roles, [steps_of(state.program)[name]]):
                yield Try(f"{name}: demonstrations", None, "no language model is asked there")
                continue
            calls = sample(self.validation.get(name, ()), self.plan.seed)
            sets = demo_sets(steps_of(self.plan.program)[name], self.train[name], self.plan.seed)
            has_room = rooms.get(name, 1.0) > 0
            if not has_room:  # fewer tokens are all that there is to gain
                sets = {what: demos for what, demos in sets.items() if what in (next(iter(sets)), "none")}
            if has_room or len(sets) > 1:
                takes = len(sets) * len(calls)
                yield self._of_step(name, DEMONSTRATIONS, takes, partial(self._demos, name, sets, calls, cases))
            else:
                yield Try(f"{name}: demonstrations", None, "right replies there gain nothing")
            if has_room and self.plan.prompt_model is not None:
                takes = calls_of_rewriting(len(self.train[name]), len(calls))
                yield self._of_step(name, INSTRUCTION, takes, partial(self._instruction, name, calls, cases))

    def _allows(self, calls: int) -> bool:
        """Whether so many calls can be made, and what they find be tried on the whole program."""
        measured = self.best()[1].calls
        return self.purse.allows(calls + len(self.plan.questions.validation) * measured, measured)

    def _cases(self) -> dict[str, Case]:
        asked = (*self.plan.questions.train, *self.plan.questions.validation)
        return {question.id: Case(question, self.plan.program.sources) for question in asked}

    def _taught(self, student: Student) -> Try:
        plan, place = self.plan, self.out / student.name
        try:
            found = taught(student, self.knowledge_base, plan.questions.train, place, plan.seed, self.progress)
        except UserError as error:
            return Try(student.title, None, str(error))
        return Try(student.title, partial(_with_student, student, found), found.note, found.model, STUDENT)

    def _of_roles(self) -> Iterator[Try]:
        """Each role without a model: on recorded calls first, and on whole questions if that is not clearly worse."""
        for role in dict.fromkeys(step.role for step in self.plan.program.predictors()):
            state = self.best()[0]
            if is_no_language_model(state.roles.model(role)):
                continue
            name, change = f"{role}: {BASELINE}", partial(_with_model, role, BASELINE)
            asked = {step: calls for step in steps_of(state.program) if (calls := self._calls_of(step, role))}
            if not asked:
                yield Try(name, change, "no model in this role")
            elif not self._allows(sum(map(len, asked.values()))):
                yield Try(name, None, TOO_DEAR)
            else:
                self.progress(f"{BASELINE} as {role}", 0, None)
                own, others = (self._scored(one, asked) for one in (state, change(state)))
                gain = gain_of(others, own)
                worse = gain.is_clear and gain.lost > gain.won
                note = f"{mean(own):.2f} with the model, {mean(others):.2f} without on {len(own)} recorded calls"
                yield Try(name, None if worse else change, note)

    def _calls_of(self, step: str, role: str) -> list[RecordedCall]:
        if steps_of(self.plan.program)[step].role != role:
            return []
        return sample(self.validation.get(step, ()), self.plan.seed)

    def _scored(self, state: State, asked: Mapping[str, Sequence[RecordedCall]]) -> list[float]:
        """The score of each call of some steps, with the models of a state."""
        cases, sources, steps = self._cases(), state.program.sources, steps_of(state.program)
        with session(state.roles, ranker=sources.own_ranker, language=sources.language):
            each = [scores(steps[step], calls, cases, self.plan.workers) for step, calls in asked.items()]
        return [score for some in each for score in some]

    def cascade(self, name: str, first: Roles, state: State, measured: Measured) -> Try:
        """Other models first, and those of a state where the first answer does not stand.

        Args:
            name: of what is asked first.
            state: what is asked after it.
            measured: the state on the validation questions.
        """
        title = f"{CASCADE}: {name} first"
        steps = state.program.predictors()
        if _is_free(state.roles, steps):
            return Try(title, None, "no model is asked anyway")
        if isinstance(state.program, Cascade):
            return Try(title, None, "it is a cascade already")
        alone = State(state.program, with_link(first))
        # The rules ask the model what words mean, once for a question at most.
        if alone.roles != first and not self.purse.allows(self.left(alone)):
            return Try(title, None, TOO_DEAR)
        answers = self.measured(alone)
        rule = best_rule(answers, measured)
        takes = answers.calls + rule.asked / max(1, rule.questions) * measured.calls
        return Try(title, lambda to: replace(to, first=first, sure=rule.sure), str(rule), kind=CASCADE, calls=takes)

    def _of_step(self, name: str, what: str, takes: int, find: Callable[[], StepChoice | None]) -> Try:
        """What is best for a step by its own metric, from a file where an earlier run wrote it."""
        file = self.out / "steps" / f"{name}-{what}.json"
        if not file.is_file():
            if not self._allows(takes):
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
        return Try(f"{name}: {choice.what}", partial(_with_choice, choice), note, kind=what)

    def _demos(
        self, name: str, sets: Mapping[str, Demos], calls: Sequence[RecordedCall], cases: Mapping[str, Case]
    ) -> StepChoice | None:
        plan = self.plan
        return best_demos(plan.program, name, sets, calls, cases, workers=plan.workers) if calls else None

    def _instruction(self, name: str, calls: Sequence[RecordedCall], cases: Mapping[str, Case]) -> StepChoice | None:
        plan = self.plan
        if not calls or plan.prompt_model is None:
            return None
        return rewritten(
            self.best()[0].program,
            name,
            self.train[name],
            calls,
            cases,
            prompt_model=plan.prompt_model,
            out=self.out / "instructions" / name,
            ledger=self.purse.ledger,
            budget=self.purse.budget,
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


def _is_free(roles: Roles, steps: Iterable[RolePredict]) -> bool:
    """Whether no language model is asked at these steps."""
    return all(step.lm is None and is_no_language_model(roles.model(step.role)) for step in steps)


def _with_threshold(threshold: float, state: State) -> State:
    program = state.program.deepcopy()
    program.abstain_below = threshold
    return replace(state, program=program)


def _with_choice(choice: StepChoice, state: State) -> State:
    return replace(state, program=choice.applied(state.program))


def _with_model(role: str, model: str, state: State) -> State:
    return replace(state, roles=Roles(state.roles.default, {**state.roles.by_role, role: model}))


def _with_student(student: Student, found: Taught, state: State) -> State:
    if found.ranker is not None:
        program = state.program
        bare = make_program(type(program), program.sources.with_ranker(found.ranker), switches(program))
        state = replace(state, program=with_state(bare, state_of(program)))
    if found.model is not None and student.role is not None:
        state = _with_model(student.role, found.model, state)
    return state
