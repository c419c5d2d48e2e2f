"""Questions as DSPy's examples: for a whole program, or for one of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dspy

from triplecheck.evals.questions import Question
from triplecheck.kg import TriplecheckError, UnavailableError, UserError
from triplecheck.lms import BudgetExceededError, Usage, session
from triplecheck.optimize.metrics import step_metric
from triplecheck.optimize.scoring import CASE, inputs_key
from triplecheck.optimize.state import steps_of
from triplecheck.programs import Program


def whole_examples(questions: Iterable[Question]) -> list[dspy.Example]:
    """One example a question; the answers stand beside it for optimizers that look at the data."""
    found: dict[str, dspy.Example] = {}
    for question in questions:
        answers = list(dict.fromkeys([*question.answer_labels, *([] if question.answer_labels else question.answers)]))
        values = {"question": question.question, "answers": answers, CASE: question.id}
        # Asked twice, a question would be scored under one key.
        found.setdefault(question.question, dspy.Example(**values).with_inputs("question"))
    return list(found.values())


def step_examples(program: Program, step: str, questions: Sequence[Question]) -> list[dspy.Example]:
    """What one step is asked while a program answers some questions.

    Raises:
        UserError: the step alone cannot be scored, or is never asked.
        BudgetExceededError, UnavailableError: a budget is spent, or a model out of reach.
    """
    signature = steps_of(program)[step].signature
    if step_metric(signature) is None:
        raise UserError(f"whether step {step!r} alone is right cannot be told; compile the whole program")
    asked = program.deepcopy()
    own = id(steps_of(asked)[step])
    found: dict[str, dspy.Example] = {}
    for question in questions:
        with dspy.context(trace=[]):
            try:
                asked(question=question.question)
            except (BudgetExceededError, UnavailableError):
                raise
            except TriplecheckError:
                pass  # the calls up to there are examples all the same
            calls = [dict(inputs) for predictor, inputs, _ in dspy.settings.trace if id(predictor) == own]
        for inputs in calls:
            found.setdefault(inputs_key(inputs), dspy.Example(**inputs, **{CASE: question.id}).with_inputs(*inputs))
    if not found:
        raise UserError(f"step {step!r} is never asked on {len(questions)} questions: another step, or more questions")
    return list(found.values())


def pilot(student: dspy.Module, examples: Sequence[dspy.Example]) -> Usage:
    """What a few runs take.

    Raises:
        BudgetExceededError, UnavailableError: a budget is spent, or a model out of reach.
    """
    with session() as ledger:
        for example in examples:
            try:
                student(**example.inputs())
            except (BudgetExceededError, UnavailableError):
                raise
            except TriplecheckError:
                continue
    return ledger.usage()
