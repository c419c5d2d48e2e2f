"""The language: a command's value wins over the file, the file over the knowledge base, and that over English."""

from __future__ import annotations

import json
from pathlib import Path

import dspy
import pytest
from cli_support import QUESTION, Run, ok

from triplecheck.app.config import load_settings
from triplecheck.app.opening import open_knowledge_base
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import session
from triplecheck.lms.resolve import language_model
from triplecheck.programs import Sources


def language_of(run: Run, kb: Path | str) -> str:
    return str(json.loads(run("kb", "info", str(kb), "--json").stdout)["language"])


@pytest.fixture
def german(run: Run, elsewhere: Path) -> Path:
    (elsewhere / "a.tsv").write_text("Hanna\tLehrer\tPaul\n", "utf-8")
    run("kb", "build", "kb", "--triples", "a.tsv", "--no-vectors", "--language", "de")
    return elsewhere / "kb"


def test_a_knowledge_base_has_a_language_that_stays_when_it_changes(run: Run, german: Path, kb: Path) -> None:
    assert (language_of(run, german), language_of(run, kb)) == ("de", "en")
    (german.parent / "b.tsv").write_text("Paul\tLehrer\tKlara\n", "utf-8")
    ok(run("kb", "add", str(german), "--triples", "b.tsv"))
    assert language_of(run, german) == "de"
    ok(run("kb", "merge", "merged", str(german), str(kb)))
    assert language_of(run, "merged") == "de"
    assert "de, read by tokens alone" in run("kb", "info", str(german)).stdout


def test_a_command_wins_over_the_file_and_the_file_over_the_knowledge_base(german: Path) -> None:
    def language(**flags: str) -> str:
        return Sources.of(open_knowledge_base(load_settings(kb=str(german), **flags))).language

    assert language() == "de"
    Path("triplecheck.toml").write_text('language = "fr"', "utf-8")
    assert language() == "fr"
    assert language(language="en") == "en"


def test_it_reaches_the_engine_that_reads_the_prompts() -> None:
    base = KnowledgeBase.from_triples([("Hanna", "Lehrer", "Paul")], encoder=None, language="de")
    assert Sources.of(base).language == "de"
    assert Sources(base.graph, base.linker).language == "en"
    models = []
    for language in ("en", "de"):
        with session("extractive", language=language):
            models.append(dspy.settings.lm_roles.lm("answer").model)
    assert models[0] == language_model("extractive").model != models[1]


@pytest.mark.parametrize("command", [["ask", QUESTION, "--kb"], ["kb", "build", "new", "--triples"]])
def test_an_unknown_language_is_refused_before_anything_is_done(
    run: Run, kb: Path, elsewhere: Path, command: list[str]
) -> None:
    (elsewhere / "a.tsv").write_text("a\tb\tc\n", "utf-8")
    result = run(*command, str(kb) if command[0] == "ask" else "a.tsv", "--language", "klingon")
    assert result.exit_code == 2
    assert "no language or installed pipeline 'klingon'" in " ".join(result.stderr.split())
    assert not (elsewhere / "new").exists()


def test_a_question_in_another_language_is_answered_by_its_names(run: Run, kb: Path) -> None:
    result = run("ask", "Bernhard Heiden: born in?", "--kb", str(kb), "--language", "de")
    assert "Frankfurt" in result.stdout
