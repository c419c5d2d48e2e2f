"""Runs the blocks of code of a page of the documentation, from top to bottom, as a reader would.

- `console`: lines with `$ ` are commands, the lines below are what they print; `...` stands for what is left out.
- `python`: scripts in one namespace; each comment behind a `print` is in what it prints.
- `sh`: requests, by the shell. `toml`: settings. `json`: is read. A block with `title="FILE"` is a file.
- Others (`text`, `mermaid`, `py`) are not run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from triplecheck.app.config import load_settings
from triplecheck.app.main import app

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
RUN = ("console", "python", "sh", "toml", "json")
_CONFIDENCE = re.compile(r"(?<=confidence )0\.\d+")  # it changes whenever its model is fitted
_FIGURE = re.compile(r"(?<!\w)(?:p [<=] )?[+-]?\d[\d.,]*")
_SPACES = re.compile(r" +")
_OTHERS = ("git", "make", "pip", "source", "docker", "npx")
"""Commands that are not run."""


@dataclass(frozen=True)
class Block:
    """A block of code, with the heading above it."""

    title: str
    language: str
    code: str
    file: str = ""


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page in docs/."""
    text = (DOCS / page).read_text("utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        above = _HEADING.findall(_BLOCK.sub("", text[: match.start()]))
        name = re.search(r'title="([^"]+)"', match[2])
        found.append(Block(above[-1], match[1], match[3], name[1] if name else ""))
    return found


@dataclass
class Reader:
    """Does what a page says, in the working directory.

    Args:
        replace: texts of the page and what they are here, such as the address of a server.
        parsed: beginnings of commands that are parsed but not run, because they take minutes.
        figures: whether the figures of the page are compared with those that are printed.
    """

    replace: Mapping[str, str] = field(default_factory=dict)
    parsed: Collection[str] = ()
    figures: bool = True
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def do(self, block: Block) -> None:
        """Run a block, or write its file."""
        code = block.code
        for there, here in self.replace.items():
            code = code.replace(there, here)
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(code, "utf-8")
        elif block.language in RUN:
            getattr(self, f"_{block.language}")(code)

    def _console(self, code: str) -> None:
        for part in re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            said = self._said(line)
            if said is not None:
                at, said = 0, self._compared(said)
                for wanted in (self._compared(text).strip() for text in shown.splitlines()):
                    if wanted and wanted != "...":
                        assert wanted in said[at:], f"$ {line}\n{said}\nlacks: {wanted}"
                        at = said.index(wanted, at) + len(wanted)

    def _compared(self, text: str) -> str:
        plain = _CONFIDENCE.sub("", text)
        return plain if self.figures else _SPACES.sub(" ", _FIGURE.sub("#", plain))

    def _said(self, line: str) -> str | None:
        """What a command prints; None if it is not run."""
        line = re.sub(r"^(?:[A-Z_]+=\S* )+", "", line)
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            os.environ[name] = value  # the test restores the environment
            return None
        if words[0] != "triplecheck":
            assert words[0] in _OTHERS, f"what does {words[0]!r} do?"
            return None
        typed = ""
        if "<" in words:
            typed = Path(words[words.index("<") + 1]).read_text("utf-8")
            words = words[: words.index("<")]
        if any(line.startswith(f"triplecheck {start}") for start in self.parsed):
            parse(words[1:])
            return None
        result = CliRunner().invoke(app, words[1:], input=typed)
        assert result.exit_code == 0, f"$ {line}\n{result.output}"
        return result.output

    def _python(self, code: str) -> None:
        # As a file: DSPy reads the source of some functions.
        script = Path(f"block_{len(list(Path.cwd().glob('block_*.py')))}.py").resolve()
        script.write_text(code, "utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, str(script), "exec", dont_inherit=True), self.names)
        for wanted in re.findall(r"^\s*print\(.*\)  # (.+)$", code, re.MULTILINE):
            assert wanted in out.getvalue(), f"{code}\n{out.getvalue()}\nlacks: {wanted}"

    def _sh(self, code: str) -> None:
        for command in code.replace("\\\n", " ").strip().split("\n"):
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)
            assert done.stdout and '"error"' not in done.stdout, command

    def _toml(self, code: str) -> None:
        settings = Path("triplecheck.toml")
        settings.write_text(code, "utf-8")
        load_settings()
        settings.unlink()

    def _json(self, code: str) -> None:
        json.loads(code)


def parse(words: list[str]) -> None:
    """Parse a command without running it; the parser raises if it does not accept the words."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)
