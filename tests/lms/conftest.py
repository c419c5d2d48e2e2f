"""Fixtures of the tests of `lms`: DSPy without configuration, and a model server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import dspy
import pytest
from openai_server import OpenAIServer


@pytest.fixture
def disk_cache(tmp_path: Path) -> Callable[[], None]:
    """Opens DSPy's cache on a directory of the test, each time as a new process would."""

    def reopen() -> None:
        dspy.configure_cache(disk_cache_dir=str(tmp_path / "dspy_cache"), restrict_pickle=True)

    reopen()
    return reopen


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """An OpenAI-compatible server on this machine."""
    with OpenAIServer() as running:
        yield running
