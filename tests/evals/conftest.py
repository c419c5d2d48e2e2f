"""What the tests of `evals` share: a small knowledge base, a model that says nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from eval_parts import SILENT, SilentEngine, build_knowledge_base

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import register_engine, unregister_engine


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture(scope="session")
def knowledge_base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_knowledge_base(tmp_path_factory.mktemp("evals"))


@pytest.fixture(autouse=True)
def silent_model() -> Iterator[None]:
    unregister_engine(SILENT)
    register_engine(SILENT, SilentEngine())
    yield
    unregister_engine(SILENT)
