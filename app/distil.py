"""`triplecheck distil`: a small model learns the steps of programs from collected traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout
from triplecheck.app.progress import reporting, waiting

if TYPE_CHECKING:
    from triplecheck.optimize.distil import Distilled


def distil(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACES...", help="Directories that `triplecheck collect` wrote.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Directory of distilled models, one below it each.")
    ],
    base: Annotated[
        str, typer.Option(metavar="MODEL", help="Model to train: `local/smollm2`, or a directory of transformers.")
    ] = "local/smollm2",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name for the model in DIR, besides its hash; moved if taken.")
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option("--step", metavar="NAME", help="Train on this step alone, such as SelectPaths. Repeatable."),
    ] = None,
    epochs: Annotated[int, typer.Option(metavar="N", help="How often the data is gone through.")] = 2,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", metavar="N", help="End after so many steps of the optimizer.")
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", help="Rows a step.")] = 8,
    rate: Annotated[float, typer.Option("--learning-rate", metavar="X", help="At its highest.")] = 2e-4,
    schedule: Annotated[str, typer.Option(metavar="NAME", help="cosine or constant.")] = "cosine",
    rank: Annotated[int, typer.Option(metavar="N", help="Rank of the adapter.")] = 16,
    max_length: Annotated[
        int, typer.Option("--max-length", metavar="N", help="Tokens; longer rows are left out, and counted.")
    ] = 2048,
    empty_share: Annotated[
        float,
        typer.Option(
            "--empty-share",
            metavar="X",
            help="Share of a step's rows that may reply that there is nothing; a small model that reads it often "
            "says so wherever it wavers.",
        ),
    ] = 0.2,
    dev_rows: Annotated[int, typer.Option(metavar="N", help="Held-out rows that are measured on, at most.")] = 64,
    patience: Annotated[
        int, typer.Option(metavar="N", help="Measurements without a better held-out loss after which to end.")
    ] = 3,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed makes the same model.")] = 0,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda, or auto: a GPU where there is one.")] = "auto",
    precision: Annotated[
        str, typer.Option(metavar="NAME", help="float32, bfloat16, or auto: what is faster.")
    ] = "auto",
    merge: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write the whole model with the adapter in it. Where numbers of listed items are asked for it "
            "writes how they begin: `local/DIR` puts the numbers back, other servers do not.",
        ),
    ] = None,
    gguf: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the adapter for llama.cpp, to lay over the GGUF base."),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Distil: train a small model on the verified steps of programs, as an adapter of some 10 MB.

    Learns the replies, not the prompts; questions that `collect` held out are measured on, and the weights
    with the best loss on them are kept. Writes DIR/HASH with the adapter and a manifest, HASH being of the base
    model, the data, the options and the versions: what is there is not trained again, and a training that was
    interrupted goes on with the same command. The model string `local/DIR/HASH` plays any role.

    Examples:

        triplecheck distil traces --out adapters

        triplecheck distil traces/films traces/debian --out adapters --name kerag --epochs 3

        triplecheck ask "Who directed Alien?" --lm local/adapters/kerag
    """
    err = stderr()
    err.quiet = json
    with waiting(err, "loading"):
        from triplecheck.optimize.distil import DistilOptions
        from triplecheck.optimize.distil import distil as train
        from triplecheck.optimize.distil.merge import check_free, write_gguf, write_merged

        if merge is not None:
            check_free(merge)

        settings = DistilOptions(
            rank=rank,
            alpha=2 * rank,
            batch=batch,
            learning_rate=rate,
            schedule=schedule,  # type: ignore[arg-type]
            epochs=epochs,
            max_steps=max_steps,
            max_length=max_length,
            empty_share=empty_share,
            dev_rows=dev_rows,
            patience=patience,
            precision=precision,  # type: ignore[arg-type]
            seed=seed,
        )
    with reporting(err, "reading") as tell:
        made = train(
            traces, out, base=base, options=settings, steps=step or (), name=name, device=device, progress=tell
        )
    with waiting(err, "exporting"):
        written = [write_merged(made.model, merge)] if merge else []
        written += [write_gguf(made.model, gguf)] if gguf else []
    model = f"local/{out / name}" if name else made.model
    if json:
        exported = [str(path) for path in written]
        print_json(made.manifest | {"out": str(made.path), "model": model, "exported": exported})
        return
    _show(made, model)
    for path in written:
        stdout().print(printable(str(path)), soft_wrap=True)


def _show(made: Distilled, model: str) -> None:
    to = stdout()
    data, course = made.manifest["data"], made.manifest["training"]
    for title in ("step", "source"):
        counts = ", ".join(f"{name} {count}" for name, count in data[f"by_{title}"].items())
        to.print(f"rows by {title}: {counts}", soft_wrap=True)
    left_out = ", ".join(f"{reason} {count}" for reason, count in data["left_out"].items())
    to.print(
        f"learnt from {data['train']} rows, measured on {data['dev']}"
        + (f"; left out: {left_out}" if left_out else ""),
        soft_wrap=True,
    )
    measured = [point for point in course["curve"] if "dev_loss" in point]
    for point in measured:
        mark = " (kept)" if point["step"] == course["best_step"] else ""
        to.print(f"step {point['step']}: held-out loss {point['dev_loss']:.4f}, {point['dev_exact']:.0%} exact{mark}")
    if course["dev_exact_by_step"]:
        by_step = ", ".join(f"{name} {share:.0%}" for name, share in course["dev_exact_by_step"].items())
        to.print(f"exact by step: {by_step}", soft_wrap=True)
    early = ", ended early" if course["stopped_early"] else ""
    to.print(
        f"{course['steps']} steps{early}, {course['seconds']:.0f} s on {course['device']} ({course['precision']}), "
        f"{course['tokens_read'] / max(course['seconds'], 1e-9):.0f} tokens/s",
        soft_wrap=True,
    )
    size = made.manifest["adapter"]["bytes"] / 1e6
    to.print(f"{printable(model)} ({size:.1f} MB in {printable(str(made.path))})", soft_wrap=True)
