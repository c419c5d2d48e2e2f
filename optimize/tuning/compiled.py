"""`triplecheck.compile`: a program goes in, and what compiling makes of it comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import dspy

from triplecheck.evals.configuration import digest
from triplecheck.evals.questions import Question, as_question, question_row
from triplecheck.kg import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import Budget, Roles, session
from triplecheck.optimize.examples import three_parts
from triplecheck.optimize.students import resolve_students
from triplecheck.optimize.tuning.run import tune
from triplecheck.optimize.tuning.tries import TunePlan
from triplecheck.programs import Program

Asked: TypeAlias = Question | Mapping[str, Any] | dspy.Example


def compile(  # what it is called where people use it
    program: Program,
    trainset: Iterable[Asked],
    *,
    testset: Iterable[Asked] | None = None,
    roles: Roles | str | dspy.BaseLM | None = None,
    prompt_model: str | None = None,
    students: Iterable[str] | str | None = None,
    budget: Budget | None = None,
    out: Path | str | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: ProgressCallback = no_progress,
) -> Program:
    """Compile a program: try what may pay, and keep what wins by more than chance, or saves half of the calls and loses
    little (`tuning.run.tune`).

    `report.json` in `out` has what each step is worth, and what each choice won and lost. The same call resumes an
    interrupted run.

    Args:
        program: it is not changed.
        trainset: questions with known answers, to draw from and to choose by: 60 or more, without `testset`.
        testset: questions to measure on; None: a third of `trainset`, 300 at most.
        roles: the models; None: as in `lms.session`.
        prompt_model: writes instructions; None: none are written.
        students: names of those to train and try (`optimize.students`); None: all.
        budget: of the whole run.
        out: directory of the run; None: one in `runs/`, by the name of the program and the questions.
        seed: of all draws.
        workers: questions in parallel.
        progress: called with the stage, the number done and the total.

    Returns:
        The compiled program; a copy of the program as written if nothing won or saved.

    Raises:
        UserError, TriplecheckError, BudgetExceededError, UnavailableError: see `tune`; also if there are too few
            questions with answers, or `program` is none of Triplecheck's.
    """
    if not isinstance(program, Program):
        raise UserError(
            f"{type(program).__name__} is no program of Triplecheck, such as triplecheck.KERAG(kb): compile it with "
            "one of DSPy's optimizers"
        )
    asked = [as_question(one) for one in trainset]
    questions = three_parts(asked, None if testset is None else [as_question(one) for one in testset])
    with session(roles):
        models: Roles = dspy.settings.lm_roles
    plan = TunePlan(
        program=program,
        questions=questions,
        roles=models,
        prompt_model=prompt_model,
        seed=seed,
        workers=workers,
        budget=budget or Budget(),
        students=resolve_students(students),
    )
    name = f"{program.name}-compiled-{digest([question_row(question) for question in asked])[:8]}"
    place = Path("runs") / name if out is None else Path(out)
    return tune(plan, place, knowledge_base=program.sources.knowledge_base, progress=progress).program
