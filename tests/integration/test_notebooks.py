"""The notebooks run, from the first cell to the last, and draw."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import DOCS

from triplecheck.kg import KnowledgeBase, knowledge_base
from triplecheck.optimize import examples
from triplecheck.optimize.distil import path_ranker
from triplecheck.optimize.distil.path_ranker import FURTHER

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
FEWER = {"questions[:160], questions[160:]": "questions[:100], questions[160:184]", "limit=40": "limit=12"}
"""Numbers of questions in the notebooks, and here: the outputs in the files are of the whole work."""


def run(code: str, names: dict[str, Any]) -> None:
    """Run a cell and show the value of its last line."""
    cell = ast.parse(code)
    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None
    exec(compile(cell, "cell", "exec", dont_inherit=True), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), names)  # noqa: S307
        assert value is None or getattr(value, "_repr_html_", value.__repr__)()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    plots = pytest.importorskip("matplotlib.pyplot", reason="the extra plots is not installed")
    pytest.importorskip("IPython", reason="the extra docs is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(knowledge_base, "open_bundled", lambda **_: bundled)
    # Students learn little and are compared on few questions.
    monkeypatch.setattr(path_ranker, "FURTHER", replace(FURTHER, epochs=5, least_steps=80))
    for name in ("ENOUGH", "MOST_CHOSEN"):
        monkeypatch.setattr(examples, name, 24)
    plots.switch_backend("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            for there, here in FEWER.items():
                code = code.replace(there, here)
            run(code, names)
    assert plots.get_fignums()
    plots.close("all")
