"""Calls of each step, recorded once: the inputs that right replies lead to, and the right replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from triplecheck.evals.configuration import describe, digest
from triplecheck.evals.questions import Question, question_row
from triplecheck.evals.run_directory import JsonLines, repair_lines
from triplecheck.kg import TriplecheckError, UnavailableError, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import BudgetExceededError, session
from triplecheck.optimize.examples import PILOTS, pilot, whole_examples
from triplecheck.optimize.metrics import Case, score_call
from triplecheck.optimize.metrics.case import TracedCall
from triplecheck.optimize.scoring import CASE, inputs_key
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.traces.gold.engine import gold_engine, is_template, uncomputable
from triplecheck.optimize.traces.kinds import kinds_of, row_kinds
from triplecheck.optimize.traces.reasoning import reasoning_gap
from triplecheck.programs import Program
from triplecheck.programs.steps import Assisted, TraceEvent
from triplecheck.signatures.demonstrations import restored


@dataclass(frozen=True)
class RecordedCall:
    """One call of a step.

    Attributes:
        kind: of the question, and of the reply: what demonstrations are drawn by.
        example: the inputs and the reply, by field.
        full: whether the reply has the full score of the step's metric and no assist mended it.
    """

    id: str
    kind: str
    example: dspy.Example
    full: bool

    @property
    def inputs(self) -> dict[str, Any]:
        """Of the step, by field."""
        return dict(self.example.inputs())

    @property
    def size(self) -> int:
        """Characters of its values, as a measure of what it costs to show."""
        return len(json.dumps(to_jsonable_python(dict(self.example)), ensure_ascii=False))


Recorded = Mapping[str, Sequence[RecordedCall]]
"""The calls of each step that can be scored, by its name in the program."""


def record(
    program: Program, questions: Sequence[Question], calls: Path, progress: ProgressCallback = no_progress
) -> Recorded:
    """The calls of each step while the program answers questions; what was recorded before is read from a file.

    The replies are right ones, which cost no call of a model. Where they cannot be computed for all steps of the
    program, the models of the session reply.

    Args:
        program: it is not changed.
        calls: directory of the models' replies, which runs may share; the recorded calls are in its `recorded`.
        progress: called with what is done, questions done and in all.

    Raises:
        BudgetExceededError, UnavailableError: the models of the session are asked, and cannot be.
        ModelReplyError: they are asked, and nothing that they write for the first questions can be read.
    """
    with _teacher(program, questions):
        described = describe(program, dspy.settings.lm_roles, program.sources.knowledge_base, None)
        key = digest([described, [question_row(question) for question in questions]])
        file = calls / "recorded" / f"{key}.jsonl"
        kept: dict[str, Sequence[Mapping[str, Any]]] = {}

        def keep(row: Mapping[str, Any]) -> bool:
            kept[row["id"]] = row["calls"]
            return True

        repair_lines(file, keep)
        left = [question for question in questions if question.id not in kept]
        if uncomputable(program) and not kept:
            pilot(program, whole_examples(left[:PILOTS]))
        with JsonLines(file) as sink:
            for done, question in enumerate(left, len(kept)):
                progress("recording calls", done, len(questions))
                kept[question.id] = to_jsonable_python(list(_rows(program, question)))
                sink.append({"id": question.id, "calls": kept[question.id]})
    steps = steps_of(program)
    found: dict[str, list[RecordedCall]] = {}
    for question in questions:
        for row in kept[question.id]:
            (example,) = restored(steps[row["step"]].signature, [row["example"]])
            found.setdefault(row["step"], []).append(RecordedCall(question.id, row["kind"], example, row["full"]))
    return found


def step_examples(recorded: Recorded, step: str) -> list[dspy.Example]:
    """The recorded calls of one step as examples for its metric; calls with equal inputs are one example.

    Raises:
        UserError: no recorded call of this step can be scored.
    """
    found: dict[str, dspy.Example] = {}
    for call in recorded.get(step, ()):
        example = dspy.Example(**call.inputs, **{CASE: call.id}).with_inputs(*call.inputs)
        found.setdefault(inputs_key(call.inputs), example)
    if not found:
        raise UserError(
            f"no call of step {step!r} can be scored on these questions: choose another step, give more questions, or "
            "compile the whole program"
        )
    return list(found.values())


def check_answers(program: Program, questions: Sequence[Question]) -> None:
    """Check that the answers of some questions are those of the program's graph.

    Raises:
        UserError: no question has answers that follow from the graph.
    """
    answered = [question for question in questions if question.answers]
    if not any(_follows(Case(question, program.sources)) for question in answered):
        raise UserError(
            f"for 0 of {len(answered)} questions with answers a right reply can be computed from the graph: are the "
            "answers ids or names of this graph?"
        )


def _follows(case: Case) -> bool:
    plan = case.question.plan
    return case.derivation is not None or (plan is not None and case.answered_by(plan))


@contextmanager
def _teacher(program: Program, questions: Sequence[Question]) -> Iterator[None]:
    if uncomputable(program):
        yield
        return
    # A ledger of its own: right replies cost nothing of a budget.
    with gold_engine(program, questions) as (name, _), dspy.context(ledger=None), session(name):
        yield


def _rows(program: Program, question: Question) -> Iterator[dict[str, Any]]:
    names = {id(step): name for name, step in steps_of(program).items()}
    case = Case(question, program.sources)
    with dspy.context(trace=[]):
        try:
            events: Sequence[TraceEvent] = program(question=question.question).steps
        except (BudgetExceededError, UnavailableError):
            raise
        except TriplecheckError as error:  # the calls before are recorded
            so_far = error.progress
            events = so_far["steps"] if isinstance(so_far, dict) else ()
        calls: list[TracedCall] = list(dspy.settings.trace)
    mended = {event.step for event in events if isinstance(event, Assisted)}
    for step, inputs, outputs in calls:
        scored = score_call((step, inputs, outputs), case)
        if id(step) not in names or scored is None:
            continue
        values = dict(outputs.items())
        reasoned = is_template(step.model) or reasoning_gap(inputs, values) is None
        full = scored.score == 1 and step.signature.__name__ not in mended and reasoned
        replied = {name: values[name] for name in step.signature.output_fields}
        about = {"step": names[id(step)], "kind": kind_of(case, replied), "full": full}
        yield about | {"example": dict(inputs) | replied}


def kind_of(case: Case, outputs: Mapping[str, Any]) -> str:
    """The kinds of a question by how its answer follows from the graph, and whether this reply selects nothing."""
    topics, answerable = len(case.gold.topics), case.question.answerable
    return ", ".join(row_kinds(kinds_of(case.derivation, answerable=answerable, topics=topics), outputs))
