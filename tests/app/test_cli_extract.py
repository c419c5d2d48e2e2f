"""`triplecheck kb extract`: a knowledge base from text, with sentences as provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_support import Run, fields, ok, refused
from model_stand_ins import scripted_model

from triplecheck.kg import KnowledgeBase

DOCUMENTS = [
    {"id": "1", "title": "Paul Hindemith", "text": "Paul Hindemith was born in Hanau. He died in Frankfurt."},
    {"id": "2", "title": "Arnold Cooke", "text": "Arnold Cooke was born in Gomersal. Cooke taught at Trinity College."},
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS), "utf-8")
    return path


def rows(path: str | Path) -> list[tuple[str, str, str, list[Any]]]:
    frame = KnowledgeBase.open(path).to_pandas()
    return sorted(frame[["head", "relation", "tail", "properties"]].itertuples(index=False, name=None))


def test_each_triple_has_its_sentence_and_document(run: Run, docs: Path) -> None:
    result = ok(run("kb", "extract", docs, "kb", "--no-vectors", "--json"))
    about = json.loads(result.stdout)
    assert (about["documents"], about["sentences"], about["problems"]) == (2, 4, 0)
    assert about["triples"] == len(rows("kb")) == 4
    assert rows("kb")[0] == (
        "Arnold Cooke",
        "taught at",
        "Trinity College",  # "Cooke" is the title's last word
        [{"document": "2", "sentence": "Cooke taught at Trinity College."}],
    )
    kb = KnowledgeBase.open("kb")
    assert kb.documents is not None
    assert kb.documents.of_node("Paul Hindemith")[0].id == "1"
    assert not list(Path().glob(".kb.extract"))


def test_names_that_the_base_knows_become_its_entities(run: Run, docs: Path, kb: Path) -> None:
    ok(run("kb", "extract", docs, "new", "--base", kb, "--no-vectors"))
    assert ("Paul Hindemith", "was born in", "Hanau") in [row[:3] for row in rows("new")]
    ok(run("kb", "merge", "both", kb, "new"))
    merged = KnowledgeBase.open("both")
    node = merged.graph.find("Paul Hindemith")
    assert node is not None
    relations = {merged.graph.relation(one.relation).label for one in merged.graph.relations_of(node)}
    assert {"nationality", "was born in"} <= relations


@pytest.fixture
def writer() -> Iterator[Any]:
    first = fields(triples="1 | Paul Hindemith | born in | Hanau\n2 | Paul Hindemith | died in | Frankfurt\nnonsense")
    second = fields(triples="1 | Arnold Cooke | born in | Gomersal")
    with scripted_model([first, second], "writer") as engine:
        yield engine


def test_any_model_writes_them(run: Run, docs: Path, writer: Any) -> None:
    result = ok(run("kb", "extract", docs, "kb", "--lm", writer.name, "--no-vectors"))
    assert [row[:3] for row in rows("kb")] == [
        ("Arnold Cooke", "born in", "Gomersal"),
        ("Paul Hindemith", "born in", "Hanau"),
        ("Paul Hindemith", "died in", "Frankfurt"),
    ]
    assert "not read: no triple that the text states: nonsense" in result.stderr


def test_it_continues_where_the_budget_ended(run: Run, docs: Path, writer: Any) -> None:
    words = ("kb", "extract", docs, "kb", "--lm", writer.name, "--no-vectors")
    result = run(*words, "--budget-calls", 1)
    assert result.exit_code == 4, result.output
    assert not Path("kb").exists()
    result = ok(run(*words, "--budget-calls", 1))
    assert len(rows("kb")) == 3
    assert len(writer.prompts) == 2


def test_statements_that_the_base_contradicts_are_left_out(run: Run, docs: Path, tmp_path: Path) -> None:
    places = [(f"Person {at}", "was born in", f"Town {at}") for at in range(30)]
    KnowledgeBase.from_triples(
        [*places, ("Paul Hindemith", "was born in", "Berlin"), ("Hanau", "is in", "Hesse")], "base", encoder=None
    )
    result = ok(run("kb", "extract", docs, "kb", "--base", "base", "--filter", "--no-vectors", "--json"))
    assert json.loads(result.stdout)["filtered"] == {"contradicted": 1}
    assert ("Paul Hindemith", "was born in", "Hanau") not in [row[:3] for row in rows("kb")]


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        ("", [], "has no documents"),
        ('{"text": "x"}\n{"id": "1", "text": "y"}\n', [], "two documents have the id '1'"),
        ('{"text": "Nothing here."}\n', [], "no statement was extracted"),
        ('{"title": "x"}\n', [], "no field 'text'"),
        ('{"text": "x"}\n', ["--filter"], "name one with --base"),
    ],
)
def test_what_cannot_be_done_is_said(content: str, words: list[str], said: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(content, "utf-8")
    refused(run("kb", "extract", "docs.jsonl", "kb", *words), said)
    assert not Path("kb").exists()
