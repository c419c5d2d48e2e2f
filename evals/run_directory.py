"""The directory of a run that can be resumed: a lock, `run.json` (its configuration) and files of JSON lines.

Evaluations, compile runs, fits and collections of traces use it. Each line is appended as soon as
it is complete; an incomplete last line of a killed process is dropped when the file is next read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Self

from filelock import FileLock, Timeout

from triplecheck.evals.configuration import differences
from triplecheck.evals.slim_rows import SlimRow
from triplecheck.evals.summary import check_row
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import replaced_file, stored, write_bytes
from triplecheck.kg.values import parse_json

FORMAT = "triplecheck-evaluation"
VERSION = 1
ROWS = "rows.jsonl"

_SYNC_SECONDS = 1.0


class RunDirectory:
    """The directory of a run, open for writing in one process at a time. A context manager.

    Args:
        path: created if missing.
        kind: format of the directory, recorded in `run.json`.
        configuration: everything that the results depend on, as JSON-serialisable values.
        noun: name of the run in error messages, with its article.

    Raises:
        UserError: the directory holds other files or another configuration, or another process is using it.
    """

    def __init__(self, path: Path, kind: str, configuration: Mapping[str, Any], noun: str) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise UserError(f"{path}: is a file; {noun} needs a directory")
        # A run that is killed at its start leaves only hidden files.
        visible = path.is_dir() and any(not inner.name.startswith(".") for inner in path.iterdir())
        if visible and not (path / "run.json").is_file():
            raise UserError(f"{path}: is not empty and holds no {noun.split(' ', 1)[1]}; choose another directory")
        self._open = contextlib.ExitStack()
        self._open.enter_context(locked(path, f"another process is writing {noun} there"))
        try:
            self._configure(kind, configuration)
        except BaseException:
            self._open.close()
            raise

    def write(self, name: str, value: Any) -> None:
        """Write a JSON file atomically."""
        write_bytes(self.path / name, encoded(json.dumps(value, indent=1, ensure_ascii=False)))

    def close(self) -> None:
        """Release the directory."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _configure(self, kind: str, configuration: Mapping[str, Any]) -> None:
        """Record the configuration, or compare it with the recorded one."""
        file = self.path / "run.json"
        if not file.is_file():
            noted = {"format": kind, "version": VERSION, "configuration": configuration, "versions": _versions()}
            self.write("run.json", noted)
            return
        try:
            noted = parse_json(file.read_text("utf-8"))
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

    A resumed run keeps complete rows. It repeats questions whose row is incomplete, is an error that does not
    last (`TriplecheckError.lasting`), or belongs to another version of the question: `keys` has the content key of
    each question of this run, by id.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], keys: Mapping[str, str]) -> None:
        super().__init__(path, FORMAT, configuration, "an evaluation")
        try:
            self.kept = self._kept(keys)
            """What a summary needs of the rows of this run's questions, by the question's id."""
            self._rows = self._open.enter_context(JsonLines(path / ROWS))
        except BaseException:
            self.close()
            raise

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a row."""
        self._rows.append(row)

    def _kept(self, keys: Mapping[str, str]) -> dict[str, SlimRow]:
        kept: dict[str, SlimRow] = {}
        seen: set[str] = set()

        def keep(row: dict[str, Any]) -> bool:
            try:
                check_row(row)
            except ValueError:
                return False
            if row["key"] in seen or not _to_keep(row, keys):
                return False
            seen.add(row["key"])
            if keys.get(row["id"]) == row["key"]:
                kept[row["id"]] = SlimRow(row)
            return True

        repair_lines(self.path / ROWS, keep)
        return kept


class JsonLines:
    """Appends JSON lines to a file. A context manager.

    A written line survives a crash of the process, and after one second also a crash of the machine.

    Args:
        path: created if missing; an incomplete last line is terminated, so that readers skip it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file: IO[bytes] = path.open("ab+")
        if self._file.tell():
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")
        self._synced = time.monotonic()

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line.

        Raises:
            StorageError: the disk is full.
        """
        with stored(self._path):
            self._file.write(encoded(json.dumps(row, ensure_ascii=False, default=_plain)))
            self._file.flush()
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with stored(self._path), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())


def complete_lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Yield each line of a file with its JSON object, or None if it is incomplete. No file: no lines."""
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                row = parse_json(line) if line.endswith(b"\n") else None
            except ValueError:
                row = None
            yield line, row if isinstance(row, dict) else None


def repair_lines(path: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Remove incomplete lines, and lines whose object `keep` rejects. Rewrites the file only if a line is removed."""
    kept = [row is not None and keep(row) for _, row in complete_lines(path)]
    if all(kept):
        return
    with replaced_file(path) as draft, draft.open("wb") as file, path.open("rb") as lines:
        file.writelines(itertools.compress(lines, kept))


def read_rows(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an evaluation directory, in the order in which they were finished.

    Raises:
        ReadError: there is no rows file, or a line is malformed.
    """
    path = run / ROWS
    if not path.is_file():
        raise ReadError(path, None, "no such file: is this the directory of an evaluation?")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = parse_json(line)
                check_row(row)
            except ValueError as error:
                raise ReadError(path, number, f"is not a row ({error})") from error
            yield row


def encoded(text: str) -> bytes:
    """Return JSON as UTF-8 bytes with a line end. Unpaired surrogates, which UTF-8 cannot encode, are escaped."""
    return text.encode("utf-8", "backslashreplace") + b"\n"


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Lock a directory for this process; create it if missing.

    Args:
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


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _to_keep(row: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """Whether to keep a row. Rows of questions outside this run stay: a smaller sample keeps those of a larger one."""
    now = keys.get(row["id"])
    return now is None or (now == row["key"] and (row["status"] != "error" or "lasting" in row["error"]))


def _versions() -> dict[str, str]:
    found = {}
    for name in ("triplecheck", "dspy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
