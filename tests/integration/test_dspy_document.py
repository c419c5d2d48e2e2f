"""Every block of docs/dspy.md runs, with a stand-in for the user's language model behind a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from documents import blocks_of
from dspy.clients.openai import OpenAIProvider
from model_stand_ins import StandInServer, stand_in_server
from users_model import users_reply

from triplecheck.kg import KnowledgeBase, knowledge_base

BLOCKS = [(block.title, block.code) for block in blocks_of("dspy.md") if block.language == "python"]
FIRST = BLOCKS.pop(0)[1]
FOR_OPTIMIZERS = next(block for title, block in BLOCKS if title == "Optimizers")
OPTIMIZERS = ("BootstrapFewShotWithRandomSearch", "MIPROv2", "GEPA", "SIMBA", "BootstrapFinetune", "BetterTogether")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, bundled: KnowledgeBase, tmp_path: Path) -> Iterator[StandInServer]:
    """The user's model. The bundled graph is that of the other tests; files are written to the test's directory."""
    monkeypatch.setattr(knowledge_base, "open_bundled", lambda **_: bundled)
    monkeypatch.chdir(tmp_path)
    with stand_in_server(lambda asked: users_reply(asked.messages)) as running, running.environment():
        yield running


def run(block: str, names: dict[str, Any]) -> None:
    """Run a block as a script: `dspy.Refine` reads the source of the reward function."""
    script = Path(f"block_{len(list(Path.cwd().glob('block_*.py')))}.py").resolve()
    script.write_text(block, "utf-8")
    exec(compile(block, str(script), "exec", dont_inherit=True), names)


def test_all_blocks_are_found() -> None:
    assert len(BLOCKS) + 1 == len(blocks_of("dspy.md")) > 10
    assert set(OPTIMIZERS) < {title for title, _ in BLOCKS}


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=f"{title}-{i}") for i, (title, block) in enumerate(BLOCKS) if title not in OPTIMIZERS],
)
def test_a_block_runs(block: str, server: StandInServer) -> None:
    names: dict[str, Any] = {}
    run(FIRST, names)
    run(block, names)
    assert server.calls > 0 or block == FOR_OPTIMIZERS or "save" in block


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_runs_on_the_users_model(
    name: str, server: StandInServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Any] = []

    def finetune(job: Any, model: str, train_data: Any, train_data_format: Any, train_kwargs: Any = None) -> str:
        trained.extend(train_data)
        return "openai/trained"

    monkeypatch.setattr(OpenAIProvider, "finetune", staticmethod(finetune))
    names: dict[str, Any] = {}
    block = next(block for title, block in BLOCKS if title == name)
    for part in (FIRST, FOR_OPTIMIZERS, block):
        run(part, names)
    steps = names["compiled"].predictors()
    assert len(steps) == 4
    assert server.calls > 0
    found = names["compiled"](question=names["questions"][0].question)
    assert isinstance(found, dspy.Prediction)
    assert "extractive" not in found.usage.by_model
    assert bool(trained) == (name in ("BootstrapFinetune", "BetterTogether"))
