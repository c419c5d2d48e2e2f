"""The directory of an evaluation: `run.json` (its configuration), `rows.jsonl`, `summary.json`.

A row is appended and flushed as soon as it is finished. A run that was killed is taken up again: its
whole rows are kept, a torn last line is dropped, rows that ended in an error are tried again.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Self

from triplecheck.evals.configuration import differences
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text

FORMAT = "triplecheck-evaluation"
VERSION = 1

_SYNC_SECONDS = 1.0
BULKY = ("steps", "evidence", "ranking")
"""Fields of a row that no summary needs."""


class RunDirectory:
    """An evaluation's directory, opened for writing by one process at a time. A context manager.

    Args:
        path: made if it is not there.
        configuration: what the rows depend on.
        keys: content key by id, of the questions that are asked now.

    Raises:
        UserError: the place holds something else, rows of another configuration, or is in use.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], keys: Mapping[str, str]) -> None:
        self.path = path
        _check_place(path)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self._configure(configuration)
            self.kept = self._take_up(keys)
            """Rows of the questions that are asked now, by key, without what is bulky."""
            self._rows: IO[bytes] = self.rows_path.open("ab")
        except BaseException:
            self._lock.close()
            raise
        self._synced = time.monotonic()

    @property
    def rows_path(self) -> Path:
        """The file of rows."""
        return self.path / "rows.jsonl"

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row. It outlives the process at once, and the machine's power after a second at most."""
        self._rows.write(_line(row))
        self._rows.flush()
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._rows.fileno())
            self._synced = time.monotonic()

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write `summary.json`, whole or not at all."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=1) + "\n")

    def close(self) -> None:
        """Let go of the directory."""
        os.fsync(self._rows.fileno())
        self._rows.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _configure(self, configuration: Mapping[str, Any]) -> None:
        """Note the configuration, or compare it with the one that is noted."""
        file = self.path / "run.json"
        if not file.is_file():
            noted = {"format": FORMAT, "version": VERSION, "configuration": configuration, "versions": _versions()}
            write_text(file, json.dumps(noted, indent=1) + "\n")
            return
        try:
            noted = json.loads(file.read_text("utf-8"))
            if (noted["format"], noted["version"]) != (FORMAT, VERSION):
                raise UserError(f"{file}: of another format or version; choose another directory")
            there = noted["configuration"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{file}: damaged ({error}); choose another directory") from error
        differ = differences(there, json.loads(json.dumps(configuration)))
        if differ:
            raise UserError(
                f"{self.path}: holds rows of another configuration ({'; '.join(differ)}); "
                "choose another directory or go back to that configuration"
            )

    def _take_up(self, keys: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Read the rows; drop from the file what is torn, ended in an error, or is about a changed question."""
        if not self.rows_path.is_file():
            return {}
        kept: dict[str, dict[str, Any]] = {}
        lines, whole = [], True
        seen: set[str] = set()
        with self.rows_path.open("rb") as source:
            for line in source:
                row = _row(line)
                if row is None or row["key"] in seen or not _to_keep(row, keys):
                    whole = False
                    continue
                seen.add(row["key"])
                lines.append(line)
                if keys.get(row["id"]) == row["key"]:
                    kept[row["key"]] = {name: value for name, value in row.items() if name not in BULKY}
        if not whole:
            write_text(self.rows_path, b"".join(lines).decode("utf-8"))
        return kept


def _check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UserError(f"{path}: is a file; an evaluation is written into a directory")
    if not path.is_dir() or (path / "run.json").is_file():
        return
    # A run that was killed at its very beginning leaves hidden files alone.
    if any(not inner.name.startswith(".") for inner in path.iterdir()):
        raise UserError(f"{path}: is not empty and holds no evaluation; choose another directory")


def _locked(path: Path) -> IO[bytes]:
    lock = (path / ".lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UserError(
            f"{path}: another evaluation is writing there; wait for it or choose another directory"
        ) from None
    return lock


def _line(row: Mapping[str, Any]) -> bytes:
    # What a model wrote may hold half a surrogate pair: as an escape it is JSON still.
    text = json.dumps(row, ensure_ascii=False, default=_plain)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _row(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and {"id", "key", "status"} <= row.keys() else None


def _to_keep(row: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """Rows of questions that are not asked now stay: a smaller sample does not cost the larger one."""
    now = keys.get(row["id"])
    return now is None or (now == row["key"] and row["status"] != "error")


def _versions() -> dict[str, str]:
    found = {}
    for name in ("triplecheck", "dspy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
