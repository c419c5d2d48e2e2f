"""`triplecheck kb plausibility`: what the scores of triples are worth."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout
from triplecheck.app.progress import waiting

if TYPE_CHECKING:
    from triplecheck.kg.plausibility import Roc
    from triplecheck.kg.plausibility.report import Calibrated


def plausibility(
    kb: Annotated[list[str], typer.Argument(metavar="KB...", help="Directories of knowledge bases with embeddings.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write a report with the curves as pictures.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Unseen triples to judge, at most.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Decides which, and how they are corrupted.")] = 0,
    json: options.JsonOption = False,
) -> None:
    """Tell how well each plausibility score tells true triples from corrupted ones.

    AUROC on triples that training never saw, against the same ones with another tail: any entity (random), or one
    that the relation has elsewhere (consistent). For single triples, and for answers of one to five triples by the sum
    and the mean of their scores, where the corrupted answer has one corrupted triple. Each score is a value of the
    option `scoring` of know3rag, sum and mean of `aggregate`.

    Examples:

        triplecheck kb plausibility kbs/films

        triplecheck kb plausibility kbs/films kbs/shop --out reports/plausibility
    """
    from triplecheck.app.kb import open_base

    opened = [open_base(name) for name in kb]
    with waiting(stderr(), "scoring"):
        from triplecheck.kg.plausibility import Plausibility, calibrate
        from triplecheck.kg.plausibility.report import Calibrated, write_report

        found = [Calibrated(base, calibrate(Plausibility.of(base), limit=limit, seed=seed)) for base in opened]
        options_given = [*(["--limit", str(limit)] if limit != 2000 else []), *(["--seed", str(seed)] if seed else [])]
        command = shlex.join(["triplecheck", "kb", "plausibility", *kb, "--out", str(out), *options_given])
        report = None if out is None else write_report(found, out, command)
    if json:
        graphs = [{"kb": str(one.kb.path), "curves": [_record(curve) for curve in one.curves]} for one in found]
        print_json({"graphs": graphs})
        return
    for one in found:
        stdout().print(_table(one))
        unscored = sum(curve.unscored for curve in one.curves if (curve.method, curve.unit) == ("relative", "triple"))
        if unscored:
            stdout().print(f"relative: {unscored} triples without a reference are left out")
    if report is not None:
        stdout().print(f"wrote {printable(str(report))}")


def _record(curve: Roc) -> dict[str, Any]:
    about = {name: getattr(curve, name) for name in ("method", "corruption", "unit", "unscored")}
    # JSON knows no NaN.
    numbers = {
        name: value if value == value else None for name in ("auroc", "threshold") for value in [getattr(curve, name)]
    }
    return about | numbers | {"true": curve.scored[0], "corrupted": curve.scored[1]}


def _table(one: Calibrated) -> Any:
    from rich.table import Table

    columns = list(dict.fromkeys((curve.corruption, curve.unit) for curve in one.curves))
    heading = f"{printable(one.name)}: AUROC of true against corrupted tails"
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    table.add_column("score")
    for corruption, unit in columns:
        table.add_column(f"{corruption}, {unit}", justify="right")
    for method in dict.fromkeys(curve.method for curve in one.curves):
        of = {(curve.corruption, curve.unit): curve.auroc for curve in one.curves if curve.method == method}
        table.add_row(method, *(f"{of[column]:.3f}" for column in columns))
    return table
