"""How `triplecheck eval` runs: where questions are asked, who is told, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplecheck.evals import Progress
    from triplecheck.evals.executors import Executor
    from triplecheck.evals.trackers import Tracker
    from triplecheck.kg.progress import ProgressCallback

BESIDE_THE_ROWS = ""
"""What `--mlflow` without an address means."""
_EXECUTORS = ("threads", "ray")

ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where questions are asked: `threads` of this process (default), or processes that `ray` runs.",
    ),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="With --executor ray: `auto` or `ray://HOST:PORT`. Default: processes on this machine.",
    ),
]
MlflowOption = Annotated[
    str | None,
    typer.Option(
        "--mlflow",
        metavar="[URI]",
        help="Log the run and a trace per question to MLflow: to a server or store at URI, else to `mlruns` beside "
        "the rows.",
    ),
]


class EvaluateCommand(TyperCommand):
    """A command that understands `--mlflow` with and without a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give `--mlflow` its value, then parse as ever."""
        return super().parse_args(ctx, with_value(args, "--mlflow"))


def with_value(args: Sequence[str], flag: str) -> list[str]:
    """`--flag` with an empty value where the next word is no address, that is: has neither a colon nor a slash."""
    words: list[str] = []
    for word, following in zip(args, [*args[1:], "-"], strict=True):
        words.append(word)
        if word == flag and (following.startswith("-") or not {":", "/"} & set(following)):
            words.append(BESIDE_THE_ROWS)
    return words


def executor(name: str | None, ray_address: str | None) -> Executor:
    """The executor that is asked for.

    Raises:
        UserError: there is none of this name, or it has no address.
    """
    from triplecheck.evals.executors import RayProcesses, Threads
    from triplecheck.kg import UserError

    if name not in (None, *_EXECUTORS):
        raise UserError(f"no executor {name!r}; there are: {', '.join(_EXECUTORS)}")
    if name == "ray":
        return RayProcesses(ray_address)
    if ray_address is not None:
        raise UserError("--ray-address names a cluster for --executor ray; give both")
    return Threads()


def trackers(mlflow: str | None) -> list[Tracker]:
    """Who is to be told of the run.

    Raises:
        UserError: MLflow is not installed.
    """
    if mlflow is None:
        return []
    from triplecheck.evals.trackers import MlflowRuns

    return [MlflowRuns(mlflow or None)]


def teller(tell: ProgressCallback) -> Callable[[Progress], None]:
    """Shows the running score, errors, and the time to go."""

    def show(progress: Progress) -> None:
        hits = "" if progress.hits_at_1 is None else f" hits@1 {progress.hits_at_1:.3f}"
        errors = f" errors {progress.errors}" if progress.errors else ""
        to_go = "" if progress.eta is None else f" {duration(progress.eta)} to go"
        tell(f"asking:{hits}{errors}{to_go}", progress.done, progress.total)

    return show


def duration(seconds: float) -> str:
    """A time at a glance: `40 s`, `3 min`, `2 h 05 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
