"""`triplecheck kb embed`: train embeddings."""

from __future__ import annotations

from typing import Annotated

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, stderr, stdout
from triplecheck.app.match import KbArgument
from triplecheck.app.progress import reporting


def embed(
    kb: KbArgument,
    model: Annotated[str, typer.Option(metavar="NAME", help="A model of PyKEEN.")] = "ComplEx",
    dimensions: Annotated[
        int, typer.Option(metavar="N", help="Length of a vector (complex numbers: of ComplEx).")
    ] = 128,
    epochs: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 100,
    loop: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="`pykeen`: PyKEEN's own training loop. `sampled`: its model and loss, a batch compared with some of "
            "all tails (ComplEx, DistMult). `auto`: sampled above 5,000 entities.",
        ),
    ] = "auto",
    batch_size: Annotated[int, typer.Option("--batch-size", metavar="N", help="(head, relation) pairs a step.")] = 1000,
    optimizer: Annotated[str, typer.Option(metavar="NAME", help="Of torch.")] = "Adagrad",
    learning_rate: Annotated[float, typer.Option("--learning-rate", metavar="X", help="Of the optimizer.")] = 0.1,
    regularization: Annotated[float, typer.Option(metavar="X", help="Weight of N3 (ComplEx, DistMult).")] = 0.05,
    held_out: Annotated[
        float,
        typer.Option(
            "--held-out", metavar="X", help="Share of triples kept from training: half to stop by, half to test."
        ),
    ] = 0.1,
    evaluate_every: Annotated[int, typer.Option("--evaluate-every", metavar="N", help="Epochs between two looks.")] = 5,
    patience: Annotated[int, typer.Option(metavar="N", help="Looks without a better MRR before it stops.")] = 3,
    values: Annotated[bool, typer.Option("--values", help="Embed literal values, too, not only entities.")] = False,
    half: Annotated[bool, typer.Option("--half", help="Store in half precision.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Decides the split and the weights.")] = 0,
    json: options.JsonOption = False,
) -> None:
    """Train embeddings of a knowledge base with PyKEEN and add them to it.

    Killed, it goes on where it was when it is run again. Link prediction is measured on triples that had no part in
    training, for heads and tails, filtered, with realistic ranks.

    Examples:

        triplecheck kb embed kbs/films

        triplecheck kb embed kbs/films --model RotatE --dimensions 64 --learning-rate 0.05
    """
    from dataclasses import asdict

    from triplecheck.app.kb import open_base
    from triplecheck.kg.embedding import TrainingOptions

    asked = TrainingOptions(
        model=model,
        dimensions=dimensions,
        epochs=epochs,
        loop=loop,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        regularization=regularization,
        held_out=held_out,
        evaluate_every=evaluate_every,
        patience=patience,
        values=values,
        half=half,
        seed=seed,
    )
    opened = open_base(kb)
    with reporting(stderr(), "loading PyKEEN") as tell:
        from triplecheck.kg.embedding.install import train_into

        trained = train_into(opened, asked, tell)
    course, quality = trained.course, trained.quality
    if json:
        about = {"loop": trained.loop, "epochs": course.epoch, "looks": course.looks, "seconds": course.seconds}
        print_json({"options": asdict(asked), "quality": asdict(quality)} | about)
        return
    best, validation = course.best_look
    stdout().print(
        f"{model}, {dimensions} dimensions, {trained.split.num_entities:,} vectors: {course.epoch} epochs by "
        f"{trained.loop} in {course.seconds:,.0f} s, best at {best} (validation MRR {validation:.3f})"
    )
    stdout().print(
        f"link prediction on {quality.triples:,} unseen triples: MRR {quality.mrr:.3f}, "
        f"Hits@1 {quality.hits_at_1:.3f}, Hits@10 {quality.hits_at_10:.3f}"
    )
