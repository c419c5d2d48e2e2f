"""`triplecheck data`: published data sets, what they are, and their questions as JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app import options
from triplecheck.app.asked import LimitOption, PathOption, SplitOption
from triplecheck.app.console import print_json, printable, stderr, stdout
from triplecheck.app.progress import waiting

if TYPE_CHECKING:
    from triplecheck.evals.datasets import DataSet

commands = typer.Typer(
    help="Published data sets by name: from the Hugging Face hub, or from their official files.",
    no_args_is_help=True,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set: see `triplecheck data list`.")]


@commands.command("list")
def list_(json: options.JsonOption = False) -> None:
    """List the data sets that are known by name.

    Examples:

        triplecheck data list
    """
    from rich.table import Table

    with waiting(stderr(), "loading"):
        from triplecheck.evals.datasets import data_sets

    known = data_sets()
    if json:
        print_json({name: _about(spec) for name, spec in known.items()})
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "splits", "from", "what it is"):
        table.add_column(column)
    for name, spec in known.items():
        table.add_row(name, " ".join(spec.splits), "hub, files" if spec.hub else "files", spec.about)
    stdout().print(table)


@commands.command()
def show(name: NameArgument, json: options.JsonOption = False) -> None:
    """Show what a data set is, how large, under which licence, and where to get it.

    Examples:

        triplecheck data show popqa
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.datasets import data_set, how_to_get

    spec = data_set(name)
    if json:
        print_json(_about(spec))
        return
    out = stdout()
    out.print(f"{spec.title}. {spec.about}", soft_wrap=True)
    for split in spec.splits:
        size = f"{spec.sizes[split]:,} questions" if split in spec.sizes else "size not known"
        default = ", default" if split == spec.default_split and len(spec.splits) > 1 else ""
        out.print(f"split    {split}: {size}{default}", soft_wrap=True)
    out.print(f"licence  {spec.licence}", soft_wrap=True)
    out.print(f"paper    {spec.paper}", soft_wrap=True)
    out.print(f"home     {spec.url}", soft_wrap=True)
    if spec.hub is not None:
        at = f" at {spec.hub.revision}" if spec.hub.revision else ""
        out.print(f"hub      https://huggingface.co/datasets/{spec.hub.id}{at}", soft_wrap=True)
    out.print(f"files    {how_to_get(spec, spec.default_split)}", soft_wrap=True)


@commands.command()
def convert(
    name: NameArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .jsonl or .jsonl.gz.")],
    path: PathOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Which sample.")] = 0,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="Commit, branch or tag of the hub's data set.")
    ] = None,
) -> None:
    """Write a data set's questions as JSON lines, for `triplecheck eval --questions`.

    Examples:

        triplecheck data convert metaqa-1hop metaqa.jsonl --path MetaQA --split dev
    """
    with waiting(stderr(), "reading"):
        from triplecheck.evals import write_questions
        from triplecheck.evals.datasets import load_dataset

        questions = load_dataset(name, split, path=path, limit=limit, seed=seed, revision=revision)
        count = write_questions(questions, out)
    stdout().print(f"{count:,} questions: {printable(str(out))}", soft_wrap=True)
    unknown = sum(not question.answers_known for question in questions)
    if unknown:
        stderr().print(f"{unknown:,} of them have answers that are not published: they cannot be scored")


def _about(spec: DataSet) -> dict[str, object]:
    return {
        "name": spec.name,
        "title": spec.title,
        "about": spec.about,
        "splits": {
            split: {"files": list(files), "size": spec.sizes.get(split)} for split, files in spec.splits.items()
        },
        "default_split": spec.default_split,
        "licence": spec.licence,
        "paper": spec.paper,
        "url": spec.url,
        "hub": None if spec.hub is None else {"id": spec.hub.id, "revision": spec.hub.revision},
        "get": spec.get,
    }
