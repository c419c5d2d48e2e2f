"""Compare two evaluations on the questions that both scored: differences and their statistical significance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from triplecheck.evals.configuration import differences
from triplecheck.evals.metrics.statistics import mcnemar, paired_bootstrap, randomisation
from triplecheck.evals.metrics.trace import Row
from triplecheck.evals.run_directory import FORMAT, read_rows
from triplecheck.kg import UserError
from triplecheck.kg.values import parse_json

_METRICS: dict[str, Callable[[Row], float | None]] = {
    "hits_at_1": lambda row: row["hits_at_1"],
    "f1": lambda row: row["f1"],
    "accuracy": lambda row: None if row["crag"] is None else float(row["crag"] == "accurate"),
}


@dataclass(frozen=True)
class Run:
    """A finished evaluation.

    Attributes:
        configuration: everything that the rows depend on.
        rows: one per question.
    """

    path: Path
    configuration: Mapping[str, Any]
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Compared:
    """One metric over the questions that both runs scored: its means, their difference b - a, and its 95% interval
    (paired bootstrap). P-values are two-sided.

    Attributes:
        p_mcnemar: of McNemar's exact test; None if scores are not all 0 or 1.
        better, worse: number of questions on which b scores higher, and lower.
    """

    name: str
    n: int
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    p_mcnemar: float | None
    better: int
    worse: int


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs.

    Attributes:
        a, b: directories of the runs.
        shared: number of questions with a row in both runs and the same text and gold answers.
        only_a, only_b: number of questions with a row in one run only.
        changed: number of ids whose question or gold answers differ between the runs; excluded.
        errors: number of shared questions that ended in an error in either run; excluded.
        configuration: differences between the configurations, one line each.
        metrics: the metrics that have scores in both runs.
    """

    a: str
    b: str
    shared: int
    only_a: int
    only_b: int
    changed: int
    errors: int
    configuration: tuple[str, ...]
    metrics: tuple[Compared, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON-serialisable values."""
        return asdict(self)


def read_run(path: Path) -> Run:
    """Read an evaluation from its directory.

    Raises:
        ReadError: there are no rows, or one is malformed.
        UserError: the directory does not hold an evaluation.
    """
    file = path / "run.json"
    try:
        noted = parse_json(file.read_text("utf-8"))
        if noted["format"] != FORMAT:
            raise UserError(f"{path}: does not hold an evaluation")
        configuration = noted["configuration"]
        if not isinstance(configuration, dict):
            raise TypeError("the configuration is not an object")
    except FileNotFoundError:
        raise UserError(f"{path}: holds no evaluation; `triplecheck eval ... --out {path}` makes one") from None
    except (NotADirectoryError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({error})") from error
    return Run(path, configuration, list(read_rows(path)))


def compare(run_a: Path | str, run_b: Path | str, *, seed: int = 0) -> Comparison:
    """Compare two runs on the questions that they share.

    Raises:
        ReadError: rows cannot be read.
        UserError: a directory does not hold an evaluation, or the runs share no scored question.
    """
    a, b = read_run(Path(run_a)), read_run(Path(run_b))
    by_id = {row["id"]: row for row in b.rows}
    both = [(row, by_id[row["id"]]) for row in a.rows if row["id"] in by_id]
    same = [(x, y) for x, y in both if (x["question"], x["gold"]) == (y["question"], y["gold"])]
    scored = [(x, y) for x, y in same if "error" not in (x["status"], y["status"])]
    metrics = [_compared(name, scored, of, seed) for name, of in _METRICS.items()]
    if not any(metrics):
        raise UserError(f"{a.path} and {b.path} share no scored question: nothing to compare")
    return Comparison(
        str(a.path),
        str(b.path),
        shared=len(same),
        only_a=len(a.rows) - len(both),
        only_b=len(b.rows) - len(both),
        changed=len(both) - len(same),
        errors=len(same) - len(scored),
        configuration=tuple(differences(a.configuration, b.configuration)),
        metrics=tuple(metric for metric in metrics if metric is not None),
    )


def _compared(
    name: str, rows: Sequence[tuple[Row, Row]], of: Callable[[Row], float | None], seed: int
) -> Compared | None:
    pairs = [(x, y) for left, right in rows if (x := of(left)) is not None and (y := of(right)) is not None]
    if not pairs:
        return None
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = paired_bootstrap(a, b, seed=seed)
    return Compared(
        name,
        len(pairs),
        sum(a) / len(a),
        sum(b) / len(b),
        found.difference,
        found.low,
        found.high,
        found.p_value,
        randomisation(a, b, seed=seed),
        mcnemar(a, b) if {*a, *b} <= {0, 1} else None,
        better=sum(y > x for x, y in pairs),
        worse=sum(y < x for x, y in pairs),
    )
