"""Metering: every call to a language model is counted, with its price, in the session's ledger."""

from __future__ import annotations

import asyncio
import copy
import functools
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy
from dspy.clients._deprecation import adapter_message_call
from dspy.clients.backend_selection import select_backend
from dspy.clients.model_metadata import model_info
from dspy.lm15 import Response
from dspy.utils.exceptions import LMError

from triplecheck.kg.errors import UserError
from triplecheck.kg.waiting import StillRunningError, within
from triplecheck.lms.costs import CostCache
from triplecheck.lms.ledger import Ledger, Usage
from triplecheck.lms.limits import LimitedEngines, too_late


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Cost of these token counts in dollars."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens


FREE = Price(0.0, 0.0)
"""The price of an embedded engine."""


def price(model: str) -> Price | None:
    """The price of a LiteLLM model string; None if it is not in the table.

    The current table is downloaded once per process if there is a network; with
    `LITELLM_LOCAL_MODEL_COST_MAP=True` the installed one is used.
    """
    provider, separator, name = model.partition("/")
    info = model_info(provider, name) if separator else model_info("openai", model)
    prompt, completion = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    return Price(float(prompt), float(completion))


ON_CALL = "on_call"
"""DSPy's setting with a function that gets role, model and usage of each call that has ended, for tracing."""

OTHER = "other"
"""The role of calls made outside `RolePredict`, such as those of an optimizer that rewrites prompts."""


class Call:
    """The usage of one call; acts as DSPy's usage tracker while it runs."""

    def __init__(self) -> None:
        self.outer_tracker: Any = dspy.settings.get("usage_tracker")
        self.keeps_history = not dspy.settings.get("disable_history", False)
        self.cached = True
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cost: float | None = None
        self.cut = False

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Record the new tokens that DSPy reports, and pass them on."""
        self.cached = False
        self.prompt_tokens += int(usage_entry.get("prompt_tokens") or 0)
        self.completion_tokens += int(usage_entry.get("completion_tokens") or 0)
        if self.outer_tracker is not None:
            self.outer_tracker.add_usage(lm, usage_entry)

    def usage(self, seconds: float, *, free: bool, failed: bool) -> Usage:
        """What the ledger adds to the call that it has counted."""
        dollars = 0.0 if free or self.cached or failed else self.cost
        return Usage(
            cached_calls=int(self.cached and not failed),
            failed_calls=int(failed),
            unpriced_calls=int(dollars is None),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=seconds,
            dollars=dollars or 0.0,
        )


_call: ContextVar[Call | None] = ContextVar("lms_call", default=None)
_watched: ContextVar[list[Call] | None] = ContextVar("lms_watched", default=None)


class MeteredLM(dspy.LM):
    """A `dspy.LM` that checks the budget before each call and writes to the ledger after it.

    `name` is the model string that the user gave; `model` is DSPy's id, which for an embedded engine includes a
    hash of its weights and configuration, because DSPy's cache key has no other part of the engine.

    Attributes:
        general: a language model that follows instructions and examples; false for a model that was made for the
            prompts of this project, such as the baseline or a distilled model.
        takes_system: whether messages of the role "system" are sent; false once the server has refused one, and then
            their text begins the next message.
        has_default_temperature: whether the temperature is not the user's, so that it may be left out where the server
            refuses it.
    """

    general: bool = True
    takes_system: bool = True

    def __init__(self, model: str, **options: Any) -> None:
        super().__init__(model, **options)
        self._engine_store = LimitedEngines()
        self.has_default_temperature = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._engine_store = LimitedEngines()

    def __deepcopy__(self, memo: dict[int, Any]) -> MeteredLM:
        other: MeteredLM = object.__new__(type(self))
        memo[id(self)] = other
        state: Any = self.__getstate__()
        other.__setstate__(copy.deepcopy(state, memo))
        return other

    @property
    def name(self) -> str:
        """The model string that the user gave."""
        return str((self.model.rpartition("@")[0] if is_free(self) else "") or self.model)

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Call the model; see `dspy.LM`.

        Raises:
            BudgetExceededError: the budget is used up; the model is not called.
            ModelUnavailableError: the reply is too large, or not whole in time.
        """
        with metered(self, self._asked(prompt, messages, kwargs)):
            seconds = self._seconds_of_litellm(kwargs)
            if seconds is not None:
                from triplecheck.lms._httpx_limits import limit_litellm  # LiteLLM and httpx load slowly

                limit_litellm()
            try:
                while True:
                    try:
                        with self._request(messages, kwargs) as request:
                            call = partial(super().__call__, prompt, **request)
                            return call() if seconds is None else within(seconds, call)
                    except LMError as error:
                        if not self._gives_in(error, messages, kwargs):
                            raise
            except StillRunningError:
                raise too_late(self.name, seconds or 0) from None

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Call the model without blocking; see `__call__`."""
        with metered(self, self._asked(prompt, messages, kwargs)):
            seconds = self._seconds_of_litellm(kwargs)
            try:
                async with asyncio.timeout(seconds):
                    while True:
                        try:
                            with self._request(messages, kwargs) as request:
                                return await super().acall(prompt, **request)
                        except LMError as error:
                            if not self._gives_in(error, messages, kwargs):
                                raise
            except TimeoutError:
                raise too_late(self.name, seconds or 0) from None

    def _asked(self, prompt: Any, messages: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """What tells a call from others."""
        told = {"model": self.model, "prompt": prompt, "messages": messages}
        return {**self.kwargs, **kept_apart(self, options), **told}

    @contextmanager
    def _request(self, messages: Any, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Messages and options of a call as the server takes them."""
        sent = messages if self.takes_system or not messages else _without_system(messages)
        # DSPy warns of message dictionaries that are not those of an adapter.
        with nullcontext() if sent is messages else adapter_message_call(self, sent):
            yield {"messages": sent, **kept_apart(self, options)}

    def _gives_in(self, error: LMError, messages: Any, options: Mapping[str, Any]) -> bool:
        """Whether the call is worth repeating without what the server has refused, from now on."""
        if is_free(self) or error.status not in (None, *_REFUSALS):
            return False
        text = str(error).casefold()
        if (
            self.takes_system
            and _NO_SYSTEM.search(text)
            and any(message.get("role") == "system" for message in messages or ())
        ):
            self.takes_system = False
            return True
        if "temperature" in text and self.has_default_temperature and "temperature" not in options:
            self.has_default_temperature = False
            self.kwargs.pop("temperature", None)
            return True
        return False

    def _warn_zero_temp_rollout(self, temperature: float | None, rollout_id: Any) -> None:
        if not isinstance(rollout_id, str):
            super()._warn_zero_temp_rollout(temperature, rollout_id)

    def _seconds_of_litellm(self, options: dict[str, Any]) -> float | None:
        """Seconds for a call through LiteLLM with all its tries; None for other clients: `lms.limits` limits these.

        A second more than each try may take, so that LiteLLM's own error comes first.
        """
        if is_free(self) or dspy.settings.send_stream is not None or self._is_native:
            return None
        seconds = options.get("timeout", self.kwargs.get("timeout"))
        return seconds * (self.num_retries + 1) + 1 if isinstance(seconds, int | float) else None

    @functools.cached_property
    def _is_native(self) -> bool:
        return bool(select_backend(self).native)

    def update_history(self, entry: dict[str, Any]) -> None:
        """Record a finished call, and add it to the history unless disabled."""
        call = _call.get()
        if call is not None:
            call.cost, call.cut = entry.get("cost"), "length" in finish_reasons(entry.get("response"))
        if call is None or call.keeps_history:
            super().update_history(entry)


@contextmanager
def metered(lm: Any, request: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Check the budget, run one call to `lm`, and write to the ledger, even if the call fails.

    Args:
        request: what tells the call from others; None: what it took is not kept (`lms.costs`).
    """
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
        # The history entry has the cost, so it is created even where the history is disabled.
        with dspy.context(usage_tracker=call, **({"disable_history": False} if isinstance(lm, MeteredLM) else {})):
            yield
        failed = False
    finally:
        _call.reset(token)
        usage = call.usage(time.perf_counter() - started, free=free, failed=failed)
        if request is not None and not failed and (costs := _cost_cache()) is not None:
            usage = costs.counted(request, usage)
        if ledger is not None:
            ledger.take(role, name, usage)
        if (listener := dspy.settings.get(ON_CALL)) is not None:
            listener(role, name, usage)


def _cost_cache() -> CostCache | None:
    cache = vars(dspy).get("cache")  # DSPy makes one when the attribute is read
    return cache if isinstance(cache, CostCache) else None


@contextmanager
def watching() -> Iterator[list[Call]]:
    """Collect the calls made inside the block, in order."""
    calls: list[Call] = []
    token = _watched.set(calls)
    try:
        yield calls
    finally:
        _watched.reset(token)


def reply_was_cut() -> bool:
    """Whether the last reply inside the innermost `watching` reached its length limit."""
    calls = _watched.get()
    return calls[-1].cut if calls else False


# "Only user and assistant roles are supported!", "System role not supported", "Unexpected role 'system'"
_NO_SYSTEM = re.compile(r"system[^\n]{0,20}\brole|\broles?\b[^\n]{0,20}system|only user and assistant roles")
_REFUSALS = (400, 404, 422, 500)


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages with the text of the system message before that of the next."""
    found: list[dict[str, Any]] = []
    held: list[str] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "system" and isinstance(content, str):
            held.append(content)
        elif held and isinstance(content, str):
            found.append({**message, "content": "\n\n".join([*held, content])})
            held = []
        else:
            found.append(message)
    return [*found, {"role": "user", "content": "\n\n".join(held)}] if held else found


def address_of(lm: Any) -> str:
    """The address of a model's server, as its options or the environment name it; empty: that of its provider."""
    options = getattr(lm, "kwargs", {})
    prefix = str(getattr(lm, "model", "")).split("/", 1)[0].upper()
    named = options.get("api_base") or options.get("base_url")
    return str(named or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL") or "")


def kept_apart(lm: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call such that DSPy's cache tells the servers of a model name apart.

    DSPy leaves the address out of the key of its cache. The rollout id is in the key and is sent to no server.
    """
    address = "" if is_free(lm) else str(options.get("api_base") or options.get("base_url") or address_of(lm))
    rollout = options.get("rollout_id", getattr(lm, "kwargs", {}).get("rollout_id"))
    if not address or isinstance(rollout, str):
        return dict(options)
    return {**options, "rollout_id": address if rollout is None else f"{rollout} {address}"}


def model_name(lm: Any) -> str:
    """The model's display name."""
    return lm.name if isinstance(lm, MeteredLM) else str(getattr(lm, "model", type(lm).__name__))


def is_general(lm: Any) -> bool:
    """Whether a language model is a general one (`MeteredLM.general`), as those that a user brings are."""
    return lm.general if isinstance(lm, MeteredLM) else True


def is_free(lm: Any) -> bool:
    """Whether the model runs inside this process, so calls are free."""
    return not isinstance(getattr(lm, "engine", "auto"), str)


def price_of(lm: Any) -> Price | None:
    """Dollars per token of a language model; None if unknown."""
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
