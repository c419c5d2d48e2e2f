"""The configuration of an experiment: its programs, questions, models and tables.

There is one TOML file per experiment, in `evals/configs/`. It fixes everything that the figures depend on (seed, sample
size, program options, models) and holds the published figures to print beside them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from triplecheck.evals.metrics.trace import BREAKDOWNS
from triplecheck.evals.summary import Scores
from triplecheck.kg import UserError
from triplecheck.programs.assists import ALL, ASSISTS, NONE

FOLDER = Path(__file__).parent.parent / "configs"

Part = Literal["train", "dev"]
GIVEN = "given"
"""The model string of a table that stands for the model of `--lm`."""
KEPT = "kept"
"""In place of the name of a student: those that `triplecheck compile` keeps for KERAG with the rule-based baseline."""

Layout = Literal[
    "metrics", "matrix", "drop", "turns", "sources", "misled", "verdicts", "paired", "directions", "changes"
]
Sign = Literal["+", "0", "-"]


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """A knowledge base and questions about it.

    Exactly one of `bundled`, `case` and `kb` is set.
    """

    title: str = ""
    """Heading in tables; the name of the data set if empty."""
    bundled: str | None = None
    """A split of the bundled questions: `train`, `dev` or `test`."""
    case: str | None = None
    """The name of a benchmark in the data directory (`evals.datasets.folder`). A pattern (`*`, `?`) stands for each
    benchmark that has such questions (`SetOpener.each_case`)."""
    kb: Path | None = None
    """An existing knowledge base; needs `questions`."""
    questions: Path | None = None
    """A file of questions; with `case` it replaces the case's own file."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Field values; other questions are left out."""
    one_answer: bool = False
    """Whether the answers of a question are spellings of one answer."""
    part: Part | None = None
    """One half of the questions, chosen by a hash (`Question.part`); None: all."""
    variant: str | None = None
    """A harder variant of the questions or the graph (`evals.variants`)."""
    embeddings: bool = False
    """Whether its knowledge base has embeddings. Without any they are trained, as by `triplecheck kb embed`, and kept
    with it."""


@dataclass(frozen=True, kw_only=True)
class RowSpec:
    """A program with its options: one row of a table."""

    label: str
    program: str
    options: Mapping[str, Any] = field(default_factory=dict)
    x: float | None = None
    """The row's x value in a line figure."""
    withheld: bool = False
    """Withhold the facts: a correct answer is then the model's own knowledge, or a leak."""
    questions: int | None = None
    """Train `students` on so many questions of the other half of the data set, and run the row with them."""
    students: tuple[str, ...] = ("ranker",)
    """What is trained on `questions`: `ranker`, a ranker of paths, `reader`, of answers, or `kept` (`KEPT`)."""
    lm: str | None = None
    """The model of this row in place of the table's; `given` is that of `--lm`, without which the row is left out."""
    cascade: bool = False
    """Ask the rule-based baseline with the students first, and then the models of the table (`programs.cascade`)."""
    paper: Sign | None = None
    """In a table of directions: whether the first row is better than this row in the paper."""
    metric: str | None = None
    """In a table of directions: what it is compared by; None: the first metric of the table."""
    against: str | None = None
    """In a table of directions: the label of the row that takes the place of the first row; None: the first row."""
    each_assist: bool = False
    """Followed by rows without each assist that the program has (`programs.assists`), and without all of them."""

    def model(self, of_table: ModelSpec, given: str | None) -> ModelSpec | None:
        """The models of the row, with the model of `--lm` where it is `given`; None: it is wanted and not there."""
        if self.lm is None:
            return of_table
        lm = given if self.lm == GIVEN else self.lm
        return None if lm is None else replace(of_table, lm=lm)

    def expanded(self) -> list[RowSpec]:
        """The rows that it stands for."""
        if not self.each_assist:
            return [self]
        of_program = [assist.name for assist in ASSISTS if self.program in assist.programs]
        without = [(f"{self.label} without {name}", f"-{name}") for name in of_program]
        own = [(self.label, ALL), *without, (f"{self.label} without any assist", NONE)]
        named = [(label, dict(self.options) | ({} if assist == ALL else {"assist": assist})) for label, assist in own]
        return [replace(self, label=label, options=options, each_assist=False) for label, options in named]


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """The models, and the number of questions. The string `given` stands for the model of `--lm`."""

    lm: str = "extractive"
    roles: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    """Sample size for these models; None: that of the experiment."""

    @property
    def title(self) -> str:
        """The models, as tables show them."""
        return ", ".join([self.lm, *(f"{role} {lm}" for role, lm in self.roles.items())])

    @property
    def wants_given(self) -> bool:
        """Whether a model is `given`."""
        return GIVEN in (self.lm, *self.roles.values())

    def with_given(self, lm: str) -> ModelSpec:
        """The same with a model in place of `given`."""
        named = {role: lm if own == GIVEN else own for role, own in self.roles.items()}
        return replace(self, lm=lm if self.lm == GIVEN else self.lm, roles=named)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of the paper's table."""

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
    `drop`: the accuracy on each data set, and its difference from the first data set on the questions of both.
    `turns`, `sources`: figures computed from the traces (`evals.metrics.trace`). `misled`: each row compared with the
    first row, which is plain search: how often patterns helped and hurt, and which ones (`evals.prefilter`).
    `directions`: each row compared with the first row, beside the direction in the paper
    (`evals.experiments.directions`); the first metric is a mean over questions.
    `changes`: `drop`, and the changes compared as in `directions`.
    `paired`: each row compared with the first row of its program, question by question (`evals.experiments.paired`).
    `verdicts`: right, wrong and abstained by verdict, with the confidence of a left-out graph (`evals.truth`)."""
    models: tuple[ModelSpec, ...] = (ModelSpec(),)
    published: tuple[Published, ...] = ()
    note: str = ""

    @property
    def shows_cost(self) -> bool:
        """Whether it shows seconds or tokens, which a call that a cache answers does not take."""
        shown = self.metrics if self.layout in ("metrics", "directions", "changes") else ()
        return not {"seconds", "tokens", "lm_tokens", "dollars"}.isdisjoint(shown)

    @property
    def wants_given(self) -> bool:
        """Whether a model of the table or of a row is `given`."""
        return any(model.wants_given for model in self.models) or any(row.lm == GIVEN for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A figure of one metric of a table: bars by row, lines over `x`, or points over another metric, for each data set.

    For the layouts `turns` and `sources`: bars by group, of one measure.
    """

    name: str
    title: str
    table: str
    metric: str
    kind: Literal["bars", "lines", "points"] = "bars"
    over: str | None = None
    """Points only: the metric of the horizontal axis, which is logarithmic, with a place for 0."""
    above: str | None = None
    """Bars only: a second metric, stacked on the first in a lighter shade."""
    x_label: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that one report needs."""

    name: str
    title: str
    data: Mapping[str, DataSpec]
    tables: tuple[TableSpec, ...]
    """Each with the rows that its rows stand for (`RowSpec.expanded`)."""
    paper: str = ""
    """The source of the published figures."""
    differs: str = ""
    """How the setup differs from the paper's."""
    seed: int = 0
    limit: int = 200
    figures: tuple[FigureSpec, ...] = ()

    def title_of(self, data: str) -> str:
        """The heading of a data set."""
        return self.data[data].title or data

    def graph_of(self, data: str) -> str:
        """The name of the graph of a data set; several sets may ask about one graph."""
        spec = self.data[data]
        if spec.bundled is not None:
            return "bundled"
        return spec.kb.name if spec.kb is not None else str(spec.case).split("/")[0]


def experiment_names() -> list[str]:
    """Names of the experiments in Triplecheck."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if not path.stem.startswith("_"))


def read_experiment(name: str | Path) -> Experiment:
    """Read an experiment, given the name of one in Triplecheck or a TOML file.

    `_data.toml` in the same directory holds data sets that several experiments share.

    Raises:
        UserError: the experiment is unknown, or its configuration is invalid; the message names the field.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UserError(f"no experiment {str(name)!r}; known: {', '.join(experiment_names())}; or give a TOML file")
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
    expanded = [tuple(one for row in table.rows for one in row.expanded()) for table in experiment.tables]
    tables = tuple(replace(table, rows=rows) for table, rows in zip(experiment.tables, expanded, strict=True))
    return replace(experiment, tables=tables)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML ({error})") from error


def _check(path: Path, experiment: Experiment) -> None:
    for name, spec in experiment.data.items():
        if sum(where is not None for where in (spec.bundled, spec.case, spec.kb)) != 1:
            raise UserError(f"{path}: data {name!r}: give one of bundled, case and kb")
        if spec.kb is not None and spec.questions is None:
            raise UserError(f"{path}: data {name!r}: `kb` needs `questions`")
    tables = {table.name: table for table in experiment.tables}
    if len(tables) < len(experiment.tables):
        raise UserError(f"{path}: two tables have the same name")
    for table in experiment.tables:
        unknown = [name for name in table.data if name not in experiment.data]
        if unknown:
            raise UserError(f"{path}: table {table.name!r}: no data {unknown[0]!r}")
        compared = [row.metric for row in table.rows if row.metric is not None]
        _check_metrics(path, table.name, [*table.metrics, *compared], tuple(Scores.__dataclass_fields__))
        labels = {row.label for row in table.rows}
        for row in table.rows:
            if row.against is not None and row.against not in labels - {row.label}:
                raise UserError(f"{path}: table {table.name!r}: {row.label!r} is against no other row {row.against!r}")
    for figure in experiment.figures:
        if figure.table not in tables:
            raise UserError(f"{path}: figure {figure.name!r}: no table {figure.table!r}")
        layout = tables[figure.table].layout
        known = BREAKDOWNS[layout].measures if layout in BREAKDOWNS else tuple(Scores.__dataclass_fields__)
        if figure.kind == "points" and figure.over is None:
            raise UserError(f"{path}: figure {figure.name!r}: points need `over`, the metric of the horizontal axis")
        _check_metrics(path, figure.name, [one for one in (figure.metric, figure.above, figure.over) if one], known)


def _check_metrics(path: Path, place: str, metrics: Sequence[str], known: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in known:
            raise UserError(f"{path}: {place!r}: no metric {metric!r}; known: {', '.join(known)}")
