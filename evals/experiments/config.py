"""An experiment as data: which programs on which questions with which models, and how its tables look.

One TOML file per published experiment, in `evals/configs/`. It pins everything that the figures depend
on: seed, sample size, switches, models; and the published figures to print beside them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from triplecheck.evals.metrics.trace import BREAKDOWNS
from triplecheck.evals.summary import Scores
from triplecheck.kg import UserError

FOLDER = Path(__file__).parent.parent / "configs"

Part = Literal["train", "dev"]
Layout = Literal["metrics", "matrix", "drop", "turns", "sources", "misled"]


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """A knowledge base and questions about it.

    Exactly one of `bundled`, `case` and `kb` says where they are from.
    """

    title: str = ""
    """How it is called in tables; its name where empty."""
    bundled: str | None = None
    """A split of the bundled questions: `train`, `dev` or `test`."""
    case: str | None = None
    """A benchmark in the data directory, by its name (`evals.datasets.folder`)."""
    kb: Path | None = None
    """A knowledge base that exists already, with `questions`."""
    questions: Path | None = None
    """A file of questions; of a case another one than its own."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Only questions with these values of fields."""
    one_answer: bool = False
    """Whether answers are spellings of one answer."""
    part: Part | None = None
    """Which half of the questions, by a hash of their ids (`evals.questions.part_of`); None: all."""
    variant: str | None = None
    """How the questions or the graph are made harder (`evals.variants`)."""


@dataclass(frozen=True, kw_only=True)
class RowSpec:
    """A program with its switches: one row of a table."""

    label: str
    program: str
    options: Mapping[str, Any] = field(default_factory=dict)
    x: float | None = None
    """Where the row stands in a line figure."""
    withheld: bool = False
    """Ask with the facts withheld: what is right then was known to the model, or leaked."""
    bundle: Path | None = None
    """The program as compiled in this bundle, with the models of the table. Left out where it is not there."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Which models play, and on how many questions."""

    lm: str = "extractive"
    roles: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    """Sample size with these models; None: the experiment's."""

    @property
    def title(self) -> str:
        """Which models play, as tables show it."""
        return ", ".join([self.lm, *(f"{role} {lm}" for role, lm in self.roles.items())])


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of the paper's own table."""

    label: str
    values: Mapping[str, float | str]


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """A table: every row on every data set with every model."""

    name: str
    title: str
    data: tuple[str, ...]
    rows: tuple[RowSpec, ...]
    metrics: tuple[str, ...] = ("hits_at_1", "f1", "accuracy", "hallucination", "missing", "calls", "tokens", "seconds")
    layout: Layout = "metrics"
    """`metrics`: a block per data set, a column per metric. `matrix`: a column per data set, of the first metric.
    `drop`: the accuracy on each data set, and how far it is from that on the first, over the questions of both.
    `turns`, `sources`: no scores, but what the traces tell (`evals.metrics.trace`). `misled`: every row against the
    first, which is the search alone: what patterns helped and hurt, and those at fault (`evals.prefilter`)."""
    models: tuple[ModelSpec, ...] = (ModelSpec(),)
    published: tuple[Published, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A picture of one metric of a table: bars by row, or lines over `x`, one for each data set.

    Of a table of what the traces tell: bars by group, of one of its measures.
    """

    name: str
    title: str
    table: str
    metric: str
    kind: Literal["bars", "lines"] = "bars"
    above: str | None = None
    """Of bars: a second metric, stacked upon the first in a lighter shade."""
    x_label: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that one report is made of."""

    name: str
    title: str
    data: Mapping[str, DataSpec]
    tables: tuple[TableSpec, ...]
    paper: str = ""
    """Where the published figures are from."""
    differs: str = ""
    """What is not as in the paper."""
    seed: int = 0
    limit: int = 200
    timeout: float | None = None
    figures: tuple[FigureSpec, ...] = ()


def experiment_names() -> list[str]:
    """The experiments that come with Triplecheck."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if not path.stem.startswith("_"))


def read_experiment(name: str | Path) -> Experiment:
    """Read an experiment: one that comes with Triplecheck, by its name, or a TOML file.

    Data sets that several experiments share stand in `_data.toml` beside it.

    Raises:
        UserError: there is no such experiment, or it does not say what it should; the message says where.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UserError(f"no experiment {str(name)!r}; there are: {', '.join(experiment_names())}, or name a TOML file")
    shared = path.with_name("_data.toml")
    content = _toml(path)
    data = (_toml(shared).get("data", {}) if shared.is_file() else {}) | content.pop("data", {})
    try:
        experiment = TypeAdapter(Experiment).validate_python(
            {"name": path.stem, "data": data} | content, extra="forbid", by_name=True
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    _check(path, experiment)
    return experiment


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not TOML ({error})") from error


def _check(path: Path, experiment: Experiment) -> None:
    for name, spec in experiment.data.items():
        if sum(where is not None for where in (spec.bundled, spec.case, spec.kb)) != 1:
            raise UserError(f"{path}: data {name!r}: give one of bundled, case and kb")
        if spec.kb is not None and spec.questions is None:
            raise UserError(f"{path}: data {name!r}: questions is missing")
    tables = {table.name: table for table in experiment.tables}
    if len(tables) < len(experiment.tables):
        raise UserError(f"{path}: two tables have one name")
    for table in experiment.tables:
        unknown = [name for name in table.data if name not in experiment.data]
        if unknown:
            raise UserError(f"{path}: table {table.name!r}: no data {unknown[0]!r}")
        _check_metrics(path, table.name, table.metrics, tuple(Scores.__dataclass_fields__))
    for figure in experiment.figures:
        if figure.table not in tables:
            raise UserError(f"{path}: figure {figure.name!r}: no table {figure.table!r}")
        layout = tables[figure.table].layout
        known = BREAKDOWNS[layout].measures if layout in BREAKDOWNS else tuple(Scores.__dataclass_fields__)
        _check_metrics(path, figure.name, [figure.metric, *([figure.above] if figure.above else [])], known)


def _check_metrics(path: Path, place: str, metrics: Sequence[str], known: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in known:
            raise UserError(f"{path}: {place!r}: no metric {metric!r}; there are: {', '.join(known)}")
