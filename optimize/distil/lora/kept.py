"""Keeps what a model writes, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from triplecheck.evals.run_directory import JsonLines, complete_lines
from triplecheck.lms.local.backend import Backend, Generated, GenerationRequest


class KeptBackend:
    """A backend that keeps each completion in a file and asks for none again. A context manager.

    Args:
        backend: writes what is not in the file.
        path: of the file, JSON lines; it may have completions of other models.
        model: what its completions depend on besides the request, such as a hash of the weights.

    Attributes:
        seconds: what the returned completions took, also those of an earlier run.
    """

    def __init__(self, backend: Backend, path: Path, model: str) -> None:
        self._backend, self._model, self.seconds = backend, model, 0.0
        self._known = {str(line["key"]): line for _, line in complete_lines(path) if line is not None}
        self._file = JsonLines(path)

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """Complete prompts; errors are not kept. See `Backend.generate`."""
        keys = [self._key(prompt) for prompt in prompts]
        todo = [at for at, key in enumerate(keys) if key not in self._known]
        begun = time.monotonic()
        written = self._backend.generate([prompts[at] for at in todo]) if todo else []
        share = (time.monotonic() - begun) / max(1, len(todo))
        failed: dict[int, Exception] = {}
        for at, result in zip(todo, written, strict=True):
            if isinstance(result, Exception):
                failed[at], self.seconds = result, self.seconds + share
            else:
                line = {"key": keys[at], "seconds": round(share, 3), "completion": asdict(result)}
                self._known[keys[at]] = line
                self._file.append(line)
        return [failed[at] if at in failed else self._of(key) for at, key in enumerate(keys)]

    def _of(self, key: str) -> Generated:
        line = self._known[key]
        self.seconds += line["seconds"]
        return Generated(**line["completion"])

    def _key(self, prompt: GenerationRequest) -> str:
        text = json.dumps([self._model, asdict(prompt)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def __enter__(self) -> KeptBackend:
        self._file.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.__exit__(*problem)
