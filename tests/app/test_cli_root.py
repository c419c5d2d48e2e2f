"""The root of the command line: help, version, start-up, and its documentation."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import Process, Run, refused
from documents import parse

_ROOT = Path(__file__).parents[2]


def test_help_is_there_for_every_command(run: Run) -> None:
    for words in ([], ["ask"], ["eval"], ["demo"], ["kb"], ["lm"], ["kb", "build"], ["kb", "search"], ["lm", "check"]):
        result = run(*words, "--help")
        assert result.exit_code == 0, words
        assert "Examples" in result.stdout or words in (["kb"], ["lm"])


def test_help_imports_no_library() -> None:
    heavy = (
        "import sys; from triplecheck.app.main import app; "
        "print(sorted({'numpy', 'pyarrow', 'dspy', 'torch', 'triplecheck.kg'} & {*sys.modules}))"
    )
    result = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True, cwd=_ROOT)
    assert result.stdout.strip() == "[]"


def test_help_is_quick(process: Process) -> None:
    def seconds() -> float:
        before = os.times()
        assert process("--help").returncode == 0
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert any(seconds() < 1 for _ in range(3))


@pytest.mark.parametrize("command", ["ask", "eval", "compile", "collect", "fit"])
def test_the_options_of_a_run_stand_in_panels(run: Run, command: str) -> None:
    shown = run(command, "--help").stdout
    for panel in ("Data", "Model", "Limits", "Output"):
        assert f"─ {panel} ─" in shown
    for flag in ("--kb", "--lm", "--role", "--option", "--budget-calls", "--json", "--quiet", "--verbose"):
        assert flag in shown


def test_programs_are_listed_with_their_options(run: Run) -> None:
    assert "kerag           Knowledge-enhanced RAG\n" in run("programs").stdout
    shown = run("programs", "kerag").stdout
    assert "preset=default|paper" in shown and "hops=" in shown and "limits.tokens=4000" in shown
    assert "anchorrag" not in shown
    listed = json.loads(run("programs", "--json").stdout)
    assert listed["kerag"]["options"]["limits.tokens"] == 4000
    assert run("programs", "-q").stdout.split() == list(listed)


def test_five_lines_say_what_to_type_first(run: Run) -> None:
    result = run()
    title, *commands = result.stdout.splitlines()
    assert result.exit_code == 0 and title.startswith("Triplecheck ") and len(commands) == 4
    assert max(map(len, commands)) <= 80
    for line in commands[:3]:
        command = re.split(r" {2,}", line.strip())[0]
        parse(shlex.split(command)[1:])


def test_version_is_printed(run: Run) -> None:
    assert run("--version").stdout.startswith("triplecheck ")


@pytest.mark.parametrize("words", [["fly"], ["kb", "fly"], ["--fly"]])
def test_an_unknown_command_is_the_users_mistake(run: Run, words: list[str]) -> None:
    refused(run(*words), "fly")


def test_a_closed_pipe_is_not_an_error(elsewhere: object) -> None:
    command = f"{sys.executable} -m triplecheck.app.main kb build --help | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=_ROOT, check=False)
    assert "Traceback" not in result.stderr


def test_the_documentation_matches_the_help_texts() -> None:
    from triplecheck.app.cli_docs import main

    assert main(["--check"]) == 0


def test_the_documentation_names_every_flag() -> None:
    from triplecheck.app.cli_docs import document

    text = document()
    for flag in ("--skip-bad", "--grounded-only", "--budget-calls", "--questions", "--verify", "--limit"):
        assert flag in text
