"""`triplecheck kb embed` and `kb plausibility`: embeddings of a graph, and how well they tell true triples apart."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import columns, print_json, printable, reporting, say, stderr, stdout, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import LIMITS, OUTPUT, JsonOption, KbArgument, argument, flag, flagged, flattened

if TYPE_CHECKING:
    from triplecheck.kg.embedding.training import Trained
    from triplecheck.kg.plausibility import Roc
    from triplecheck.kg.plausibility.report import Calibrated


@dataclass(frozen=True, kw_only=True)
class EmbedOptions:
    """The fields of `TrainingOptions` that are options."""

    model: str = flagged("--model NAME", "Embedding model of PyKEEN.", default="ComplEx")
    dimensions: int = flagged("--dimensions N", "Dimensions of a vector (complex numbers for ComplEx).", default=128)
    epochs: int = flagged("--epochs N", "Maximum epochs.", LIMITS, default=100)
    loop: str = flagged(
        "--loop NAME",
        "Training loop. `pykeen`: PyKEEN's own. `sampled`: the same model and loss, with a sample of all "
        "tails as negatives (ComplEx, DistMult). `auto`: sampled above 5,000 entities.",
        default="auto",
    )
    batch_size: int = flagged("--batch-size N", "Batch size in (head, relation) pairs.", default=1000)
    optimizer: str = flagged("--optimizer NAME", "Optimizer of torch.", default="Adagrad")
    learning_rate: float = flagged("--learning-rate X", "Learning rate.", default=0.1)
    regularization: float = flagged(
        "--regularization X", "Weight of the N3 regularizer (ComplEx, DistMult).", default=0.05
    )
    held_out: float = flagged(
        "--held-out X", "Share of triples to hold out: half for early stopping, half to test.", default=0.1
    )
    evaluate_every: int = flagged("--evaluate-every N", "Epochs between evaluations.", default=5)
    patience: int = flagged("--patience N", "Stop after N evaluations without a higher MRR.", LIMITS, default=3)
    values: bool = flagged("--values", "Embed literal values, not only entities.", default=False)
    half: bool = flagged("--half", "Store vectors in half precision.", OUTPUT, default=False)
    seed: int = flagged("--seed S", "Seed of the split and the initial weights.", default=0)


@flattened()
def embed(
    kb: KbArgument,
    how: EmbedOptions,
    json: JsonOption = False,
) -> None:
    """Train embeddings of a knowledge base with PyKEEN and add them to it.

    The same command resumes an interrupted run. Link prediction is measured on held-out triples, for heads and
    tails, with filtered, realistic ranks.

    Examples:

        triplecheck kb embed kbs/films
        triplecheck kb embed kbs/films --model RotatE --dimensions 64 --learning-rate 0.05
    """
    from triplecheck.kg.embedding import TrainingOptions

    options = TrainingOptions(**vars(how))
    opened = open_base(kb)
    with reporting(stderr(), "loading PyKEEN") as tell:
        from triplecheck.kg.embedding.embeddings import train_into

        trained = train_into(opened.columnar, opened.generation, options, tell)
    if json:
        about = {"loop": trained.loop, "epochs": trained.course.epoch, "looks": trained.course.looks}
        quality = {"quality": asdict(trained.quality)}
        print_json({"options": asdict(options)} | quality | about | {"seconds": trained.course.seconds})
    else:
        _show_trained(trained)


def _show_trained(trained: Trained) -> None:
    options, course, quality = trained.options, trained.course, trained.quality
    best, validation = course.best_look
    say(
        f"{options.model}, {options.dimensions} dimensions, {trained.split.num_entities:,} vectors: "
        f"{course.epoch} epochs by {trained.loop} in {course.seconds:,.0f} s, "
        f"best at {best} (validation MRR {validation:.3f})"
    )
    say(
        f"link prediction on {quality.triples:,} unseen triples: MRR {quality.mrr:.3f}, "
        f"Hits@1 {quality.hits_at_1:.3f}, Hits@10 {quality.hits_at_10:.3f}"
    )


def plausibility(
    kb: Annotated[list[str], argument("KB...", "Directories of knowledge bases with embeddings.")],
    out: Annotated[Path | None, flag("--out DIR", "Directory for a report with the ROC curves.", OUTPUT)] = None,
    limit: Annotated[int, flag("--limit N", "Maximum held-out triples to score.", LIMITS, min=1)] = 2000,
    seed: Annotated[int, flag("--seed S", "Seed of the sample and of its corruption.")] = 0,
    json: JsonOption = False,
) -> None:
    """Measure how well each plausibility score separates true triples from corrupted ones.

    AUROC on held-out triples, against the same triples with another tail: any entity (random), or one that the
    relation has elsewhere (consistent). For single triples, and for answers of one to five triples by the sum and the
    mean of their scores, where a corrupted answer has one corrupted triple. The scores are the values of know3rag's
    option `scoring`; sum and mean are those of `aggregate`.

    Examples:

        triplecheck kb plausibility kbs/films
        triplecheck kb plausibility kbs/films kbs/shop --out reports/plausibility
    """
    opened = [open_base(name) for name in kb]
    with waiting(stderr(), "scoring"):
        from triplecheck.kg.plausibility import Plausibility, calibrate
        from triplecheck.kg.plausibility.report import Calibrated, write_report

        found = [Calibrated(base, calibrate(Plausibility.of(base), limit=limit, seed=seed)) for base in opened]
        flags = [*(["--limit", str(limit)] if limit != 2000 else []), *(["--seed", str(seed)] if seed else [])]
        command = shlex.join(["triplecheck", "kb", "plausibility", *kb, "--out", str(out), *flags])
        report = None if out is None else write_report(found, out, command)
    if json:
        graphs = [{"kb": str(one.kb.path), "curves": [_record(curve) for curve in one.curves]} for one in found]
        print_json({"graphs": graphs})
        return
    for one in found:
        stdout().print(_table(one))
        unscored = sum(curve.unscored for curve in one.curves if (curve.method, curve.unit) == ("relative", "triple"))
        if unscored:
            say(f"relative: {unscored} triples without a reference are skipped")
    if report is not None:
        say(f"wrote {report}")


def _record(curve: Roc) -> dict[str, Any]:
    about = {name: getattr(curve, name) for name in ("method", "corruption", "unit", "unscored")}
    # JSON has no NaN.
    numbers = {
        name: value if value == value else None for name in ("auroc", "threshold") for value in [getattr(curve, name)]
    }
    return about | numbers | {"true": curve.scored[0], "corrupted": curve.scored[1]}


def _table(one: Calibrated) -> Any:
    pairs = list(dict.fromkeys((curve.corruption, curve.unit) for curve in one.curves))
    heading = f"{printable(one.name)}: AUROC of true against corrupted tails"
    table = columns("score", numbers=[f"{corruption}, {unit}" for corruption, unit in pairs], title=heading)
    for method in dict.fromkeys(curve.method for curve in one.curves):
        of = {(curve.corruption, curve.unit): curve.auroc for curve in one.curves if curve.method == method}
        table.add_row(method, *(f"{of[pair]:.3f}" for pair in pairs))
    return table
