"""`triplecheck ask`: answers with proof, one JSON object for scripts, and errors."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cli_support import QUESTION, Run, ok, refused

FIELDS = (
    "question program answer answers evidence abstained reason grounded confidence verdict doubts features missing "
    "nearest query looked_through steps usage"
)
TRIPLE = {"head", "relation", "tail", "head_label", "relation_label", "tail_label"}


def test_json_is_one_object_with_every_field(run: Run, kb: Path, reader: str) -> None:
    result = ok(run("ask", QUESTION, "--kb", kb, "--lm", reader, "--json"))
    assert result.stdout.count("\n") == 1
    found = json.loads(result.stdout)
    assert list(found) == FIELDS.split()
    assert found["question"] == QUESTION
    assert found["program"] == "kerag"
    assert found["answer"] == "Germany"
    assert found["answers"] == [{"id": "Germany", "label": "Germany"}]
    assert [set(row) for row in found["evidence"]] == [TRIPLE, TRIPLE]
    assert found["abstained"] is False
    assert found["grounded"] is True
    assert found["steps"][-1] == {"kind": "answered", "answer": "Germany", "grounded": True, "verdict": "proved"}
    assert found["verdict"] == "proved" and found["confidence"] > 0.5
    assert found["usage"]["calls"] == 4
    assert set(found["usage"]["by_role"]) == {"extract", "prune", "answer"}
    assert {"prompt_tokens", "completion_tokens", "seconds"} <= found["usage"].keys()


def test_people_see_steps_answer_proof_and_the_model(run: Run, kb: Path, reader: str) -> None:
    result = ok(run("ask", QUESTION, "--kb", kb, "--lm", reader, "-v"))
    lines = result.stdout.splitlines()
    answer = next(i for i, line in enumerate(lines) if line.startswith("Answer"))
    assert "Germany" in lines[answer]
    assert any(line.split()[:1] == ["linked"] for line in lines[:answer])
    assert "  Bernhard Heiden —student of→ Paul Hindemith" in lines[answer:]
    assert "  Paul Hindemith —nationality→ Germany" in lines[answer:]
    assert any("model: reader" in line and "4 calls" in line for line in lines[answer:])
    assert not result.stderr


@pytest.mark.parametrize("words", [("-q", "ask", QUESTION), ("ask", QUESTION, "--quiet")])
def test_quiet_shows_the_answer_and_its_proof_alone(run: Run, kb: Path, reader: str, words: tuple[str, ...]) -> None:
    result = ok(run(*words, "--kb", kb, "--lm", reader))
    lines = result.stdout.splitlines()
    assert lines.pop(1).startswith("Verdict proved, confidence 0.")
    assert lines == [
        "Answer  Germany",
        "Proof",
        "  Bernhard Heiden —student of→ Paul Hindemith",
        "  Paul Hindemith —nationality→ Germany",
    ]
    assert not result.stderr


def test_verbose_shows_what_models_wrote_and_the_cost_of_each_role(run: Run, kb: Path, reader: str) -> None:
    lines = run("ask", "-vv", QUESTION, "--kb", kb, "--lm", reader).stdout.splitlines()
    for line in ("    signature: AnswerFromFacts", "      reasoning: as the fact says"):
        assert line in lines
    assert any(line.startswith("  prune: 2 calls") for line in lines)


def test_an_abstention_is_an_answer(run: Run, kb: Path, ignorant: str) -> None:
    result = ok(run("ask", QUESTION, "--kb", kb, "--lm", ignorant))
    assert "Not in the graph, as far as I can tell" in result.stdout


UNRELATED = "Who is the mayor of Bernhard Heiden?"


def test_an_answer_that_is_merely_in_the_graph_is_withheld_by_default(run: Run, kb: Path) -> None:
    result = ok(run("ask", UNRELATED, "--kb", kb, "--lm", "extractive", "--option", "filtering=none"))
    assert "checked: yes" not in result.stdout and "answer: yes" not in result.stdout
    assert "Not in the graph, as far as I can tell" in result.stdout
    assert "The graph says little of mayor." in result.stdout
    assert "Nearest facts" in result.stdout


def test_a_spent_budget_is_an_error_with_the_cost_so_far(run: Run, kb: Path, reader: str) -> None:
    result = run("ask", QUESTION, "--kb", kb, "--lm", reader, "--budget-calls", 2, "--json")
    assert result.exit_code == 4
    assert not result.stdout
    assert "budget of 2 calls" in result.stderr
    assert "2 calls" in result.stderr.splitlines()[-1]


def test_a_question_about_unknown_entities_is_abstained_from(run: Run, kb: Path) -> None:
    found = json.loads(run("ask", "Who won the cup final?", "--kb", kb, "--json").stdout)
    assert found["abstained"] is True
    assert found["reason"]


def test_the_extractive_engine_is_named(run: Run, kb: Path) -> None:
    result = ok(run("ask", QUESTION, "--kb", kb))
    assert "model: extractive" in result.stdout
    assert "Germany" in result.stdout


def test_a_cascade_asks_the_model_only_where_nothing_is_proved(
    run: Run, kb: Path, second_reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unproved = "Which country is Bernhard Heiden's teacher from?"
    words = ["ask", unproved, "--kb", kb, "--lm", second_reader, "--json"]
    found = json.loads(run(*words, "--cascade", "extractive").stdout)
    asked = [step["models"] for step in found["steps"] if step["kind"] == "asked"]
    assert (found["program"], found["answer"]) == ("cascade", "Germany")
    assert asked == [{"default": "extractive", "link": second_reader}, {"default": second_reader}]
    assert set(found["usage"]["by_model"]) == {"extractive", second_reader}
    monkeypatch.setenv("TRIPLECHECK_CASCADE", "extractive, extractive?ranker=none")
    refused(run("ask", QUESTION, "--kb", kb, "--lm", "extractive?ranker=none", "--json"), "asked twice")


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ([], "cascade"),
        (["--cascade", "none"], "kerag"),
        (["--option", "preset=paper"], "kerag"),
        (["--role", "prune=extractive"], "kerag"),
        (["--program", "tog"], "tog"),
    ],
)
def test_rules_are_asked_before_a_model_unless_someone_says_how_it_is_asked(
    run: Run, kb: Path, reader: str, monkeypatch: pytest.MonkeyPatch, words: list[str], program: str
) -> None:
    monkeypatch.delenv("TRIPLECHECK_CASCADE")
    found = json.loads(run("ask", QUESTION, "--kb", kb, "--lm", reader, *words, "--json").stdout)
    assert found["program"] == program
    assert (reader in found["usage"]["by_model"]) == (program != "cascade"), "the rules prove the answer"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([""], "the question is empty"),
        (["  \n\t "], "the question is empty"),
        (["\x00\x1b"], "the question is empty"),
        (["why? " * 24_000], "119999 characters"),
        (["Who?", "--kb", "nowhere"], "nowhere"),
        (["Who?", "--program", "crystal-ball"], "crystal-ball"),
        (["Who?", "--role", "answer"], "answer"),
        (["Who?", "--role", "answr=extractive"], "answr"),
        (["Who?", "--role", "=extractive"], "=extractive"),
        (["Who?", "--role", "answer=a/b", "--role", "answer=c/d"], "given twice"),
        (["Who?", "--hops", "0"], "--hops"),
        (["Who?", "--hops", "two"], "--hops"),
        (["Who?", "--budget-calls", "-1"], "--budget-calls"),
        (["Who?", "--option", "filtering=some"], "filtering"),
        (["Who?", "--option", "colour=red"], "colour"),
        (["Who?", "--option", "limits.value=3"], "limits.value"),
        (["Who?", "--option", "hops"], "hops"),
        (["Who?", "--lm", " "], "model"),
        (["Who?", "--cascade", "extractive"], "asked twice"),
        (["Who?", "--cascade", "kerag", "--lm", "openai/x"], "neither a model"),
        (["Who?", "--cascade", ".", "--lm", "openai/x"], "name the directory of a bundle"),
        (["Who?", "--program", "cascade"], "--cascade"),
        (["Who?", "--no-such-flag"], "--no-such-flag"),
        ([], "QUESTION"),
    ],
)
def test_a_mistake_is_one_clear_message(run: Run, kb: Path, words: list[str], said: str) -> None:
    result = refused(run("ask", *words, *([] if "--kb" in words else ["--kb", kb]), "--json"), said)
    assert not result.stdout
    assert "Traceback" not in result.stderr and len(result.stderr) < 1_500


def test_a_question_that_is_not_utf8_is_answered(kb: Path) -> None:
    command = [sys.executable, "-m", "triplecheck.app.main", "ask", b"who\xff\xfe?", "--kb", str(kb), "--json"]
    result = subprocess.run(command, capture_output=True, cwd=Path(__file__).parents[2], timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["abstained"] is True


def test_an_unreachable_model_has_an_exit_code_of_its_own(run: Run, kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecheck.lms.resolve.RETRIES", 0)  # the pauses between them take seconds
    with socket.socket() as taken:  # bound, never listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = run("ask", QUESTION, "--kb", kb, "--lm", "openai/x", OPENAI_API_BASE=base, OPENAI_API_KEY="none")
    assert result.exit_code == 3, result.stderr
    assert base in result.stderr
    assert "Traceback" not in result.stderr


def test_no_color_means_none(run: Run, kb: Path) -> None:
    coloured = run("ask", QUESTION, "--kb", kb, FORCE_COLOR="1", TERM="xterm-256color")
    plain = run("ask", QUESTION, "--kb", kb, FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1")
    assert "\x1b[32m" in coloured.stdout
    assert "\x1b[32m" not in plain.stdout
    assert "\x1b[" not in run("ask", QUESTION, "--kb", kb).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_quietly(kb: Path) -> None:
    with socket.socket() as silent:  # accepts the connection, never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        base = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        running = subprocess.Popen(
            [sys.executable, "-m", "triplecheck.app.main", "ask", QUESTION, "--kb", str(kb), "--lm", "openai/x"],
            env={**os.environ, "OPENAI_API_BASE": base, "OPENAI_API_KEY": "none"},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background job, as these tests may be, ignores interrupts, and its children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        silent.settimeout(120)
        connection, _ = silent.accept()
        for _ in range(24):  # the first may come where a library that is being imported swallows it
            time.sleep(0.2)
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(timeout=5)
                break
        running.kill()
        _, stderr = running.communicate()
        connection.close()
    assert running.returncode == 130
    assert not stderr.strip()


def test_a_question_ends_at_its_time_limit(run: Run, kb: Path) -> None:
    from model_stand_ins import scripted_model

    go_on = threading.Event()
    replied: list[bool] = []
    with scripted_model([lambda _: replied.append(go_on.wait(60)) or "late"], "slow"):
        result = run("ask", QUESTION, "--kb", kb, "--lm", "slow", "--timeout", "0.2")
        assert replied == []
        go_on.set()
    assert result.exit_code == 1
    assert "no answer within 0.2 s" in result.stderr
