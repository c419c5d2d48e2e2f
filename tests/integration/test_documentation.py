"""The documents name files that exist and commands that the command line accepts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from triplecheck.app.main import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/dspy.md",
    "docs/results.md",
    "docs/serve.md",
    "docs/your-graph.md",
)
FOLDERS = ("app", "bench", "docs", "evals", "kg", "lms", "optimize", "programs", "signatures", "tests", "triplecheck")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#:\s]+)\)", path.read_text("utf-8"))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_in_code_exist(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    paths = re.findall(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+\.(?:py|toml|md)\b", text)
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("document", ["README.md", "docs/results.md"])
def test_commands_are_accepted_by_the_command_line(document: str) -> None:
    lines = (ROOT / document).read_text("utf-8").splitlines()
    commands = [part for line in lines if line.startswith("$ ") for part in line[2:].split(" && ")]
    commands = [command for command in commands if command.startswith("triplecheck ")]
    assert len(commands) > 5
    for command in commands:
        parse(shlex.split(command, comments=True)[1:])


def parse(words: list[str]) -> None:
    """Parse a command without running it; the parser raises if it does not accept the words."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)
