"""Fixtures of the tests of `programs`: DSPy without configuration, and a small knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_parts import WORLD, Build, build_turtle
from text_parts import build_text_world
from violins import VIOLINS

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import Sources


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The small world, with relation vectors."""
    return build_turtle(WORLD, tmp_path_factory.mktemp("world"), encoder="all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def sources(world: KnowledgeBase) -> Sources:
    return Sources.of(world)


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """The small world with passages, and no embeddings."""
    return Sources.of(build_text_world(tmp_path_factory.mktemp("plain")))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """The small world with passages and embeddings."""
    return Sources.of(build_text_world(tmp_path_factory.mktemp("embedded"), embedded=True))


@pytest.fixture(scope="session")
def violins(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_turtle(VIOLINS, tmp_path_factory.mktemp("violins"), encoder="all-MiniLM-L6-v2")


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a knowledge base without vectors from the body of a Turtle file."""
    return lambda turtle: build_turtle(turtle, tmp_path)
