"""`ReplyCache`: replies of an endpoint on disk, with a limit on their age and their size."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
import zlib
from pathlib import Path

from triplecheck.kg.errors import StorageError

_log = logging.getLogger(__name__)


class ReplyCache:
    """Replies by query. Thread-safe; several processes may share it.

    Args:
        path: the SQLite file; made if it is missing.
        seconds: age from which a reply is asked for again.
        bytes: size of all replies, compressed; the oldest are dropped first.

    Raises:
        StorageError: the file cannot be written or is not a cache.
    """

    def __init__(self, path: Path, seconds: float, bytes: int) -> None:
        self._seconds, self._bytes, self._lock, self._failed = seconds, bytes, threading.Lock(), False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, at REAL, body BLOB)")
        except (OSError, sqlite3.Error) as error:
            raise StorageError(
                f"{path}: no cache of replies here ({error}); set cache_hours = 0 to go without"
            ) from error

    def get(self, query: str) -> bytes | None:
        """The reply to a query, None if there is none or it is too old."""
        try:
            with self._lock:
                row = self._file.execute("SELECT at, body FROM replies WHERE key = ?", (_key(query),)).fetchone()
        except sqlite3.Error as error:
            self._fails(error)
            return None
        if row is None or not 0 <= time.time() - row[0] <= self._seconds:
            return None
        try:
            return zlib.decompress(row[1])
        except zlib.error:
            return None

    def put(self, query: str, body: bytes) -> None:
        """Keep a reply, unless it alone is larger than a quarter of the cache."""
        packed = zlib.compress(body, 1)
        if len(packed) * 4 > self._bytes:
            return
        try:
            with self._lock:
                self._file.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (_key(query), time.time(), packed)
                )
                size = self._size()
                while size > self._bytes:
                    self._file.execute(
                        "DELETE FROM replies WHERE key IN (SELECT key FROM replies ORDER BY at LIMIT "
                        "(SELECT 1 + COUNT(*) / 8 FROM replies))"
                    )
                    size = self._size()
        except sqlite3.Error as error:
            self._fails(error)

    def _fails(self, error: sqlite3.Error) -> None:
        """Warn once that replies are not kept. The query goes on without the cache."""
        if not self._failed:
            self._failed = True
            _log.warning("replies of the server are not kept: %s", error)

    def _size(self) -> int:
        return int(self._file.execute("SELECT COALESCE(SUM(LENGTH(body)), 0) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def _key(query: str) -> str:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()
