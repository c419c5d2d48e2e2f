"""`triplecheck kb add`, `remove`, `update`, `export` and `merge`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli_support import Run, ok

from triplecheck.kg import KnowledgeBase


@pytest.fixture
def base(kb: Path, elsewhere: Path) -> str:
    """A copy of the small knowledge base, to be changed."""
    shutil.copytree(kb, elsewhere / "base")
    return "base"


def shown(run: Run, *words: str) -> dict[str, object]:
    result = ok(run("kb", *words, "--json"))
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_add_remove_and_update_say_what_they_did(run: Run, base: str, elsewhere: Path) -> None:
    (elsewhere / "new.tsv").write_text("Hanau\tlies in\tGermany\nPaul Hindemith\tborn in\tHanau\n", "utf-8")
    (elsewhere / "texts.jsonl").write_text('{"id": "d2", "node": "Hanau", "text": "A town."}\n', "utf-8")
    added = shown(run, "add", base, "--triples", "new.tsv", "--documents", "texts.jsonl")
    assert (added["added"], added["already_there"], added["documents_added"]) == (1, 1, 1)
    assert added["counts"]["triples"] == 6  # type: ignore[index]
    (elsewhere / "moved.tsv").write_text("Hanau\tlies in\tHesse\n", "utf-8")
    updated = shown(run, "update", base, "--triples", "moved.tsv")
    assert (updated["added"], updated["removed"]) == (1, 1)
    (elsewhere / "old.txt").write_text("d2\nd9\n", "utf-8")
    removed = shown(run, "remove", base, "--entities", "hanau", "--documents", "old.txt", "--triples", "moved.tsv")
    assert (removed["removed"], removed["documents_removed"], removed["documents_not_found"]) == (2, 1, 1)
    assert "changed since built" in run("kb", "info", base).stdout
    assert KnowledgeBase.open(base).manifest.sources[-1] == "texts.jsonl"


def test_the_table_counts(run: Run, base: str, elsewhere: Path) -> None:
    (elsewhere / "new.tsv").write_text("Hanau\tlies in\tGermany\n", "utf-8")
    table = run("kb", "add", base, "--triples", "new.tsv").stdout
    for words in ("triples added 1", "triples now 6", "time"):
        assert words in " ".join(table.split()), table


def test_entities_are_named_by_a_file(run: Run, base: str, elsewhere: Path) -> None:
    (elsewhere / "ids.txt").write_text("Arnold Cooke\nnobody\n", "utf-8")
    removed = shown(run, "remove", base, "--entities", "ids.txt")
    assert (removed["entities_removed"], removed["entities_not_found"]) == (1, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "base"], "nothing to add: name files"),
        (["update", "base"], "nothing to update"),
        (["remove", "base"], "nothing to remove: name files"),
        (["remove", "base", "--entities", "nobody"], "nothing to remove was found"),
        (["add", "base", "--triples", "missing.tsv"], "missing.tsv: no such file"),
        (["add", "nowhere", "--triples", "missing.tsv"], "nowhere: no such knowledge base"),
        (["add", "bundled", "--documents", "d.jsonl"], "bundled knowledge base is not changed"),
        (["export", "base", "graph.xlsx"], "no writer for '.xlsx'"),
        (["merge", "out", "nowhere"], "nowhere: no such knowledge base"),
    ],
)
def test_what_is_wrong_is_said(run: Run, base: str, elsewhere: Path, words: list[str], said: str) -> None:
    (elsewhere / "d.jsonl").write_text('{"text": "x"}\n', "utf-8")
    result = run("kb", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_an_export_can_be_built_and_merged(run: Run, base: str) -> None:
    written = shown(run, "export", base, "music.nt", "--documents", "texts.jsonl", "--entities", "e.tsv")
    assert {name: about["rows"] for name, about in written.items() if name != "seconds"} == {  # type: ignore[index]
        "statements": 5,
        "entities": 6,
        "documents": 1,
    }
    assert (
        run("kb", "build", "again", "--triples", "music.nt", "--documents", "texts.jsonl", "--no-vectors").exit_code
        == 0
    )
    merged = shown(run, "merge", "all", base, "again")
    assert merged["counts"]["triples"] == 5  # type: ignore[index]
    assert merged["counts"]["documents"] == 1  # type: ignore[index]


def test_a_stale_part_is_shown(run: Run, base: str, elsewhere: Path) -> None:
    with KnowledgeBase.open(base).generation.replaced_part("other") as folder:
        (folder / "weights.json").write_text("{}")
    (elsewhere / "new.tsv").write_text("Hanau\tlies in\tGermany\n", "utf-8")
    assert "stale: other" in run("kb", "add", base, "--triples", "new.tsv").stdout
    assert "other: the graph has changed since it was trained" in run("kb", "info", base).stdout
