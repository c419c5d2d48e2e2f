"""Run an experiment: each cell of each table once, in its own directory. An interrupted run can be resumed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from triplecheck.evals.configuration import digest, plain
from triplecheck.evals.datasets.folder import DataFolder, DataFolderOptions, bundled_case, find_cases
from triplecheck.evals.experiments.config import KEPT, DataSpec, Experiment, ModelSpec, RowSpec, TableSpec
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question, sampled
from triplecheck.evals.run_directory import read_rows
from triplecheck.evals.runner import evaluate
from triplecheck.evals.summary import Summary
from triplecheck.evals.variants.make import make_variant
from triplecheck.evals.withheld import withhold
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.embedding import TrainingOptions
from triplecheck.kg.embedding.embeddings import train_into
from triplecheck.kg.encode import TextEncoder
from triplecheck.kg.errors import MissingExtraError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import ModelUnavailableError, Roles
from triplecheck.lms.kinds import EXTRACTIVE
from triplecheck.programs import Cascade, Program, Sources, resolve_program
from triplecheck.programs.options import check_options

# Open a data set of a configuration: its knowledge base and a sample of its questions.


@dataclass(frozen=True)
class OpenedSet:
    """A knowledge base and questions about it."""

    knowledge_base: KnowledgeBase
    questions: Sequence[Question]


class SetOpener:
    """Opens data sets, each once.

    Args:
        data: folder of benchmarks (`evals.datasets.folder`); None: no folder.
        missing: called once for each data set and model that is not available; None: raise UserError.
    """

    def __init__(self, data: Path | None, kbs: Path, missing: Callable[[str], None] | None = None) -> None:
        self._cases = {} if data is None else {case.name: case for case in find_cases(data)}
        self._kbs = kbs
        self._missing = missing
        self._told: set[str] = set()
        self._bases: dict[Path, KnowledgeBase] = {}
        self._opened: dict[tuple[str, int, int], OpenedSet] = {}

    def open(
        self, name: str, spec: DataSpec, limit: int, seed: int, progress: ProgressCallback = no_progress
    ) -> OpenedSet | None:
        """Open a data set and sample its questions. With the same seed a larger sample begins with the smaller one.

        Args:
            progress: called while embeddings are trained.

        Returns:
            None if the data set is not available and `missing` is given.

        Raises:
            UserError: the data set is not available, or has no matching questions.
            ReadError: one of its files is malformed.
        """
        if spec.case is not None and spec.case not in self._cases:
            self.leave_out(name, f"no benchmark {spec.case!r} in the data directory")
            return None
        if spec.kb is not None and not (spec.kb / "manifest.json").is_file():
            self.leave_out(name, f"no knowledge base {spec.kb}")
            return None
        if spec.questions is not None and not spec.questions.is_file():
            self.leave_out(
                name, f"no questions {spec.questions}; `triplecheck data generate` or `synthesize` makes some"
            )
            return None
        if (name, limit, seed) not in self._opened:
            self._opened[name, limit, seed] = self._read(spec, limit, seed, progress)
        return self._opened[name, limit, seed]

    def each_case(self, experiment: Experiment) -> Experiment:
        """The experiment with a data set `BENCHMARK-NAME` for each benchmark that the pattern of data set NAME matches.

        A pattern that matches none stays; `open` leaves it out.
        """
        spread = {name: self._matched(name, spec) or {name: spec} for name, spec in experiment.data.items()}
        tables = [
            replace(table, data=tuple(one for name in table.data for one in spread[name]))
            for table in experiment.tables
        ]
        data = {name: spec for one in spread.values() for name, spec in one.items()}
        return replace(experiment, data=data, tables=tuple(tables))

    def _matched(self, name: str, spec: DataSpec) -> dict[str, DataSpec]:
        if spec.case is None or not set(spec.case) & set("*?"):
            return {}
        named = [replace(spec, title=case, case=case) for case in self._cases if fnmatchcase(case, spec.case)]
        return {f"{one.case}-{name}": one for one in named if self._case(one).matching()}

    def training(self, spec: DataSpec, limit: int, seed: int) -> list[Question]:
        """A sample of the half of the questions that the data set does not measure on.

        Raises:
            UserError: the data set measures on all of them.
        """
        if spec.bundled == "test":
            return sampled(list(bundled_case("train").sample(None)), limit, seed)
        if spec.part is None:
            raise UserError("students are trained on the other half of the questions: set the `part` to measure on")
        return sampled([q for q in self._case(spec).sample(None) if q.part != spec.part], limit, seed)

    def _read(self, spec: DataSpec, limit: int, seed: int, progress: ProgressCallback) -> OpenedSet:
        case = self._case(spec)
        base = self._base(spec.kb or self._kbs / case.folder.name, case)
        questions = [q for q in case.sample(None) if spec.part is None or q.part == spec.part]
        questions = sampled(questions, limit, seed)
        if spec.variant is not None:
            # After sampling, so that both versions have the same questions.
            questions, base = make_variant(spec.variant, questions, base, self._kbs / "variants", seed)
        return OpenedSet(self._embedded(base, progress) if spec.embeddings else base, questions)

    def _case(self, spec: DataSpec) -> DataFolder:
        if spec.bundled is not None:
            case = bundled_case(spec.bundled)
        elif spec.case is not None:
            case = self._cases[spec.case]
        else:
            assert spec.kb is not None and spec.questions is not None
            case = DataFolder(name=spec.kb.name, folder=spec.kb, questions=spec.questions)
        options = DataFolderOptions(
            spec.one_answer or case.options.one_answer,
            case.options.supported_only,
            {**case.options.where, **spec.where},
        )
        return replace(case, options=options, questions=spec.questions or case.questions)

    def _base(self, place: Path, case: DataFolder) -> KnowledgeBase:
        if place not in self._bases:
            self._bases[place] = case.knowledge_base(place)
        return self._bases[place]

    def _embedded(self, base: KnowledgeBase, progress: ProgressCallback) -> KnowledgeBase:
        """The knowledge base with its embeddings, which are trained if it has none; without them if that fails."""
        if base.embeddings is not None:
            return base
        try:
            train_into(base.columnar, base.generation, TrainingOptions(), progress)
        except (UserError, MissingExtraError) as error:
            self.leave_out(f"embeddings of {base.path.name}", str(error))
            return base
        self._bases[base.path] = KnowledgeBase.open(base.path)
        return self._bases[base.path]

    def leave_out(self, name: str, why: str) -> None:
        """Report once that something is not available, and why.

        Raises:
            UserError: no `missing` was given.
        """
        if self._missing is None:
            raise UserError(f"{name}: {why}")
        if name not in self._told:
            self._told.add(name)
            self._missing(f"{name}: {why}")


CellProgress = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Trained:
    """Students that were trained for a row.

    Attributes:
        ranker: the file of the ranker of paths; None: the general one.
        roles: the model strings of the others, by role.
        program: compiled with students, for the baseline's models; None: that of the row.
    """

    ranker: Path | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    program: Program | None = None


Trainer = Callable[[str, KnowledgeBase, Sequence[Question], int, Path], Trained]
"""Trains a student, by its name, on questions, with a seed, and writes it below a directory."""


@dataclass(frozen=True)
class Cell:
    """One program on one data set with one choice of models."""

    table: str
    row: RowSpec
    data: str
    model: ModelSpec
    out: Path
    """The evaluation directory; it may hold rows of a larger sample."""
    summary: Summary
    knowledge_base: KnowledgeBase
    models: ModelSpec
    """What was asked: `model`, or the models that the row has of its own."""
    asked: frozenset[str] = frozenset()
    """The ids of the questions."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the questions, with traces."""
        return (row for row in read_rows(self.out) if row["id"] in self.asked)


@dataclass(frozen=True)
class Selection:
    """The part of an experiment to run.

    Attributes:
        only: substrings; a cell is run if its name "table/data/label/model" contains all of them.
        limit: sample size, in place of the configured one.
        model: model string, in place of the models of the tables.
        workers: questions asked in parallel.
    """

    only: Sequence[str] = ()
    limit: int | None = None
    model: str | None = None
    workers: int = 1


def run_experiment(
    experiment: Experiment,
    opener: SetOpener,
    runs: Path,
    selection: Selection | None = None,
    tell: CellProgress | None = None,
    trainer: Trainer | None = None,
    preparing: ProgressCallback = no_progress,
) -> list[Cell]:
    """Evaluate every cell. A cell that is in several tables is evaluated once.

    Args:
        runs: directory of the evaluation directories; finished evaluations there are reused.
        selection: the part to run; None: all.
        tell: called with the name of the cell and its progress.
        preparing: called while what a program needs is made, such as vectors and embeddings.

    Raises:
        UserError: a program, an option or a data set is invalid.
    """
    chosen = selection or Selection()
    _check(experiment)
    finished: dict[tuple[Path, frozenset[str]], Summary] = {}
    cells = []
    for table, data, model, row in _planned(experiment, chosen):
        own = row.model(model, chosen.model)
        if own is None:
            continue
        name = "/".join((table.name, data, row.label, own.title))
        if not all(part in name for part in chosen.only):
            continue
        opened = opener.open(data, experiment.data[data], model.limit or experiment.limit, experiment.seed, preparing)
        if opened is None:
            continue
        base = opened.knowledge_base
        out, asked = runs / _slug(experiment, row, data, own), frozenset(q.id for q in opened.questions)
        if (out, asked) not in finished:
            if table.shows_cost:
                _forget(base)
            try:
                place = runs / "students" / f"{data}-{row.questions}"
                trained = _trained(experiment, row, data, opener, base, place, trainer)
            except UserError as error:
                opener.leave_out(f"{data}, {row.label}", str(error))
                continue
            program = _program(row, base, trained)
            program.prepare(preparing)
            try:
                finished[out, asked] = evaluate(
                    program,
                    opened.questions,
                    out,
                    roles=_roles(row, own, trained),
                    knowledge_base=base,
                    workers=chosen.workers,
                    progress=None if tell is None else partial(tell, name),
                    settings={"seed": experiment.seed, "withheld": row.withheld},
                )
            except ModelUnavailableError as error:
                opener.leave_out(own.title, str(error))
                continue
        cells.append(Cell(table.name, row, data, model, out, finished[out, asked], base, own, asked))
    return cells


def _planned(experiment: Experiment, chosen: Selection) -> Iterator[tuple[TableSpec, str, ModelSpec, RowSpec]]:
    for table in experiment.tables:
        for data in table.data:
            for model in _models(table, chosen.model):
                limited = model if chosen.limit is None else replace(model, limit=chosen.limit)
                for row in table.rows:
                    yield table, data, limited, row


def _models(table: TableSpec, given: str | None) -> Sequence[ModelSpec]:
    """The models of a table with that of `--lm`, which replaces those that are `given`, or all where none is."""
    if given is None:
        return [model for model in table.models if not model.wants_given]
    if table.wants_given:
        return [model.with_given(given) for model in table.models]
    return [ModelSpec(lm=given)]


def _check(experiment: Experiment) -> None:
    """Reject an unknown program or option before any row is run."""
    for table in experiment.tables:
        for row in table.rows:
            check_options(resolve_program(row.program), row.options)
            if KEPT in row.students and (row.program != "kerag" or row.options or row.withheld):
                raise UserError(f"row {row.label!r}: students {KEPT!r} are those of program kerag without options")


def _forget(base: KnowledgeBase) -> None:
    """Clear the cache of text vectors, so that no row is faster because an earlier one encoded its texts."""
    if isinstance(base.encoder, TextEncoder):
        base.encoder.forget()


def _slug(experiment: Experiment, row: RowSpec, data: str, model: ModelSpec) -> str:
    """A directory name that depends on program, options, data and models, not on the row's label."""
    what = [row.program, plain(dict(row.options)), row.withheld, model.lm, plain(dict(model.roles))]
    what += [] if row.questions is None else [row.questions]
    what += [] if row.students == ("ranker",) else [list(row.students)]
    what += ["cascade"] if row.cascade else []
    asked = plain(experiment.data[data])
    if not asked["embeddings"]:
        del asked["embeddings"]  # data sets without them keep the directories that they had before the field
    content = digest([*what, asked, experiment.seed])
    readable = re.sub(r"[^\w.]+", "-", f"{row.program} {data} {model.lm}")
    return f"{readable}-{content[:8]}"


def _trained(
    experiment: Experiment,
    row: RowSpec,
    data: str,
    opener: SetOpener,
    base: KnowledgeBase,
    place: Path,
    trainer: Trainer | None,
) -> Trained:
    """The students of a row."""
    if row.questions is None or trainer is None:
        return Trained()
    asked = opener.training(experiment.data[data], row.questions, experiment.seed)
    found = [trainer(name, base, asked, experiment.seed, place / name) for name in row.students]
    return Trained(
        ranker=next((one.ranker for one in found if one.ranker is not None), None),
        roles={role: lm for one in found for role, lm in one.roles.items()},
        program=next((one.program for one in found if one.program is not None), None),
    )


def _program(row: RowSpec, base: KnowledgeBase, trained: Trained) -> Program:
    kind, sources = resolve_program(row.program), Sources.of(base)
    if trained.ranker is not None:
        sources = sources.with_ranker(trained.ranker)
    sources, options = withhold(sources) if row.withheld else sources, check_options(kind, row.options)
    program = kind(sources, **options)
    first = trained.program or program
    return Cascade([(first, Roles(EXTRACTIVE, trained.roles)), program]) if row.cascade else first


def _roles(row: RowSpec, model: ModelSpec, trained: Trained) -> Roles:
    """The models of a row; the students of a cascade are asked before them."""
    return Roles(model.lm, model.roles if row.cascade else {**model.roles, **trained.roles})
