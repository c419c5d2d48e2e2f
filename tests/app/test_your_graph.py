"""Every block of docs/your-graph.md runs, in a folder with the examples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_support import Run

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "your-graph.md").read_text("utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
ANSWERS = {
    "Tables": "Turin",
    "RDF, OWL and SKOS": "coffee bean",
    "Property graphs": "Oslo",
    "A graph that changes": "Lisbon",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("title", [title for title, text in SECTIONS.items() if "```console" in text])
def test_the_commands_run(title: str, here: None, run: Run) -> None:
    blocks = re.findall(r"```console\n(.*?)```", SECTIONS[title], re.DOTALL)
    shown = ""
    for line in "".join(blocks).splitlines():
        result = run(*shlex.split(line.removeprefix("$ triplecheck ")))
        assert result.exit_code == 0, (line, result.output)
        shown += result.stdout
    assert ANSWERS[title] in shown


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_a_python_block_runs(block: str, here: None, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "your-graph", "exec"), {})
    said = re.findall(r"# (.+)$", block.split("print", 1)[1], re.MULTILINE)
    assert all(line in capsys.readouterr().out for line in said)
