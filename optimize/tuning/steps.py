"""One step is tuned alone, on recorded calls and with its own metric: its demonstrations, then its instruction."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from triplecheck.evals.executors.threads import spread
from triplecheck.kg import TriplecheckError
from triplecheck.lms import Budget, ModelReplyError, PromptTooLongError
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.predict import RolePredict
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.candidates import Candidates
from triplecheck.optimize.examples import PILOTS
from triplecheck.optimize.metrics import Case, score_call
from triplecheck.optimize.optimizers.instructions import GEPA
from triplecheck.optimize.paired import gain_of
from triplecheck.optimize.scoring import CASE, ErrorWatch, Halted, Metric, OneStep, halting
from triplecheck.optimize.spec import OptimizerJob, Size
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.tuning.recorded import RecordedCall
from triplecheck.programs import Program
from triplecheck.signatures.demonstrations import restored

MOST_CALLS = 60
"""Recorded calls of a step that choices are compared on."""
MOST_DEMOS = 4
"""Own demonstrations of a step."""
_SHORTEST_OF = 3
_REWRITING = {"rounds": 3, "batch": 3}
Demos = tuple[dspy.Example, ...]
"""In the order in which prompts show them."""


@dataclass(frozen=True)
class StepChoice:
    """A better step, by its own metric.

    Attributes:
        step: its name in the program.
        before, after: mean of the step's metric over recorded calls.
        calls: their number.
    """

    step: str
    what: str
    demos: Demos | None
    instructions: str | None
    before: float
    after: float
    calls: int

    def applied(self, program: Program) -> Program:
        """A copy of a program with this choice."""
        other = program.deepcopy()
        step = steps_of(other)[self.step]
        if self.demos is not None:
            step.demos = list(self.demos)
        if self.instructions is not None:
            step.signature = step.signature.with_instructions(self.instructions)
        tuned: Program = other
        return tuned

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = to_jsonable_python(
            vars(self) | {"demos": None if self.demos is None else [dict(demo) for demo in self.demos]}
        )
        return plain

    @classmethod
    def from_json(cls, row: Mapping[str, Any], signature: type[dspy.Signature]) -> StepChoice:
        """What `to_json` gave, with the types of the step's fields."""
        demos = row["demos"]
        return cls(**{**row, "demos": None if demos is None else tuple(restored(signature, demos))})


def sample(calls: Sequence[RecordedCall], seed: int) -> list[RecordedCall]:
    """Some of the calls, in random order."""
    return random.Random(seed).sample(list(calls), min(MOST_CALLS, len(calls)))


def scores(
    step: RolePredict, calls: Sequence[RecordedCall], cases: Mapping[str, Case], workers: int = 1
) -> list[float]:
    """The score of a step's reply to each call, from 0 to 1; 0 where it cannot be read.

    Raises:
        BudgetExceededError, UnavailableError: the model cannot be asked.
    """

    def scored(at: int) -> tuple[int, float]:
        call = calls[at]
        try:
            reply = step(**call.inputs)
        except (ModelReplyError, PromptTooLongError):
            return at, 0.0
        found = score_call((step, call.inputs, reply), cases[call.id])
        return at, 0.0 if found is None else found.score

    found = dict(spread(scored, range(len(calls)), workers, threading.Event()))
    return [found[at] for at in range(len(calls))]


def check_readable(program: Program, calls: Mapping[str, Sequence[RecordedCall]]) -> None:
    """Check that the models write replies that can be read, with a few calls of each step.

    Raises:
        TriplecheckError: no reply to a step can be read; the message has the last one.
    """
    for name, some in calls.items():
        step = steps_of(program)[name]
        for left, call in reversed(list(enumerate(some[:PILOTS]))):
            try:
                step(**call.inputs)
                break
            except ModelReplyError as error:
                if not left:
                    tried = min(PILOTS, len(some))
                    raise TriplecheckError(f"none of {tried} replies to step {name!r} can be read: {error}") from error


def demo_sets(step: RolePredict, calls: Sequence[RecordedCall], seed: int = 0) -> dict[str, Demos]:
    """The sets of demonstrations of a step, without duplicates, the one that it has first.

    They are `worked`, `worked + own`, `none` and `own`; a step without worked examples has `none` and `own` alone.
    """
    worked, own = tuple(step.demos), tuple(own_demos(calls, seed))
    given: dict[str, Demos] = {"worked": worked, "worked + own": (*worked, *own)} if worked else {}
    found: dict[str, Demos] = {}
    for name, demos in (given | {"none": (), "own": own}).items():
        if demos not in found.values():
            found[name] = demos
    return found


def own_demos(calls: Sequence[RecordedCall], seed: int, most: int = MOST_DEMOS) -> list[dspy.Example]:
    """Calls with the full score, one of each kind in turn, of different questions; of a few candidates the shortest."""
    lot = random.Random(seed)
    by_kind: dict[str, list[RecordedCall]] = {}
    for call in sorted(calls, key=lambda call: (call.kind, call.id)):
        if call.full:
            by_kind.setdefault(call.kind, []).append(call)
    for some in by_kind.values():
        lot.shuffle(some)
    found: list[RecordedCall] = []
    while by_kind and len(found) < most:
        # The kinds with most calls come first: fewer demonstrations than kinds show what is asked most.
        for kind, some in sorted(by_kind.items(), key=lambda item: -len(item[1])):
            left = [call for call in some if call.id not in {other.id for other in found}]
            if not left:
                del by_kind[kind]
            elif len(found) < most:
                chosen = min(left[:_SHORTEST_OF], key=lambda call: call.size)
                found.append(chosen)
                by_kind[kind] = [call for call in left if call is not chosen]
    return [call.example.copy(augmented=True) for call in found]


def best_demos(
    program: Program,
    name: str,
    sets: Mapping[str, Demos],
    validation: Sequence[RecordedCall],
    cases: Mapping[str, Case],
    *,
    workers: int = 1,
) -> StepChoice | None:
    """The shortest set of demonstrations that is not worse than the best one by more than chance, call by call.

    Args:
        sets: see `demo_sets`, the one that the step has first.

    Returns:
        None: the step has it already.
    """
    step = steps_of(program)[name]
    found = {}
    for what, demos in sets.items():
        other = step.deepcopy()
        other.demos = list(demos)
        found[what] = scores(other, validation, cases, workers)
    best = max(found.values(), key=mean)
    good = [what for what in found if not gain_of(best, found[what]).is_likely]
    chosen, given = min(good, key=lambda what: _size(sets[what])), next(iter(sets))
    if chosen == given:
        return None
    before, after = mean(found[given]), mean(found[chosen])
    return StepChoice(name, chosen, sets[chosen], None, before, after, len(validation))


def calls_of_rewriting(train: int, validation: int) -> int:
    """Calls that `rewritten` takes, at most."""
    runs = GEPA.estimate(Size(train, validation, 1), GEPA.checked(_REWRITING))
    return runs.program + runs.prompt_model + 2 * validation


def rewritten(
    program: Program,
    name: str,
    train: Sequence[RecordedCall],
    validation: Sequence[RecordedCall],
    cases: Mapping[str, Case],
    *,
    prompt_model: str,
    out: Path,
    ledger: Ledger,
    budget: Budget,
    seed: int = 0,
    workers: int = 1,
) -> StepChoice | None:
    """The step with an instruction that a model rewrote (GEPA, on recorded calls); None: no better one was found.

    Args:
        out: directory, where an interrupted search is resumed.
        ledger: of what was spent of the budget.

    Raises:
        BudgetExceededError, UnavailableError: the budget is used up, or a model cannot be asked.
    """
    step = steps_of(program)[name]
    candidates, watch = Candidates(out), ErrorWatch()
    job = OptimizerJob(
        student=OneStep(step.deepcopy()),
        train=_examples(sample(train, seed)),
        validation=_examples(validation),
        metric=Metric(cases, candidates, watch, step=step.signature),
        settings=GEPA.checked(_REWRITING),
        seed=seed,
        workers=workers,
        teacher=None,
        prompt_model=language_model(prompt_model),
        log_dir=out / "checkpoint",
    )
    try:
        with halting(candidates, watch, budget, ledger.charged(), job.prompt_model):
            other = GEPA.run(job).step
    except Halted as halted:
        budget.check(ledger.charged())  # says the whole budget, not the rest that was left
        raise halted.error from halted
    if other.signature.instructions == step.signature.instructions:
        return None
    before, after = (mean(scores(one, validation, cases, workers)) for one in (step, other))
    if after <= before:
        return None
    text = other.signature.instructions
    return StepChoice(name, "another instruction", None, text, before, after, len(validation))


def _examples(calls: Iterable[RecordedCall]) -> list[dspy.Example]:
    return [dspy.Example(**call.inputs, **{CASE: call.id}).with_inputs(*call.inputs) for call in calls]


def _size(demos: Iterable[dspy.Example]) -> int:
    return sum(len(json.dumps(to_jsonable_python(dict(demo)))) for demo in demos)
