"""`triplecheck chat`: follow-up questions, commands, errors that do not end it; through a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_support import QUESTION, READS_THE_GRAPH, fields, ok
from model_stand_ins import scripted_model
from typer.testing import CliRunner, Result

from triplecheck.app.chat import COMMANDS
from triplecheck.app.main import app


def chat(kb: Path, *lines: str, words: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(app, ["chat", "--kb", str(kb), *words], input="".join(f"{line}\n" for line in lines))


def test_a_follow_up_question_is_rewritten_and_shown(kb: Path) -> None:
    result = ok(chat(kb, "Where was Bernhard Heiden born?", "", "And Paul Hindemith?", "what was his nationality?"))
    said = [line.strip() for line in result.stdout.splitlines()]
    assert [line for line in said if line.startswith("Answer")] == [
        "Answer  Frankfurt",
        "Answer  Hanau",
        "Answer  Germany",
    ]
    assert "Where was Paul Hindemith born?" in said
    assert "What was Paul Hindemith's nationality?" in said


def test_the_role_query_rewrites(kb: Path) -> None:
    reply = fields(reasoning="He is Heiden.", rewritten=QUESTION)
    with scripted_model([*READS_THE_GRAPH, reply, *READS_THE_GRAPH], "speaker") as engine:
        result = chat(kb, QUESTION, "and his teacher's?", words=("--lm", engine.name))
    assert result.exit_code == 0, result.output
    assert result.stdout.count("Answer  Germany") == 2
    assert f"  {QUESTION}" in result.stdout.splitlines()


def test_a_cascade_chats(kb: Path) -> None:
    result = ok(chat(kb, QUESTION, "/why", words=("--cascade", "extractive", "--lm", "extractive?ranker=none")))
    assert "program: cascade; model: extractive, extractive?ranker=none" in result.stdout
    assert "1. kerag with extractive" in result.stdout and "Answer  Germany" in result.stdout


def test_a_new_conversation_has_nothing_to_refer_to(kb: Path) -> None:
    result = chat(kb, "Where was Bernhard Heiden born?", "/new", "And Paul Hindemith?")
    assert "Where was Paul Hindemith born?" not in result.stdout


def test_what_led_to_the_last_answer_is_shown(kb: Path, tmp_path: Path) -> None:
    result = ok(chat(kb, QUESTION, "/why", "/graph proof.html"))
    assert "  linked    'Bernhard Heiden'" in result.stdout
    assert "Bernhard Heiden" in (tmp_path / "proof.html").read_text("utf-8")
    made = chat(kb, QUESTION, "/graph").stdout.splitlines()[-1]
    assert Path(made).is_file()


def test_program_and_knowledge_base_can_be_changed(kb: Path) -> None:
    lines = ("Where was Bernhard Heiden born?", "/program anchorrag", "And Paul Hindemith?", f"/kb {kb}", "/program")
    result = ok(chat(kb, *lines))
    assert "Where was Paul Hindemith born?" in result.stdout  # the conversation goes on with the other program
    assert f"{kb}, 5 triples; program: anchorrag" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("anchorrag, of: ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/kb nowhere", "nowhere: no such knowledge base"),
        ("/program none", "none"),
        ("/nothing", "no command '/nothing'; there are: /kb"),
        ("/why", "there is no answer yet"),
        ("/graph", "there is no answer yet"),
        ("why? " * 24_000, "119999 characters"),
    ],
)
def test_an_error_does_not_end_it(line: str, said: str, kb: Path) -> None:
    result = chat(kb, line, "Where was Bernhard Heiden born?", "/quit", "never asked")
    assert said in result.stderr
    assert "Answer  Frankfurt" in result.stdout
    assert "never asked" not in result.stdout
    assert result.exit_code == 1


@pytest.mark.parametrize("word", ["/quit", "quit", "Exit"])
def test_a_word_leaves(kb: Path, word: str) -> None:
    result = ok(chat(kb, word, "never asked"))
    assert "never asked" not in result.stdout


def test_help_lists_every_command(kb: Path) -> None:
    result = ok(chat(kb, "/help", "/quit"))
    assert all(f"  {usage}" in result.stdout for usage, _ in COMMANDS.values())


def test_quiet_output_is_the_answers(kb: Path) -> None:
    assert chat(kb, "Where was Bernhard Heiden born?", words=("-q",)).stdout.startswith("Answer  Frankfurt\n")


def read(terminal: int, until: str, seconds: float = 120) -> str:
    said, end = "", time.monotonic() + seconds
    ready = select.poll()
    ready.register(terminal, select.POLLIN)
    while until not in said and time.monotonic() < end:
        if ready.poll(1000):
            try:
                said += os.read(terminal, 65_536).decode("utf-8", "replace")
            except OSError:
                break
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_on_a_terminal_lines_are_kept_in_a_history(kb: Path, cache: Path) -> None:
    terminal, inside = pty.openpty()
    started: Any = subprocess.Popen(
        [sys.executable, "-m", "triplecheck.app.main", "chat", "--kb", str(kb)],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(inside)
    read(terminal, "> ")
    os.write(terminal, b"Where was Bernhard Heiden born?\n")
    assert "Answer  Frankfurt" in read(terminal, "\n> ")
    os.write(terminal, b"\x04")
    read(terminal, "\n", 5)
    assert started.wait(60) == 0
    os.close(terminal)
    assert "Bernhard Heiden" in (cache / "chat_history").read_text("utf-8")
    assert (cache / "chat_history").stat().st_mode & 0o077 == 0
