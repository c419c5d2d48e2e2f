"""Fixtures of all tests: DSPy without configuration, no settings from the caller's environment, the bundled graph."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest
from dspy.dsp.utils.settings import DEFAULT_CONFIG, main_thread_config
from hypothesis import HealthCheck, settings

from triplecheck import kg
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.readers import read_graph

# Nothing is timed: another process may have the processor for a second. Examples may share a fixture.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def no_disk_cache() -> None:
    """What is set up for many tests at once must not be served from an earlier run either."""
    dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)


@pytest.fixture(autouse=True)
def isolated_dspy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DSPy's settings reset, a cache of the test's own (in memory), and no keys from outside."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)
    # LiteLLM fetches its price table otherwise.
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)
    yield
    main_thread_config.clear()
    main_thread_config.update(copy.deepcopy(DEFAULT_CONFIG))
    dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The bundled knowledge base."""
    folder = Path(kg.__file__).parent / "bundled"
    return kg.build(read_graph(sorted(folder.glob("*.ttl"))), tmp_path_factory.mktemp("bundled") / "kb")
