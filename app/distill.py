"""`triplecheck distill`: a small student learns from collected traces."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from triplecheck.app.console import is_quiet, print_json, reporting, say, stderr, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import DATA, LIMITS, OUTPUT, JsonOption, argument, flagged, flattened

if TYPE_CHECKING:
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.progress import ProgressCallback
    from triplecheck.optimize.distil import DistilOptions, StudentReport
    from triplecheck.optimize.distil.lesson import Lesson


@dataclass(frozen=True, kw_only=True)
class DistillOptions:
    """What is trained, from what, and where it is written."""

    out: Path = flagged("--out DIR", "Directory of students.", OUTPUT, default=...)
    student: Literal["ranker", "reader", "lora"] = flagged(
        "--student",
        "`ranker`: a ranker of paths for `extractive`, in a minute on a CPU. `reader`: picks the facts that answer "
        "and the operation, in minutes on a CPU; from several graphs a general one, each left out in turn to "
        "measure it there. `lora`: a language model for the answering step, on its own verified chains of thought; "
        "TRACES are of `collect --pass gold`, one directory for each graph. Options besides --kb, "
        "--questions, --hops, --limit, --seed, --out, --name and --json are for `lora` alone.",
        default="ranker",
    )
    kb: str | None = flagged("--kb KB", "Refuse traces that are not of the graph of this knowledge base.", DATA)
    questions: list[Path] | None = flagged(
        "--questions FILE",
        "With --kb: learn from these questions with answers, as JSON lines; right replies are recorded first. "
        "Repeatable.",
        DATA,
    )
    hops: int = flagged("--hops N", "With --questions: how far answers are from topics.", DATA, min=1, default=3)
    limit: int = flagged("--limit N", "With --questions: use at most N, drawn at random.", LIMITS, min=1, default=500)
    name: str | None = flagged("--name NAME", "Name of the student in DIR; an existing name is reassigned.", OUTPUT)
    seed: int = flagged("--seed S", "Seed; the same seed gives the same student.", default=0)
    json: JsonOption = False


@dataclass(frozen=True, kw_only=True)
class AdapterOptions:
    """How an adapter is trained: options of the student `lora`. Fields of `DistilOptions` and `LoraOptions` have their
    names."""

    base: str = flagged(
        "--base MODEL", "Model to train: `local/smollm2`, or a directory with a model.", default="local/smollm2"
    )
    samples: int = flagged("--samples N", "Samples of a question whose first chain is rejected.", LIMITS, default=4)
    left_out: list[str] | None = flagged(
        "--left-out GRAPH", "Train another adapter without this graph, and measure it there. Repeatable."
    )
    bare: bool = flagged("--bare", "Measure the untrained model without worked examples too.", default=False)
    seconds: float | None = flagged(
        "--seconds S", "Write no further reply and train no further adapter after S seconds.", LIMITS
    )
    epochs: int = flagged("--epochs N", "Epochs.", default=2)
    max_steps: int | None = flagged("--max-steps N", "Maximum training steps.", LIMITS)
    batch: int = flagged("--batch N", "Batch size.", default=8)
    learning_rate: float = flagged("--learning-rate X", "Peak learning rate.", default=2e-4)
    rank: int = flagged("--rank N", "Rank of the adapter.", default=16)
    max_length: int = flagged("--max-length N", "Maximum tokens per row; longer rows are left out.", DATA, default=2048)
    dev_rows: int = flagged("--dev-rows N", "Maximum held-out rows to measure the loss on.", DATA, default=64)
    patience: int = flagged(
        "--patience N", "Stop after N evaluations without a lower held-out loss.", LIMITS, default=3
    )
    device: str = flagged("--device NAME", "cpu, cuda, or auto: a GPU if there is one.", default="auto")
    precision: str = flagged("--precision NAME", "float32, bfloat16, or auto: the faster one.", default="auto")
    merge: Path | None = flagged(
        "--merge DIR",
        "Also write the model with the adapter merged into it. For numbers of list items it writes "
        "how the items begin: `local/DIR` converts these to numbers, other servers do not.",
        OUTPUT,
    )
    gguf: Path | None = flagged(
        "--gguf FILE", "Also write the adapter for llama.cpp, to be used with the base model in GGUF format.", OUTPUT
    )

    @property
    def given(self) -> list[str]:
        """The options that were given another value than their default."""
        fields = (field for field in dataclasses.fields(self) if getattr(self, field.name) != field.default)
        return [f"--{field.name.replace('_', '-')}" for field in fields]

    def training(self, seed: int) -> DistilOptions:
        """The settings of the training run.

        Raises:
            UserError: a setting is out of range.
        """
        from triplecheck.optimize.distil import DistilOptions

        names = {field.name for field in dataclasses.fields(DistilOptions)}
        given = {name: value for name, value in vars(self).items() if name in names}
        return DistilOptions(**given, alpha=2 * self.rank, seed=seed)


@flattened()
def distill(
    run: DistillOptions,
    adapter: AdapterOptions,
    traces: Annotated[
        list[Path] | None, argument("[TRACES...]", "Directories that `triplecheck collect` wrote.")
    ] = None,
) -> None:
    """Train a small student on verified steps of programs.

    A `ranker` is a .safetensors file, used as `extractive?ranker=FILE`. A `reader` is a directory, used as
    `--role answer=student/DIR/NAME`. A `lora` is an adapter of about 10 MB, used as `--role answer=local/DIR/NAME`.
    It is in DIR/HASH, where HASH is of the base model, data, options and versions: an existing one is not trained
    again, and the same command resumes an interrupted run. The loss covers the replies, not the prompts; the weights
    with the lowest held-out loss are kept.

    Writes NAME.report.json and NAME.report.md for all students: what it learnt from, rows by step, kind and teacher,
    scores on held-out rows before and after, seconds, licence.

    Examples:

        triplecheck distill traces --out students --name films
        triplecheck distill traces --out students --name films --kb kbs/films
        triplecheck distill --kb kbs/films --questions films.jsonl --student reader --out students --name reading
        triplecheck distill traces/films traces/debian --student lora --out students --name words --left-out debian
        triplecheck ask "Who directed Alien?" --role answer=student/students/reading
    """
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        lesson = _lesson(run, adapter)
    base = open_base(run.kb) if run.kb else None
    with reporting(err, "reading") as tell:
        report = _distilled(run, lesson, base, list(traces or ()), tell)
    with waiting(err, "exporting"):
        written = _exported(report, adapter)
    if run.json:
        print_json(report.to_json() | {"exported": [str(path) for path in written]})
        return
    _show(report)
    for path in written:
        say(path)


def _lesson(run: DistillOptions, adapter: AdapterOptions) -> Lesson:
    """What the options say of a lesson, without rows.

    Raises:
        UserError: two options exclude each other, or the value of one is not allowed.
    """
    from triplecheck.kg import UserError
    from triplecheck.optimize.distil.lesson import Lesson, LoraOptions
    from triplecheck.optimize.distil.merge import check_free

    if run.student != "lora" and adapter.given:
        raise UserError(f"the student {run.student} is no adapter: leave out {', '.join(adapter.given)}")
    if run.questions and not run.kb:
        raise UserError("--questions needs --kb, the knowledge base of the graph that they are about")
    if adapter.merge is not None:
        check_free(adapter.merge)
    return Lesson(
        {},
        run.out,
        name=run.name,
        base=adapter.base,
        training=adapter.training(run.seed),
        how=LoraOptions(adapter.samples, tuple(adapter.left_out or ()), adapter.bare, adapter.seconds),
        device=adapter.device,
    )


def _distilled(
    run: DistillOptions, lesson: Lesson, base: KnowledgeBase | None, traces: list[Path], tell: ProgressCallback
) -> StudentReport:
    """Train the student on traces, and on those that are recorded of the questions."""
    from triplecheck.optimize.distil.students import STUDENTS, rows_for
    from triplecheck.optimize.traces.reading import graph_of

    traces += [] if base is None else _recorded(run, base, tell)
    rows = rows_for(run.student, traces, graph_of(base))
    return STUDENTS[run.student](dataclasses.replace(lesson, rows=rows, progress=tell))


def _recorded(run: DistillOptions, base: KnowledgeBase, tell: ProgressCallback) -> list[Path]:
    """Record traces of right replies to the questions; empty without questions."""
    from triplecheck.evals.questions import read_questions
    from triplecheck.optimize.distil.reader.recorded import RECORDED, record_answers

    if not run.questions:
        return []
    return record_answers(
        base,
        [question for file in run.questions for question in read_questions(file)],
        run.out / RECORDED,
        hops=run.hops,
        limit=run.limit,
        seed=run.seed,
        distracted=run.student == "reader",
        progress=tell,
    )


def _exported(report: StudentReport, adapter: AdapterOptions) -> list[Path]:
    """Write an adapter in other forms."""
    from triplecheck.optimize.distil.merge import write_gguf, write_merged

    written = [write_merged(report.model, adapter.merge)] if adapter.merge else []
    return written + ([write_gguf(report.model, adapter.gguf)] if adapter.gguf else [])


def _show(report: StudentReport) -> None:
    from triplecheck.evals.metrics.statistics import say_p
    from triplecheck.kg.readable import counted
    from triplecheck.optimize.distil.report import too_few

    if not is_quiet():
        learnt = report.learnt
        say(f"learnt from {learnt.rows:,} rows of {learnt.questions:,} questions in {report.seconds:.0f} s")
        for title, rows in (("step", learnt.by_step), ("kind", learnt.by_kind), ("teacher", learnt.by_model)):
            if rows:
                say(f"rows by {title}: {counted(rows)}")
        if learnt.left_out:
            say(f"left out: {counted(learnt.left_out)}")
        for one in report.scores:
            shown = f"{one.on}, {one.rows} held-out rows, {one.what}: {', '.join(one.shown)}, {say_p(one.p)}"
            say(shown)
        if doubt := too_few(min((one.rows for one in report.scores), default=0)):
            say(doubt)
    say(report.model)
