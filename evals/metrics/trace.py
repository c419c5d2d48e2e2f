"""What the traces of a program tell beside its answers: where its loop stopped, and what became of its references.

A breakdown is a mapping of groups (turns, sources) to measures; a share of nothing is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Breakdown = dict[str, dict[str, float | None]]
Row = Mapping[str, Any]
"""The result of one question, as one line of `rows.jsonl`; its fields are listed in `evals.rows`."""

TURN = 1
"""The turn whose references are counted: as in the paper, the first that has some."""


def stopped_at(rows: Iterable[Row]) -> Breakdown:
    """Share of the questions whose answer was output at each turn (Know³-RAG, Table 5).

    Args:
        rows: of an evaluation (`evals.rows`); those without a weighed answer are not counted.
    """
    weighed = [[step for step in row["steps"] if step["kind"] == "weighed"] for row in rows]
    last = [steps[-1]["turn"] for steps in weighed if steps]
    return {f"t = {turn}": {"share": last.count(turn) / len(last)} for turn in range(max(last, default=-1) + 1)}


def reference_sources(rows: Iterable[Row]) -> Breakdown:
    """Of the references of each source in the first turn with some, what became (Know³-RAG, Figure 3).

    - `asked`: passages asked for, per question;
    - `declined`: share of those that were empty: the source knows nothing;
    - `repeated`: share of what was written that an earlier source had written, too;
    - `relevant`: share of the others that was judged to help (None where nothing was judged);
    - `kept`: share of the same that the answer was then written from.

    Args:
        rows: of an evaluation (`evals.rows`).
    """
    sources: dict[str, _Tally] = {}
    questions = 0
    for row in rows:
        consulted = [step for step in row["steps"] if step["kind"] == "consulted" and step["turn"] == TURN]
        questions += bool(consulted)
        for step in consulted:
            sources.setdefault(step["origin"], _Tally()).add(step)
    return {name: sources[name].measures(questions) for name in sorted(sources)}


@dataclass(frozen=True)
class Kind:
    """A kind of breakdown.

    Attributes:
        groups: what it groups by.
        measures: of a group, in order.
        of: makes it of rows.
    """

    groups: str
    measures: tuple[str, ...]
    of: Callable[[Iterable[Row]], Breakdown]


BREAKDOWNS: Mapping[str, Kind] = {
    "turns": Kind("answer output at", ("share",), stopped_at),
    "sources": Kind("source", ("asked", "declined", "repeated", "relevant", "kept"), reference_sources),
}
"""By name."""


@dataclass
class _Tally:
    """References of one source, counted."""

    asked: int = 0
    declined: int = 0
    repeated: int = 0
    judged: int = 0
    relevant: int = 0
    kept: int = 0

    def add(self, step: Mapping[str, Any]) -> None:
        self.asked += 1
        self.declined += step["verdict"] == "empty"
        self.repeated += step["verdict"] == "repeated"
        self.judged += step["relevant"] is not None
        self.relevant += step["relevant"] is True
        self.kept += step["verdict"] == "kept"

    def measures(self, questions: int) -> dict[str, float | None]:
        written = self.asked - self.declined
        return {
            "asked": self.asked / questions,
            "declined": _share(self.declined, self.asked),
            "repeated": _share(self.repeated, written),
            "relevant": _share(self.relevant, self.judged),
            "kept": _share(self.kept, written - self.repeated),
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
