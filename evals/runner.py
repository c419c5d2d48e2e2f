"""The runner: evaluate a program on many questions, one row each. A run can be interrupted and resumed at any time."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from triplecheck.evals.asking import Finished, OutOfBudget
from triplecheck.evals.configuration import configuration_digest, describe, row_key
from triplecheck.evals.executors.threads import Executor, QuestionJob, Threads
from triplecheck.evals.progress import Progress, Tally
from triplecheck.evals.questions import Question, as_question
from triplecheck.evals.rows import not_run
from triplecheck.evals.run_directory import EvaluationDirectory
from triplecheck.evals.slim_rows import SlimRow
from triplecheck.evals.summary import Summary, summarize
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, Roles, session
from triplecheck.programs import Program

UNAVAILABLE_IN_A_ROW = 10
"""A run stops after this many consecutive rows that failed because a model or the graph is unavailable."""


def evaluate(
    program: Program,
    questions: Iterable[Question | Mapping[str, Any] | dspy.Example],
    out: Path | str | None = None,
    *,
    roles: Roles | str | None = None,
    knowledge_base: KnowledgeBase | None = None,
    workers: int = 1,
    timeout: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    each: Callable[[Mapping[str, Any]], None] | None = None,
) -> Summary:
    """Ask a program questions, score its answers, and write `rows.jsonl` and `summary.json` to `out`.

    Resumes a run in `out` that has the same configuration: finished rows are kept, and questions that ended in an
    error are repeated, unless it lasts (`TriplecheckError.lasting`). If a question fails, its row gets status `error`
    and is not scored; the run goes on.

    Args:
        program: must be thread-safe if `workers` is above 1.
        questions: with their gold answers: `{"question": ..., "answers": [...]}`, a `dspy.Example` or a `Question`.
        out: directory of the evaluation; None: the rows are not kept.
        roles: the model of each role; None: as in `lms.session`.
        knowledge_base: the knowledge base of the program's graph, if there is one: its content hash becomes part of
            the configuration, and its index resolves gold names.
        workers: questions in parallel.
        timeout: seconds per question; None: no limit. A program that exceeds it stops at its next step, and the run
            does not wait for that.
        budget: budget of the whole run. When it is used up, the run stops and the summary says so; resume it with a
            new budget.
        progress: called after each row, from the calling thread.
        settings: other values that the results depend on (the name of the data set, a seed); part of the
            configuration.
        executor: where questions are asked; None: threads of this process. The rows are the same.
        each: called with each new row, once it is written.

    Returns:
        The summary, as written.

    Raises:
        UserError: an argument is invalid, or `out` holds other files or rows of another configuration; the message
            names the differences.
        ModelUnavailableError: a model is not available.
    """
    if out is None:
        given = {name: value for name, value in locals().items() if name not in ("program", "questions", "out")}
        with tempfile.TemporaryDirectory() as folder:
            return evaluate(program, questions, folder, **given)
    asked = _checked(questions, workers, timeout)
    began = time.perf_counter()
    with session(roles, budget), dspy.context(trace=None, disable_history=True):
        configuration = describe(program, dspy.settings.lm_roles, knowledge_base, settings)
        of_configuration = configuration_digest(configuration)
        keys = {question.id: row_key(question, of_configuration) for question in asked}
        job = QuestionJob(program, knowledge_base, configuration, keys, timeout)
        with EvaluationDirectory(Path(out), configuration, keys) as directory:
            rows = dict(directory.kept)
            run = _Run(directory, rows, Tally(len(asked)), each, progress)
            stopped = run.through(executor or Threads(), job, [q for q in asked if q.id not in rows], workers)
            summary = summarize(
                [rows.get(question.id) or not_run(question) for question in asked],
                configuration,
                stopped=stopped,
                wall_seconds=time.perf_counter() - began,
            )
            directory.write("summary.json", summary.to_json())
    return summary


@dataclass(frozen=True)
class _Run:
    """Stores and reports each finished row."""

    directory: EvaluationDirectory
    rows: dict[str, SlimRow]
    """Rows by id; starts with the kept rows of an earlier run."""
    tally: Tally
    each: Callable[[Mapping[str, Any]], None] | None
    progress: Callable[[Progress], None] | None

    def through(self, executor: Executor, job: QuestionJob, questions: Sequence[Question], workers: int) -> str | None:
        """Ask the questions and add to `rows`. Return why the run stopped early; None if it did not."""
        for row in self.rows.values():
            self.tally.add(row, kept=True)
        stop, stopped = threading.Event(), None
        unavailable = 0
        for result in executor.run(job, questions, workers, stop):
            if isinstance(result, OutOfBudget):
                stopped = stopped or result.message
                stop.set()
                continue
            self._keep(result)
            unavailable = 0 if result.unavailable is None else unavailable + 1
            if unavailable == UNAVAILABLE_IN_A_ROW:
                stopped = stopped or f"{unavailable} questions in a row failed: {result.unavailable}"
                stop.set()
        return stopped

    def _keep(self, result: Finished) -> None:
        row = result.row
        self.directory.append(row)
        self.rows[row["id"]] = SlimRow(row)
        self.tally.add(row)
        if self.each is not None:
            self.each(row)
        if self.progress is not None:
            self.progress(self.tally.progress())


def _checked(
    questions: Iterable[Question | Mapping[str, Any] | dspy.Example], workers: int, timeout: float | None
) -> list[Question]:
    if workers < 1:
        raise UserError(f"workers is {workers}; give 1 or more")
    if timeout is not None and not timeout > 0:
        raise UserError(f"the timeout is {timeout!r} seconds; give more than 0, or leave it out")
    if isinstance(questions, str | Path):
        raise UserError(f"{questions}: read a file of questions with read_questions first")
    asked = [as_question(question) for question in questions]
    ids: set[str] = set()
    for question in asked:
        if question.id in ids:
            raise UserError(f"two questions have the id {question.id!r}; give each question its own id")
        ids.add(question.id)
    return asked
