"""Configuration: file, environment and flags, flags come first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import Run, ok

from triplecheck.app.config import load_settings, parse_options
from triplecheck.app.opening import with_functions
from triplecheck.kg import KnowledgeBase, UserError


def write(text: str) -> None:
    Path("triplecheck.toml").write_text(text, "utf-8")


def test_the_defaults() -> None:
    settings = load_settings(lm=None, roles={})
    assert (settings.kb, settings.program, settings.lm, settings.roles) == (None, "kerag", None, {})
    assert settings.budget.calls is None


def test_flags_beat_the_environment_which_beats_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('lm = "file/model"\nprogram = "file"\nkb = "file"\n[budget]\ncalls = 1\ntokens = 2\nseconds = 3.5')
    monkeypatch.setenv("TRIPLECHECK_PROGRAM", "environment")
    monkeypatch.setenv("TRIPLECHECK_KB", "environment")
    monkeypatch.setenv("TRIPLECHECK_BUDGET__TOKENS", "20")
    settings = load_settings(kb="flag", budget={"calls": 100})
    assert settings.lm == "file/model"
    assert settings.program == "environment"
    assert settings.kb == "flag"
    assert (settings.budget.calls, settings.budget.tokens, settings.budget.seconds) == (100, 20, 3.5)


def test_roles_come_from_tables_and_from_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[roles]\nanswer = "a/b"\nknowledge.1 = "c/d"\n"knowledge.2" = "e/f"')
    assert load_settings().roles == {"answer": "a/b", "knowledge.1": "c/d", "knowledge.2": "e/f"}
    assert load_settings(roles={"answer": "x/y"}).roles["answer"] == "x/y"
    monkeypatch.setenv("TRIPLECHECK_ROLES", "prune=g/h, link=i/j")
    assert load_settings().roles == {"prune": "g/h", "link": "i/j"}


def test_a_model_given_as_a_flag_is_that_of_all_roles_but_those_given_with_it() -> None:
    write('lm = "a/b"\n[roles]\nanswer = "c/d"')
    assert load_settings(lm="extractive").roles == {}
    assert load_settings(lm="extractive", roles={"prune": "e/f"}).roles == {"prune": "e/f"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('porgram = "kerag"', ("triplecheck.toml", "porgram", "program")),
        ("[budget]\ncall = 3", ("triplecheck.toml", "budget.call", "calls")),
        ('lm = "', ("triplecheck.toml", "not TOML", "Unterminated")),
        ("lm = 3", ("triplecheck.toml", "lm", "string")),
        ('[budget]\ncalls = "many"', ("triplecheck.toml", "budget.calls", "many")),
        ("hops = 0", ("triplecheck.toml", "hops")),
        ('openapi = [{ file = "a.json", header = 1 }]', ("triplecheck.toml", "openapi.0.header", "headers")),
        ("[function_limits]\nsecond = 3", ("triplecheck.toml", "function_limits.second")),
        ("[function_limits]\nseconds = 0", ("seconds of function calls must be greater than 0",)),
        ("[roles]\nanswer = 3", ("triplecheck.toml", "roles.answer")),
    ],
)
def test_an_error_in_the_file_says_what_and_where(run: Run, text: str, said: tuple[str, ...]) -> None:
    write(text)
    with pytest.raises(UserError) as caught:
        load_settings()
    for part in said:
        assert part in str(caught.value)
    result = run("ask", "Who?", "--json")
    assert result.exit_code == 2
    assert not result.stdout
    assert "Traceback" not in result.stderr


def test_an_openapi_file_may_have_a_server_headers_operations_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    def operation(header: str) -> dict[str, Any]:
        key = {"name": header, "in": "header", "required": True, "schema": {"type": "string"}}
        city = {"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}
        reply = {"200": {"content": {"application/json": {"schema": {"type": "number"}}}}}
        return {"get": {"operationId": header.lower(), "parameters": [city, key], "responses": reply}}

    file = {"openapi": "3.1.0", "paths": {"/one": operation("One"), "/two": operation("Two")}}
    Path("api.json").write_text(json.dumps(file), "utf-8")
    write(
        'openapi = [{ file = "api.json", server = "http://127.0.0.1:1", headers = { One = "$KEY" }, only = ["one"] }]\n'
        "[function_limits]\nseconds = 3"
    )
    base = KnowledgeBase.from_triples([("Eastport", "mayor", "Ada Moe")])
    with pytest.raises(UserError, match="KEY is not set"):
        with_functions(load_settings(), base)
    monkeypatch.setenv("KEY", "secret")
    graph: Any = with_functions(load_settings(), base).graph
    assert ([one.label for one in graph.added], graph.limits.seconds) == (["one"], 3)
    write('openapi = ["api.json"]')
    with pytest.raises(UserError, match="no server"):
        with_functions(load_settings(), base)


def test_a_file_that_is_not_utf8_is_an_error() -> None:
    Path("triplecheck.toml").write_bytes(b"lm = '\xff'")
    with pytest.raises(UserError, match="not UTF-8"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("BUDGET__CALLS", "many"), ("BUDGET", "many"), ("HOPS", "x"), ("ROLES", "answer"), ("GROUNDED_ONLY", "maybe")],
)
def test_an_error_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"TRIPLECHECK_{name}", value)
    with pytest.raises(UserError, match="TRIPLECHECK_") as caught:
        load_settings()
    assert name.split("__")[0].lower() in str(caught.value).lower()


def test_a_flag_in_error_is_named_as_a_flag() -> None:
    write("hops = 3")
    with pytest.raises(UserError, match="--budget-calls"):
        load_settings(budget={"calls": -1})


def test_options_are_parsed_as_toml_if_possible() -> None:
    given = parse_options(["filtering=none", "multi_entity=false", "limits.values=50", "limits.triples=1_000"])
    assert given == {"filtering": "none", "multi_entity": False, "limits": {"values": 50, "triples": 1000}}
    with pytest.raises(UserError, match="limits"):
        parse_options(["limits=3", "limits.values=50"])


def test_the_configured_knowledge_base_and_model_are_used(run: Run, kb: Path, ignorant: str) -> None:
    write(f'kb = "{kb.as_posix()}"\nlm = "{ignorant}"\n')
    result = ok(run("ask", "What was the nationality of Bernhard Heiden's teacher?"))
    assert "model: ignorant" in result.stdout


def test_options_reach_the_program(kb: Path) -> None:
    from triplecheck.app.opening import open_program
    from triplecheck.kg import KnowledgeBase
    from triplecheck.programs import KERAG

    settings = load_settings(hops=1, grounded_only=True, options={"filtering": "none", "limits": {"values": 7}})
    program = open_program(settings, KnowledgeBase.open(kb))
    assert isinstance(program, KERAG)
    options = program.options
    assert (options.hops, options.filtering, options.limits.values, options.grounded_only) == (1, "none", 7, True)
