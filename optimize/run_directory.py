"""The directory of a compile run: `run.json`, `candidates/`, `scores.jsonl`, `calls/`, `before/`, `after/`, `bundle/`.

`run.json` says what the run depends on, the questions included: a run is taken up again only by the same one.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from triplecheck.evals.configuration import differences
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text

FORMAT, VERSION = "triplecheck-compile", 1


class CompileDirectory:
    """A compile run's directory, held by one process at a time. A context manager.

    Args:
        path: made if it is not there.
        configuration: what the run depends on, as plain data.

    Raises:
        UserError: it holds something else, another run, or is in use.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise UserError(f"{path}: is a file; a compile run is written into a directory")
        ours = not path.is_dir() or (path / "run.json").is_file()
        if not ours and any(not inner.name.startswith(".") for inner in path.iterdir()):
            raise UserError(f"{path}: is not empty and holds no compile run; choose another directory")
        path.mkdir(parents=True, exist_ok=True)
        self._lock = (path / ".lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._configure(configuration)
        except BlockingIOError:
            self._lock.close()
            raise UserError(f"{path}: another run is writing there; wait for it or choose another directory") from None
        except BaseException:
            self._lock.close()
            raise

    def write(self, name: str, value: Any) -> None:
        """Write plain data, whole or not at all."""
        write_text(self.path / name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def _configure(self, configuration: Mapping[str, Any]) -> None:
        file = self.path / "run.json"
        if not file.is_file():
            self.write("run.json", {"format": FORMAT, "version": VERSION, "configuration": configuration})
            return
        try:
            noted = json.loads(file.read_text("utf-8"))
            there = noted["configuration"]
            known = (noted["format"], noted["version"]) == (FORMAT, VERSION)
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{file}: damaged ({error}); choose another directory") from error
        if not known:
            raise UserError(f"{file}: of another format or version; choose another directory")
        differ = differences(there, json.loads(json.dumps(configuration)))
        if differ:
            raise UserError(
                f"{self.path}: holds another run ({'; '.join(differ)}); choose another directory or go back to that"
            )
