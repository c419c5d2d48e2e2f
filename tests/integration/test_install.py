"""What is built and installed: the wheel in an environment of its own, by the commands of the container."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from documents import parse

ROOT = Path(__file__).parents[2]
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
OWN_NAMES = "import app, evals, kg; print(app.MINE + evals.MINE + kg.MINE)"
FRONT_DOOR = """
import textwrap, triplecheck
example = triplecheck.__doc__.split("\\n\\n", 1)[1].rsplit("\\n\\n", 1)[0]
exec(textwrap.dedent(example))
"""
MOST_BYTES = 1.1e9
"""What an installation may take, with the sentence encoder and all that a server needs."""


def instructions(name: str) -> list[list[str]]:
    """The words of each of the Dockerfile's instructions of this name."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith(f"{name} ")]


COPIED = [source for words in instructions("COPY") for source in words[:-1]]
COMMANDS = [words for words in instructions("RUN") if words[0] in ("pip", "triplecheck")]


def folders() -> set[str]:
    """The folders that are packages, as `setup.py` lists them."""
    listed = re.search(r"^FOLDERS = \((.+)\)$", (ROOT / "setup.py").read_text("utf-8"), re.MULTILINE)
    assert listed is not None
    return set(re.findall(r'"(\w+)"', listed[1]))


def files(folder: Path) -> set[str]:
    """The files below a folder, as paths from there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def run(*command: object, cwd: Path, **variables: object) -> str:
    """What a command prints; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment.update({name: str(value) for name, value in variables.items()})
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the container copies: a build writes files into the source directory."""
    folder = tmp_path_factory.mktemp("source")
    for source in COPIED:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, folder / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, folder)
    return folder


@pytest.fixture(scope="module")
def built(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and with the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    said = run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", out, sources, cwd=out)
    assert "absent from" not in said
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("triplecheck-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment where uv ran the container's commands, with locked versions."""
    place = tmp_path_factory.mktemp("environment")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--python", sys.executable, place, cwd=place)
    for words in COMMANDS:
        if words[0] == "pip":
            words = [uv, *(f"{wheel}{word[1:]}" if word.startswith(".[") else word for word in words)]
        else:
            words = [place / "bin" / words[0], *words[1:]]
        run(*words, cwd=place, VIRTUAL_ENV=place, UV_CONSTRAINT=ROOT / "requirements" / "all.txt")
    return place / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose folders have the names of folders of this repository."""
    for name in ("app", "evals", "kg"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"MINE = {name!r}\n", "utf-8")
    return tmp_path


def test_the_source_distribution_and_the_wheel_have_all_files(built: Path, wheel: Path, sources: Path) -> None:
    there = {f"{folder}/{name}" for folder in folders() for name in files(sources / folder)}
    (archive,) = built.glob("triplecheck-*.tar.gz")
    with tarfile.open(archive) as opened:
        assert there <= {name.partition("/")[2] for name in opened.getnames()}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {f"triplecheck/{name}" for name in {*there, "__init__.py", "py.typed"}}


def test_an_installation_has_no_torch_and_is_not_large(environment: Path) -> None:
    found = [path for path in environment.parent.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not any("torch" in path.parts for path in found)
    assert sum(path.stat().st_size for path in found) < MOST_BYTES


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


def test_the_container_gets_what_it_copies() -> None:
    assert {source for source in COPIED if (ROOT / source).is_dir()} == folders() | {"triplecheck"}
    assert [source for source in COPIED if not (ROOT / source).exists()] == []
    let_through = dict.fromkeys(COPIED, True)
    for pattern in (ROOT / ".dockerignore").read_text("utf-8").split():
        for source in COPIED:
            if any(fnmatch(str(part), pattern.removeprefix("!")) for part in (Path(source), *Path(source).parents)):
                let_through[source] = pattern.startswith("!")
    assert [source for source, there in let_through.items() if not there] == []


def test_the_container_is_installed_as_the_documentation_says() -> None:
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    documented = [shlex.split(line) for line in re.findall(r"^\$ (pip install .+)$", page, re.MULTILINE)]
    commands = [[re.sub(r"^\.\[.+\]$", ".", word) for word in words] for words in COMMANDS if words[0] == "pip"]
    assert commands == documented[: len(commands)]
    assert commands


def test_the_services_of_compose_belong_together() -> None:
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    services = composed["services"]
    assert services["triplecheck"]["build"] == "."
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        named = [volume.partition(":")[0] for volume in service.get("volumes", ())]
        assert {name for name in named if not name.startswith(".")} <= set(composed["volumes"])
    words = services["triplecheck"]["command"]
    assert words[0] == "triplecheck"
    parse(words[1:])
