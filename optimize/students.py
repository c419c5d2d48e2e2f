"""Students: small models that are trained on the questions at hand and take work from a language model.

One entry for each in `STUDENTS`; `compile` trains and tries them all, and `--student` chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    from triplecheck.optimize.tuning.recorded import RecordedCall

NONE = "none"
"""In place of the names of students: no student."""


@dataclass(frozen=True)
class Lesson:
    """What a student is taught from.

    Attributes:
        knowledge_base: of the graph.
        questions: with known answers.
        calls: of each step, by its name in the program, with right replies where these can be computed.
        folder: of its own, where an interrupted training is resumed and the student is kept.
        seed: of all draws.
        progress: called with what is done, steps done and in all.
    """

    knowledge_base: KnowledgeBase
    questions: Sequence[Question]
    calls: Mapping[str, Sequence[RecordedCall]]
    folder: Path
    seed: int = 0
    progress: ProgressCallback = no_progress


@dataclass(frozen=True)
class Taught:
    """A trained student: a model for the role of its entry, or a ranker of paths.

    Attributes:
        note: how well it does on questions that were held out.
        model: its model string.
        ranker: its file.
    """

    note: str
    model: str | None = None
    ranker: Path | None = None


@dataclass(frozen=True)
class Student:
    """An entry of the registry.

    Attributes:
        name: of the entry.
        title: what it is, in tables.
        trained_on: what of a `Lesson` it is trained on, for people.
        role: whose model it is; None: it serves every role beside the model.
        train: trains it, without a call of a model. It raises UserError where the lesson does not suffice.
    """

    name: str
    title: str
    trained_on: Literal["questions", "calls"]
    role: str | None
    train: Callable[[Lesson], Taught]


def _ranker(lesson: Lesson) -> Taught:
    from triplecheck.optimize.distil.graph_ranker import RankerOptions, train_ranker

    how = RankerOptions(seed=lesson.seed)
    trained = train_ranker(lesson.knowledge_base, lesson.questions, lesson.folder, how, lesson.progress)
    about = trained.about["held_out"]
    shares = f"{about['before']:.2f} to {about['after']:.2f}"
    return Taught(f"{shares} with extractive on {about['questions']} training questions", ranker=trained.path)


def _reader(lesson: Lesson) -> Taught:
    from triplecheck.optimize.distil.reader import ReaderOptions, train_reader

    how, place = ReaderOptions(seed=lesson.seed), lesson.folder / "model"
    made = train_reader(lesson.knowledge_base, lesson.questions, place, how, progress=lesson.progress)
    shares = [f"{one.before:.2f} to {one.after:.2f} on {one.rows} prompts" for one in made.scores]
    return Taught(f"{', '.join(shares) or 'not measured'} of held-out training questions", model=made.model)


STUDENTS: tuple[Student, ...] = (
    Student("ranker", "a ranker of paths, trained", "questions", None, _ranker),
    Student("reader", "a reader of answers, trained", "questions", "answer", _reader),
)


def resolve_students(names: Iterable[str] | None) -> tuple[Student, ...]:
    """The students of these names; None: all; `none` alone: none.

    Raises:
        UserError: there is no such student.
    """
    given = None if names is None else list(dict.fromkeys(names))
    if given is None or given == [NONE]:
        return STUDENTS if given is None else ()
    by_name = {student.name: student for student in STUDENTS}
    for name in given:
        if name not in by_name:
            raise UserError(f"no student {name!r}; there are {', '.join(by_name)}, or {NONE} alone")
    return tuple(by_name[name] for name in given)


def taught(student: Student, knowledge_base: KnowledgeBase | None, lesson: Callable[[KnowledgeBase], Lesson]) -> Taught:
    """Train a student.

    Args:
        student: the entry.
        knowledge_base: of the graph, if there is one.
        lesson: made for a knowledge base on this machine.

    Raises:
        UserError: there is no knowledge base on this machine, or the lesson does not suffice.
    """
    if knowledge_base is None or knowledge_base.is_remote:
        raise UserError("it needs a knowledge base on this machine")
    return student.train(lesson(knowledge_base))
