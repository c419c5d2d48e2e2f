"""The blocks of docs/serve.md are tried against a running server; that of MLflow (`py`) takes long: by hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Running, service_of, serving

from triplecheck.app.config import load_settings
from triplecheck.kg import KnowledgeBase, knowledge_base

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "serve.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
ADDRESS = "http://127.0.0.1:8765"


def blocks(language: str) -> list[str]:
    return [block for name, block in BLOCKS if name == language]


@pytest.fixture(scope="module")
def server(bundled: KnowledgeBase) -> Iterator[Running]:
    with serving(service_of(str(bundled.path))) as running:
        yield running


def test_all_blocks_are_tried() -> None:
    assert len(BLOCKS) == TEXT.count("```") / 2
    assert {name for name, _ in BLOCKS} == {"console", "sh", "python", "py", "json", "toml"}
    assert all(re.search("pip install|triplecheck serve", block) for block in blocks("console"))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("block", blocks("sh"))
def test_requests_are_answered(block: str, server: Running) -> None:
    block = block.replace(ADDRESS, server.url)
    for command in block.replace("\\\n", " ").strip().split("\n"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)
        assert '"error"' not in done.stdout
        assert "Hindemith" in done.stdout


@pytest.mark.parametrize("block", blocks("python"))
def test_scripts_run(
    block: str, server: Running, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(knowledge_base, "open_bundled", lambda **_: bundled)
    exec(compile(block.replace(ADDRESS, server.url), "docs/serve.md", "exec"), {"__name__": "__main__"})


def test_settings_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("toml")
    Path("triplecheck.toml").write_text(block, "utf-8")
    assert load_settings().serve.keys["alice"].budget.dollars == 2.0
    Path("triplecheck.toml").write_text((ROOT / "deploy" / "triplecheck.toml").read_text("utf-8"), "utf-8")
    assert "alice" in load_settings().serve.keys
    (configuration,) = blocks("json")
    assert json.loads(configuration)["mcpServers"]["triplecheck"]["args"][0] == "mcp"
