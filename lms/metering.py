"""Metering: every call of a language model is counted in the ledger of its session, with its price."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.clients.model_metadata import model_info
from dspy.lm15 import Response

from triplecheck.kg.errors import UserError
from triplecheck.lms.ledger import Ledger, Spent


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars for so many tokens."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens


FREE = Price(0.0, 0.0)
"""An embedded engine runs on one's own machine: no money per token."""


def price(model: str) -> Price | None:
    """The price of a LiteLLM model string; None where the table does not know it.

    The table's current version is fetched once per process where the network allows; set
    `LITELLM_LOCAL_MODEL_COST_MAP=True` for the one that came with the installation.
    """
    provider, separator, name = model.partition("/")
    info = model_info(provider, name) if separator else model_info("openai", model)
    prompt, completion = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    return Price(float(prompt), float(completion))


OTHER = "other"
"""The role of calls that no `RolePredict` makes, such as those of an optimizer that rewrites prompts."""


class Call:
    """What one call to a model turns out to be; serves as DSPy's usage tracker while it runs."""

    def __init__(self) -> None:
        self.outer_tracker: Any = dspy.settings.get("usage_tracker")
        self.keeps_history = not dspy.settings.get("disable_history", False)
        self.cached = True
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cost: float | None = None
        self.cut = False

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Take what DSPy reports of new tokens, and pass it on."""
        self.cached = False
        self.prompt_tokens += int(usage_entry.get("prompt_tokens") or 0)
        self.completion_tokens += int(usage_entry.get("completion_tokens") or 0)
        if self.outer_tracker is not None:
            self.outer_tracker.add_usage(lm, usage_entry)

    def add_entry(self, entry: dict[str, Any]) -> None:
        """Take the cost and the end of the reply from a history entry."""
        self.cost = entry.get("cost")
        self.cut = "length" in finish_reasons(entry.get("response"))

    def spent(self, seconds: float, *, free: bool, failed: bool) -> Spent:
        """What to write into the ledger."""
        if failed:
            return Spent(seconds, self.prompt_tokens, self.completion_tokens, failed=True)
        dollars = 0.0 if free or self.cached else self.cost
        return Spent(seconds, self.prompt_tokens, self.completion_tokens, dollars, cached=self.cached)


_call: ContextVar[Call | None] = ContextVar("lms_call", default=None)
_watched: ContextVar[list[Call] | None] = ContextVar("lms_watched", default=None)


class MeteredLM(dspy.LM):
    """A `dspy.LM` that asks the budget before, and tells the ledger after, each call.

    `name` is the model as a person wrote it; `model` is DSPy's id, which for an embedded engine also
    carries a hash of its weights and configuration, because DSPy's cache looks at nothing else.
    """

    @property
    def name(self) -> str:
        """The model as a person names it."""
        return str((self.model.rpartition("@")[0] if self.embedded else "") or self.model)

    @property
    def embedded(self) -> bool:
        """Whether the model runs inside this process."""
        return not isinstance(self.engine, str)

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Call the model; see `dspy.LM`.

        Raises:
            BudgetExceededError: the budget is used up; the model is not called.
        """
        with metered(self):
            return super().__call__(prompt, messages=messages, **kwargs)

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Call the model without blocking; see `__call__`."""
        with metered(self):
            return await super().acall(prompt, messages=messages, **kwargs)

    def update_history(self, entry: dict[str, Any]) -> None:
        """Take note of a finished call, and keep it in the history unless that is turned off."""
        call = _call.get()
        if call is not None:
            call.add_entry(entry)
        if call is None or call.keeps_history:
            super().update_history(entry)


@contextmanager
def metered(lm: Any) -> Iterator[None]:
    """Check the budget, run one call to `lm` inside, and write the ledger, also when it fails."""
    ledger: Ledger | None = dspy.settings.get("ledger")
    role = dspy.settings.get("lm_role") or OTHER
    name, free = model_name(lm), is_free(lm)
    call = Call()
    if ledger is not None:
        if not free and ledger.limits_dollars() and price(name) is None:
            raise UserError(
                f"no price is known for {name}: a budget in dollars cannot be kept; limit calls or tokens instead"
            )
        ledger.begin(role, name)
    token = _call.set(call)
    watched = _watched.get()
    if watched is not None:
        watched.append(call)
    started, failed = time.perf_counter(), True
    try:
        # The history entry carries the cost: it is asked for here also where nobody wants it kept.
        with dspy.context(usage_tracker=call, **({"disable_history": False} if isinstance(lm, MeteredLM) else {})):
            yield
        failed = False
    finally:
        _call.reset(token)
        if ledger is not None:
            ledger.end(role, name, call.spent(time.perf_counter() - started, free=free, failed=failed))


@contextmanager
def watching() -> Iterator[list[Call]]:
    """Collect the calls that are made inside, in order."""
    calls: list[Call] = []
    token = _watched.set(calls)
    try:
        yield calls
    finally:
        _watched.reset(token)


def reply_was_cut() -> bool:
    """Whether the last reply inside the innermost `watching` ended because it reached its length limit."""
    calls = _watched.get()
    return calls[-1].cut if calls else False


def model_name(lm: Any) -> str:
    """The model as it is shown to people."""
    return lm.name if isinstance(lm, MeteredLM) else str(getattr(lm, "model", type(lm).__name__))


def is_free(lm: Any) -> bool:
    """Whether the model runs inside this process, so that a call costs no money."""
    return not isinstance(getattr(lm, "engine", "auto"), str)


def price_of(lm: Any) -> Price | None:
    """Dollars per token of a language model; None where no table knows them."""
    return FREE if is_free(lm) else price(model_name(lm))


def finish_reasons(response: Any) -> list[str]:
    """Why each reply in a DSPy history entry's `response` ended (`stop`, `length` ...)."""
    if isinstance(response, Response):
        return [str(response.finish_reason)]
    if isinstance(response, tuple | list):
        return [reason for item in response for reason in finish_reasons(item)]
    choices = response.get("choices") if isinstance(response, dict) else getattr(response, "choices", None)
    reasons = []
    for choice in choices or []:
        reason = choice.get("finish_reason") if isinstance(choice, dict) else getattr(choice, "finish_reason", None)
        reasons.append(str(reason))
    return reasons
