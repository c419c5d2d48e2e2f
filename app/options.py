"""What several commands share: their options, and `--flag A B` as a way to write `--flag A --flag B`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

KbOption = Annotated[
    str | None,
    typer.Option(
        "--kb",
        metavar="KB",
        help="Knowledge base: a directory that `triplecheck kb build` wrote. Default: the bundled one.",
    ),
]
LmOption = Annotated[
    str | None,
    typer.Option(
        "--lm",
        metavar="MODEL",
        help="Model of every role: `extractive` (default), `local/smollm2`, `local/DIRECTORY`, or any DSPy/LiteLLM "
        "string such as `openai/gpt-4o-mini`.",
    ),
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="NAME=MODEL",
        help="Model of one role (answer, extract, link, prune, judge, query, rerank, knowledge.1 ...). Repeatable.",
    ),
]
GroundedOption = Annotated[
    bool | None,
    typer.Option("--grounded-only/--no-grounded-only", help="Abstain rather than answer what no triple supports."),
]
HopsOption = Annotated[
    int | None, typer.Option("--hops", metavar="N", help="How far from the question's topics to look.")
]
ProgramOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="A further argument of the program, such as `filtering=none` or `limits.values=50`. Repeatable.",
    ),
]
BundleOption = Annotated[
    str | None,
    typer.Option(
        "--bundle",
        metavar="DIR",
        help="Compiled program that `triplecheck compile` wrote, with the options and models it was compiled for "
        "where none are given.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Directory of the run; one that is there is taken up again. Default: below runs/."
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Questions under way at once. Default: 1.")
]
TimeoutOption = Annotated[float | None, typer.Option("--timeout", metavar="S", help="Seconds for one question.")]
CallsOption = Annotated[
    int | None, typer.Option("--budget-calls", metavar="N", help="At most so many calls to models.")
]
TokensOption = Annotated[
    int | None, typer.Option("--budget-tokens", metavar="N", help="No further call after so many tokens.")
]
SecondsOption = Annotated[
    float | None, typer.Option("--budget-seconds", metavar="S", help="No further call after so many seconds in models.")
]
DollarsOption = Annotated[
    float | None, typer.Option("--budget-dollars", metavar="D", help="No further call after so much money.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]


def budget_flags(**limits: float | None) -> dict[str, float]:
    """The limits that were given, as `load_settings` takes them."""
    return {name: limit for name, limit in limits.items() if limit is not None}


class SpreadingCommand(TyperCommand):
    """A command whose options named in `spreading` take several values after one flag, as well as being repeated."""

    spreading: tuple[str, ...] = ("--triples", "--map")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flag before each of its values, then parse as ever."""
        valued = {
            name
            for option in self.params
            if option.opts[0].startswith("-") and not getattr(option, "is_flag", False)
            for name in option.opts
        }
        return super().parse_args(ctx, spread(args, self.spreading, valued))


def spread(args: Sequence[str], spreading: Iterable[str], valued: Iterable[str]) -> list[str]:
    """`--triples a b` as `--triples a --triples b`.

    The values of a flag end at the next word that begins with `-`. Where that leaves no positional
    argument at all, the last of several values is taken to be it (`--triples a b OUT`).

    Args:
        args: the words of the command line.
        spreading: flags that may take several values.
        valued: all flags that take a value.
    """
    spreading, valued = set(spreading), set(valued)
    words: list[tuple[str | None, str]] = []  # (flag or None for what stands for itself, word)
    positional, flag, index = False, None, 0
    while index < len(args):
        word = args[index]
        if word == "--":
            positional = positional or index + 1 < len(args)
            words += [(None, rest) for rest in args[index:]]
            break
        if word.startswith("-") and word != "-":
            flag = word if word in spreading else None
            following = args[index + 1 : index + 2]
            if flag is not None and (not following or following[0].startswith("--")):
                words.append((None, word))  # without any value: the parser says so
            elif flag is None:
                words.append((None, word))
                if word in valued and following:
                    words.append((None, following[0]))
                    index += 1
        elif flag is not None:
            words.append((flag, word))
        else:
            words.append((None, word))
            positional = True
        index += 1
    if not positional:
        words = _release_last(words)
    return [part for owner, word in words for part in ((word,) if owner is None else (owner, word))]


def _release_last(words: list[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Take the last of a flag's several values away from it."""
    for index in range(len(words) - 1, 0, -1):
        owner, word = words[index]
        if owner is not None and words[index - 1][0] == owner:
            return [*words[:index], (None, word), *words[index + 1 :]]
    return words
