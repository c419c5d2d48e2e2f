"""Rationalization: a model explains the known answer of a question that it answers wrongly.

Source: STaR (Zelikman et al., arXiv 2203.14465). The answer is shown in the prompt of the answering step; the row has
the prompt without it, the reasoning of the model, and the facts that prove the answer by the graph. It is kept if the
model gives the known answer, and its reasoning names that answer and these facts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triplecheck.evals.executors.threads import spread
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import JsonLines, complete_lines
from triplecheck.kg import Graph, UserError, normalize
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.optimize.traces.reasoning import reasoning_gap
from triplecheck.optimize.traces.recorder import StepRecord, recording
from triplecheck.optimize.traces.records import TraceRow, trace_row
from triplecheck.programs import Program
from triplecheck.signatures import AnswerFromFacts, step_of, with_known_answer

FOLDER = "rationalized"
_FILE = "replies.jsonl"
_TOLD = re.compile(r"\b(?:right|correct|known|given|provided|expected) answer\b|\btold\b", re.IGNORECASE)
_COPIED = ("none", "common")
"""Operations whose answers are copied from the facts."""


def rationalize(
    program: Program, wrong: Sequence[tuple[Question, Sequence[TraceRow]]], folder: Path, workers: int
) -> dict[str, TraceRow | str]:
    """By question: the row of its explanation, or why there is none. Explained questions are not asked again.

    Args:
        program: its answering step explains, with the models of the session.
        wrong: questions with their answering steps; of several the first is explained.

    Raises:
        UserError: the program has no answering step.
    """
    step = next((one for one in program.predictors() if step_of(one.signature) is AnswerFromFacts), None)
    if step is None:
        raise UserError(f"{program.name} has no step {AnswerFromFacts.__name__}: its answers cannot be rationalized")
    kept = {row["key"]: row["reply"] for _, row in complete_lines(folder / _FILE) if row is not None}
    todo = [(question, rows[0]) for question, rows in wrong if rows[0].key not in kept]
    with JsonLines(folder / _FILE) as replies:
        for base, reply in spread(lambda one: _explained(program, step, *one), todo, workers, threading.Event()):
            kept[base.key] = reply
            replies.append({"key": base.key, "reply": reply})
    return {question.id: _judged(program, step, question, rows[0], kept[rows[0].key]) for question, rows in wrong}


def _explained(
    program: Program, step: RolePredict, question: Question, base: TraceRow
) -> tuple[TraceRow, dict[str, Any] | str]:
    """What the model replies when it is shown the answer; a text if it cannot be read or is cut."""
    shown = with_known_answer(str(base.inputs["question"]), _labels(program.graph, question))
    with recording() as recorder:
        try:
            reply = step(**{**base.inputs, "question": shown})
        except ModelReplyError:
            return base, "unreadable"
    call = recorder.calls[-1]
    return base, "cut" if call.cut else {"model": call.model, "outputs": dict(reply.items())}


def _labels(graph: Graph, question: Question) -> list[str]:
    nodes = {answer: graph.find(answer) for answer in question.answers}
    return [answer if node is None else graph.label(node) for answer, node in nodes.items()]


def _judged(
    program: Program, step: RolePredict, question: Question, base: TraceRow, reply: Mapping[str, Any] | str
) -> TraceRow | str:
    if isinstance(reply, str):
        return reply
    outputs = {"reasoning": reply["outputs"]["reasoning"], **base.outputs}
    gap = reasoning_gap(base.inputs, outputs, program.sources.language)
    problem = _problem(base.outputs, reply["outputs"]) or gap
    if problem is not None:
        return problem
    call = StepRecord(step.signature, base.role, str(reply["model"]), dict(base.inputs), outputs)
    try:
        return trace_row(call, question, base.program, "rationalized")
    except UserError:
        return "not_read_back"


def _problem(right: Mapping[str, Any], written: Mapping[str, Any]) -> str | None:
    """Why an explanation is rejected, against the gold reply."""
    if _TOLD.search(str(written["reasoning"])):
        return "names_the_hint"
    if right["operation"] in _COPIED:
        return None if _names(right) == _names(written) else "wrong"
    return None if right["operation"] == written["operation"] else "wrong"


def _names(outputs: Mapping[str, Any]) -> set[str]:
    return {normalize(str(answer)) for answer in outputs["answers"]}
