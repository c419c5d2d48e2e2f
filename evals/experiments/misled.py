"""The table of where triplets mislead: each program with patterns against the search alone (`evals.prefilter`)."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.evals.errors import plain
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.prefilter import Prefiltered, prefiltered, relations_at_fault

EXAMPLES = 3
HEADER = ("n", "helped", "same", "hurt", "patterns led to nodes", "of these none right")
_LISTED = 3
_RELATIONS = 5


def compared(cells: Sequence[Cell]) -> list[tuple[Cell, list[Prefiltered]]]:
    """Every cell but the first, which is the search alone, against it; cells of one data set and choice of models."""
    alone, *others = cells
    return [(cell, prefiltered(alone.rows(), cell.rows(), cell.knowledge_base)) for cell in others]


def figures(found: Sequence[Prefiltered]) -> list[str]:
    """One row of the table, as `HEADER` has it."""
    effects = [one.effect for one in found]
    led = [one for one in found if one.left is not None]
    shares = [_share(effects.count(effect), len(found)) for effect in ("helped", "same", "hurt")]
    return [str(len(found)), *shares, _share(len(led), len(found)), _share(sum(one.misled for one in led), len(led))]


def examples(found: Sequence[Prefiltered]) -> str:
    """Which relations are at fault how often, and the first questions that they hurt; empty where none are."""
    misled = [one for one in found if one.misled]
    if not misled:
        return ""
    counts = relations_at_fault(misled).most_common(_RELATIONS)
    lines = [f"At fault: {', '.join(f'{plain(relation)} ({count})' for relation, count in counts)}.\n"]
    hurt = [one for one in misled if one.effect == "hurt"]
    lines += [_example(one) for one in (hurt or misled)[:EXAMPLES]]
    return "\n".join(lines) + "\n"


def _example(one: Prefiltered) -> str:
    right = ", ".join(map(plain, one.right[:_LISTED])) + (" ..." if len(one.right) > _LISTED else "")
    faults = " and ".join(f"`{text.replace('`', chr(39))}`" for text in one.at_fault)
    places = f"{_written(one.alone)} by the search alone, {_written(one.place)} with the patterns"
    found = f"At fault: {faults}; satisfying all: {one.left:,}."
    return f"- `{one.id}` {plain(one.question)} Right: {right}; {places}. {found}"


def _written(place: int | None) -> str:
    return "not found" if place is None else f"place {place}"


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else "-"
