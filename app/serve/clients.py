"""Clients: API keys, how many requests each may make in a minute, and the budget of each for a day."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from triplecheck.app.config import ClientSettings
from triplecheck.kg import TriplecheckError, UserError
from triplecheck.lms import Budget, Ledger

_SHORTEST_KEY = 16  # characters


class UnknownKeyError(TriplecheckError):
    """A request has no API key, or one that nobody has."""


class TooManyRequestsError(TriplecheckError):
    """A client makes more requests in a minute than it may, or too many questions wait already.

    Attributes:
        seconds: when to try again, at the earliest.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass
class Client:
    """Somebody who may ask.

    Attributes:
        per_minute: requests in a minute; None: no limit.
        budget: limits on model calls in a day.
    """

    name: str
    per_minute: int | None = None
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        self._left = float(self.per_minute or 0)
        self._at: float | None = None
        self._day = ""
        self._ledger = Ledger(self.budget)
        self._lock = threading.Lock()

    def count(self) -> None:
        """Count a request. Unused requests are kept for a minute (a token bucket).

        Raises:
            TooManyRequestsError: the client has used up its requests.
        """
        if self.per_minute is None:
            return
        with self._lock:
            rate, now = self.per_minute / 60, time.monotonic()
            passed = 0.0 if self._at is None else now - self._at
            self._left, self._at = min(self._left + passed * rate, float(self.per_minute)), now
            if self._left < 1:
                wait = (1 - self._left) / rate
                raise TooManyRequestsError(
                    f"{self.name} may make {self.per_minute} requests in a minute; try again in {wait:.0f} s", wait
                )
            self._left -= 1

    def ledger(self) -> Ledger:
        """The calls of today (UTC), with the client's budget."""
        day = datetime.now(UTC).date().isoformat()
        with self._lock:
            if day != self._day:
                self._day, self._ledger = day, Ledger(self.budget)
            return self._ledger


ANYBODY = "anybody"
"""The name of all clients of a server without keys."""


class Clients:
    """Finds the client of a request by its API key. Thread-safe.

    Args:
        keys: the clients by name; none: everybody may ask, without a key.

    Raises:
        UserError: a key is missing in the environment, too short, or used twice.
    """

    def __init__(self, keys: Mapping[str, ClientSettings]) -> None:
        self._anybody = None if keys else Client(ANYBODY)
        self._by_digest: dict[bytes, Client] = {}
        for name, about in keys.items():
            key = os.environ.get(about.key_env, "")
            if len(key) < _SHORTEST_KEY:
                raise UserError(
                    f"the key of {name!r}: the variable {about.key_env} has {len(key)} characters; put a key of at "
                    f"least {_SHORTEST_KEY} into it, such as that of `openssl rand -hex 32`"
                )
            digest = _digest(key)
            if digest in self._by_digest:
                raise UserError(f"the key of {name!r} is also that of {self._by_digest[digest].name!r}")
            self._by_digest[digest] = Client(name, about.per_minute, Budget(**about.budget.model_dump()))

    def admit(self, key: str | None) -> Client:
        """The client with this key; the request is counted.

        All keys are compared, each in constant time, so that the time of a reply does not tell how much of a key is
        right.

        Raises:
            UnknownKeyError: nobody has this key.
            TooManyRequestsError: the client has used up its requests.
        """
        client = self._anybody
        if client is None:
            given = _digest(key or "")
            for digest, one in self._by_digest.items():
                if hmac.compare_digest(digest, given):
                    client = one
        if client is None:
            raise UnknownKeyError("this server needs an API key: send it as `Authorization: Bearer KEY`")
        client.count()
        return client


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
