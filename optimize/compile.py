"""Compiling a program with an optimizer: estimated before, limited by a budget, resumable, and measured after.

plan = CompilePlan(KERAG(Sources.of(kb)), split(read_questions("train.jsonl")), "GEPA", Roles("openai/gpt-4o-mini"))
compiled = compile_program(plan, "runs/gepa", knowledge_base=kb)
print(compiled.before.scores.f1, compiled.after.scores.f1, compiled.bundle)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import dspy

from triplecheck.evals import Summary, evaluate
from triplecheck.evals.configuration import describe, digest, plain
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import RunDirectory
from triplecheck.kg import KnowledgeBase, TriplecheckError, UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json
from triplecheck.lms import BudgetExceededError, Roles, Usage, session
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.resolve import language_model
from triplecheck.optimize import preflight
from triplecheck.optimize.bundle import save_bundle
from triplecheck.optimize.candidates import CandidateProgram, Candidates, Gain, choose, pareto_front
from triplecheck.optimize.dspy_patches import calls_kept_in, logged_to
from triplecheck.optimize.examples import PILOTS, Pilot, pilot, whole_examples
from triplecheck.optimize.metrics import Case
from triplecheck.optimize.paired import Measured, gain_over, raise_stopped
from triplecheck.optimize.preflight import CompilePlan, Estimate
from triplecheck.optimize.registry import resolve_optimizer
from triplecheck.optimize.scoring import ErrorWatch, Halted, Metric, OneStep, halting, inputs_key
from triplecheck.optimize.spec import OptimizerJob, OptimizerSpec, Size, Value
from triplecheck.optimize.state import state_key, state_of, steps_of, with_state
from triplecheck.optimize.traces.gold.engine import NAME as GOLD
from triplecheck.optimize.traces.gold.engine import gold_engine
from triplecheck.optimize.tuning.recorded import record, step_examples
from triplecheck.programs import Program


@dataclass(frozen=True)
class Compiled:
    """The result of a compile run. `bundle` is None if only an estimate was requested."""

    optimizer: str
    estimate: Estimate
    bundle: Path | None = None
    chosen: CandidateProgram | None = None
    candidates: tuple[CandidateProgram, ...] = ()
    """The candidates with a score on the whole validation set, best first."""
    front: tuple[CandidateProgram, ...] = ()
    gain: Gain | None = None
    """The chosen candidate against the program as written; None if it is that program."""
    held_out: Gain | None = None
    """The whole program after compiling against the one before, on the held-out questions; None if it is the same."""
    failures: Mapping[str, int] = field(default_factory=dict)
    before: Summary | None = None
    after: Summary | None = None
    usage: Usage = field(default_factory=Usage)

    def to_json(self) -> dict[str, Any]:
        """Contents of `report.json`."""
        return {
            "optimizer": self.optimizer,
            "estimate": self.estimate.to_json(),
            "bundle": None if self.bundle is None else str(self.bundle),
            "chosen": None if self.chosen is None else self.chosen.to_json(),
            "front": [one.key for one in self.front],
            "candidates": [one.to_json() for one in self.candidates],
            "gain": None if self.gain is None else self.gain.to_json(),
            "held_out": None if self.held_out is None else self.held_out.to_json(),
            "failures": dict(self.failures),
            "before": None if self.before is None else plain(self.before.scores),
            "after": None if self.after is None else plain(self.after.scores),
            "usage": self.usage.to_json(),
        }


def compile_program(
    plan: CompilePlan,
    out: Path | str,
    *,
    knowledge_base: KnowledgeBase | None = None,
    announce: Callable[[Estimate], None] | None = None,
    estimate_only: bool = False,
    calls: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Compiled:
    """Compile a program.

    If it was killed or stopped by its budget, the same call resumes it: no call is made twice, and an optimizer with
    checkpoints continues from its last one.

    Args:
        plan: what to compile.
        out: directory of the run.
        knowledge_base: the knowledge base of the program's graph, if any.
        announce: called with the estimate before the optimizer starts.
        estimate_only: stop after the estimate.
        calls: directory of the models' replies; runs that share it ask for none twice. None: one in `out`.
        progress: called with the stage, the number done and the total.

    Raises:
        UserError: the optimizer does not support this program, or `out` holds another run.
        BudgetExceededError: the budget is used up.
        UnavailableError: a model is not available.
    """
    spec = resolve_optimizer(plan.optimizer)
    settings = spec.checked(plan.settings)
    preflight.check(spec, settings, plan)
    out, tell = Path(out), progress or no_progress
    with session(plan.roles, plan.budget) as ledger, ExitStack() as stack:
        configuration = _configuration(plan, spec, settings, knowledge_base)
        directory = stack.enter_context(RunDirectory(out, "triplecheck-compile", configuration, "a compile run"))
        calls = calls or out / "calls"
        stack.enter_context(calls_kept_in(calls))
        stack.enter_context(logged_to(out / "optimizer.log"))
        stack.enter_context(dspy.context(disable_history=True, trace=None))
        run = _CompileRun(plan, spec, settings, out, calls, ledger, tell)
        estimate = run.estimate()
        if announce is not None:
            announce(estimate)
        if estimate_only:
            return Compiled(spec.name, estimate, usage=ledger.usage())
        candidates = run.optimize()
        chosen = choose(candidates, run.written)
        program = run.compiled(chosen)
        before = run.measure(plan.program, "before", knowledge_base)
        after = run.measure(program, "after", knowledge_base)
        is_new = chosen.key != run.written
        result = Compiled(
            spec.name,
            estimate,
            out / "bundle",
            chosen,
            tuple(candidates),
            tuple(pareto_front(candidates)),
            run.gain(chosen) if is_new else None,
            run.gain_held_out() if is_new else None,
            run.watch.failures,
            before,
            after,
            ledger.usage(),
        )
        about = {name: value for name, value in result.to_json().items() if name not in ("bundle", "candidates")}
        save_bundle(
            program, out / "bundle", plan.roles, plan.program, about | {"settings": settings, "step": plan.step}
        )
        directory.write("report.json", result.to_json())
    return result


@dataclass
class _CompileRun:
    """The stages of a compile run."""

    plan: CompilePlan
    spec: OptimizerSpec
    settings: Mapping[str, Value]
    out: Path
    calls: Path
    ledger: Ledger
    tell: ProgressCallback

    def __post_init__(self) -> None:
        plan = self.plan
        self.watch = ErrorWatch()
        self._candidates = Candidates(self.out)
        questions = [*plan.questions.train, *plan.questions.validation]
        cases = {question.id: Case(question, plan.program.sources) for question in questions}
        self._scored = 0
        step = None if plan.step is None else steps_of(plan.program)[plan.step].signature
        self._metric = Metric(cases, self._candidates, self.watch, step=step, progress=self._told)
        self.tell("preparing", 0, None)
        self._train = self._examples(plan.questions.train)
        self._validation = self._examples(plan.questions.validation)
        self._keys = [inputs_key(example.inputs()) for example in self._validation]
        self.written = state_key(state_of(self._student()))
        """The key of the program as it was before."""
        self._writer = language_model(plan.prompt_model or plan.roles.default)

    def estimate(self) -> Estimate:
        """Estimate the cost of the optimizer from a few runs, which the optimizer then reads from the cache."""
        plan = self.plan
        took = self._pilot(self._student(), self._train[:PILOTS], plan.step)
        whole = took
        if plan.step is not None:
            whole = self._pilot(plan.program.deepcopy(), whole_examples(plan.questions.train[:PILOTS]), None)
        size = Size(len(self._train), len(self._validation), len(self._student().predictors()))
        estimate = preflight.estimate(self.spec, self.settings, plan, size, pilot=took, whole=whole)
        write_text(self.out / "estimate.json", json.dumps(estimate.to_json(), indent=1) + "\n")
        self._runs = estimate.runs
        return estimate

    def _pilot(self, student: Any, shown: Sequence[dspy.Example], step: str | None) -> Pilot:
        """What a few runs take. It is kept beside the replies, because a later run reads these from the cache."""
        described = describe(self.plan.program, self.plan.roles, None, None)
        about = [described, step, [inputs_key(example.inputs()) for example in shown]]
        file = self.calls / "pilots" / digest(about) / "pilot.json"
        if file.is_file():
            return Pilot(**parse_json(file.read_text("utf-8")))
        took = pilot(student, shown)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(asdict(took)) + "\n")
        return took

    def optimize(self) -> list[CandidateProgram]:
        """Run the optimizer, and return the candidates with a score on the whole validation set.

        Raises:
            BudgetExceededError, UnavailableError, UserError: the optimizer was stopped, or failed.
        """
        with (
            self._teacher() as teacher,
            halting(self._candidates, self.watch, self.plan.budget, self.ledger.charged(), self._writer),
        ):
            try:
                best = self.spec.run(self._job(teacher))
                for student in (self._student(), best):
                    self._score(student)
            except Halted as halted:
                raise self._stopped(halted.error) from halted
            except TriplecheckError:
                raise
            except Exception as error:
                # DSPy's optimizers raise errors of any type; the candidates are on disk, and the log has the details.
                reason = f"{type(error).__name__}: {error}"
                raise UserError(f"{self.spec.name} failed ({reason}); see {self.out / 'optimizer.log'}") from error
        return self._candidates.over(self._keys)

    def gain(self, chosen: CandidateProgram) -> Gain:
        """The chosen candidate against the program as written, on the validation set."""
        return self._candidates.gain(chosen.key, self.written, self._keys)

    def gain_held_out(self) -> Gain:
        """What the whole program gained on the held-out questions, by McNemar's exact test."""
        asked = self.plan.questions.held_out
        before, after = (Measured.read(self.out / name, asked) for name in ("before", "after"))
        return gain_over(after, before)

    def compiled(self, chosen: CandidateProgram) -> Program:
        """The whole program with the state of the chosen candidate."""
        state, plan = self._candidates.state(chosen.key), self.plan
        if plan.step is not None:
            state = state_of(plan.program) | {plan.step: state["step"]}
        program: Program = with_state(plan.program, state)
        return program

    def measure(self, program: Program, name: str, knowledge_base: KnowledgeBase | None) -> Summary:
        """Evaluate a program on the held-out questions.

        Raises:
            BudgetExceededError: the budget is used up.
            UnavailableError: a model cannot be reached.
        """
        summary = evaluate(
            program,
            self.plan.questions.held_out,
            self.out / name,
            knowledge_base=knowledge_base,
            workers=self.plan.workers,
            settings={"compiled": digest(state_of(program))},
            progress=lambda p: self.tell(f"measuring {name}", p.done, p.total),
        )
        if summary.stopped is not None:
            raise_stopped(f"{summary.stopped}; run the same command again to resume {self.out}")
        return summary

    def _job(self, teacher: Roles | None) -> OptimizerJob:
        plan = self.plan
        return OptimizerJob(
            student=self._student(),
            train=self._train,
            validation=self._validation,
            metric=self._metric,
            settings=self.settings,
            seed=plan.seed,
            workers=plan.workers,
            teacher=teacher,
            prompt_model=self._writer,
            log_dir=self.out / "checkpoint",
        )

    def _student(self) -> Any:
        program = self.plan.program.deepcopy()
        return program if self.plan.step is None else OneStep(steps_of(program)[self.plan.step])

    def _examples(self, questions: tuple[Question, ...]) -> list[dspy.Example]:
        if self.plan.step is None:
            return whole_examples(questions)
        return step_examples(record(self.plan.program, questions, self.calls, self.tell), self.plan.step)

    def _score(self, student: Any) -> None:
        from dspy.evaluate import Evaluate

        student = student.deepcopy()
        Evaluate(devset=self._validation, metric=self._metric, num_threads=self.plan.workers)(student)

    def _told(self) -> None:
        self._scored += 1
        self.tell(f"optimizing: {self.spec.name}", self._scored, self._runs)

    @contextmanager
    def _teacher(self) -> Iterator[Roles | None]:
        plan = self.plan
        if plan.teacher != GOLD and not self.spec.labelled:
            yield None if plan.teacher is None else Roles(plan.teacher)
            return
        with gold_engine(plan.program, plan.questions.train) as (name, _):
            yield Roles(name)

    def _stopped(self, error: Exception) -> Exception:
        """The error that stopped the optimizer, with the number of candidates so far."""
        if not isinstance(error, TriplecheckError):
            return error
        again = f"{len(self._candidates)} candidates so far; run the same command again to resume {self.out}"
        if isinstance(error, BudgetExceededError):
            try:
                self.plan.budget.check(self.ledger.charged())  # report the whole budget, not the rest that was left
            except BudgetExceededError as whole:
                error = whole
        return type(error)(f"{error}; {again}")


def _configuration(plan: CompilePlan, spec: OptimizerSpec, settings: Any, kb: KnowledgeBase | None) -> dict[str, Any]:
    """What the result depends on; this leaves out the budget and the workers."""
    described = describe(plan.program, plan.roles, kb, None)
    return described | {
        "optimizer": spec.name,
        "settings": dict(settings),
        "step": plan.step,
        "teacher": plan.teacher,
        "prompt_model": plan.prompt_model,
        "seed": plan.seed,
        "questions": plan.questions.identity,
    }
