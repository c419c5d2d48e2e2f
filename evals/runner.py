"""The runner: a program over many questions, one row each, to be interrupted and taken up again at any time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy

from evals._workers import Limited, StillRunningError, spread
from evals.configuration import describe, digest, row_key
from evals.gold import Names, linker_names
from evals.progress import Progress, Tally
from evals.questions import Question
from evals.rows import error_row, scored_row
from evals.run_directory import RunDirectory
from evals.summary import NOT_RUN, Summary, summarize
from kg import KnowledgeBase, TriplecheckError, UnavailableError, UserError, normalize
from lms import Budget, BudgetExceededError, Roles, session
from programs import Program
from programs.steps import Step

UNAVAILABLE_IN_A_ROW = 10
"""Rows one after the other that found a model or the graph out of reach, after which a run stops."""


class QuestionTimeoutError(TriplecheckError):
    """A program took longer over a question than it was given."""


def evaluate(
    program: Program,
    questions: Iterable[Question],
    out: Path | str,
    *,
    roles: Roles | str | None = None,
    knowledge_base: KnowledgeBase | None = None,
    workers: int = 1,
    timeout: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Summary:
    """Ask a program questions, score its answers, and write `rows.jsonl` and `summary.json` into `out`.

    Where `out` holds rows of the same configuration already, those are kept and only the questions
    without one are asked; rows that ended in an error are tried again. A question's failure is its own:
    it becomes a row of status `error`, which is in no score.

    Args:
        program: asked from several threads at once where `workers` is above 1.
        questions: with their answers.
        out: directory of the evaluation.
        roles: which models play which roles; None as in `lms.session`.
        knowledge_base: where the program's graph is from one: its content becomes part of the
            configuration, and gold names are looked up in its index.
        workers: questions under way at once.
        timeout: seconds for one question. A program that is over time is stopped at its next step, and
            left behind until then.
        budget: on the whole run. When it is used up the run stops and says so in the summary; take it
            up again with a new one.
        progress: told after each row, from the calling thread.
        settings: other things that the results depend on (the name of the data set, a seed), to be
            noted and compared like the rest of the configuration.

    Returns:
        The summary, as it was written.

    Raises:
        UserError: a bad argument, or `out` holds something else or rows of another configuration; the
            message names what differs.
        ModelUnavailableError: a model cannot be had at all.
    """
    asked = _checked(questions, workers, timeout)
    began = time.perf_counter()
    with session(roles, budget), dspy.context(trace=None, disable_history=True):
        configuration = describe(program, dspy.settings.lm_roles, knowledge_base, settings)
        of_configuration = digest(configuration)
        keys = {question.id: row_key(question, of_configuration) for question in asked}
        one = _Asker(program, _names(program, knowledge_base), keys, timeout)
        with RunDirectory(Path(out), configuration, keys) as directory:
            rows = {row["id"]: row for row in directory.kept.values()}
            stopped = _run(one, [q for q in asked if q.id not in rows], workers, directory, rows, len(asked), progress)
            summary = summarize(
                [rows.get(q.id) or {"status": NOT_RUN, "kind": q.kind, "hops": q.hops} for q in asked],
                configuration,
                stopped=stopped,
                wall_seconds=time.perf_counter() - began,
            )
            directory.write_summary(summary.to_json())
    return summary


def _run(
    one: _Asker,
    questions: Sequence[Question],
    workers: int,
    directory: RunDirectory,
    rows: dict[str, dict[str, Any]],
    total: int,
    progress: Callable[[Progress], None] | None,
) -> str | None:
    """Ask the questions, adding to `rows`; why it stopped early, if it did."""
    tally = Tally(total)
    for row in rows.values():
        tally.add(row, kept=True)
    stop, stopped = threading.Event(), None
    unavailable = 0
    for result in spread(one, questions, workers, stop):
        if isinstance(result, BudgetExceededError):
            stopped = stopped or str(result)
            stop.set()
            continue
        row, error = result
        directory.append(row)
        rows[row["id"]] = {name: value for name, value in row.items() if name not in ("steps", "evidence")}
        tally.add(row)
        unavailable = unavailable + 1 if isinstance(error, UnavailableError) else 0
        if unavailable == UNAVAILABLE_IN_A_ROW:
            stopped = stopped or f"{unavailable} questions in a row failed: {error}"
            stop.set()
        if progress is not None:
            progress(tally.progress())
    return stopped


class _Asker:
    """Asks the program one question; gives its row, with the error where there was one."""

    def __init__(self, program: Program, names: Names, keys: Mapping[str, str], timeout: float | None) -> None:
        self._program = program
        self._names = names
        self._keys = keys
        self._timeout = timeout

    def __call__(self, question: Question) -> tuple[dict[str, Any], Exception | None] | BudgetExceededError:
        key = self._keys[question.id]
        steps: list[Step] = []
        began, ended = time.perf_counter(), 0.0
        with session() as ledger:
            try:
                prediction = self._ask(question, steps)
                ended = time.perf_counter()
                return scored_row(self._program, question, prediction, self._names, key, ended - began), None
            except BudgetExceededError as error:
                return error
            except Exception as error:  # noqa: BLE001 - one question's crash must not lose the others' rows
                seconds = (ended or time.perf_counter()) - began
                return error_row(self._program, question, error, list(steps), ledger.usage(), key, seconds), error

    def _ask(self, question: Question, steps: list[Step]) -> dspy.Prediction:
        if self._timeout is None:
            return self._program(question=question.question, on_step=steps.append)
        late = QuestionTimeoutError(f"no answer within {self._timeout:g} s; allow more time per question")
        given_up = threading.Event()

        def note(step: Step) -> None:
            if given_up.is_set():
                raise late
            steps.append(step)

        try:
            return Limited(lambda: self._program(question=question.question, on_step=note)).result(self._timeout)
        except StillRunningError:
            given_up.set()
            raise late from None


def _checked(questions: Iterable[Question], workers: int, timeout: float | None) -> list[Question]:
    if workers < 1:
        raise UserError(f"{workers} workers cannot work: give 1 or more")
    if timeout is not None and not timeout > 0:
        raise UserError(f"a timeout of {timeout!r} seconds makes no sense: give more than 0, or leave it out")
    asked = list(questions)
    ids: set[str] = set()
    for question in asked:
        if question.id in ids:
            raise UserError(f"two questions have the id {question.id!r}; give each its own")
        ids.add(question.id)
    return asked


def _names(program: Program, knowledge_base: KnowledgeBase | None) -> Names:
    if knowledge_base is None:
        return linker_names(program.sources.linker)
    index = knowledge_base.names
    return lambda text: [named.node for named in index.nodes(normalize(text))]
