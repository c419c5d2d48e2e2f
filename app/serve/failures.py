"""HTTP status and reply of each error."""

from __future__ import annotations

from typing import Any

from triplecheck.app.serve.clients import TooManyRequestsError, UnknownKeyError
from triplecheck.app.serve.service import UnknownNameError
from triplecheck.app.serve.turns import StoppedError
from triplecheck.app.serve.types import Failure, Problem
from triplecheck.evals.asking import QuestionTimeoutError
from triplecheck.kg import TriplecheckError, UnavailableError, UserError
from triplecheck.lms import BudgetExceededError

_STATUS: tuple[tuple[type[TriplecheckError], int, str], ...] = (
    (UnknownKeyError, 401, "unknown_key"),
    (UnknownNameError, 404, "unknown_name"),
    (UserError, 400, "bad_request"),
    (TooManyRequestsError, 429, "too_many_requests"),
    (BudgetExceededError, 429, "budget_spent"),
    (StoppedError, 503, "stopping"),
    (UnavailableError, 503, "unavailable"),
    (QuestionTimeoutError, 504, "timeout"),
    (TriplecheckError, 500, "failed"),
)
"""The first class that fits an error counts."""
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    code: {"model": Failure, "description": what}
    for code, what in {
        400: "The request is wrong",
        401: "No API key, or a wrong one",
        404: "No such base, program or node",
        413: "The request has too many bytes",
        422: "A field of the request is wrong",
        429: "Too many requests, or the budget is spent",
        503: "A model or a graph is not available",
        504: "No answer in time",
    }.items()
}
"""The errors of a route, for its documentation."""


def failure(kind: str, message: str) -> Failure:
    """The reply to a request that failed."""
    return Failure(error=Problem(type=kind, message=message))


def failure_of(error: Exception) -> tuple[int, Failure]:
    """The status and the reply of an error; of one that nobody expects, without its message."""
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return status, failure(name, str(error))
    return 500, failure("internal", "something went wrong; the log of the server says what")
