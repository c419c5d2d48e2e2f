"""Compile without an optimizer: whatever may pay is tried, the whole program decides, and what won becomes a bundle.

tuned = tune(TunePlan(KERAG(kb), three_parts(questions), Roles("openai/gpt-4o-mini")), "runs/tuned", knowledge_base=kb)
print(tuned.gain, tuned.bundle)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import dspy

from triplecheck.evals.configuration import configuration_digest, describe
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import RunDirectory
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import BudgetExceededError, Roles, session
from triplecheck.lms.kinds import EXTRACTIVE as BASELINE
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.lms.ledger import Ledger
from triplecheck.optimize.bracket import Bracket, bracket
from triplecheck.optimize.bundle import save_bundle
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.dspy_patches import calls_kept_in, logged_to, patient
from triplecheck.optimize.paired import Measured, answered, gain_over, measure, resumable
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.traces.gold.engine import uncomputable
from triplecheck.optimize.tuning.cost import Cost, Purse, check_budget, cost_of
from triplecheck.optimize.tuning.recorded import Recorded, check_answers, record
from triplecheck.optimize.tuning.result import ALL, WRITTEN, Choice, Row, Tuned, alone, table_rows
from triplecheck.optimize.tuning.state import State
from triplecheck.optimize.tuning.steps import check_readable
from triplecheck.optimize.tuning.tries import TOO_DEAR, Tries, Try, TunePlan

BRACKETED = 30
"""Validation questions that each step is bracketed on, at most."""
ROWS = 8
"""States that `TunePlan.each` measures on the test questions, at most, but for further students."""
CHEAPER = 0.95
"""The share of the calls or tokens up to which a choice saves some: small differences come by chance."""
SAVING = 0.5
"""The share of the calls of the program as written up to which what loses little is worth a bundle."""
LOSS = 0.05
"""The share of the questions that may be lost for it (`loss_of`)."""
_LIMIT = 1.645  # standard deviations
_BRACKETS, _VALIDATION, _TEST = "brackets", "validation", "test"


def tune(
    plan: TunePlan,
    out: Path | str,
    *,
    knowledge_base: KnowledgeBase | None = None,
    calls: Path | None = None,
    announce: Callable[[Cost], None] | None = None,
    progress: ProgressCallback = no_progress,
) -> Tuned:
    """Compile a program: try what may pay, and keep what wins on the validation questions.

    Students are trained; the baseline, or it with a student, is asked before the models (`programs.cascade`); each step
    gets the demonstrations, and with a prompt model the instruction, that its own metric likes best on recorded calls;
    each role that loses nothing clear by it, on recorded calls, is given to the rule-based baseline; and answers that
    are less sure than a threshold are left out. Each choice is tried on top of those that were kept, and
    is kept if the whole program wins more validation questions with it than it loses, by more than one standard
    deviation of chance; what saves calls or tokens is kept if it wins at least as many as it loses.
    The result is written as a bundle if it beats the program as written on them by McNemar's exact test (p < .05), or
    takes half of the calls and loses 5% of them at most, with 95% confidence; the test questions choose nothing. An
    interrupted run is resumed by the same call.

    Args:
        knowledge_base: of the program's graph; without one no student is trained.
        calls: directory of the models' replies and of recorded calls; None: one in `out`.
        announce: called with what the run takes, before a model is asked.
        progress: called with the stage, the number done and the total.

    Raises:
        UserError: the program calls no model, the prompt model is no language model, the budget is too small, no answer
            is one of the graph, or `out` holds another run.
        TriplecheckError: no reply to a step can be read.
        BudgetExceededError: the budget is used up before the program as written is measured; later, what was measured
            until then is the result.
        UnavailableError: a model is not available.
    """
    with _opened(plan, Path(out), knowledge_base, calls, progress) as run:
        if announce is not None:
            announce(run.cost)
        with resumable(Path(out)), session(plan.roles, plan.budget) as ledger:
            check_readable(plan.program, run.train)
            tuned = run.tuned(ledger)
        run.directory.write("report.json", tuned.to_json())
    return tuned


def is_kept(gain: Gain, *, saves: bool) -> bool:
    """Whether a choice is kept.

    Of many choices some win by chance. So it must win by more than one standard deviation of chance, or save calls or
    tokens and lose no more than it wins.
    """
    return gain.won >= gain.lost if saves else gain.is_likely


def is_cheaper(before: tuple[float, float], after: tuple[float, float]) -> bool:
    """Whether a program takes clearly fewer calls or tokens for a question, and no more of either.

    Args:
        before, after: calls of language models, and their tokens.
    """
    pairs = list(zip(before, after, strict=True))
    return all(new <= old for old, new in pairs) and any(old and new / old <= CHEAPER for old, new in pairs)


def is_worth_it(gain: Gain, before: float, after: float) -> bool:
    """Whether a result becomes a bundle: it wins by more than chance, or saves half of the calls and loses little.

    Args:
        before, after: calls of language models for a question.
    """
    wins = gain.is_clear and gain.won > gain.lost
    return wins or (is_saving(before, after) and loss_of(gain) <= LOSS)


def is_saving(before: float, after: float) -> bool:
    """Whether half of the calls of language models, or more, are saved."""
    return before > 0 and after <= SAVING * before


def loss_of(gain: Gain) -> float:
    """The upper 95% limit of the share of questions that is lost, by the normal approximation; 1 without questions."""
    if not gain.scored:
        return 1.0
    lost = (gain.lost - gain.won) / gain.scored
    spread = (gain.lost + gain.won) / gain.scored - lost**2
    return lost + _LIMIT * math.sqrt(spread / gain.scored)


def estimated(
    plan: TunePlan,
    out: Path | str,
    *,
    knowledge_base: KnowledgeBase | None = None,
    calls: Path | None = None,
    progress: ProgressCallback = no_progress,
) -> Cost:
    """What `tune` would take, without a call of a model where right replies can be computed.

    Args, raises: see `tune`.
    """
    with _opened(plan, Path(out), knowledge_base, calls, progress) as run:
        return run.cost


@contextmanager
def _opened(
    plan: TunePlan, out: Path, base: KnowledgeBase | None, calls: Path | None, progress: ProgressCallback
) -> Iterator[_Run]:
    if not steps_of(plan.program):
        raise UserError(f"{plan.program.name!r} calls no model: there is nothing to compile")
    _check_writer(plan.prompt_model)
    kept, questions = calls or out / "calls", plan.questions
    with ExitStack() as stack:
        with session(plan.roles):
            described = describe(plan.program, dspy.settings.lm_roles, base, None)
        more = {"prompt_model": plan.prompt_model, "seed": plan.seed, "questions": questions.identity}
        directory = stack.enter_context(RunDirectory(out, "triplecheck-tune", described | more, "a compile run"))
        stack.enter_context(calls_kept_in(kept))
        stack.enter_context(logged_to(out / "optimizer.log"))
        stack.enter_context(dspy.context(disable_history=True, trace=None))
        stack.enter_context(patient())
        drawn, by_models = (*questions.train, *questions.validation), bool(uncomputable(plan.program))
        estimate = partial(
            cost_of,
            plan.program,
            model=plan.roles.model("answer"),
            split=questions,
            bracketed=_bracketed(plan),
            rewrites=plan.prompt_model is not None,
            tested=ROWS if plan.each else 2,
        )
        is_new = not (out / _VALIDATION).is_dir()  # one that goes on needs less
        if not by_models:
            check_answers(plan.program, drawn)
        elif is_new:
            check_budget(estimate({}, asked=len(drawn)), plan.budget)
        with session(plan.roles, plan.budget):
            train, validation = (
                record(plan.program, some, kept, progress) for some in (questions.train, questions.validation)
            )
        cost = estimate(train)
        if is_new:
            check_budget(cost, plan.budget)
        yield _Run(plan, directory, base, progress, train, validation, cost)


def _check_writer(model: object) -> None:
    """Raise `UserError` if what shall write instructions is no language model, named by its string."""
    if model is None:
        return
    if not isinstance(model, str):
        raise UserError(f"the prompt model is a {type(model).__name__}: name it, such as 'openai/gpt-4o'")
    if is_no_language_model(model):
        raise UserError(f"{model} writes no instructions: name a language model as the prompt model, or leave it out")


def _bracketed(plan: TunePlan) -> int:
    return min(BRACKETED, len(plan.questions.validation))


@dataclass
class _Run:
    """A run that is ready: its directory, the recorded calls, and what it takes."""

    plan: TunePlan
    directory: RunDirectory
    base: KnowledgeBase | None
    tell: ProgressCallback
    train: Recorded
    validation: Recorded
    cost: Cost

    def __post_init__(self) -> None:
        self._best, self._kept = State(self.plan.program, self.plan.roles), Measured({})
        self._stopped: str | None = None

    def _left_to_bracket(self) -> int:
        """The number of questions that bracketing all steps still has to ask."""
        asked = _bracketed(self.plan) * (1 + 2 * len(steps_of(self.plan.program)))
        return asked - sum(len(answered(run)) for run in (self.directory.path / _BRACKETS).glob("*"))

    def _brackets(self) -> list[Bracket]:
        """What each step is worth; nothing where no right reply can be computed."""
        plan = self.plan
        if uncomputable(plan.program).keys() >= {step.signature.__name__ for step in plan.program.predictors()}:
            return []
        return bracket(
            plan.program,
            plan.questions.validation[: _bracketed(plan)],
            self.directory.path / _BRACKETS,
            knowledge_base=self.base,
            workers=plan.workers,
            progress=self.tell,
        )

    def tuned(self, ledger: Ledger) -> Tuned:
        """Try all choices, decide, and measure."""
        plan, first = self.plan, self._best
        asked, tested = len(plan.questions.validation), len(plan.questions.held_out)
        written = self._kept = self._measured(first, _VALIDATION)
        reserved = (ROWS - 2 if plan.each else 0) * tested + self._left(first, _TEST)
        purse = Purse(self.cost, plan.budget, ledger, reserved, tested).with_measured(written)
        # A step is bracketed where one choice can be measured besides.
        left = self._left_to_bracket()
        brackets: list[Bracket] = []
        with self._until_spent():
            if not left or purse.allows_questions(asked + left):
                brackets = self._brackets()
        tries = Tries(
            plan=plan,
            out=self.directory.path,
            knowledge_base=self.base,
            train=self.train,
            validation=self.validation,
            brackets=brackets,
            purse=purse,
            best=lambda: (self._best, self._kept),
            measured=lambda state: self._measured(state, _VALIDATION),
            left=lambda state: self._left(state, _VALIDATION),
            progress=self.tell,
        )
        lines = [replace(self._line(WRITTEN, first), kept=True)]
        tried = []
        with self._until_spent():
            for one in tries.all():
                tried.append(one)
                lines.append(self._tried(one, purse, written))
        total = gain_over(self._kept, written)
        won = is_worth_it(total, written.calls, self._kept.calls)
        best = self._best if won else first
        others: dict[str, State] = {}
        if plan.each:
            with self._until_spent():
                others |= alone(first, tried, tries.cascade(BASELINE, Roles(BASELINE), first, written))
        result = {ALL: best} if won else {}
        tests = self._tested({WRITTEN: first} | result | others)
        rows = self._rows({WRITTEN: first} | others | result, tests)
        test, after, shown = tests.get(WRITTEN), tests.get(ALL), tuple(tries.brackets)
        lines[0] = replace(lines[0], test=test)
        if not won:
            unchanged = plan.program.deepcopy()
            return Tuned(unchanged, shown, tuple(lines), None, None, ledger.charged(), rows, self._stopped)
        lines.append(replace(self._line(ALL, best), kept=True, gain=total, test=after))
        gain = None if test is None or after is None else gain_over(after, test)
        program, bundle = best.with_own_models(), self.directory.path / "bundle"
        tuned = Tuned(program, shown, tuple(lines), gain, bundle, ledger.charged(), rows, self._stopped)
        save_bundle(best.whole, bundle, best.roles, about=tuned.to_json() | {"bundle": None})
        return tuned

    @contextmanager
    def _until_spent(self) -> Iterator[None]:
        """Where the budget is used up, what is done here ends and the run goes on."""
        try:
            yield
        except BudgetExceededError as error:
            self._stopped = str(error)

    def _tested(self, named: Mapping[str, State]) -> dict[str, Measured]:
        """Programs on the test questions, as far as the budget goes."""
        found = {}
        with self._until_spent():
            for name, state in named.items():
                found[name] = self._measured(state, _TEST)
        return found

    def _tried(self, one: Try, purse: Purse, written: Measured) -> Choice:
        """A choice on top of those that were kept, and whether it is kept too."""
        if one.change is None:
            return Choice(one.name, note=f"not tried: {one.note}")
        state = one.change(self._best)
        left, takes = self._left(state, _VALIDATION), self._kept.calls if one.calls is None else one.calls
        if left and not purse.allows(left * takes, takes if self._kept is written else max(takes, self._kept.calls)):
            return Choice(one.name, note=f"not tried: {TOO_DEAR}")
        line = self._line(one.name, state, one.note)
        assert line.validation is not None
        gain = gain_over(line.validation, self._kept)
        before, after = ((one.calls, one.tokens) for one in (self._kept, line.validation))
        keep = is_kept(gain, saves=is_cheaper(before, after))
        if keep:
            self._best, self._kept = state, line.validation
        return replace(line, kept=keep, gain=gain_over(line.validation, written))

    def _rows(self, named: Mapping[str, State], tests: Mapping[str, Measured]) -> tuple[Row, ...]:
        """Programs on the test questions, as lines of the table of results."""
        return tuple(table_rows({name: tests[name] for name in named if name in tests}))

    def _line(self, name: str, state: State, note: str = "") -> Choice:
        """A choice on the validation questions."""
        return Choice(name, False, self._measured(state, _VALIDATION), note=note)

    def _measured(self, state: State, part: str) -> Measured:
        return measure(
            state.whole,
            self._questions(part),
            self._folder(state, part),
            roles=state.roles,
            knowledge_base=self.base,
            workers=self.plan.workers,
            progress=lambda at: self.tell(f"measuring on {part} questions", at.done, at.total),
        )

    def _left(self, state: State, part: str) -> int:
        """The number of questions that still have to be asked."""
        return len({question.id for question in self._questions(part)} - answered(self._folder(state, part)))

    def _questions(self, part: str) -> Sequence[Question]:
        parts = self.plan.questions
        return parts.validation if part == _VALIDATION else parts.held_out

    def _folder(self, state: State, part: str) -> Path:
        name = configuration_digest(describe(state.whole, state.roles, self.base, None))[:16]
        return self.directory.path / part / name
