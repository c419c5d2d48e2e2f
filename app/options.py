"""Options that several commands share: each is declared once, and `flattened` makes them parameters of a command."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from triplecheck.app.config import Settings

DATA, MODEL, LIMITS, OUTPUT = "Data", "Model", "Limits", "Output"
"""Panels of the help."""

RUNS = Path("runs")
"""Where the directories of runs lie by default."""


class Part(StrEnum):
    """Which part of the questions."""

    TRAIN = "train"
    DEV = "dev"


KbArgument = Annotated[str, typer.Argument(metavar="KB", help="Directory of a knowledge base, or `bundled`.")]
KbDirectory = Annotated[
    Path, typer.Argument(metavar="OUT", help="Directory to write. An existing knowledge base is replaced.")
]
QuestionsFile = Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .jsonl or .jsonl.gz.")]
LmOption = Annotated[
    str | None,
    typer.Option(
        "--lm",
        metavar="MODEL",
        rich_help_panel=MODEL,
        help="Model of every role: `extractive` (default), `local/smollm2`, `local/DIRECTORY`, or any DSPy/LiteLLM "
        "string such as `openai/gpt-4o-mini`. See `triplecheck lm list`.",
    ),
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="NAME=MODEL",
        rich_help_panel=MODEL,
        help="Model of one role (answer, extract, link, prune, judge, query, rerank, knowledge.1 ...). Repeatable.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object on standard output, nothing else.")
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="SPLIT",
        rich_help_panel=DATA,
        help="Split of the data set. Default: the one that results are usually reported on.",
    ),
]
PathOption = Annotated[
    Path | None,
    typer.Option(
        "--path",
        metavar="PATH",
        rich_help_panel=DATA,
        help="Official file of the data set, a folder with the official files, or a copy of the hub's data set. "
        "Default: download from the hub.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, rich_help_panel=DATA, help="Use a random sample of N questions."),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="S", rich_help_panel=DATA, help="Seed of all random choices.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, rich_help_panel=LIMITS, help="Questions to run in parallel. Default: 1."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """A knowledge base, models and what they may spend."""

    kb: Annotated[
        str | None,
        typer.Option(
            "--kb",
            metavar="KB",
            rich_help_panel=DATA,
            help="Knowledge base: a directory that `triplecheck kb build` wrote. Default: the bundled one.",
        ),
    ] = None
    lm: LmOption = None
    role: RoleOption = None
    budget_calls: Annotated[
        int | None,
        typer.Option("--budget-calls", metavar="N", rich_help_panel=LIMITS, help="Stop after N model calls."),
    ] = None
    budget_tokens: Annotated[
        int | None, typer.Option("--budget-tokens", metavar="N", rich_help_panel=LIMITS, help="Stop after N tokens.")
    ] = None
    budget_seconds: Annotated[
        float | None,
        typer.Option(
            "--budget-seconds", metavar="S", rich_help_panel=LIMITS, help="Stop after S seconds spent in model calls."
        ),
    ] = None
    budget_dollars: Annotated[
        float | None, typer.Option("--budget-dollars", metavar="D", rich_help_panel=LIMITS, help="Stop after $D.")
    ] = None
    json: JsonOption = False

    @property
    def budget(self) -> dict[str, Any]:
        """The limits that were given, by the names of `lms.Budget`."""
        limits = {name: getattr(self, f"budget_{name}") for name in ("calls", "tokens", "seconds", "dollars")}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def settings(self, **more: Any) -> Settings:
        """The configuration: these options over the environment over the file.

        Args:
            **more: other fields of `app.config.Settings`.

        Raises:
            UserError: an option or a setting is wrong.
        """
        from triplecheck.app.config import load_settings, parse_pairs

        roles = parse_pairs(self.role or (), "--role")
        return load_settings(kb=self.kb, lm=self.lm, roles=roles, budget=self.budget, **more)


@dataclass(frozen=True, kw_only=True)
class RunOptions(ModelOptions):
    """What a program runs with."""

    bundle: Annotated[
        str | None,
        typer.Option(
            "--bundle",
            metavar="DIR",
            rich_help_panel=MODEL,
            help="Compiled program that `triplecheck compile` or `fit` wrote, with its options and models unless "
            "others are given.",
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            rich_help_panel=MODEL,
            help="Another option of the program, such as `filtering=none` or `bounds.values=50`; "
            "`triplecheck programs` lists them. Repeatable.",
        ),
    ] = None
    hops: Annotated[
        int | None,
        typer.Option("--hops", metavar="N", rich_help_panel=MODEL, help="Maximum distance from the question's topics."),
    ] = None
    grounded_only: Annotated[
        bool | None,
        typer.Option(
            "--grounded-only/--no-grounded-only",
            rich_help_panel=MODEL,
            help="Abstain instead of giving an answer that no triple supports.",
        ),
    ] = None

    def settings(self, **more: Any) -> Settings:
        """See `ModelOptions.settings`."""
        from triplecheck.app.config import parse_options

        return super().settings(
            bundle=self.bundle,
            grounded_only=self.grounded_only,
            hops=self.hops,
            options=parse_options(self.option or ()),
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class BatchOptions(RunOptions):
    """What a program runs with over many questions; the budget is for all of them together."""

    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            rich_help_panel=DATA,
            help="Questions as JSON lines (.jsonl, .jsonl.gz) with id, question and answers; optional: topic, "
            "answer_labels, hops, kind.",
        ),
    ] = None
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="NAME",
            rich_help_panel=DATA,
            help="Published data set, instead of --questions; see `triplecheck data list`.",
        ),
    ] = None
    split: SplitOption = None
    path: PathOption = None
    part: Annotated[
        Part | None,
        typer.Option(
            "--part",
            rich_help_panel=DATA,
            help="Use one half of the questions, split by a hash of their ids before sampling: train on `train`, "
            "measure on `dev`. Reports measure on `dev`.",
        ),
    ] = None
    limit: LimitOption = None
    seed: SeedOption = 0
    workers: WorkersOption = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="S", rich_help_panel=LIMITS, help="Maximum seconds per question."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Directory of the run; an unfinished one is resumed. Default: a directory in runs/.",
        ),
    ] = None

    def settings(self, **more: Any) -> Settings:
        """See `ModelOptions.settings`."""
        return super().settings(workers=self.workers, **more)


def flattened(*leave_out: str, **notes: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: parameters that are dataclasses become an option per field.

    Args:
        *leave_out: fields that the command does not take; they keep their defaults.
        **notes: a sentence to add to the help of a field.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters: list[inspect.Parameter] = []
        groups: dict[str, tuple[type[Any], list[str]]] = {}
        for parameter in inspect.signature(function).parameters.values():
            kind = hints[parameter.name]
            if not dataclasses.is_dataclass(kind):
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind))
                continue
            assert isinstance(kind, type)
            fields = [field for field in dataclasses.fields(kind) if field.name not in leave_out]
            groups[parameter.name] = kind, [field.name for field in fields]
            of = typing.get_type_hints(kind, include_extras=True)
            parameters += [
                inspect.Parameter(
                    field.name,
                    parameter.KEYWORD_ONLY,
                    default=field.default,
                    annotation=_noted(of[field.name], notes.get(field.name)),
                )
                for field in fields
            ]

        @functools.wraps(function)
        def command(**values: Any) -> None:
            made = {
                group: kind(**{name: values.pop(name) for name in names}) for group, (kind, names) in groups.items()
            }
            function(**values, **made)

        del command.__wrapped__
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def _noted(hint: Any, note: str | None) -> Any:
    """The type of an option with a sentence added to its help."""
    if note is None:
        return hint
    option = copy.copy(hint.__metadata__[0])
    option.help = f"{option.help} {note}"
    return Annotated[hint.__origin__, option]
