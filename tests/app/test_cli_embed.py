"""`triplecheck kb embed` and `kb plausibility`: embeddings trained, measured and shown."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_support import Run, ok, refused

from triplecheck.kg import build
from triplecheck.kg.readers import read_graph

QUICK = ("--loop", "sampled", "--dimensions", "8", "--epochs", "4", "--batch-size", "256", "--evaluate-every", "2")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = find_spec("pykeen")
    assert spec is not None and spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]) / "datasets" / "nations" / "train.txt"
    return build(read_graph([source]), tmp_path_factory.mktemp("built") / "nations", encoder=None).path


@pytest.fixture
def nations(built: Path, elsewhere: Path) -> str:
    """A copy of a small graph, without embeddings."""
    shutil.copytree(built, elsewhere / "nations")
    return "nations"


def test_embeddings_are_trained_measured_and_shown(run: Run, nations: str, elsewhere: Path) -> None:
    trained = ok(run("kb", "embed", nations, *QUICK))
    assert "MRR" in trained.stdout and "4 epochs by sampled" in trained.stdout
    assert "ComplEx, 8 dimensions, MRR" in run("kb", "info", nations, "--verify").stdout
    judged = ok(run("kb", "plausibility", nations, "--out", "curves"))
    assert "per_relation" in judged.stdout
    written = sorted(path.name for path in (elsewhere / "curves").iterdir())
    assert written == ["nations-consistent.png", "nations-random.png", "report.md"]
    report = (elsewhere / "curves" / "report.md").read_text("utf-8")
    assert "AUROC of `relative` less that of" in report and "| `per_relation` | 0." in report
    assert "14 entities" in report and "`triplecheck kb plausibility nations --out curves`" in report


def test_json_has_the_same_figures(run: Run, nations: str) -> None:
    trained = json.loads(run("kb", "embed", nations, *QUICK, "--json").stdout)
    assert trained["loop"] == "sampled"
    about = json.loads(run("kb", "info", nations, "--json").stdout)
    assert about["embeddings"]["quality"] == trained["quality"]
    (judged,) = json.loads(run("kb", "plausibility", nations, "--json").stdout)["graphs"]
    assert {curve["method"] for curve in judged["curves"]} == {"relative", "raw", "per_relation", "tail_rank"}
    assert all(0 <= curve["auroc"] <= 1 for curve in judged["curves"])


def test_without_embeddings_the_way_out_is_named(run: Run, nations: str) -> None:
    refused(run("kb", "plausibility", nations), "triplecheck kb embed nations")


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--model", "Komplex"], "ComplEx"), (["--loop", "own"], "auto, pykeen, sampled"), (["--epochs", "0"], "epochs")],
)
def test_wrong_options_are_refused(run: Run, nations: str, words: list[str], says: str) -> None:
    refused(run("kb", "embed", nations, *words), says)
