"""Rooms import only from rooms below them, no modules import each other, modules stay short, importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ["kg", "signatures", "lms", "programs", "optimize", "evals", "app"]
BELOW: dict[str, set[str]] = {
    "kg": set(),
    "signatures": set(),
    "lms": {"kg", "signatures"},
    "programs": {"kg", "lms", "signatures"},
    "optimize": {"kg", "lms", "signatures", "programs", "evals"},
    "evals": {"kg", "lms", "signatures", "programs"},
    "app": {"kg", "lms", "signatures", "programs", "evals", "optimize"},
}
# What language models may know of the library below them: errors, values as they are, and the sentence encoder.
OF_KG_TO_LMS = {f"triplecheck.kg.{name}" for name in ("errors", "encode", "types", "values", "readers.raw")}
# What the rooms are called where they are installed.
PACKAGE = "triplecheck"
MOST_LINES = 600
HEAVY = ("torch", "transformers", "spacy", "sentence_transformers", "peft", "faiss")


def modules() -> list[Path]:
    return sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            # `from triplecheck import kg` names the module in what is imported.
            if node.module == PACKAGE:
                yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def room(name: str) -> str | None:
    """The room that an import leads to; None where it leads out of the house."""
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and parts[1] in FLOORS else None


def test_a_room_imports_only_from_rooms_below_it() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for floor in FLOORS
        for path in modules()
        if path.is_relative_to(ROOT / floor)
        for name in imports(path)
        if room(name) is not None and room(name) not in BELOW[floor] | {floor}
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    names = {module_name(path): path for path in modules()}
    graph = {name: set(imported_modules(path, names)) for name, path in names.items()}
    assert [name for name in graph if name in reachable(graph, name)] == []


def module_name(path: Path) -> str:
    return ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imported_modules(path: Path, names: Collection[str]) -> Iterator[str]:
    """Those of the modules `names` that a file imports, under TYPE_CHECKING and in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module in names:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in names else node.module


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that a module imports, directly or through others."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def test_rooms_are_imported_by_the_name_under_which_they_are_installed() -> None:
    files = [*modules(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path in files for name in imports(path) if flat(name)]
    assert wrong == []


def flat(name: str) -> bool:
    """Whether a name works in the repository's own folder alone."""
    return name.split(".")[0] in FLOORS


def test_language_models_know_no_graph() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.is_relative_to(ROOT / "lms")
        for name in imports(path)
        if room(name) == "kg" and name not in OF_KG_TO_LMS
    ]
    assert wrong == []


def test_the_library_knows_no_language_model() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.is_relative_to(ROOT / "kg")
        for name in imports(path)
        if name.split(".")[0] in ("dspy", "litellm", "openai")
    ]
    assert wrong == []


def test_a_module_fits_on_a_few_screens() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_and_every_public_thing_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if path.name != "__init__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_only_the_reader_of_stark_reads_pickles() -> None:
    readers = [path for path in modules() if {"pickle", "dill", "cloudpickle", "joblib"} & set(imports(path))]
    assert readers == [ROOT / "kg" / "readers" / "stark.py"]


@pytest.mark.parametrize("floor", ["kg", "kg.sparql", "lms", "lms.extractive", "signatures", "programs"])
def test_importing_loads_nothing_heavy(floor: str) -> None:
    code = f"import sys, {PACKAGE}.{floor}; print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
