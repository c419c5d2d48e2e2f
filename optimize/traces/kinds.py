"""Kinds of questions by how their answers follow from the graph, and the share of each in the rows of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triplecheck.optimize.traces.derivations import Derivation
from triplecheck.optimize.traces.records import TraceRow
from triplecheck.programs.aggregation import EXTREMES

LOOK_UP, UNKNOWN, NOTHING_SELECTED = "look-up", "not derived", "nothing selected"
BALANCED = ("count", "extreme", "comparison", "conjunction", "two topics", "unanswerable", NOTHING_SELECTED)
"""The kinds that a student sees too seldom if rows are taken as they are asked. `nothing selected` teaches to stop."""
MOST_TIMES = 4
"""How often a row is repeated at most: more would be learnt by heart."""
MOST_NOTHING = 0.2
"""Most of the rows of a step that may select nothing: with more of them, a student replies `none` too often."""


def kinds_of(derivation: Derivation | None, *, answerable: bool, topics: int) -> tuple[str, ...]:
    """The kinds of a question; a look-up is of no other kind.

    Args:
        derivation: how its answers follow from the graph; None: not known, or there are none.
        topics: number of its topics, where the derivation does not tell.
    """
    several = len(derivation.topics if derivation else range(topics)) > 1
    found = ["two topics"] if several else []
    if not answerable:
        return (*found, "unanswerable")
    if derivation is None:
        return (*found, UNKNOWN)
    operation, longest = derivation.operation, max(len(path.hops) for path in derivation.paths)
    if derivation.said or operation in ("same", "difference"):
        found.append("comparison")
    elif operation in EXTREMES:
        found.append("extreme")
    elif operation == "common" or (operation == "none" and len(derivation.paths) > 1 and not derivation.beyond):
        found.append("conjunction")
    elif operation != "none":
        found.append(operation)
    elif derivation.beyond:
        found.append("bound")
    return tuple(found) or (LOOK_UP if longest == 1 else f"{longest} hops",)


def selects_nothing(outputs: Mapping[str, Any]) -> bool:
    """Whether a reply has lists, and all of them are empty."""
    lists = [value for value in outputs.values() if isinstance(value, list | dict)]
    return bool(lists) and not any(lists)


def row_kinds(kinds: Sequence[str], outputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of a row: those of its question, and whether it selects nothing."""
    return (*kinds, NOTHING_SELECTED) if selects_nothing(outputs) else tuple(kinds)


def selecting(rows: Sequence[TraceRow]) -> tuple[list[TraceRow], list[TraceRow]]:
    """The rows that are kept, and those that are left out because too many of a step's rows select nothing.

    At most `MOST_NOTHING` of the training rows of a step select nothing; one may always. Hashes of the messages decide
    which are kept.
    """
    over: set[int] = set()
    for own in _taught(rows):
        nothing = sorted((at for at in own if NOTHING_SELECTED in rows[at].kinds), key=lambda at: rows[at].key)
        most = max(1, int((len(own) - len(nothing)) * MOST_NOTHING / (1 - MOST_NOTHING)))
        over.update(nothing[most:])
    return [row for at, row in enumerate(rows) if at not in over], [rows[at] for at in sorted(over)]


def balanced(rows: Sequence[TraceRow], share: float) -> list[TraceRow]:
    """The rows, of which those of rare kinds count several times (`TraceRow.times`), at most `MOST_TIMES`.

    Args:
        rows: held-out ones stay as they are.
        share: least share of each kind of `BALANCED` in the rows of a step, if there is a row of it.
    """
    times = [1] * len(rows)
    for own in _taught(rows):
        for _ in range(MOST_TIMES - 1):
            counted = _counted((rows[at].kinds, times[at]) for at in own)
            total = sum(times[at] for at in own)
            rare = {kind for kind in BALANCED if 0 < counted[kind] < share * total}
            for at in own:
                if rare & set(rows[at].kinds):
                    times[at] += 1
    return [replace(row, times=count) for row, count in zip(rows, times, strict=True)]


def by_kind(rows: Sequence[TraceRow]) -> dict[str, dict[str, dict[str, float]]]:
    """By step and kind: the number of training rows, and their share with repetitions."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for step in sorted({row.signature for row in rows}):
        own = [row for row in rows if row.signature == step and row.split == "train"]
        alone = _counted((row.kinds, 1) for row in own)
        repeated, total = _counted((row.kinds, row.times) for row in own), sum(row.times for row in own)
        found[step] = {
            kind: {"rows": count, "share": round(repeated[kind] / total, 4)} for kind, count in sorted(alone.items())
        }
    return found


def _taught(rows: Sequence[TraceRow]) -> Iterable[list[int]]:
    """The places of the training rows, by step."""
    by_step: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if row.split == "train":
            by_step.setdefault(row.signature, []).append(at)
    return by_step.values()


def _counted(rows: Iterable[tuple[Sequence[str], int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for kinds, times in rows:
        for kind in kinds:
            found[kind] += times
    return found
