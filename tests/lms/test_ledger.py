from __future__ import annotations

import copy
import json
import threading

import pytest

from triplecheck.kg.errors import UserError
from triplecheck.lms import Budget, BudgetExceededError, Ledger, Usage


def _call(ledger: Ledger, role: str = "answer", model: str = "m", **spent: object) -> None:
    ledger.begin(role, model)
    ledger.take(role, model, Usage(**{"seconds": 1.0, "prompt_tokens": 10, "completion_tokens": 2, **spent}))  # type: ignore[arg-type]


def test_what_calls_took_is_added_up_by_role_and_by_model() -> None:
    ledger = Ledger()
    _call(ledger, "answer", "a", dollars=0.25)
    _call(ledger, "answer", "b")
    _call(ledger, "prune", "b", prompt_tokens=0, completion_tokens=0, cached_calls=1)
    usage = ledger.usage()
    assert (usage.calls, usage.cached_calls, usage.prompt_tokens, usage.completion_tokens) == (3, 1, 20, 4)
    assert (usage.tokens, usage.seconds, usage.dollars) == (24, 3.0, 0.25)
    assert usage.by_role["answer"].calls == 2
    assert usage.by_role["prune"].cached_calls == 1
    assert usage.by_model["a"].dollars == 0.25
    assert set(ledger.rows()) == {("answer", "a"), ("answer", "b"), ("prune", "b")}
    assert json.loads(json.dumps(usage.to_json()))["by_role"]["answer"]["prompt_tokens"] == 20


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget(calls=2), "calls"),
        (Budget(tokens=24), "tokens"),
        (Budget(seconds=1.5), "seconds"),
        (Budget(dollars=0.5), "dollars"),
    ],
)
def test_the_call_that_would_start_over_budget_is_refused_and_the_rest_is_kept(budget: Budget, limit: str) -> None:
    ledger = Ledger(budget)
    _call(ledger, dollars=0.25)
    _call(ledger, dollars=0.25)
    with pytest.raises(BudgetExceededError, match=rf"{limit} is used up \(2 calls, 24 tokens"):
        ledger.begin("answer", "m")
    assert ledger.usage().calls == 2


def test_a_budget_of_nothing_allows_no_call() -> None:
    with pytest.raises(BudgetExceededError):
        Ledger(Budget(calls=0)).begin("answer", "m")


@pytest.mark.parametrize(
    "limits", [{"calls": -1}, {"seconds": float("nan")}, {"dollars": float("inf")}, {"calls": True}]
)
def test_a_senseless_budget_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(UserError):
        Budget(**limits)  # type: ignore[arg-type]


def test_an_inner_ledger_counts_outside_too_and_both_budgets_hold() -> None:
    outer = Ledger(Budget(calls=3))
    first = Ledger(Budget(calls=2), parent=outer)
    _call(first)
    _call(first)
    with pytest.raises(BudgetExceededError, match="budget of 2 calls"):
        first.begin("answer", "m")
    second = Ledger(parent=outer)
    _call(second)
    with pytest.raises(BudgetExceededError, match="budget of 3 calls"):
        second.begin("answer", "m")
    assert (first.usage().calls, second.usage().calls, outer.usage().calls) == (2, 1, 3)


def test_no_more_calls_start_than_allowed_however_many_threads_ask() -> None:
    outer = Ledger(Budget(calls=50))
    refused = []

    def work() -> None:
        ledger = Ledger(parent=outer)
        for _ in range(20):
            try:
                _call(ledger)
            except BudgetExceededError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outer.usage().calls == 50
    assert outer.usage().prompt_tokens == 500
    assert len(refused) == 8 * 20 - 50


def test_a_copied_ledger_is_the_same_account() -> None:
    ledger = Ledger()
    _call(copy.deepcopy(ledger))
    assert ledger.usage().calls == 1
    assert Usage() == Ledger().usage()
