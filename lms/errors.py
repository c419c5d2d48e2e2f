"""What can go wrong between a program and a language model."""

from __future__ import annotations

from typing import Any

from dspy.utils.exceptions import AdapterParseError

from triplecheck.kg.errors import TriplecheckError, UnavailableError


class BudgetExceededError(TriplecheckError):
    """The next call would start over budget; it was not made, and what was done before it is kept.

    Attributes:
        limit: which limit is used up: `calls`, `tokens`, `seconds` or `dollars`.
        allowed: the limit.
        used: what was used of it so far.
    """

    def __init__(self, message: str, *, limit: str = "", allowed: float = 0, used: float = 0) -> None:
        super().__init__(message)
        self.limit = limit
        self.allowed = allowed
        self.used = used


class ModelUnavailableError(UnavailableError):
    """A language model is out of reach: not installed, not answering, or refusing the key.

    Attributes:
        model: the model as it was named.
    """

    def __init__(self, message: str, *, model: str = "") -> None:
        super().__init__(message)
        self.model = model


class PromptTooLongError(TriplecheckError):
    """A prompt does not fit into the model's context window.

    Attributes:
        role: the role that asked.
        model: the model as it was named.
    """

    def __init__(self, message: str, *, role: str = "", model: str = "") -> None:
        super().__init__(message)
        self.role = role
        self.model = model


class ModelReplyError(TriplecheckError, AdapterParseError):
    """A model replied twice with something that cannot be read as the fields it was asked for.

    It is an `AdapterParseError` as well, so that DSPy's optimizers count it as a reply that missed
    the format, not as a crash.

    Attributes:
        role: the role that asked.
        model: the model as it was named.
        reply: the model's last reply, as it came.
        problem: what is wrong with it.
    """

    def __init__(
        self,
        message: str,
        *,
        role: str = "",
        model: str = "",
        reply: str = "",
        problem: str = "",
        signature: Any = None,
    ) -> None:
        Exception.__init__(self, message)
        self.message = message
        self.role = role
        self.model = model
        self.reply = reply
        self.problem = problem
        self.adapter_name = "TolerantAdapter"
        self.signature = signature
        self.lm_response = reply
        self.parsed_result = None
