"""The wheel in its own environment, used from a project with folders of the same names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"app", "evals", "kg", "language", "lms", "optimize", "programs", "signatures"}
EMBEDDINGS = ("embeddings.json", "graph.sha256", "held_out.safetensors", "weights.safetensors")
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
OWN_NAMES = "import app, evals, kg; print(app.MINE + evals.MINE + kg.MINE)"
FRONT_DOOR = """
import textwrap, triplecheck
example = triplecheck.__doc__.split("\\n\\n", 1)[1].rsplit("\\n\\n", 1)[0]
exec(textwrap.dedent(example))
"""


def run(*command: object, cwd: Path) -> str:
    """The standard output of a command that must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources because a build writes files into the source directory."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("triplecheck", *FOLDERS):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", out, copy, cwd=out)
    (built,) = out.glob("triplecheck-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and the dependencies of this one, but not its editable install."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    run(sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--no-deps", wheel, cwd=place)
    (site,) = place.glob("lib/python*/site-packages")
    # A path in a .pth file is searched for packages; the .pth files there (an editable install has one) are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", "utf-8")
    return place / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose folders have the names of folders of this repository."""
    for name in ("app", "evals", "kg"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"MINE = {name!r}\n", "utf-8")
    return tmp_path


def test_it_installs_one_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")} == {"triplecheck"}
    sources = {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert {name.removeprefix("triplecheck/") for name in names if name.endswith(".py")} == sources | {"__init__.py"}
    assert {f"triplecheck/kg/bundled/embeddings/{name}" for name in EMBEDDINGS} <= set(names)


def test_ask_and_eval_run_beside_folders_of_the_same_names(environment: Path, project: Path) -> None:
    asked = run(environment / "triplecheck", "ask", QUESTION, cwd=project)
    assert "Answer  German" in asked
    evaluated = run(environment / "triplecheck", "eval", "kerag", "--limit", 2, "--out", "run", "--json", cwd=project)
    assert '"hits_at_1"' in evaluated
    assert len((project / "run" / "rows.jsonl").read_text("utf-8").splitlines()) == 2


def test_the_docstring_of_the_package_runs(environment: Path, project: Path) -> None:
    printed = run(environment / "python", "-c", FRONT_DOOR, cwd=project)
    assert printed.splitlines()[0] == "German"
    assert "Bernhard Heiden student of Paul Hindemith" in printed


def test_a_project_keeps_its_own_names(environment: Path, project: Path) -> None:
    assert run(environment / "python", "-c", f"import triplecheck.kg; {OWN_NAMES}", cwd=project) == "appevalskg\n"


def test_importing_the_package_loads_nothing_else(environment: Path, project: Path) -> None:
    code = (
        "import sys, triplecheck; print(sorted({'dspy', 'numpy', 'pyarrow', 'torch'} & set(sys.modules)), "
        "set(triplecheck.__all__) <= set(dir(triplecheck)))"
    )
    assert run(environment / "python", "-c", code, cwd=project) == "[] True\n"


def test_an_unknown_name_is_rejected_with_the_known_names() -> None:
    import triplecheck

    with pytest.raises(AttributeError, match="KnowledgeBase"):
        _ = triplecheck.KnowledgBase
    for name in triplecheck.__all__:
        assert getattr(triplecheck, name) is not None
