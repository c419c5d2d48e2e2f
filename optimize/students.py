"""Students: small models that are trained on the questions at hand and take work from a language model.

One entry for each in `STUDENTS`; `compile` trains and tries them all, and `--student` chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress

NONE = "none"
"""In place of the names of students: no student."""


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
        role: whose model it is; None: it serves every role beside the model.
        train: see `taught`; asks no model.
    """

    name: str
    title: str
    role: str | None
    train: Callable[[KnowledgeBase, Sequence[Question], Path, int, ProgressCallback], Taught]


def _ranker(
    kb: KnowledgeBase, questions: Sequence[Question], folder: Path, seed: int, progress: ProgressCallback
) -> Taught:
    from triplecheck.optimize.distil.graph_ranker import RankerOptions, train_ranker

    trained = train_ranker(kb, questions, folder, RankerOptions(seed=seed), progress)
    about = trained.about["held_out"]
    shares = f"{about['before']:.2f} to {about['after']:.2f}"
    return Taught(f"{shares} with extractive on {about['questions']} training questions", ranker=trained.path)


def _reader(
    kb: KnowledgeBase, questions: Sequence[Question], folder: Path, seed: int, progress: ProgressCallback
) -> Taught:
    from triplecheck.optimize.distil.reader import HITS, train_reader

    made = train_reader(kb, questions, folder / "model", seed, progress)
    shares = [f"{one.before:.2f} to {one.after:.2f} on {one.rows} prompts" for one in made.scores if one.what == HITS]
    return Taught(f"{', '.join(shares) or 'not measured'} of held-out training questions", model=made.model)


STUDENTS: tuple[Student, ...] = (
    Student("ranker", "a ranker of paths, trained", None, _ranker),
    Student("reader", "a reader of answers, trained", "answer", _reader),
)


def resolve_students(names: Iterable[str] | str | None) -> tuple[Student, ...]:
    """The students of these names, or of one name; None: all; `none` alone: none.

    Raises:
        UserError: there is no such student, or `none` is beside others.
    """
    given = None if names is None else list(dict.fromkeys([names] if isinstance(names, str) else names))
    if given is None or given == [NONE]:
        return STUDENTS if given is None else ()
    if NONE in given:
        others = ", ".join(name for name in given if name != NONE)
        raise UserError(f"{NONE} and {others}: name the students to train, or {NONE} alone")
    by_name = {student.name: student for student in STUDENTS}
    for name in given:
        if name not in by_name:
            raise UserError(f"no student {name!r}; there are {', '.join(by_name)}, or {NONE} alone")
    return tuple(by_name[name] for name in given)


def taught(
    student: Student,
    kb: KnowledgeBase | None,
    questions: Sequence[Question],
    folder: Path,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Taught:
    """Train a student.

    Args:
        kb: of the graph, if there is one.
        questions: with known answers.
        folder: of its own, where an interrupted training is resumed and the student is kept.

    Raises:
        UserError: there is no knowledge base on this machine, or the questions do not suffice.
    """
    if kb is None or kb.is_remote:
        raise UserError("it needs a knowledge base on this machine")
    return student.train(kb, questions, folder, seed, progress)
