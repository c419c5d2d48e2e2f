"""Questions as DSPy examples, for a whole program or for one of its steps."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dspy

from triplecheck.evals.configuration import digest, row_key
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import UNREADABLE
from triplecheck.kg import TriplecheckError, UnavailableError, UserError
from triplecheck.lms import BudgetExceededError, ModelReplyError, session
from triplecheck.optimize.scoring import CASE
from triplecheck.programs.steps import Stopped

VALIDATION = 0.4
"""Share of the questions for the validation set."""
LEAST_PART, LEAST_OF_ALL = 20, 60
"""Questions that `three_parts` needs: for measuring, and in all."""
ENOUGH = 100
"""Validation questions among which ten more right answers than wrong ones are hardly chance."""
TRAINED = 63
"""Training questions that a ranker of paths needs: it holds out every fifth, and 50 must be left to learn from."""
PILOTS = 3
"""Number of runs of a program, or calls of a step, that show the cost and whether the replies can be read."""
MOST_CHOSEN, MOST_TESTED = 150, 300
"""Validation and test questions, at most."""


@dataclass(frozen=True)
class Split:
    """Training, validation and held-out questions.

    Attributes:
        train: for demonstrations and feedback.
        validation: to compare candidates.
        held_out: used only at the end, to measure the program before and after.
    """

    train: tuple[Question, ...]
    validation: tuple[Question, ...]
    held_out: tuple[Question, ...]

    @property
    def identity(self) -> dict[str, str]:
        """A hash of each part: what a run that is resumed must have in common."""
        return {name: digest([row_key(question, "") for question in part]) for name, part in vars(self).items()}


def split(questions: Sequence[Question], held_out: Sequence[Question] | None = None) -> Split:
    """Split questions by a hash of their groups, so that the size of a sample does not change the part of a question.

    Args:
        questions: only those with published answers are used.
        held_out: questions to measure on; None: the part `dev` of the questions (`Question.part`).

    Raises:
        UserError: a part is empty, or a held-out question is among the others.
    """
    usable = [question for question in questions if question.answers_known]
    if held_out is None:
        held_out = [question for question in usable if question.part == "dev"]
        usable = [question for question in usable if question.part == "train"]
    both = {question.question for question in usable} & {question.question for question in held_out}
    if both:
        raise UserError(f"{len(both)} held-out questions are among those to compile with, such as {min(both)!r}")
    found = Split(
        tuple(question for question in usable if not _chooses(question.group)),
        tuple(question for question in usable if _chooses(question.group)),
        tuple(held_out),
    )
    for name, part in (("train", found.train), ("validation", found.validation), ("held-out", found.held_out)):
        if not part:
            raise UserError(f"{len(questions)} questions are too few: the {name} part is empty; give more")
    return found


def _chooses(group: str) -> bool:
    return int.from_bytes(_lot(group)[:4], "big") < VALIDATION * 2**32


def _lot(group: str) -> bytes:
    return hashlib.sha256(f"validation\0{group}".encode("utf-8", "surrogatepass")).digest()


def three_parts(questions: Sequence[Question], held_out: Sequence[Question] | None = None) -> Split:
    """Split questions so that a gain can be told from chance: 100 to 150 validation questions where there are enough.

    A model is asked each validation question many times, and each test question a few times: both parts are bounded.
    Training questions cost little. With 100 questions or more besides those to test on, a ranker of paths can be
    trained.

    Args:
        questions: only those with published answers are used, and one of several with the same text.
        held_out: questions to measure on; None: a third of the questions, 300 at most.

    Raises:
        UserError: there are too few questions with answers; the message has the numbers.
    """
    if held_out is None:
        usable = _usable(questions, LEAST_OF_ALL)
        tested = _between_groups(usable, min(len(usable) // 3, MOST_TESTED))
        test, usable = usable[:tested], usable[tested:]
    else:
        test = _usable(held_out, LEAST_PART)
        known = {question.question for question in test} | {question.group for question in test}
        usable = [one for one in _usable(questions, 2 * LEAST_PART) if not known & {one.question, one.group}]
    chosen = max(min(ENOUGH, len(usable) * 3 // 5), min(len(usable) // 2, MOST_CHOSEN))
    if len(usable) >= ENOUGH:
        chosen = min(chosen, len(usable) - TRAINED)
    chosen = _between_groups(usable, chosen)
    parts = tuple(usable[chosen:]), tuple(usable[:chosen]), tuple(test)
    if not all(parts):
        raise UserError("the questions have too few groups (the field `group`) to be split; give more, or leave it out")
    return Split(*parts)


def _between_groups(questions: Sequence[Question], at: int) -> int:
    """The nearest place up to `at` where a group of questions ends."""
    while 0 < at < len(questions) and questions[at - 1].group == questions[at].group:
        at -= 1
    return at


def _usable(questions: Sequence[Question], least: int) -> list[Question]:
    """The questions with known answers, in an order that depends on their groups and ids.

    Those that the graph cannot answer are among them, and do not count towards the least number.
    """
    found = distinct(questions)
    if (answered := sum(bool(question.answers) for question in found)) < least:
        unknown = sum(not question.answers_known for question in questions)
        without = f" ({unknown} of {len(questions)} lines have no field `answers`)" if unknown else ""
        raise UserError(
            f"{answered} questions with answers are too few to tell a gain from chance{without}: give {least} or "
            "more; 300 are better. `triplecheck synthesize` makes questions from a graph"
        )
    return sorted(found, key=lambda one: (_lot(one.group), one.id))


def distinct(questions: Iterable[Question]) -> list[Question]:
    """The questions with known answers; of several with the same text, the first."""
    found: dict[str, Question] = {}
    for one in questions:
        if one.answers_known:
            found.setdefault(one.question, one)
    return list(found.values())


def whole_examples(questions: Iterable[Question]) -> list[dspy.Example]:
    """One example per question, with the answers for optimizers that read the data."""
    found: dict[str, dspy.Example] = {}
    for question in questions:
        answers = list(dict.fromkeys([*question.answer_labels, *([] if question.answer_labels else question.answers)]))
        values = {"question": question.question, "answers": answers, CASE: question.id}
        # Scores are kept by question text: duplicates would overwrite each other.
        found.setdefault(question.question, dspy.Example(**values).with_inputs("question"))
    return list(found.values())


@dataclass(frozen=True)
class Pilot:
    """What a few runs took, for the estimate; `dollars` are those of the calls with a known price."""

    runs: int
    seconds: float
    """Wall time of all runs."""
    calls: int
    tokens: int
    unpriced_calls: int
    dollars: float


def pilot(student: dspy.Module, examples: Sequence[dspy.Example]) -> Pilot:
    """What a few runs take.

    Raises:
        BudgetExceededError, UnavailableError: a budget is used up, or a model is not available.
        ModelReplyError: no run gives replies that can be read; the message has the last one.
    """
    began = time.perf_counter()
    unread: list[str] = []
    with session() as ledger:
        for example in examples:
            try:
                found = student(**example.inputs())
            except (BudgetExceededError, UnavailableError):
                raise
            except ModelReplyError as error:
                unread.append(str(error))
            except TriplecheckError:
                continue
            else:
                stops = (step for step in found.get("steps", ()) if isinstance(step, Stopped))
                unread += [step.detail for step in stops if step.reason == UNREADABLE]
    if examples and len(unread) == len(examples):
        raise ModelReplyError(f"none of {len(examples)} runs gives replies that can be read: {unread[-1]}")
    took, usage = time.perf_counter() - began, ledger.usage()
    return Pilot(len(examples), took, usage.calls, usage.tokens, usage.unpriced_calls, usage.dollars)
