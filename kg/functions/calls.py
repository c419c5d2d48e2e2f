"""`Caller`: calls functions, with a time limit and a cache. A call that fails gives no result."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from cachetools import TTLCache

from triplecheck.kg.functions.function import Function, reason_of
from triplecheck.kg.functions.limits import CallLimits
from triplecheck.kg.waiting import StillRunningError, within

_REMEMBERED = 4096  # results
_AT_ONCE = 8


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Attributes:
        argument: what it was called with.
        result: plain JSON values; None if there is none.
        error: why there is none; empty if there is one.
    """

    function: str
    argument: str
    result: Any = None
    error: str = ""


Arguments = tuple[str, ...]
"""The subject, and the further arguments of a function."""


class Caller:
    """Calls functions, each with the same arguments once in the time that results are kept. Thread-safe."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._results: TTLCache[tuple[str, Arguments], Call] = TTLCache(_REMEMBERED, limits.cache_seconds)
        self._errors: TTLCache[tuple[str, Arguments], Call] = TTLCache(_REMEMBERED, min(60.0, limits.cache_seconds))

    def known(self, function: Function, arguments: Arguments) -> Call | None:
        """The call that was made, if it is still kept."""
        key = function.id, arguments
        with self._lock:
            return self._results.get(key) or self._errors.get(key)

    def call(self, function: Function, wanted: Sequence[Arguments]) -> list[Call]:
        """Some calls of a function, those that are not kept at the same time."""
        if len(wanted) < 2:
            return [self._one(function, arguments) for arguments in wanted]
        with ThreadPoolExecutor(min(len(wanted), _AT_ONCE), thread_name_prefix="function") as pool:
            return list(pool.map(partial(self._one, function), wanted))

    def _one(self, function: Function, arguments: Arguments) -> Call:
        known = self.known(function, arguments)
        if known is not None:
            return known
        made = partial(Call, function.label, ", ".join(arguments))
        try:
            call = made(within(self._limits.seconds, partial(function.call, *arguments)))
        except StillRunningError:
            call = made(error=f"no reply within {self._limits.seconds:g} s")
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything; its facts are missing then
            call = made(error=reason_of(error))
        with self._lock:
            (self._errors if call.error else self._results)[function.id, arguments] = call
        return call
