"""What the tests of `lms` share: DSPy as it is when nobody has configured it, and a server to talk to."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import dspy
import pytest
from dspy.dsp.utils.settings import DEFAULT_CONFIG, main_thread_config
from openai_server import OpenAIServer


@pytest.fixture(autouse=True)
def isolated_dspy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DSPy's settings reset, a cache of the test's own (in memory), and no keys from outside."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    before = vars(dspy).get("cache")
    dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)
    yield
    main_thread_config.clear()
    main_thread_config.update(copy.deepcopy(DEFAULT_CONFIG))
    vars(dspy).pop("cache", None)
    if before is not None:
        dspy.cache = before


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
