"""Know³-RAG without a model: what it would have answered with another theta_0 or fewer turns.

They do not influence what is written at a turn, only after which turn the loop ends. So one trace with all turns gives
the answers of every theta_0 and of every smaller number of turns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from triplecheck.lms import Usage
from triplecheck.programs.know3rag.generation import linked_entities
from triplecheck.programs.know3rag.program import Know3RAG, Turn
from triplecheck.programs.know3rag.reliability import Reliability
from triplecheck.programs.outcome import Outcome, prediction
from triplecheck.programs.steps import Answered, Stopped, Trace, Weighed, Wrote

REPLAYED = ("theta_0", "turns")
"""Options whose values can be replayed from a trace with `adaptive` off and enough turns."""


@dataclass(frozen=True)
class Recorded:
    """A question in a trace with all turns.

    Attributes:
        entities: those it names.
        turns: the answer of each turn, scored against the graph.
        calls: replies read up to each turn; a repeated call after an unreadable reply is not counted.
        stopped: why the trace ended without an answer, if it did.
    """

    question: str
    entities: tuple[int, ...]
    turns: tuple[Turn, ...]
    calls: tuple[int, ...]
    stopped: str | None


def read_turns(program: Know3RAG, question: str, steps: Sequence[Mapping[str, Any]]) -> Recorded:
    """The turns of a trace. The triples of each answer are grounded and scored again; no model is called.

    Args:
        program: with the options of the one that made the trace, except `REPLAYED` and `adaptive`.
        steps: the trace as plain data.
    """
    entities = linked_entities(program.sources, question, program.options.limits.linked, Trace())
    turns, calls, so_far = [], [], 0
    for step in steps:
        if step["kind"] == Wrote.kind:
            so_far += 1
        elif step["kind"] == Weighed.kind:
            turns.append(_turn(program, question, step))
            calls.append(so_far)
    stopped = steps[-1]["reason"] if steps and steps[-1]["kind"] == Stopped.kind else None
    return Recorded(question, entities, tuple(turns), tuple(calls), stopped)


def replay_turns(program: Know3RAG, recorded: Recorded) -> dspy.Prediction:
    """What a program would return.

    Args:
        recorded: `read_turns` of a program with the same options, except `REPLAYED` and `adaptive`.

    Returns:
        The prediction. Its trace contains only the decisions.

    Raises:
        ValueError: the trace ends before the program would.
    """
    trace = Trace()
    theta_0 = program.theta_0(trace)
    answered, stopped, at = Turn("", Reliability((), math.inf)), False, 0
    for at, turn in enumerate(recorded.turns):
        if turn.answer:
            answered = turn
        stopped = program.stops(turn, at, theta_0, trace)
        if stopped:
            break
    if stopped:
        found = program.conclude(answered, recorded.entities, trace)
    elif recorded.stopped is not None:
        found = Outcome(abstained=recorded.stopped)  # the recorded run ended here, as this one would have
    else:
        raise ValueError(f"the trace has too few turns for {program.turns}: record it with `adaptive` off")
    found = program.sure_enough(recorded.question, found, trace)
    if found.abstained is None:
        trace.add(Answered(found.answer, found.grounded))
    usage = Usage(calls=recorded.calls[at] if recorded.calls else 0)
    return prediction(program.graph, program.name, recorded.question, found, trace.steps, usage)


def _turn(program: Know3RAG, question: str, weighed: Mapping[str, Any]) -> Turn:
    triples = [(triple["head"], triple["relation"], triple["tail"]) for triple in weighed["triples"]]
    if not triples:
        return Turn(weighed["answer"], Reliability((), math.inf, weighed["reason"]))
    return Turn(weighed["answer"], program.supervisor.rate(triples, question))
