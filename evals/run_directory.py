"""The directory of a run that can be resumed: a lock, `run.json` (its configuration) and files of JSON lines.

Evaluations, compile runs, fits and collections of traces use it. A line is appended whole as soon as it is
known; a last line that a killed process left incomplete is dropped when the file is next read.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Self

from filelock import FileLock, Timeout

from triplecheck.evals.configuration import differences
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes, write_text

FORMAT = "triplecheck-evaluation"
VERSION = 1
ROWS = "rows.jsonl"

_SYNC_SECONDS = 1.0
BULKY = ("steps", "evidence", "ranking")
"""Fields of a row that no summary needs."""


class RunDirectory:
    """The directory of a run, open for writing in one process at a time. A context manager.

    Args:
        path: created if missing.
        kind: format of the directory, noted in `run.json`.
        configuration: what the results depend on, as plain data.
        noun: what error messages call the run.

    Raises:
        UserError: the directory holds something else or another configuration, or another process is using it.
    """

    def __init__(self, path: Path, kind: str, configuration: Mapping[str, Any], noun: str) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise UserError(f"{path}: is a file; {noun} needs a directory")
        # A run killed at its very start leaves only hidden files.
        if path.is_dir() and not (path / "run.json").is_file() and any(_visible(path)):
            raise UserError(f"{path}: is not empty and holds no {noun.split(' ', 1)[1]}; choose another directory")
        self._open = contextlib.ExitStack()
        self._open.enter_context(locked(path, f"another process is writing {noun} there"))
        try:
            self._configure(kind, configuration)
        except BaseException:
            self._open.close()
            raise

    def write(self, name: str, value: Any) -> None:
        """Write a file of JSON, whole or not at all."""
        write_bytes(self.path / name, encoded(json.dumps(value, indent=1, ensure_ascii=False)))

    def close(self) -> None:
        """Release the directory."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _configure(self, kind: str, configuration: Mapping[str, Any]) -> None:
        """Note the configuration, or compare it with the noted one."""
        file = self.path / "run.json"
        if not file.is_file():
            noted = {"format": kind, "version": VERSION, "configuration": configuration, "versions": _versions()}
            self.write("run.json", noted)
            return
        try:
            noted = json.loads(file.read_text("utf-8"))
            known = (noted["format"], noted["version"]) == (kind, VERSION)
            there = noted["configuration"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{file}: damaged ({error}); choose another directory") from error
        if not known:
            raise UserError(f"{file}: another format or version; choose another directory")
        differ = differences(there, json.loads(json.dumps(configuration)))
        if differ:
            raise UserError(
                f"{self.path}: holds a run with another configuration ({'; '.join(differ)}); "
                "choose another directory or restore that configuration"
            )


class EvaluationDirectory(RunDirectory):
    """The directory of an evaluation: `run.json`, `rows.jsonl`, `summary.json`.

    A resumed run keeps complete rows. It repeats questions whose row is incomplete, ended in an error, or is
    about another version of the question.

    Args:
        path: created if missing.
        configuration: what the rows depend on.
        keys: content key by id, for the questions of this run.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], keys: Mapping[str, str]) -> None:
        super().__init__(path, FORMAT, configuration, "an evaluation")
        try:
            self.kept = self._kept(keys)
            """Rows of the questions of this run, by key, without the `BULKY` fields."""
            self._rows = self._open.enter_context(JsonLines(path / ROWS))
        except BaseException:
            self.close()
            raise

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a row."""
        self._rows.append(row)

    def _kept(self, keys: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        kept: dict[str, dict[str, Any]] = {}
        seen: set[str] = set()

        def keep(row: dict[str, Any]) -> bool:
            if not {"id", "key", "status"} <= row.keys() or row["key"] in seen or not _to_keep(row, keys):
                return False
            seen.add(row["key"])
            if keys.get(row["id"]) == row["key"]:
                kept[row["key"]] = {name: value for name, value in row.items() if name not in BULKY}
            return True

        repair_lines(self.path / ROWS, keep)
        return kept


class JsonLines:
    """A file that JSON lines are appended to. A context manager.

    A line is on disk if the process dies, and one second later also if the machine does.

    Args:
        path: created if missing; an incomplete last line is ended, so that readers skip it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("ab+")
        if self._file.tell():
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")
        self._synced = time.monotonic()

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line."""
        self._file.write(encoded(json.dumps(row, ensure_ascii=False, default=_plain)))
        self._file.flush()
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def complete_lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Each line of a file with its JSON object; None where it is incomplete. Nothing if there is no file."""
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                row = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                row = None
            yield line, row if isinstance(row, dict) else None


def repair_lines(path: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Remove incomplete lines from a file, and those whose object `keep` refuses. A good file is not written."""
    kept, removed = [], False
    for line, row in complete_lines(path):
        if row is not None and keep(row):
            kept.append(line)
        else:
            removed = True
    if removed:
        write_text(path, b"".join(kept).decode("utf-8"))


def read_rows(run: Path) -> Iterator[dict[str, Any]]:
    """The rows of an evaluation directory, in the order in which they were finished.

    Raises:
        ReadError: there are none, or a line is malformed.
    """
    path = run / ROWS
    if not path.is_file():
        raise ReadError(path, None, "no such file: is this the directory of an evaluation?")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ReadError(path, number, f"is not JSON ({error})") from error


def encoded(text: str) -> bytes:
    """JSON as bytes, with a line end. Half a surrogate pair, which UTF-8 cannot encode, becomes an escape."""
    return text.encode("utf-8", "backslashreplace") + b"\n"


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Lock a directory for this process; create it if missing.

    Args:
        path: the directory.
        busy: the error message if another process holds it.

    Raises:
        UserError: another process holds it.
    """
    path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path / ".lock", is_singleton=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"{path}: {busy}; wait for it or choose another directory") from None
    try:
        yield
    finally:
        lock.release()


def _visible(path: Path) -> Iterator[Path]:
    return (inner for inner in path.iterdir() if not inner.name.startswith("."))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _to_keep(row: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """Rows of questions outside this run stay: a smaller sample does not delete the larger one's rows."""
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
