"""The blocks of docs/endpoints.md run against a server."""

from __future__ import annotations

import re
import shlex
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from sparql_endpoint import serve
from typer.testing import CliRunner

from triplecheck.app.main import app
from triplecheck.kg.endpoints import EndpointOptions
from triplecheck.kg.knowledge_base import turtle_files

PAGE = (Path(__file__).parents[2] / "docs" / "endpoints.md").read_text("utf-8")
URL = "http://localhost:7878/query"
COMMANDS = [
    line.removeprefix("$ triplecheck ")
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = pyoxigraph.Store()
    for path in turtle_files():
        store.bulk_load(path=str(path), format=pyoxigraph.RdfFormat.TURTLE)
    with serve(store) as endpoint:
        yield endpoint.address + "/sparql"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIPLECHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_run(url: str, place: Path) -> None:
    with sqlite3.connect(place / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (customer VARCHAR, product VARCHAR)")
        connection.execute("INSERT INTO orders VALUES ('Ada', 'Tea'), ('Ben', 'Coffee')")
    said = {}
    for command in COMMANDS:
        result = CliRunner().invoke(app, shlex.split(command.replace(URL, url)))
        assert result.exit_code == 0, f"{command}\n{result.output}"
        said[command] = result.stdout
    assert len(said) == len(COMMANDS) == 8
    hindemith = next(out for command, out in said.items() if command.endswith('"Paul Hindemit"'))
    assert "Paul Hindemith" in hindemith
    assert "Answer  German" in next(out for command, out in said.items() if command.startswith("ask"))
    assert "Ada" in said[COMMANDS[-1]]


def test_the_python_runs(url: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code.replace(URL, url), "docs/endpoints.md", "exec"), {})
    assert capsys.readouterr().out.strip() == "German"


def test_the_settings_are_those_of_an_endpoint() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    options = tomllib.loads(text)["endpoints"]["films"]
    assert EndpointOptions(**options).name == URL
