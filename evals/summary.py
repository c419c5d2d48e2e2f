"""The summary of an evaluation: scores of all questions, and by kind, hops and popularity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from triplecheck.evals.metrics import BANDS, bands
from triplecheck.evals.scores import NOT_RUN, Row, Scores, score

__all__ = ["NOT_RUN", "Row", "Scores", "Summary", "score", "summarize"]


@dataclass(frozen=True)
class Summary:
    """What an evaluation found."""

    scores: Scores
    """Of all questions."""
    by_kind: Mapping[str, Scores]
    by_hops: Mapping[str, Scores]
    by_popularity: Mapping[str, Scores]
    """Of head, torso and tail (`evals.metrics.bands`), or of the bands that the data set names."""
    configuration: Mapping[str, Any]
    """What the rows depend on: program, switches, models, knowledge base."""
    stopped: str | None = None
    """Why the run stopped before its end; None where it did not."""
    wall_seconds: float = 0.0
    """By the clock, of the last run alone."""

    def to_json(self) -> dict[str, Any]:
        """One object: the scores of all questions at the top, the rest beside them."""
        return {
            **asdict(self.scores),
            "by_kind": {name: asdict(scores) for name, scores in self.by_kind.items()},
            "by_hops": {name: asdict(scores) for name, scores in self.by_hops.items()},
            "by_popularity": {name: asdict(scores) for name, scores in self.by_popularity.items()},
            "configuration": dict(self.configuration),
            "stopped": self.stopped,
            "wall_seconds": round(self.wall_seconds, 3),
        }


def summarize(
    rows: Iterable[Row],
    configuration: Mapping[str, Any] | None = None,
    *,
    stopped: str | None = None,
    wall_seconds: float = 0.0,
) -> Summary:
    """Summarise rows (`evals.rows`).

    Args:
        rows: one per question; of a question that was not run, see `evals.rows.not_run`.
        configuration: what they depend on.
        stopped: why the run stopped before its end.
        wall_seconds: how long it took by the clock.
    """
    rows = list(rows)
    return Summary(
        scores=score(rows),
        by_kind=_by(rows, [row["kind"] for row in rows]),
        by_hops=_by(rows, [row["hops"] for row in rows]),
        by_popularity=_by(rows, bands([row.get("popularity") for row in rows])),
        configuration=configuration or {},
        stopped=stopped,
        wall_seconds=wall_seconds,
    )


def _by(rows: Sequence[Row], names: Sequence[Any]) -> dict[str, Scores]:
    """Scores by group, rows without one left out; bands from head to tail."""
    groups: dict[str, list[Row]] = {}
    for row, name in zip(rows, names, strict=True):
        if name is not None:
            groups.setdefault(str(name), []).append(row)
    order = sorted(groups, key=lambda name: (BANDS.index(name) if name in BANDS else len(BANDS), name))
    return {name: score(groups[name]) for name in order}
