"""Errors of calls to language models."""

from __future__ import annotations

from typing import Any

from dspy.utils.exceptions import AdapterParseError

from triplecheck.kg.errors import TriplecheckError, UnavailableError
from triplecheck.kg.redaction import redacted


class BudgetExceededError(TriplecheckError):
    """The budget is used up: the next call was not made; earlier results are kept."""


class ModelUnavailableError(UnavailableError):
    """A language model is unavailable: not installed, not responding, or rejecting the key."""


class PromptTooLongError(TriplecheckError):
    """A prompt is longer than the context window of the model."""


class ModelReplyError(TriplecheckError, AdapterParseError):
    """Two replies of a model could not be parsed as the requested fields.

    It is also an `AdapterParseError`, so DSPy's optimizers count it as a format failure, not as a crash.

    Attributes:
        lm_response: the model's last reply, verbatim.
    """

    def __init__(self, message: str, *, reply: str = "", signature: Any = None) -> None:
        self.message = redacted(message)
        Exception.__init__(self, self.message)
        self.adapter_name = "TolerantAdapter"
        self.signature = signature
        self.lm_response = redacted(reply)
        self.parsed_result = None
