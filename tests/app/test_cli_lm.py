"""`triplecheck lm`: the models that there are, and one screen on one model."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from cli_support import Run, fields, ok

GOOD = [fields(capital="Paris"), fields(keep="1", relevant="yes"), fields(cities="Berlin\nPrague")]


def test_models_are_listed_with_what_they_need(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    listed = json.loads(run("lm", "list", "--json").stdout)
    assert listed["extractive"]["ready"] and listed["anthropic/MODEL"]["ready"]
    assert listed["openai/MODEL"]["missing"] == "OPENAI_API_KEY"
    shown = run("lm", "list").stdout
    assert "needs OPENAI_API_KEY" in shown and "a rule-based baseline, not a language model" in shown


def test_a_model_that_keeps_to_the_format(run: Run) -> None:
    from model_stand_ins import scripted_model

    with scripted_model(GOOD, "good"):
        result = run("lm", "check", "good", "--quick")
    assert result.exit_code == 0, result.output
    assert "3 of 3" in result.stdout
    for said in ("reachable", "cost per call", "tokens per call", "latency", "follows the format"):
        assert said in result.stdout
    assert len(result.stdout.splitlines()) <= 24


def test_a_model_that_does_not_is_shown_with_its_reply(run: Run) -> None:
    from model_stand_ins import scripted_model

    with scripted_model([GOOD[0], "I'd rather\x1b[2J not [say].", GOOD[2]], "bad"):
        result = run("lm", "check", "bad", "--quick")
    assert result.exit_code == 0
    assert "2 of 3" in result.stdout
    assert "[say]" in result.stdout
    assert "\x1b" not in result.stdout


def test_scripts_get_one_object(run: Run) -> None:
    from model_stand_ins import scripted_model

    with scripted_model(GOOD, "good"):
        report = json.loads(run("lm", "check", "good", "--quick", "--json").stdout)
    assert report["reachable"] is True
    assert report["kept_format"] == 3


def test_every_step_is_checked_and_scored(run: Run) -> None:
    result = ok(run("lm", "check", "extractive", "--json"))
    steps = {step["step"]: step for step in json.loads(result.stdout)["steps"]}
    assert list(steps) == ["NameTopics", "SelectPaths", "AnswerFromFacts", "WriteQuery"]
    for step in steps.values():
        assert step["read"] == step["calls"] >= 2 and not step["fails"]
        assert step["prompt_tokens"] > 100
        assert step["right"] >= 1 and 0.5 <= step["score"] <= 1
    parallel = json.loads(run("lm", "check", "extractive", "--workers", "3", "--json").stdout)["steps"]
    kept = ("step", "calls", "read", "right", "score", "prompt_tokens")
    assert [[step[name] for name in kept] for step in parallel] == [[s[name] for name in kept] for s in steps.values()]


def test_questions_without_right_replies_are_left_out_and_said(run: Run, tmp_path: Path) -> None:
    row = {"id": "1", "question": "Who directed Alien?", "kind": "odd"}
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({**row, "answers": ["http://triplecheck.example/entity/Bonn"]}) + "\n")
    left_out = "1 of 1 questions are left out: no right reply can be computed (odd 1 of 1)"
    for command in ("check", "bracket"):
        assert left_out in ok(run("lm", command, "extractive", "--kb", "bundled", "--questions", file)).stdout
    assert json.loads(run("lm", "check", "extractive", "--kb", "bundled", "--questions", file, "--json").stdout)[
        "left_out"
    ] == ["1"]


def test_steps_without_right_replies_are_named(run: Run) -> None:
    result = run("lm", "check", "extractive", "--program", "io")
    assert result.exit_code == 2 and "some steps of 'io' cannot be computed: AnswerDirectly" in result.output


@pytest.mark.parametrize(("option", "shown"), [((), True), (("--option", "demos=none"), False)])
def test_the_steps_show_worked_examples_unless_an_option_says_none(
    option: tuple[str, ...], shown: bool, run: Run
) -> None:
    from model_stand_ins import STAND_IN, stand_in_server

    with stand_in_server(lambda _: "I would rather talk.") as server, server.environment():
        assert run("lm", "check", STAND_IN, *option).exit_code == 1
    first = [one for one in server.asked if "\nTopics: <" in one.system]
    assert first and {len(one.messages) > 2 for one in first} == {shown}


def test_the_step_that_a_model_cannot_do_is_named_with_its_reply(run: Run) -> None:
    from dspy.lm15 import Request
    from model_stand_ins import scripted_model

    from triplecheck.lms.engines import messages_of

    def reply(request: Request) -> str:
        asked = messages_of(request)[-1]["content"]
        if "`[[ ## topics ## ]]`" in asked:
            return fields(reasoning="It names them.", topics="Nobody", domain="none")
        return "I would rather\x1b[2J talk."

    with scripted_model([*GOOD, *[reply] * 30], "mixed"):
        result = run("lm", "check", "mixed")
    assert result.exit_code == 1
    assert "fails at NameTopics" in result.stdout  # read, but wrong
    assert "no reply to SelectPaths can be read" in result.stderr
    assert "I would rather" in result.stderr and "\x1b" not in result.output


def test_a_model_out_of_reach(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        monkeypatch.setenv("OPENAI_API_BASE", base)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setattr("triplecheck.lms.resolve.RETRIES", 0)
        result = run("lm", "check", "openai/x")
    assert result.exit_code == 3
    assert "no" in result.stdout
    assert base in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("model", ["gpt", "local/nowhere", " "])
def test_a_name_that_is_no_model(run: Run, model: str) -> None:
    result = run("lm", "check", model)
    assert result.exit_code in (2, 3)
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.output


def test_the_bracket_shows_what_each_step_is_worth(run: Run) -> None:
    few = ("--limit", 4, "--hops", 1, "--option", "assist=-plans", "--out", "bracket")
    shown = ok(run("lm", "bracket", "extractive", *few))
    assert "worst" in shown.stdout and "summarize" in shown.stdout
    steps = json.loads(run("lm", "bracket", "extractive", *few, "--json").stdout)["steps"]
    assert all(step["worst"] <= step["gold"] for step in steps)
    assert run("lm", "bracket", "extractive", "--program", "bm25", "--limit", 1).exit_code == 2
