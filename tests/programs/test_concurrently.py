"""Concurrent tasks: parallel, in order in the trace, each with its own failure."""

from __future__ import annotations

import threading

import dspy
import pytest

from triplecheck.kg import GraphUnavailableError
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.steps import Checked, Trace


def note(text: str) -> Checked:
    return Checked(text, True, "")


def test_tasks_run_in_parallel_and_the_trace_keeps_their_order() -> None:
    heard: list[str] = []
    trace = Trace(lambda step: heard.append(step.what))
    meet = threading.Barrier(3, timeout=10)

    def task(number: int, own: Trace) -> int:
        meet.wait()  # only passes when all three are under way
        own.add(note(str(number)))
        return number

    results = concurrently([lambda own, n=n: task(n, own) for n in (1, 2, 3)], trace)
    assert results == [1, 2, 3]
    assert [step.what for step in trace.steps] == ["1", "2", "3"]
    assert sorted(heard) == ["1", "2", "3"]


def test_one_failure_loses_only_that_task() -> None:
    def fails(own: Trace) -> int:
        own.add(note("before"))
        raise GraphUnavailableError("gone")

    trace = Trace()
    failed, fine = concurrently([fails, lambda own: 2], trace)
    assert isinstance(failed, GraphUnavailableError)
    assert fine == 2
    assert [step.what for step in trace.steps] == ["before"]


def test_a_bug_is_raised() -> None:
    def broken(own: Trace) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        concurrently([broken, lambda own: 1], Trace())


def test_tasks_see_the_settings_of_the_caller() -> None:
    with dspy.context(lm_roles="those of the caller"):
        seen = concurrently([lambda own: dspy.settings.lm_roles] * 2, Trace())
    assert seen == ["those of the caller"] * 2


def test_no_tasks_give_no_results() -> None:
    assert concurrently([], Trace()) == []
