"""Compile without an optimizer: whatever may pay is tried, the whole program decides, and what won becomes a bundle.

tuned = tune(TunePlan(KERAG(kb), three_parts(questions), Roles("openai/gpt-4o-mini")), "runs/tuned", knowledge_base=kb)
print(tuned.gain, tuned.bundle)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dspy

from triplecheck.evals.configuration import configuration_digest, describe
from triplecheck.evals.run_directory import RunDirectory
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import Usage, session
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.metering import price_of
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.bracket import Bracket, bracket
from triplecheck.optimize.bundle import save_bundle
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.dspy_patches import calls_kept_in, logged_to, patient
from triplecheck.optimize.paired import Measured, gain_over, measure, resumable
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.traces.gold import uncomputable
from triplecheck.optimize.tuning.cost import Cost, Purse, check_budget, cost_of, prompt_tokens
from triplecheck.optimize.tuning.recorded import Recorded, record
from triplecheck.optimize.tuning.steps import check_readable
from triplecheck.optimize.tuning.tries import TOO_DEAR, State, Tries, TunePlan
from triplecheck.programs import Program

BRACKETED = 30
"""Validation questions that each step is bracketed on, at most."""
WRITTEN, ALL = "as written", "all that was kept"
_VALIDATION, _TEST = "validation", "test"


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
        gain: of the result against the program as written, on the test questions; None: nothing won.
        bundle: None: nothing won.
        usage: of the whole run.
    """

    program: Program
    brackets: tuple[Bracket, ...]
    choices: tuple[Choice, ...]
    gain: Gain | None
    bundle: Path | None
    usage: Usage

    def to_json(self) -> dict[str, Any]:
        """Contents of `report.json`."""
        return {
            "brackets": [one.to_json() for one in self.brackets],
            "choices": [one.to_json() for one in self.choices],
            "gain": None if self.gain is None else self.gain.to_json(),
            "bundle": None if self.bundle is None else str(self.bundle),
            "usage": self.usage.to_json(),
        }


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

    A ranker of paths is trained; each step gets the demonstrations, and with a prompt model the instruction, that its
    own metric likes best on recorded calls; each role is given to the rule-based baseline; and answers that are less
    sure than a threshold are left out. Each choice is tried on top of those that were kept, and is kept if the whole
    program wins more validation questions with it than it loses, or as many with shorter prompts.
    The result is written as a bundle if it beats the program as written on them by McNemar's exact test (p < .05); the
    test questions choose nothing. An interrupted run is resumed by the same call.

    Args:
        plan: what to compile.
        out: directory of the run.
        knowledge_base: of the program's graph; without one no ranker is trained.
        calls: directory of the models' replies and of recorded calls; None: one in `out`.
        announce: called with what the run takes, before a model is asked.
        progress: called with the stage, the number done and the total.

    Raises:
        UserError: the program calls no model, the budget is too small, or `out` holds another run.
        TriplecheckError: no reply to a step can be read.
        BudgetExceededError: the budget is used up.
        UnavailableError: a model is not available.
    """
    with _opened(plan, Path(out), knowledge_base, calls, progress) as opened:
        if announce is not None:
            announce(opened.cost)
        with resumable(Path(out)), session(plan.roles, plan.budget) as ledger:
            check_readable(plan.program, opened.train)
            tuned = opened.run.tuned(opened, ledger)
        opened.directory.write("report.json", tuned.to_json())
    return tuned


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
    with _opened(plan, Path(out), knowledge_base, calls, progress) as opened:
        return opened.cost


@dataclass(frozen=True)
class _Opened:
    """A run that is ready: its directory, the recorded calls, and what it takes."""

    run: _Run
    directory: RunDirectory
    train: Recorded
    validation: Recorded
    cost: Cost


@contextmanager
def _opened(
    plan: TunePlan, out: Path, base: KnowledgeBase | None, calls: Path | None, progress: ProgressCallback
) -> Iterator[_Opened]:
    if not steps_of(plan.program):
        raise UserError(f"{plan.program.name!r} calls no model: there is nothing to compile")
    calls = calls or out / "calls"
    with ExitStack() as stack:
        with session(plan.roles):
            described = describe(plan.program, dspy.settings.lm_roles, base, None)
        more = {"prompt_model": plan.prompt_model, "seed": plan.seed, "questions": plan.questions.identity}
        directory = stack.enter_context(RunDirectory(out, "triplecheck-tune", described | more, "a compile run"))
        stack.enter_context(calls_kept_in(calls))
        stack.enter_context(logged_to(out / "optimizer.log"))
        stack.enter_context(dspy.context(disable_history=True, trace=None))
        stack.enter_context(patient())
        run = _Run(plan, out, base, progress)
        train, validation = run.recorded(calls / "recorded")
        cost = cost_of(plan.program, train, plan.questions, run.bracketed, plan.prompt_model is not None)
        check_budget(cost, plan.budget, plan.roles.model("answer"))
        yield _Opened(run, directory, train, validation, cost)


class _Run:
    """The stages of a run."""

    def __init__(
        self, plan: TunePlan, out: Path, knowledge_base: KnowledgeBase | None, progress: ProgressCallback
    ) -> None:
        self._plan, self._out, self._base, self._tell = plan, out, knowledge_base, progress
        self._best, self._kept = State(plan.program, plan.roles), Measured({})
        self.bracketed = min(BRACKETED, len(plan.questions.validation))

    def recorded(self, folder: Path) -> tuple[Recorded, Recorded]:
        """The calls of training and validation questions; right replies cost nothing of the budget."""
        plan, questions = self._plan, self._plan.questions
        with session(plan.roles, plan.budget if uncomputable(plan.program) else None):
            train, validation = (
                record(plan.program, some, folder, self._tell) for some in (questions.train, questions.validation)
            )
        return train, validation

    @property
    def _bracketing(self) -> int:
        """Questions that bracketing all steps asks."""
        return self.bracketed * (1 + 2 * len(steps_of(self._plan.program)))

    def _brackets(self) -> list[Bracket]:
        """What each step is worth; nothing where no right reply can be computed."""
        plan = self._plan
        if uncomputable(plan.program).keys() >= {step.signature.__name__ for step in plan.program.predictors()}:
            return []
        return bracket(
            plan.program,
            plan.questions.validation[: self.bracketed],
            self._out / "brackets",
            knowledge_base=self._base,
            workers=plan.workers,
            progress=self._tell,
        )

    def tuned(self, opened: _Opened, ledger: Ledger) -> Tuned:
        """Try all choices, decide, and measure."""
        plan, first = self._plan, self._best
        asked = len(plan.questions.validation)
        purse = Purse(opened.cost, plan.budget, ledger, 2 * len(plan.questions.held_out))
        # A step is bracketed where the program as written and one choice can be measured besides.
        brackets = self._brackets() if purse.allows_questions(2 * asked + self._bracketing) else []
        tries = Tries(plan, self._out, self._base, opened.train, opened.validation, brackets, purse, self._tell)
        lines = [replace(self._line(WRITTEN, first, opened), kept=True)]
        written = self._kept = self._measured(first, _VALIDATION)
        for one in tries.all(lambda: (self._best, self._kept)):
            if one.change is None:
                lines.append(Choice(one.name, note=f"not tried: {one.note}"))
                continue
            if not purse.allows_questions(asked):
                lines.append(Choice(one.name, note=f"not tried: {TOO_DEAR}"))
                continue
            state = one.change(self._best)
            line = self._line(one.name, state, opened, one.note)
            assert line.validation is not None and line.tokens is not None
            gain = gain_over(line.validation, self._kept)
            taken = prompt_tokens(self._best.program, self._best.roles, opened.train)
            keep = gain.won > gain.lost or (gain.won == gain.lost and line.tokens < taken)
            lines.append(replace(line, kept=keep, gain=gain_over(line.validation, written)))
            if keep:
                self._best, self._kept = state, line.validation
        test = self._measured(first, _TEST)
        lines[0] = replace(lines[0], test=test)
        total = gain_over(self._kept, written)
        if not (total.is_clear and total.won > total.lost):
            return Tuned(plan.program.deepcopy(), tuple(tries.brackets), tuple(lines), None, None, ledger.usage())
        after = self._measured(self._best, _TEST)
        lines.append(replace(self._line(ALL, self._best, opened), kept=True, gain=total, test=after))
        program, bundle, gain = self._best.with_own_models(), self._out / "bundle", gain_over(after, test)
        tuned = Tuned(program, tuple(tries.brackets), tuple(lines), gain, bundle, ledger.usage())
        save_bundle(self._best.program, bundle, self._best.roles, about=tuned.to_json() | {"bundle": None})
        return tuned

    def _line(self, name: str, state: State, opened: _Opened, note: str = "") -> Choice:
        """A choice on the validation questions, and what it takes."""
        tokens = prompt_tokens(state.program, state.roles, opened.train)
        price = price_of(language_model(self._plan.roles.model("answer")))
        dollars = None if price is None else price.of(round(tokens), 0)
        return Choice(name, False, self._measured(state, _VALIDATION), tokens=tokens, dollars=dollars, note=note)

    def _measured(self, state: State, part: str) -> Measured:
        plan = self._plan
        settings = {"ranker": state.program.sources.ranker.name}
        name = configuration_digest(describe(state.program, state.roles, self._base, settings))[:16]
        return measure(
            state.program,
            plan.questions.validation if part == _VALIDATION else plan.questions.held_out,
            self._out / part / name,
            roles=state.roles,
            knowledge_base=self._base,
            workers=plan.workers,
            progress=lambda at: self._tell(f"measuring on {part} questions", at.done, at.total),
        )
