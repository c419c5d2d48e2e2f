"""`triplecheck collect`: fine-tuning data from the verified steps of a program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from triplecheck.app.console import is_quiet, print_json, reporting, say, show_scores, stderr, waiting
from triplecheck.app.opening import Batch, open_batch
from triplecheck.app.options import OUTPUT, BatchOptions, ProgramArgument, flag, flagged, flattened

if TYPE_CHECKING:
    from triplecheck.optimize.traces import TraceManifest


@dataclass(frozen=True, kw_only=True)
class CollectOptions:
    """What is collected. All fields but `export` and `student` are arguments of `optimize.traces.collect`."""

    passes: list[str] | None = flagged(
        "--pass NAME",
        "`verified`: models answer, and correct runs are kept. `gold`: correct replies are computed from the "
        "graph and the known answers, and verified in the same way; their reasoning is a template. Repeatable; "
        "default: `verified` with a language model, both without one.",
    )
    samples: int = flagged("--samples N", "Times that each question is asked.", min=1, default=1)
    temperature: float | None = flagged(
        "--temperature T", "Sampling temperature. Default: 0.7 for several samples.", min=0, max=2
    )
    verify: Literal["gold", "agreement"] = flagged(
        "--verify",
        "`gold`: an answer is correct if it is the known one. `agreement`: without known answers; it is kept if "
        "most samples give it with the verdict `proved`.",
        default="gold",
    )
    agree: int | None = flagged("--agree N", "Samples that must prove the same answer. Default: more than half.", min=2)
    rationalize: bool = flagged(
        "--rationalize",
        "Show the model the known answer of a question that no sample answers correctly and with reasoning, and "
        "keep its explanation, marked `rationalized`, if it proves the answer.",
        default=False,
    )
    steps: list[str] | None = flagged("--step NAME", "Write the rows of this step alone (AnswerFromFacts). Repeatable.")
    cap: int = flagged("--cap N", "Maximum rows per question.", min=1, default=12)
    dev_share: float = flagged("--dev-share X", "Share of the questions to hold out.", min=0, max=1, default=0.1)
    least_share: float = flagged(
        "--least-share X",
        "Least share of each kind in the rows of a step: count, extreme, comparison, conjunction, two topics, "
        "unanswerable, and nothing selected. Rows of rare kinds count up to four times; 0: all count once. At most a "
        "fifth of a step's rows select nothing.",
        min=0,
        max=0.1,
        default=0.1,
    )
    distractors: int = flagged(
        "--distractors N",
        "Irrelevant paths and facts that the pass `gold` follows along with the relevant ones, so that "
        "prompts look as they do at run time. Replies never contain them.",
        min=0,
        default=2,
    )
    rejected: Path | None = flagged(
        "--rejected FILE",
        "Also write the steps that are left out, as JSON lines: each with the reason, its score by the step's own "
        "metric, what the metric says, and the reply.",
        OUTPUT,
    )
    export: list[str] | None = flagged(
        "--export FORM",
        "Also write the rows as `chat` (OpenAI's messages), `trl` (prompt and completion), `examples` (the fields "
        "of each step, for `dspy.Example`) or `datasets` (Hugging Face) to DIR/FORM. Repeatable.",
        OUTPUT,
    )

    student: Literal["general", "embedded"] = flagged(
        "--student",
        "Who reads exported chats. `general`: a model on a server, such as OpenAI's or vLLM's, or a GGUF file. "
        "`embedded`: `local/DIR`. Prompts and replies have the form in which it will be asked (with "
        "`--option demos=none`).",
        default="general",
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that were given."""
        return {
            name: value for name, value in vars(self).items() if name not in ("export", "student") and value is not None
        }

    def check(self) -> None:
        """Check the names of forms.

        Raises:
            UserError: there is no such form.
        """
        from triplecheck.kg import UserError
        from triplecheck.optimize.traces import FORMS

        unknown = sorted(set(self.export or ()) - set(FORMS))
        if unknown:
            raise UserError(f"--export {unknown[0]}: no such form; there are: {', '.join(FORMS)}")


@flattened("bundle", "cascade", "grounded_only", "out", questions="Default: the bundled training questions.")
def collect(
    program: ProgramArgument,
    out: Annotated[Path, flag("--out DIR", "Directory to write; an unfinished one is resumed.", OUTPUT)],
    run: BatchOptions,
    what: CollectOptions,
) -> None:
    """Collect training data: the steps of a program on questions that it answers rightly and proves.

    Each step is verified by itself: it is kept if its own metric gives the full score. A step that no metric scores is
    kept if the answer is right and proved, and no assist mended anything. An answer also needs its proof: it is correct
    and complete, every triple that it cites was retrieved and is in the graph, and the reasoning names the cited facts
    and the answer. Where a model answers wrongly and the facts in the prompt contain the correct answer, the row has a
    prompt that asks for no reasoning, and the correct answer. Of several samples of a question, the correct ones with
    different reasonings are kept. Writes traces.jsonl and manifest.json, which counts rejected questions and the steps
    that are left out by reason, rows by step and kind of question, and, for several samples,
    how many answers that they agree on are correct. The same command resumes an interrupted run.

    Examples:

        triplecheck collect kerag --out traces
        triplecheck collect kerag --kb kbs/films --questions films.jsonl --part train --out traces --export trl
        triplecheck collect kerag --lm openai/gpt-4o-mini --samples 3 --rationalize --out traces
        triplecheck collect kerag --questions asked.jsonl --lm openai/gpt-4o --samples 5 --verify agreement --out traces
    """
    settings = run.settings(program=program)
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        what.check()
    batch = open_batch(settings, run, ("train",), err)
    manifest = _collected(batch, out, run, what)
    written = _exported(out, what)
    if run.json:
        print_json(manifest.to_json() | {"out": str(out), "exported": [str(path) for path in written]})
    else:
        _show(manifest, out, written)


def _collected(batch: Batch, out: Path, run: BatchOptions, what: CollectOptions) -> TraceManifest:
    """Collect, and show the running score."""
    from triplecheck.optimize import traces

    with reporting(stderr(quiet=run.json), "asking") as tell:
        show = show_scores(tell)
        return traces.collect(
            batch.program,
            batch.questions,
            out,
            roles=batch.roles,
            knowledge_base=batch.kb,
            workers=batch.settings.workers,
            timeout=run.timeout,
            budget=batch.budget,
            progress=lambda _name, so_far: show(so_far),
            **what.arguments,
        )


def _exported(out: Path, what: CollectOptions) -> list[Path]:
    """Write the rows in other forms."""
    from triplecheck.optimize import traces

    rows = traces.read_traces(out) if what.export else []
    return [path for form in what.export or () for path in traces.export(rows, form, out / form, what.student)]


def _show(manifest: TraceManifest, out: Path, written: list[Path]) -> None:
    from triplecheck.kg.readable import counted

    if not is_quiet():
        _show_counts(manifest)
    left_out = f"; steps left out: {counted(manifest.left_out)}" if manifest.left_out else ""
    say(f"{manifest.rows} rows in {out}{left_out}")
    for path in written:
        say(path)


def _show_counts(manifest: TraceManifest) -> None:
    from triplecheck.kg.readable import counted

    for name, about in manifest.passes.items():
        tail = f"; rejected: {counted(about['rejected'])}" if about["rejected"] else ""
        say(f"{name}: {about['kept']} of {about['asked']} questions kept{tail}")
        if about["stopped"]:
            say(f"{name} stopped: {about['stopped']}")
    if manifest.agreement is not None:
        about = manifest.agreement
        right = f", {about['right']} of {about['known']} correct" if about["known"] else ""
        say(f"agreement: {about['kept']} of {about['asked']} questions{right}")
    for title, counts in (
        ("source", manifest.by_source),
        ("step", manifest.by_signature),
        ("split", manifest.by_split),
    ):
        say(f"rows by {title}: {counted(counts)}")
    for step, kinds in manifest.kinds.items():
        shares = ", ".join(f"{kind} {one['rows']} ({one['share']:.0%})" for kind, one in kinds.items())
        say(f"{step} by kind (share with repetitions): {shares}")
