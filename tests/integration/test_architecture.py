"""The architecture: packages import in one direction, without cycles; modules are short, importing is fast."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ["kg", "signatures", "language", "lms", "programs", "optimize", "evals", "app"]
BELOW: dict[str, set[str]] = {
    "kg": set(),
    "signatures": set(),
    "language": {"kg", "signatures"},
    "lms": {"kg", "signatures", "language"},
    "programs": {"kg", "lms", "signatures", "language"},
    "optimize": {"kg", "lms", "signatures", "language", "programs", "evals"},
    "evals": {"kg", "lms", "signatures", "language", "programs"},
    "app": {"kg", "lms", "signatures", "language", "programs", "evals", "optimize"},
}
# What `lms` may import of `kg`: errors, values, words, time limits, the sentence encoder, rankers and safe files.
OF_KG_TO_LMS = {
    f"triplecheck.kg.{name}"
    for name in (
        *("_arrays", "_atomic", "errors", "encode", "ranker", "readable", "redaction", "types", "values", "waiting"),
        *("words", "plans.notation", "readers.raw"),
    )
}
# The name under which the packages are installed.
PACKAGE = "triplecheck"
MOST_LINES = 600
HEAVY = ("torch", "transformers", "spacy", "sentence_transformers", "peft")


@functools.cache
def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@functools.cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, including those under TYPE_CHECKING and in functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path) -> Iterator[str]:
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: a relative import"
            # `from triplecheck import kg` names the module in what is imported.
            if node.module == PACKAGE:
                yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def package_of(name: str) -> str | None:
    """The package of this project that an import names; None if it names another project's."""
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and parts[1] in PACKAGES else None


def test_a_package_imports_only_from_packages_below_it() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package in PACKAGES
        for path in modules()
        if path.is_relative_to(ROOT / package)
        for name in imports(path)
        if package_of(name) is not None and package_of(name) not in BELOW[package] | {package}
    ]
    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    names = {module_name(path): path for path in modules()}
    graph = {name: set(imported_modules(path, names)) for name, path in names.items()}
    assert [name for name in graph if name in reachable(graph, name)] == []


def module_name(path: Path) -> str:
    return ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imported_modules(path: Path, names: Collection[str]) -> Iterator[str]:
    """The modules of `names` that a file imports."""
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif node.module in names:
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


def test_packages_are_imported_by_their_installed_names() -> None:
    files = [*modules(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path in files for name in imports(path) if flat(name)]
    assert wrong == []


def flat(name: str) -> bool:
    """Whether an import works only in the repository's own folder."""
    return name.split(".")[0] in PACKAGES


def test_imported_packages_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = (project["dependencies"], *project["optional-dependencies"].values())
    declared = {distribution(requirement) for requirements in listed for requirement in requirements}
    owners = packages_distributions() | {"llama_cpp": ["llama-cpp-python"]}  # it has to be compiled: rarely installed
    others = {(path, name.split(".")[0]) for path in modules() for name in imports(path)}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path, name in sorted(others)
        if name != PACKAGE and name not in sys.stdlib_module_names
        if declared.isdisjoint(map(distribution, owners.get(name, ())))
    ]
    assert wrong == []


def distribution(requirement: str) -> str:
    """The normalized name of what a requirement names."""
    return canonicalize_name(Requirement(requirement).name)


def test_lms_imports_only_allowed_modules_of_kg() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.is_relative_to(ROOT / "lms")
        for name in imports(path)
        if package_of(name) == "kg" and name not in OF_KG_TO_LMS
    ]
    assert wrong == []


def test_nothing_outside_lms_imports_the_rule_based_engine() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if not path.is_relative_to(ROOT / "lms")
        for name in imports(path)
        if name.startswith("triplecheck.lms.extractive")
    ]
    assert wrong == []


def test_kg_imports_no_language_model() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.is_relative_to(ROOT / "kg")
        for name in imports(path)
        if name.split(".")[0] in ("dspy", "litellm", "openai")
    ]
    assert wrong == []


def test_a_module_has_at_most_600_lines() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if path.name != "__init__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_only_the_reader_of_stark_reads_pickles() -> None:
    readers = [path for path in modules() if {"pickle", "dill", "cloudpickle", "joblib"} & set(imports(path))]
    assert readers == [ROOT / "kg" / "readers" / "stark.py"]


def test_importing_loads_no_heavy_package() -> None:
    names = ", ".join(f"{PACKAGE}.{name}" for name in ("kg.sparql", "lms.extractive", "programs"))
    code = f"import sys, {names}; print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
