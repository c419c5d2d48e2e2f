"""Options that several commands share: each is declared once, and `flattened` makes them parameters of a command."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import shlex
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from triplecheck.app.config import Settings

DATA, MODEL, LIMITS, OUTPUT = "Data", "Model", "Limits", "Output"
"""Panels of the help."""

RUNS = Path("runs")
"""The default directory of runs."""


def flag(usage: str, help: str, panel: str | None = None, **settings: Any) -> Any:
    """An option of a command: `typer.Option`, written shorter.

    Args:
        usage: the flag and its placeholder, `--limit N`.
        **settings: others of `typer.Option`.
    """
    name, _, metavar = usage.partition(" ")
    return typer.Option(name, metavar=metavar or None, help=help, rich_help_panel=panel, **settings)


def argument(metavar: str, help: str) -> Any:
    """An argument of a command: `typer.Argument`, written shorter."""
    return typer.Argument(metavar=metavar, help=help)


def flagged(usage: str, help: str, panel: str | None = None, *, default: Any = None, **settings: Any) -> Any:
    """A field of a dataclass that is an option of a command; see `flag` and `flattened`.

    Args:
        default: `...`: the option is required.
    """
    value = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=value, metadata={"option": flag(usage, help, panel, **settings)})


KbArgument = Annotated[
    str,
    argument("KB", "Directory of a knowledge base, URL of an endpoint, its name in `triplecheck.toml`, or `bundled`."),
]
KbDirectory = Annotated[Path, argument("OUT", "Directory to write. An existing knowledge base is replaced.")]
QuestionsFile = Annotated[Path, argument("OUT", "File to write, .jsonl or .jsonl.gz.")]
LmOption = Annotated[
    str | None,
    flag(
        "--lm MODEL",
        "Model of every role: `extractive` (default), `local/smollm2`, `local/DIRECTORY`, `llama.cpp/FILE.gguf`, "
        "or any DSPy/LiteLLM string such as `openai/gpt-4o-mini`. Settings follow `?`, as in "
        "`openai/gpt-4o-mini?temperature=0.7&max_tokens=500` (also timeout, api_base, key_env); the temperature is 0 "
        "unless set. See `triplecheck lm list`.",
        MODEL,
    ),
]
RoleOption = Annotated[
    list[str] | None,
    flag(
        "--role NAME=MODEL",
        "Model of one role (answer, extract, link, prune, judge, query, rerank, knowledge.1 ...), with its own "
        "settings. Repeatable.",
        MODEL,
    ),
]
JsonOption = Annotated[bool, flag("--json", "Print one JSON object on standard output, nothing else.", OUTPUT)]
SplitOption = Annotated[
    str | None,
    flag("--split SPLIT", "Split of the data set. Default: the one that results are usually reported on.", DATA),
]
PathOption = Annotated[
    Path | None,
    flag(
        "--path PATH",
        "Official file of the data set, a folder with the official files, or a copy of the hub's data set. "
        "Default: download from the hub.",
        DATA,
    ),
]
LIMIT = flag("--limit N", "Use a random sample of N questions.", DATA, min=1)
LimitOption = Annotated[int | None, LIMIT]
SeedOption = Annotated[int, flag("--seed S", "Seed of all random choices.", DATA)]
WorkersOption = Annotated[int | None, flag("--workers N", "Questions to run in parallel. Default: 1.", LIMITS, min=1)]
NoVectorsOption = Annotated[bool, flag("--no-vectors", "Encode nothing; candidates are not ranked by their relations.")]
DocumentsOption = Annotated[
    Path | None, flag("--documents FILE", "Documents as JSON lines with text; optional: id, title, node.")
]
ProgramArgument = Annotated[str, argument("PROGRAM", "Program, such as kerag; see `triplecheck programs`.")]
ProgramOption = Annotated[
    str | None, flag("--program NAME", "Program that answers; see `triplecheck programs`. Default: kerag.")
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """A knowledge base, models and budgets."""

    kb: str | None = flagged(
        "--kb KB",
        "Knowledge base: a directory that `triplecheck kb build` wrote, the URL of an endpoint, "
        "or its name in `triplecheck.toml`. Default: the bundled one.",
        DATA,
    )
    documents_at: str | None = flagged(
        "--documents-at PLACE",
        "Documents that are searched instead of those of the knowledge base: lancedb:DIRECTORY#TABLE or "
        "qdrant:URL#COLLECTION, written by `triplecheck kb upload`.",
        DATA,
    )
    language: str | None = flagged(
        "--language LANGUAGE",
        "Language of the questions, such as de, or an installed spaCy pipeline. Default: that of the knowledge base.",
        DATA,
    )
    lm: LmOption = None
    role: RoleOption = None
    budget_calls: int | None = flagged("--budget-calls N", "Stop after N model calls.", LIMITS)
    budget_tokens: int | None = flagged("--budget-tokens N", "Stop after N tokens.", LIMITS)
    budget_seconds: float | None = flagged("--budget-seconds S", "Stop after S seconds spent in model calls.", LIMITS)
    budget_dollars: float | None = flagged("--budget-dollars D", "Stop after $D.", LIMITS)
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
        return load_settings(
            kb=self.kb,
            documents=self.documents_at,
            language=self.language,
            lm=self.lm,
            roles=roles,
            budget=self.budget,
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class RunOptions(ModelOptions):
    """What a program runs with."""

    bundle: str | None = flagged(
        "--bundle DIR",
        "Compiled program that `triplecheck compile` or `fit` wrote, with its options and models unless "
        "others are given.",
        MODEL,
    )
    cascade: list[str] | None = flagged(
        "--cascade FIRST",
        "Ask FIRST before the model of --lm, which is asked only if the answer of FIRST is not proved: "
        "`extractive`, another model, or the directory of a bundle; `none` for the model alone. If no answer is "
        "proved, the one with the highest confidence is given. Repeatable: they are asked in this order. Default "
        "for KERAG and AnchorRAG: `extractive`, if --lm names a language model and neither --role, --option nor "
        "--bundle is given.",
        MODEL,
    )
    option: list[str] | None = flagged(
        "--option NAME=VALUE",
        "Another option of the program, such as `filtering=none` or `limits.values=50`; "
        "`triplecheck programs` lists them. Repeatable.",
        MODEL,
    )
    hops: int | None = flagged("--hops N", "Maximum distance from the question's topics.", MODEL)
    ranker: bool | None = flagged(
        "--ranker/--no-ranker", "Let `extractive` score paths with the trained ranker, besides its rules.", MODEL
    )
    grounded_only: bool | None = flagged(
        "--grounded-only/--no-grounded-only", "Abstain instead of giving an answer that no triple supports.", MODEL
    )
    verdict: Literal["proved", "likely", "supported", "any"] | None = flagged(
        "--verdict",
        "Lowest verdict of answers that are given. `likely`: proved answers, and supported ones that are more "
        "likely right than wrong. `supported`: all whose triples are in the graph. `any`: also those of the model "
        "alone. Default: `likely` where a person asks (`ask`, `chat`, `demo`, the servers), else `any`.",
        MODEL,
    )

    def settings(self, **more: Any) -> Settings:
        """See `ModelOptions.settings`."""
        from triplecheck.app.config import parse_options

        return super().settings(
            bundle=self.bundle,
            cascade=self.cascade,
            ranker=self.ranker,
            grounded_only=self.grounded_only,
            verdict=self.verdict,
            hops=self.hops,
            options=parse_options(self.option or ()),
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class BatchOptions(RunOptions):
    """What a program runs with over many questions; the budget is for all of them together."""

    questions: Path | None = flagged(
        "--questions FILE",
        "Questions as JSON lines (.jsonl, .jsonl.gz) with id, question and answers; optional: topic, "
        "answer_labels, hops, kind.",
        DATA,
    )
    data: str | None = flagged(
        "--data NAME", "Published data set, instead of --questions; see `triplecheck data list`.", DATA
    )
    split: SplitOption = None
    path: PathOption = None
    part: Literal["train", "dev"] | None = flagged(
        "--part",
        "Use one half of the questions, split by a hash of their ids before sampling: train on `train`, "
        "measure on `dev`. Reports measure on `dev`.",
        DATA,
    )
    limit: LimitOption = None
    seed: SeedOption = 0
    workers: WorkersOption = None
    timeout: float | None = flagged("--timeout S", "Maximum seconds per question.", LIMITS)
    out: Path | None = flagged(
        "--out DIR", "Directory of the run; an unfinished one is resumed. Default: a directory in runs/.", OUTPUT
    )

    def settings(self, **more: Any) -> Settings:
        """See `ModelOptions.settings`."""
        return super().settings(workers=self.workers, **more)


def written_options(given: object) -> list[str]:
    """The options of a group that differ from their defaults, as words of a command; without credentials."""
    from triplecheck.kg.redaction import redacted

    words = []
    for field in dataclasses.fields(given):  # type: ignore[arg-type]
        value, name = getattr(given, field.name), field.name.replace("_", "-")
        if value == field.default:
            continue
        for one in value if isinstance(value, list) else [value]:
            no = "no-" if one is False else ""
            words += [f"--{no}{name}", *([] if isinstance(one, bool) else [shlex.quote(redacted(str(one)))])]
    return words


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
            of |= {
                field.name: Annotated[of[field.name], field.metadata["option"]] for field in fields if field.metadata
            }
            parameters += [
                inspect.Parameter(
                    field.name,
                    parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
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
