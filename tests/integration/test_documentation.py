"""The documents name files that exist and commands that the command line accepts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from documents import parse

ROOT = Path(__file__).parents[2]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if "reports" not in path.parts)
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(page for page in PAGES if page != "docs/cli.md")]
FOLDERS = (
    "app",
    "bench",
    "docs",
    "evals",
    "kg",
    "language",
    "lms",
    "optimize",
    "programs",
    "signatures",
    "tests",
    "triplecheck",
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_in_code_exist(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    paths = re.findall(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+\.(?:py|toml|md)\b", text)
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("document", ["README.md", "docs/results.md", "docs/notes/learnt.md"])
def test_commands_are_accepted_by_the_command_line(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    commands = re.findall(r"(?:^\$ |`)(triplecheck [^`\n]+)", text, re.MULTILINE)
    assert len(commands) > 1
    for command in commands:
        parse(shlex.split(command, comments=True)[1:])
