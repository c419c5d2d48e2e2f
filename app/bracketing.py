"""`triplecheck lm bracket`: what each step of a program is worth with a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from triplecheck.app.console import columns, print_json, printable, reporting, say, stderr, stdout
from triplecheck.app.opening import Batch, open_batch
from triplecheck.app.options import RUNS, BatchOptions, argument, flagged, flattened

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.optimize.bracket import Bracket

BRACKET = ("step", "questions", "worst", "model", "gold", "room")
_CHANGES = str.maketrans("/?=&:", "-----")


@dataclass(frozen=True, kw_only=True)
class BracketOptions:
    """Whose steps."""

    program: str = flagged("--program NAME", "Program whose steps are measured.", default="kerag")


@flattened("bundle", "cascade", "timeout", "lm", questions="Default: the bundled dev questions.")
def bracket(
    model: Annotated[str, argument("MODEL", "See `triplecheck lm check`.")],
    what: BracketOptions,
    run: BatchOptions,
) -> None:
    """Show at which step a better reply would gain something: try the worst, the model's and the right one.

    The whole program answers the questions three times for each step: with the model, with the opposite of the right
    reply at this step, and with the right one. The difference between the right reply and the model's is what can
    be gained at the step, by other demonstrations, instructions or a student. Questions for which no right reply can be
    computed are left out. The same command resumes an interrupted run.

    Examples:

        triplecheck lm bracket openai/gpt-4o-mini --limit 30
        triplecheck lm bracket openai/my-model --kb kbs/films --questions films.jsonl --limit 50 --workers 4
    """
    options = replace(run, lm=model)
    err = stderr(quiet=run.json)
    batch = open_batch(options.settings(program=what.program), options, ("dev",), err)
    place = run.out or RUNS / f"bracket-{batch.program.name}-{batch.source}-{model.translate(_CHANGES)}"
    with reporting(err, "asking") as tell:
        from triplecheck.lms import session
        from triplecheck.optimize.bracket import bracket as measured
        from triplecheck.optimize.paired import resumable

        with resumable(place), session(batch.roles, batch.budget):
            found = measured(
                batch.program,
                [question for question in batch.questions if question.answers_known],
                place,
                knowledge_base=batch.kb,
                workers=batch.settings.workers,
                progress=tell,
            )
    if run.json:
        print_json({"out": str(place), "steps": [one.to_json() for one in found]})
    else:
        show(found, batch)


def brackets_table(found: Sequence[Bracket]) -> Table:
    """A line for each step."""
    table = columns(BRACKET[0], numbers=BRACKET[1:])
    for one in found:
        table.add_row(*bracket_cells(one))
    return table


def bracket_cells(one: Bracket) -> list[str]:
    """The texts below `BRACKET`."""
    shares = (f"{share:.3f}" for share in (one.worst, one.model, one.gold, one.room))
    return [one.step, f"{one.questions}", *shares]


def show(found: Sequence[Bracket], batch: Batch) -> None:
    """Print a line for each step, and where there is most room."""
    stdout().print(brackets_table(found))
    if found and found[0].room > 0:
        say(f"most room: {found[0].step}")
    elif found:
        models = printable(", ".join(batch.roles.models()))
        say(f"right replies at a single step would gain nothing with {models}")
