"""`Caller`: calls functions, with a time limit and a cache. A call that fails gives no result."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from cachetools import TTLCache

from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.function import Function, reason_of
from triplecheck.kg.waiting import StillRunningError, within

_REMEMBERED = 4096  # results
_AT_ONCE = 8


@dataclass(frozen=True)
class CallLimits:
    """Limits of calls.

    Attributes:
        calls: entities that a function is called about at one hop.
        values: values and objects of one result.
        cache_seconds: how long a result is kept. Errors are kept a minute at most.
    """

    seconds: float = 10.0
    calls: int = 10
    values: int = 500
    cache_seconds: float = 3600.0

    def __post_init__(self) -> None:
        for name in ("seconds", "calls", "values", "cache_seconds"):
            if getattr(self, name) <= 0:
                raise UserError(f"{name} of function calls must be greater than 0, not {getattr(self, name)}")


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Attributes:
        argument: what it was called about.
        result: plain JSON values; None if there is none.
        error: why there is none; empty if there is one.
    """

    function: str
    argument: str
    result: Any = None
    error: str = ""


class Caller:
    """Calls functions, each about each argument once in the time that results are kept. Thread-safe."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._results: TTLCache[tuple[str, str], Call] = TTLCache(_REMEMBERED, limits.cache_seconds)
        self._errors: TTLCache[tuple[str, str], Call] = TTLCache(_REMEMBERED, min(60.0, limits.cache_seconds))

    def known(self, function: Function, argument: str) -> Call | None:
        """The call that was made, if it is still kept."""
        key = function.id, argument
        with self._lock:
            return self._results.get(key) or self._errors.get(key)

    def call(self, function: Function, arguments: Sequence[str]) -> list[Call]:
        """The calls about some arguments, those that are not kept at the same time."""
        if len(arguments) < 2:
            return [self._one(function, argument) for argument in arguments]
        with ThreadPoolExecutor(min(len(arguments), _AT_ONCE), thread_name_prefix="function") as pool:
            return list(pool.map(partial(self._one, function), arguments))

    def _one(self, function: Function, argument: str) -> Call:
        known = self.known(function, argument)
        if known is not None:
            return known
        try:
            made = Call(function.label, argument, within(self._limits.seconds, partial(function.call, argument)))
        except StillRunningError:
            made = Call(function.label, argument, error=f"no reply within {self._limits.seconds:g} s")
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything; its facts are missing then
            made = Call(function.label, argument, error=reason_of(error))
        with self._lock:
            (self._errors if made.error else self._results)[function.id, argument] = made
        return made
