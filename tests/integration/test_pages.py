"""Every block of code of the documentation runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pyoxigraph
import pytest
from bolt_server import PASSWORD, USER, bolt_server, writing
from documents import DOCS, RUN, Reader, blocks_of
from model_stand_ins import stand_in_server
from serving import service_of, serving
from sparql_endpoint import serve
from users_model import users_reply

from triplecheck.app.config import load_settings
from triplecheck.kg import KnowledgeBase, knowledge_base
from triplecheck.kg.bundled_files import turtle_files

ROOT = DOCS.parent
Stage = Callable[[KnowledgeBase], AbstractContextManager[Reader]]


@contextlib.contextmanager
def alone(_: KnowledgeBase) -> Iterator[Reader]:
    """Nothing but the examples."""
    yield Reader(parsed=MINUTES)


@contextlib.contextmanager
def with_model(_: KnowledgeBase) -> Iterator[Reader]:
    """A stand-in for the reader's language model behind a real HTTP server."""
    with stand_in_server(lambda asked: users_reply(asked.messages)) as running, running.environment():
        yield Reader({"export OPENAI_API_KEY=...": "export OPENAI_API_KEY=none"}, parsed=MINUTES)
        assert running.calls > 0


@contextlib.contextmanager
def with_few_questions(_: KnowledgeBase) -> Iterator[Reader]:
    """Few questions to train on and to measure on, with other figures; traces of one step alone are not collected."""
    few = {"questions.jsonl --limit 1200": "questions.jsonl --limit 120", "--limit 400 --seed 2": "--limit 12 --seed 2"}
    alone = "collect kerag --questions questions.jsonl --out gold"
    yield Reader(few, parsed=(*MINUTES, alone), figures=False)


@contextlib.contextmanager
def with_endpoint(_: KnowledgeBase) -> Iterator[Reader]:
    """A SPARQL server with the bundled graph, and a small database."""
    store = pyoxigraph.Store()
    for path in turtle_files():
        store.bulk_load(path=str(path), format=pyoxigraph.RdfFormat.TURTLE)
    with sqlite3.connect("shop.db") as connection:
        connection.execute("CREATE TABLE orders (customer VARCHAR, product VARCHAR)")
        connection.execute("INSERT INTO orders VALUES ('Ada', 'Tea'), ('Ben', 'Coffee'), ('Cleo', 'Tea')")
    with serve(store) as endpoint:
        yield Reader({"http://localhost:7878/query": endpoint.address + "/sparql"})


@contextlib.contextmanager
def with_property_graph(_: KnowledgeBase) -> Iterator[Reader]:
    """A Bolt server with one film."""
    pytest.importorskip("ladybug", reason="needs the extra `cypher`")
    film = (
        "CREATE (f:Film {title: 'The Trial', released: 1962}), "
        "(:Person {name: 'Orson Welles', born: 1915})-[:DIRECTED]->(f), "
        "(:Person {name: 'Anthony Perkins', born: 1932})-[:ACTED_IN {role: 'Josef K.'}]->(f)"
    )
    place = Path("bolt")
    place.mkdir()
    with bolt_server(place.absolute()) as url:
        with writing(f"{url}/cinema") as write:
            write(film)
        yield Reader(
            {
                "bolt://localhost:7687": url,
                "export NEO4J_USER=neo4j": f"export NEO4J_USER={USER}",
                "export NEO4J_KEY=...": f"export NEO4J_KEY={PASSWORD}",
            }
        )


@contextlib.contextmanager
def with_server(bundled: KnowledgeBase) -> Iterator[Reader]:
    """`triplecheck serve`."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with serving(service_of(str(bundled.path))) as running:
        yield Reader({"http://127.0.0.1:8765": running.url}, parsed=("serve",))


README = "../README.md"
PAGES: dict[str, Stage] = {
    README: with_model,
    "asking.md": alone,
    "assists.md": alone,
    "endpoints.md": with_endpoint,
    "faq.md": alone,
    "functions.md": alone,
    "index.md": alone,
    "install.md": alone,
    "language.md": alone,
    "models.md": with_model,
    "property-graphs.md": with_property_graph,
    "queries.md": alone,
    "scale.md": alone,
    "serve.md": with_server,
    "text.md": alone,
    "tutorials/compile.md": with_model,
    "tutorials/distill.md": with_few_questions,
    "tutorials/evaluate.md": alone,
    "tutorials/first-graph.md": alone,
    "tutorials/program.md": alone,
    "tutorials/tables.md": alone,
    "your-graph.md": alone,
}
ELSEWHERE = {
    "dspy.md": "test_dspy_document.py runs each optimizer by itself",
    "papers.md": "test_cli_skb.py runs its commands on files of the same form",
}
MINUTES = (
    "distill gold --student lora",
    "distill --student reader",
    "serve",
    "chat --",
    # Of the README, whose files of questions are the reader's; the tutorials run these commands.
    "compile kerag --kb kbs/company",
    "collect kerag --kb kbs/company",
    "distill traces --student reader --out students --name mine",
    "eval kerag --kb kbs/company --questions held_out.jsonl",
    "runs compare runs/compiled runs/mine",
    "kb extract articles.jsonl kbs/articles --lm",
)
"""Commands that take minutes, do not end, or need a language model."""


def test_every_page_with_code_is_tested() -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "reports" not in path.parts}
    with_code = {page for page in pages - {"cli.md"} if any(block.language in RUN for block in blocks_of(page))}
    assert with_code | {README} == {*PAGES, *ELSEWHERE}


@pytest.fixture
def here(tmp_path: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with the examples; the environment as it was afterwards."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIPLECHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(knowledge_base, "open_bundled", lambda *_, **__: bundled)
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page: str, here: None, bundled: KnowledgeBase) -> None:
    with PAGES[page](bundled) as reader:
        for block in blocks_of(page):
            reader.do(block)


def test_the_settings_of_the_container_are_read(here: None) -> None:
    Path("triplecheck.toml").write_text((ROOT / "deploy" / "triplecheck.toml").read_text("utf-8"), "utf-8")
    assert "alice" in load_settings().serve.keys
