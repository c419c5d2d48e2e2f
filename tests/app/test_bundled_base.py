"""The bundled knowledge base: built on first use, cached, rebuilt when damaged; and the demonstration."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli_support import Run, ok

from triplecheck import kg
from triplecheck.kg import KnowledgeBase, UserError, bundled_files
from triplecheck.kg.embedding import bundled
from triplecheck.kg.knowledge_base import open_bundled
from triplecheck.kg.plausibility import Plausibility, calibrate

SMALL = """\
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "Ada" ; :knows :b .
:b rdfs:label "Bob" .
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small set of Turtle files in place of the real one."""
    folder = tmp_path / "turtle"
    folder.mkdir()
    (folder / "people.ttl").write_text(SMALL, "utf-8")
    monkeypatch.setattr(bundled_files, "bundled_folder", lambda: folder)
    return folder


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_it_is_built_once_and_leaves_nothing_else_behind(sources: Path, tmp_path: Path) -> None:
    cache, told = tmp_path / "c", []
    first = open_bundled(cache, lambda what, _done, _total: told.append(what))
    assert first.manifest.counts["triples"] >= 1
    assert told
    told.clear()
    second = open_bundled(cache, lambda what, _done, _total: told.append(what))
    assert second.path == first.path
    assert not told
    assert entries(cache) == [first.path.name]


def test_changed_files_make_a_new_one(sources: Path, tmp_path: Path) -> None:
    first = open_bundled(tmp_path / "c")
    (sources / "people.ttl").write_text(SMALL + ":c rdfs:label 'Cy' ; :knows :a .\n", "utf-8")
    second = open_bundled(tmp_path / "c")
    assert second.path != first.path
    assert second.manifest.counts["triples"] == first.manifest.counts["triples"] + 1


def test_a_damaged_one_is_built_again(sources: Path, tmp_path: Path) -> None:
    first = open_bundled(tmp_path / "c")
    (first.path / "manifest.json").unlink()
    second = open_bundled(tmp_path / "c")
    assert second.path == first.path
    second.verify()
    assert entries(tmp_path / "c") == [first.path.name]


def test_several_may_build_it_at_once(sources: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: open_bundled(tmp_path / "c"), range(4)))
    assert len({kb.path for kb in built}) == 1
    for kb in built:
        kb.verify()
        assert kb.graph.num_triples == built[0].graph.num_triples
    assert entries(tmp_path / "c") == [built[0].path.name]


def test_a_failed_build_leaves_nothing(sources: Path, tmp_path: Path) -> None:
    (sources / "broken.ttl").write_text("this is no turtle", "utf-8")
    with pytest.raises(UserError, match=r"broken\.ttl"):
        open_bundled(tmp_path / "c")
    assert entries(tmp_path / "c") == []


def test_a_cache_that_cannot_be_written_is_explained(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(UserError, match="TRIPLECHECK_CACHE"):
        open_bundled(tmp_path / "file" / "c")


def test_an_installation_without_the_files_is_explained(sources: Path, tmp_path: Path) -> None:
    shutil.rmtree(sources)
    with pytest.raises(UserError, match="--kb"):
        open_bundled(tmp_path / "c")


@pytest.mark.skipif(sys.platform != "linux", reason="the place is the platform's own")
def test_the_place_is_the_platforms_unless_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert bundled_files.cache_directory() == tmp_path / "triplecheck"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert bundled_files.cache_directory() == tmp_path / ".cache" / "triplecheck"
    assert bundled_files.cache_directory(Path("~/x")) == tmp_path / "x"


BUILD = """
import sys
from pathlib import Path
from triplecheck.kg import bundled_files, knowledge_base
folder, cache = map(Path, sys.argv[1:])
bundled_files.bundled_folder = lambda: folder
kb = knowledge_base.open_bundled(cache)
kb.verify()
print(kb.path, kb.manifest.content_hash)
"""


def test_two_processes_may_build_it_at_once(sources: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", BUILD, str(sources), str(tmp_path / "c")]
    builds = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (build.communicate(timeout=300)[0] for build in builds)
    assert first and first == second
    assert len(entries(tmp_path / "c")) == 1


def test_it_is_the_default(run: Run, cache: Path) -> None:
    result = ok(run("ask", "Who wrote The Master and Margarita?", "--json"))
    found = json.loads(result.stdout)
    assert found["answers"][0]["id"].startswith("http://triplecheck.example/entity/")
    kb = KnowledgeBase.open(next(cache.glob("bundled-*")))
    from triplecheck.programs import replay

    assert not replay(kb.graph, found["evidence"])


def test_the_demonstration_answers_and_abstains(run: Run, elsewhere: Path) -> None:
    from triplecheck.app.catalog import EXAMPLES

    # Settings for another graph do not change it.
    (elsewhere / "triplecheck.toml").write_text('program = "anchorrag"\nlanguage = "de"\nverdict = "any"\n', "utf-8")
    result = ok(run("demo"))
    for _, question in EXAMPLES:
        assert question in result.stdout
    assert result.stdout.count("confidence ") == len(EXAMPLES) - 1
    assert len(result.stdout.splitlines()) < 50, "it fits one screen"
    assert result.stdout.count("Not in the graph") == 1
    assert "German" in result.stdout
    assert "model: extractive" in result.stdout
    last = result.stdout.rstrip().splitlines()[-3:]
    assert all(line.startswith("  triplecheck ") for line in last)


def test_its_embeddings_are_of_its_graph(cache: Path) -> None:
    kb = open_bundled(cache)
    kb.verify()
    assert kb.embeddings is not None, "the bundled graph has changed: run `python -m triplecheck.kg.embedding`"
    assert kb.embeddings.about.num_entities == kb.columnar.num_entities
    assert kb.columnar.contains_many(*kb.embeddings.test.T).all()
    (curve,) = (
        curve
        for curve in calibrate(Plausibility.of(kb), methods=("tail_rank",), corruptions=("random",))
        if curve.unit == "triple"
    )
    assert curve.auroc > 0.8


def test_embeddings_of_another_graph_are_refused(sources: Path, tmp_path: Path) -> None:
    shutil.copytree(Path(kg.__file__).parent / "bundled" / "embeddings", sources / "embeddings")
    first = open_bundled(tmp_path / "c")
    assert first.embeddings is None
    (sources / "embeddings" / "graph.sha256").write_text(bundled.graph_key(first.columnar), "ascii")
    second = open_bundled(tmp_path / "c")
    assert second.path != first.path and second.embeddings is not None
