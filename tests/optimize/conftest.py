"""A small knowledge base that tests of traces share."""

from __future__ import annotations

import pytest
from program_parts import WORLD, build_turtle

from triplecheck.kg import KnowledgeBase


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_turtle(WORLD, tmp_path_factory.mktemp("world"))
