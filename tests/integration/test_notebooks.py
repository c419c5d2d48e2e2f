"""The notebooks run, from the first cell to the last, and draw."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from documents import DOCS

from triplecheck.kg import KnowledgeBase

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="the extra docs is not installed")
    nbformat = pytest.importorskip("nbformat", reason="the extra docs is not installed")
    pytest.importorskip("ipykernel", reason="the extra docs is not installed")
    monkeypatch.setenv("TRIPLECHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSPY_CACHEDIR", str(tmp_path / "dspy"))
    book = nbformat.read(path, as_version=4)
    # The kernel is another process: it opens a copy of the bundled graph of these tests.
    shutil.copytree(bundled.path, tmp_path / "kb")
    for cell in book.cells:
        cell.source = cell.source.replace('KnowledgeBase.open("bundled")', 'KnowledgeBase.open("kb")')
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=place).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
