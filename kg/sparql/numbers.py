"""Numbers for what a remote graph names: given out at first sight, valid as long as the graph object."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Numbering(Generic[Key]):
    """Keys and their numbers, 0 upwards. Safe to use from several threads."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, key: Key) -> int:
        """Number of a key, a new one at first sight."""
        known = self._numbers.get(key)
        if known is not None:
            return known
        with self._lock:
            number = self._numbers.setdefault(key, len(self._keys))
            if number == len(self._keys):
                self._keys.append(key)
            return number

    def known(self, key: Key) -> int | None:
        """Number of a key that was seen before."""
        return self._numbers.get(key)

    def key(self, number: int) -> Key:
        """What a number stands for.

        Raises:
            IndexError: the graph did not hand this number out.
        """
        if not 0 <= number < len(self._keys):
            raise IndexError(f"this graph has handed out no {self._what} {number}")
        return self._keys[number]
