"""The documentation site: it builds without a warning, and the reference has every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import DOCS

import triplecheck

ROOT = DOCS.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out), "-f", str(ROOT / "mkdocs.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    described = set(re.findall(r'<h3 id="triplecheck\.[\w.]*?(\w+)"', page))
    assert set(triplecheck.__all__) <= described


def test_links_to_files_outside_of_the_site_are_text(site: Path) -> None:
    page = (site / "tutorials" / "first-graph.html").read_text("utf-8")
    assert "README.md" not in page
    assert 'href="../your-graph.html"' in page


def test_nothing_is_loaded_from_other_servers_but_diagrams(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?://(?!example)', page)
