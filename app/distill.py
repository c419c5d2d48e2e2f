"""`triplecheck distill`: a small model is trained on the steps of programs, from collected traces."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from triplecheck.app.console import counted, is_quiet, print_json, printable, reporting, stderr, stdout, waiting
from triplecheck.app.options import DATA, LIMITS, OUTPUT, JsonOption, flag, flattened

if TYPE_CHECKING:
    from triplecheck.optimize.distil import Distilled, DistilOptions


@dataclass(frozen=True, kw_only=True)
class DistillOptions:
    """What is trained, how, and where it is written. Fields of `DistilOptions` have its names."""

    out: Annotated[Path, flag("--out DIR", "Directory of distilled models, one folder for each.", OUTPUT)]
    base: Annotated[str, flag("--base MODEL", "Model to train: `local/smollm2`, or a transformers directory.")] = (
        "local/smollm2"
    )
    student: Annotated[
        Literal["model", "ranker", "reader", "lora"],
        flag(
            "--student",
            "`model`: a language model, for all steps. `ranker`: a ranker of paths for `extractive`, in a minute on a "
            "CPU; of the other options only --name and --seed apply. `reader`: a reader of answers, which picks the "
            "facts that answer and the operation, in minutes on a CPU; for one graph, with --kb and --questions or its "
            "TRACES, or a general one from TRACES of several graphs, each left out in turn to measure it there. "
            "`lora`: a language model for the answering step, on its own verified chains of thought; TRACES are of "
            "`collect --pass gold`, one directory for each graph.",
        ),
    ] = "model"
    kb: Annotated[
        str | None, flag("--kb KB", "With `reader`: the graph whose --questions are read along the right paths.", DATA)
    ] = None
    questions: Annotated[
        list[Path] | None,
        flag("--questions FILE...", "With `reader` and --kb: questions with answers, as JSON lines.", DATA),
    ] = None
    hops: Annotated[
        int, flag("--hops N", "With `reader` and --kb: how far answers are from their topics.", DATA, min=1)
    ] = 2
    limit: Annotated[
        int, flag("--limit N", "With `reader` and --kb: use at most N questions, drawn at random.", LIMITS, min=1)
    ] = 500
    samples: Annotated[
        int, flag("--samples N", "With `lora`: samples of a question whose first chain is rejected.", LIMITS)
    ] = 4
    left_out: Annotated[
        list[str] | None,
        flag(
            "--left-out GRAPH",
            "With `lora`: train another adapter without this graph, and measure it there. Repeatable.",
        ),
    ] = None
    bare: Annotated[bool, flag("--bare", "With `lora`: measure the untrained model without worked examples too.")] = (
        False
    )
    seconds: Annotated[
        float | None,
        flag("--seconds S", "With `lora`: after this time no further replies and no further adapter.", LIMITS),
    ] = None
    name: Annotated[
        str | None, flag("--name NAME", "Name of the model in DIR; an existing name is reassigned.", OUTPUT)
    ] = None
    steps: Annotated[
        list[str] | None, flag("--step NAME", "Train on this step alone (SelectPaths). Repeatable.", DATA)
    ] = None
    epochs: Annotated[int, flag("--epochs N", "Epochs.")] = 2
    max_steps: Annotated[int | None, flag("--max-steps N", "Maximum training steps.", LIMITS)] = None
    batch: Annotated[int, flag("--batch N", "Batch size.")] = 8
    learning_rate: Annotated[float, flag("--learning-rate X", "Peak learning rate.")] = 2e-4
    schedule: Annotated[str, flag("--schedule NAME", "Learning rate schedule: cosine or constant.")] = "cosine"
    rank: Annotated[int, flag("--rank N", "Rank of the adapter.")] = 16
    max_length: Annotated[int, flag("--max-length N", "Maximum tokens per row; longer rows are left out.", DATA)] = 2048
    empty_share: Annotated[
        float,
        flag(
            "--empty-share X",
            "Maximum share of a step's rows whose reply is empty. With many of them, a small model replies "
            "`nothing` whenever it is unsure.",
            DATA,
        ),
    ] = 0.2
    dev_rows: Annotated[int, flag("--dev-rows N", "Maximum held-out rows to measure on.", DATA)] = 64
    patience: Annotated[
        int, flag("--patience N", "Stop after N evaluations without a lower held-out loss.", LIMITS)
    ] = 3
    seed: Annotated[int, flag("--seed S", "Seed; the same seed gives the same model.")] = 0
    device: Annotated[str, flag("--device NAME", "cpu, cuda, or auto: a GPU if there is one.")] = "auto"
    precision: Annotated[str, flag("--precision NAME", "float32, bfloat16, or auto: the faster one.")] = "auto"
    merge: Annotated[
        Path | None,
        flag(
            "--merge DIR",
            "Also write the model with the adapter merged into it. For numbers of list items it writes "
            "how the items begin: `local/DIR` converts these to numbers, other servers do not.",
            OUTPUT,
        ),
    ] = None
    gguf: Annotated[
        Path | None,
        flag(
            "--gguf FILE",
            "Also write the adapter for llama.cpp, to be used with the base model in GGUF format.",
            OUTPUT,
        ),
    ] = None
    json: JsonOption = False

    @property
    def training(self) -> DistilOptions:
        """The settings of the training run.

        Raises:
            UserError: a setting is out of range.
        """
        from triplecheck.optimize.distil import DistilOptions

        names = {field.name for field in dataclasses.fields(DistilOptions)}
        given = {name: value for name, value in vars(self).items() if name in names}
        return DistilOptions(**given, alpha=2 * self.rank)


@flattened()
def distill(
    run: DistillOptions,
    traces: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[TRACES...]", help="Directories that `triplecheck collect` wrote."),
    ] = None,
) -> None:
    """Train a small model on verified steps of programs; the result is an adapter of about 10 MB.

    The loss covers the replies, not the prompts. Loss is measured on the questions that `collect` held out, and the
    weights with the lowest loss are kept. Writes the adapter and a manifest to DIR/HASH, where HASH is of the base
    model, data, options and versions: an existing model is not trained again, and the same command resumes an
    interrupted run. Use the model as `local/DIR/HASH` or `local/DIR/NAME`.

    Examples:

        triplecheck distill traces --out adapters

        triplecheck distill traces --student ranker --out adapters --name films

        triplecheck distill --student reader --kb kbs/films --questions films.jsonl --out readers

        triplecheck distill traces --student lora --out adapters --name films

        triplecheck distill traces/films traces/debian --out adapters --name kerag --epochs 3

        triplecheck ask "Who directed Alien?" --lm local/adapters/kerag
    """
    from triplecheck.kg.errors import UserError

    if run.student != "reader" and (run.kb or run.questions):
        raise UserError(f"--kb and --questions are for --student reader; {run.student} learns from TRACES")
    if not traces and not run.kb:
        raise UserError("no TRACES are named; `triplecheck collect` writes them")
    students = {"model": _distil_model, "ranker": _distil_ranker, "reader": _distil_reader, "lora": _distil_lora}
    students[run.student](traces or [], run)


def _distil_model(traces: list[Path], run: DistillOptions) -> None:
    """Train a language model on traces and export it."""
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        from triplecheck.optimize.distil import distil
        from triplecheck.optimize.distil.merge import check_free, write_gguf, write_merged

        if run.merge is not None:
            check_free(run.merge)
        settings = run.training
    with reporting(err, "reading") as tell:
        made = distil(
            traces,
            run.out,
            base=run.base,
            options=settings,
            steps=run.steps or (),
            name=run.name,
            device=run.device,
            progress=tell,
        )
    with waiting(err, "exporting"):
        written = [write_merged(made.model, run.merge)] if run.merge else []
        written += [write_gguf(made.model, run.gguf)] if run.gguf else []
    model = f"local/{run.out / run.name}" if run.name else made.model
    if run.json:
        exported = [str(path) for path in written]
        print_json(made.manifest | {"out": str(made.path), "model": model, "exported": exported})
        return
    _show(made, model)
    for path in written:
        stdout().print(printable(str(path)), soft_wrap=True)


def _distil_ranker(traces: list[Path], run: DistillOptions) -> None:
    err, out = stderr(quiet=run.json), run.out / f"{run.name or 'ranker'}.safetensors"
    with waiting(err, "loading"):
        from triplecheck.optimize.distil.path_ranker import FURTHER
        from triplecheck.optimize.distil.trace_ranker import distil_ranker
        from triplecheck.optimize.traces import read_traces
    with reporting(err, "reading") as tell:
        rows = [row for folder in traces for row in read_traces(folder)]
        about = distil_ranker(rows, out, dataclasses.replace(FURTHER, seed=run.seed), tell)
    model = f"extractive?ranker={out}"
    if run.json:
        print_json(dict(about) | {"out": str(out), "model": model})
        return
    held_out = about["held_out"]
    if not is_quiet():
        stdout().print(
            f"trained on {about['questions']:,} paths of {about['traces']:,} answers; same answer as the teacher on "
            f"{held_out['questions']:,} held-out prompts: {held_out['before']:.0%} before, "
            f"{held_out['after']:.0%} with it"
        )
    stdout().print(printable(model), soft_wrap=True)


def _distil_reader(traces: list[Path], run: DistillOptions) -> None:
    """Train a reader of answers on traces, or on what is recorded now."""
    from triplecheck.app.opening import open_base

    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        from triplecheck.evals.questions import read_questions
        from triplecheck.kg.errors import UserError
        from triplecheck.optimize.distil.reader import ReaderOptions, distil_reader, read_tasks, train_reader

        if bool(run.kb) != bool(run.questions):
            raise UserError("--kb and --questions go together: the graph, and its questions with answers")
        asked = [question for file in run.questions or () for question in read_questions(file)]
    out, options = run.out / (run.name or "reader"), ReaderOptions(seed=run.seed)
    base = open_base(run.kb) if run.kb else None
    with reporting(err, "reading") as tell:
        if base is None:
            made = distil_reader(read_tasks(traces), out, options, tell)
        else:
            how = {"hops": run.hops, "limit": run.limit}
            made = train_reader(base, asked, out, options, **how, traces=traces, progress=tell)
    if run.json:
        print_json(dict(made.about) | {"out": str(made.path), "model": made.model})
        return
    if not is_quiet():
        stdout().print(printable(made.table), soft_wrap=True)
    stdout().print(printable(made.model), soft_wrap=True)


def _distil_lora(traces: list[Path], run: DistillOptions) -> None:
    """Train a language model on its own chains, and measure it."""
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        from triplecheck.optimize.distil.lora import LoraOptions, LoraTask, distil_lora
        from triplecheck.optimize.traces import read_traces

        how = LoraOptions(samples=run.samples, left_out=tuple(run.left_out or ()), bare=run.bare, seconds=run.seconds)
        settings = run.training
        graphs = sorted({folder.name for folder in traces})
        rows = {graph: [row for at in traces if at.name == graph for row in read_traces(at)] for graph in graphs}
    with reporting(err, "reading") as tell:
        report = distil_lora(
            [LoraTask.of(graph, own) for graph, own in rows.items()],
            run.out,
            base=run.base,
            options=settings,
            how=how,
            name=run.name,
            device=run.device,
            progress=tell,
        )
    if run.json:
        print_json(report.to_json())
        return
    if not is_quiet():
        stdout().print(f"own chains: {counted(report.chains['greedy'])}", soft_wrap=True)
        stdout().print(report.table(), soft_wrap=True)
    stdout().print(printable(f"local/{run.out / (run.name or report.adapters['all']['model'])}"), soft_wrap=True)


def _show(made: Distilled, model: str) -> None:
    to = stdout()
    size = made.manifest["adapter"]["bytes"] / 1e6
    summary = f"{printable(model)} ({size:.1f} MB in {printable(str(made.path))})"
    if is_quiet():
        to.print(summary, soft_wrap=True)
        return
    _show_data(made.manifest["data"])
    _show_training(made.manifest["training"])
    to.print(summary, soft_wrap=True)


def _show_data(data: dict[str, Any]) -> None:
    to = stdout()
    for title in ("step", "source"):
        to.print(f"rows by {title}: {counted(data[f'by_{title}'])}", soft_wrap=True)
    left_out = counted(data["left_out"])
    to.print(
        f"trained on {data['train']} rows, measured on {data['dev']}" + (f"; left out: {left_out}" if left_out else ""),
        soft_wrap=True,
    )


def _show_training(training: dict[str, Any]) -> None:
    to = stdout()
    measured = [point for point in training["curve"] if "dev_loss" in point]
    for point in measured:
        mark = " (kept)" if point["step"] == training["best_step"] else ""
        to.print(f"step {point['step']}: held-out loss {point['dev_loss']:.4f}, {point['dev_exact']:.0%} exact{mark}")
    if training["dev_exact_by_step"]:
        by_step = ", ".join(f"{name} {share:.0%}" for name, share in training["dev_exact_by_step"].items())
        to.print(f"exact by step: {by_step}", soft_wrap=True)
    early = ", stopped early" if training["stopped_early"] else ""
    to.print(
        f"{training['steps']} steps{early}, {training['seconds']:.0f} s on "
        f"{training['device']} ({training['precision']}), "
        f"{training['tokens_read'] / max(training['seconds'], 1e-9):.0f} tokens/s",
        soft_wrap=True,
    )
