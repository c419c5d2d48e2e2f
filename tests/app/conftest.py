"""Fixtures of the tests of `app`: a small knowledge base, a runner, and a model with scripted replies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_support import DOCUMENTS, READS_THE_GRAPH, TRIPLES, Process, Run, fields
from typer.testing import CliRunner, Result


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache directory of the whole session, so that the bundled knowledge base is built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base of five triples and one document, built as a person builds one."""
    from triplecheck.app.main import app

    folder = tmp_path_factory.mktemp("small")
    (folder / "music.tsv").write_text(TRIPLES, "utf-8")
    (folder / "texts.jsonl").write_text(DOCUMENTS, "utf-8")
    words = ["kb", "build", folder / "kb", "--triples", folder / "music.tsv", "--documents", folder / "texts.jsonl"]
    result = CliRunner().invoke(app, [*map(str, words), "--no-vectors"])
    assert result.exit_code == 0, result.output
    return folder / "kb"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """An empty working directory, and nothing of the caller's environment. Scripted models are asked alone."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")) or name.startswith("TRIPLECHECK_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TRIPLECHECK_CACHE", str(cache))
    monkeypatch.setenv("TRIPLECHECK_CASCADE", "none")
    monkeypatch.setenv("DSPY_CACHEDIR", str(cache / "dspy"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Runs the command line inside this process."""
    from triplecheck.app.main import app

    def runs(*words: Any, **environment: str) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words], env=environment)

    return runs


@pytest.fixture
def process() -> Process:
    """Runs the command line in a process of its own."""

    def runs(*words: Any, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "triplecheck.app.main", *map(str, words)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return runs


@pytest.fixture
def reader() -> Iterator[str]:
    """Name of a model that answers `QUESTION`, once."""
    from model_stand_ins import scripted_model

    with scripted_model(READS_THE_GRAPH, "reader") as engine:
        yield engine.name


@pytest.fixture
def second_reader() -> Iterator[str]:
    """Name of a model that finds no meaning for any word, and replies to all other steps as `reader` does."""
    from model_stand_ins import scripted_model

    with scripted_model([fields(meanings="none"), *READS_THE_GRAPH], "reader") as engine:
        yield engine.name


@pytest.fixture
def ignorant() -> Iterator[str]:
    """Name of a model that finds no answer in the facts."""
    from model_stand_ins import scripted_model

    nothing = fields(reasoning="none", cited="none", operation="none", answers="none")
    with scripted_model([*READS_THE_GRAPH[:-1], nothing, fields(query="none")], "ignorant") as engine:
        yield engine.name
