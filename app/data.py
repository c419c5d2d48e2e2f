"""`triplecheck data`: published data sets, and their questions as JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from triplecheck.app import questions
from triplecheck.app.command import Commands
from triplecheck.app.console import columns, print_json, remark, say, stderr, stdout, waiting
from triplecheck.app.options import (
    JsonOption,
    LimitOption,
    PathOption,
    QuestionsFile,
    SeedOption,
    SplitOption,
    argument,
    flag,
)

if TYPE_CHECKING:
    from triplecheck.evals.datasets.spec import DataSet

commands = Commands(help="List, convert and make data sets of questions.", no_args_is_help=True)
commands.command("generate")(questions.generate)
commands.command("answer")(questions.answer)
commands.command("vary")(questions.vary)
NameArgument = Annotated[str, argument("NAME", "Name of a data set: see `triplecheck data list`.")]


@commands.command("list")
def list_(json: JsonOption = False) -> None:
    """List the published data sets.

    Examples:

        triplecheck data list
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.datasets.load import data_sets

    known = data_sets()
    if json:
        print_json({name: _about(spec) for name, spec in known.items()})
        return
    table = columns("name", "splits", "from", "what it is")
    for name, spec in known.items():
        table.add_row(name, " ".join(spec.splits), "hub, files" if spec.hub else "files", spec.about)
    stdout().print(table)


@commands.command()
def show(name: NameArgument, json: JsonOption = False) -> None:
    """Show the size, licence, source and splits of a data set.

    Examples:

        triplecheck data show popqa
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.datasets.load import data_set, how_to_get

    spec = data_set(name)
    if json:
        print_json(_about(spec))
        return
    say(f"{spec.title}. {spec.about}")
    for split in spec.splits:
        size = f"{spec.sizes[split]:,} questions" if split in spec.sizes else "unknown size"
        default = ", default" if split == spec.default_split and len(spec.splits) > 1 else ""
        say(f"split    {split}: {size}{default}")
    say(f"licence  {spec.licence}")
    say(f"paper    {spec.paper}")
    say(f"home     {spec.url}")
    if spec.hub is not None:
        at = f" at {spec.hub.revision}" if spec.hub.revision else ""
        say(f"hub      https://huggingface.co/datasets/{spec.hub.id}{at}")
    say(f"files    {how_to_get(spec, spec.default_split)}")


@commands.command()
def convert(
    name: NameArgument,
    out: QuestionsFile,
    path: PathOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    revision: Annotated[str | None, flag("--revision REV", "Commit, branch or tag of the hub's data set.")] = None,
) -> None:
    """Write a data set's questions as JSON lines, for `triplecheck eval --questions`.

    Examples:

        triplecheck data convert metaqa-1hop metaqa.jsonl --path MetaQA --split dev
    """
    with waiting(stderr(), "reading"):
        from triplecheck.evals import write_questions
        from triplecheck.evals.datasets.load import load_dataset

        found = load_dataset(name, split, path=path, limit=limit, seed=seed, revision=revision)
        count = write_questions(found, out)
    say(f"{count:,} questions: {out}")
    unknown = sum(not question.answers_known for question in found)
    if unknown:
        remark(f"{unknown:,} of them cannot be scored: their answers are not published")


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
