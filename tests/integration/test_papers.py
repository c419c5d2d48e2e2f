"""`docs/papers.md` names what implements each equation, algorithm line and table of the papers."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/papers.md").read_text("utf-8")
NAMED = [
    (file, name)
    for file, names in re.findall(r"`([\w/]+\.(?:py|toml))`: ((?:`[\w.-]+`(?:, )?)+)", TEXT)
    for name in re.findall(r"`([\w.-]+)`", names)
]
SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]


def names_in(file: Path) -> set[str]:
    """The names that a module defines, with those of the attributes and methods of its classes; tables of a TOML."""
    if file.suffix == ".toml":
        return {table["name"] for table in tomllib.loads(file.read_text("utf-8"))["tables"]}
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        of_class = node.body if isinstance(node, ast.ClassDef) else []
        for inner in (node, *of_class):
            outer = "" if inner is node or not isinstance(node, ast.ClassDef) else f"{node.name}."
            targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
            found |= {outer + target.id for target in targets if isinstance(target, ast.Name)}
            if isinstance(inner, ast.ClassDef | ast.FunctionDef):
                found.add(outer + inner.name)
    return found


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_the_names_exist(file: str) -> None:
    wanted = {name for of_file, name in NAMED if of_file == file}
    assert wanted - names_in(ROOT / file) == set()


def test_every_row_of_a_paper_names_where_it_is_and_whether_it_is_on() -> None:
    rows = [line.strip("| ").split(" | ") for line in "".join(SECTIONS).splitlines() if line.startswith("| ")]
    assert [row for row in rows if len(row) != 3 or not (row[0] == "in the paper" or "`: `" in row[1])] == []


@pytest.mark.parametrize(
    ("paper", "parts"),
    [
        ("KERAG", ["planning", "retrieval", "summarization", "fine-tuning", "ablations"]),
        ("AnchorRAG", ["Eq. 1", "Eq. 2", *(f"Table {n}" for n in range(1, 5)), "Figure 3", "Figure 5"]),
        ("4StepFocus", ["Algorithm 1, line 4", "Algorithm 2, line 22", "Algorithm 3, lines 5 to 17", "Table 1"]),
        ("Know³-RAG", [*(f"Eq. {n}" for n in (1, 2, 3, 4, 6, 7)), "Algorithm 1", *(f"Table {n}" for n in range(2, 8))]),
    ],
)
def test_no_equation_algorithm_or_table_is_left_out(paper: str, parts: list[str]) -> None:
    (section,) = (one for one in SECTIONS if one.startswith(f"{paper}\n"))
    firsts = [line.strip("| ").split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    assert [part for part in parts if not any(part in first for first in firsts)] == []
