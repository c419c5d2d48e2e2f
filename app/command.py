"""What every command understands: `-q`, `-v`, flags for arguments, several values per flag."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand

from triplecheck.app import console

F = TypeVar("F", bound=Callable[..., Any])

COMMON = ("quiet", "verbose")
"""Options that every command has."""
FLAGS_FOR_ARGUMENTS = ("kb", "out", "questions")
"""Arguments that may be given as flags instead: `--kb DIR`."""
_SAME = "The same as the argument."


class Command(TyperCommand):
    """A command of Triplecheck."""

    spreading: tuple[str, ...] = ()
    """Flags that take several values at once: `--triples A B` as `--triples A --triples B`."""

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:
        self._arguments = [p.name for p in params if isinstance(p, TyperArgument) and p.name in FLAGS_FOR_ARGUMENTS]
        flags = common_options()
        names = [*(f"{argument}_flag" for argument in self._arguments), *COMMON]
        super().__init__(name, params=[*params, *(flags[flag] for flag in names)], **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the words into what the parser understands, then parse."""
        flags = {
            name: not getattr(option, "is_flag", False)
            for option in self.params
            for name in option.opts
            if name.startswith("-")
        }
        valued = {name for name, takes_value in flags.items() if takes_value}
        words = args
        if self.spreading:
            words = spread(words, self.spreading, valued, [f"--{name}" for name in self._arguments])
        names = [param.name for param in self.params if isinstance(param, TyperArgument)]
        return super().parse_args(ctx, with_arguments(words, names, self._arguments, valued))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, as quiet or verbose as it is asked to be."""
        for name in self._arguments:
            del ctx.params[f"{name}_flag"]
        with console.shown(quiet=ctx.params.pop("quiet"), verbose=ctx.params.pop("verbose")):
            return super().invoke(ctx)


class Commands(typer.Typer):
    """A group whose commands are `Command`s."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[[F], F]:
        """See `typer.Typer.command`."""
        return super().command(name, cls=cls or Command, **settings)


class BuildCommand(Command):
    """A command that reads several files."""

    spreading = ("--triples", "--wide", "--triples-of", "--map", "--edge-properties", "--key", "--link", "--class")


class TrainCommand(Command):
    """A command that reads several files of questions, or directories of traces."""

    spreading = ("--questions", "--traces")


@functools.cache
def common_options() -> dict[str, Any]:
    """`-q`, `-v` and the flags that stand for arguments, by name."""

    def declare(
        kb_flag: Annotated[str, typer.Option("--kb", metavar="KB", rich_help_panel="Data", help=_SAME)] = "",
        out_flag: Annotated[str, typer.Option("--out", metavar="OUT", rich_help_panel="Output", help=_SAME)] = "",
        questions_flag: Annotated[
            str, typer.Option("--questions", metavar="FILE", rich_help_panel="Data", help=_SAME)
        ] = "",
        quiet: Annotated[
            bool, typer.Option("--quiet", "-q", rich_help_panel="Output", help="Print the result alone.")
        ] = False,
        verbose: Annotated[
            int,
            typer.Option(
                "--verbose", "-v", count=True, rich_help_panel="Output", help="Print the steps, and logs; -vv: in full."
            ),
        ] = 0,
    ) -> None:
        """Declares the options; never called."""

    app = typer.Typer(add_completion=False)
    app.command()(declare)
    return {option.name: option for option in typer.main.get_command(app).params}


def with_arguments(
    args: Sequence[str], names: Sequence[str], may_be_flags: Sequence[str], valued: set[str]
) -> list[str]:
    """`TEXT --kb KB` as `KB TEXT`: arguments that are given as flags, put in their places.

    Args:
        args: the words of the command line.
        names: the arguments, in order.
        may_be_flags: those of them that may be given as `--name VALUE`.
        valued: all flags that take a value.
    """
    given: dict[str, list[str]] = {}
    positional: list[str] = []
    others: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            positional += words
            break
        flag, equals, value = word.partition("=")
        if flag.startswith("--") and flag[2:] in may_be_flags:
            following = value if equals else next(words, None)
            if following is None:
                return list(args)  # no value: the parser reports it
            given.setdefault(flag[2:], []).append(following)
        elif word in valued:
            others += [word, *(following for following in [next(words, None)] if following is not None)]
        else:
            (others if word.startswith("-") and word != "-" else positional).append(word)
    if not given:
        return list(args)
    ordered: list[str] = []
    for name in names:
        ordered += given.get(name) or [positional.pop(0) for _ in positional[:1]]
    return [*others, "--", *ordered, *positional]


def spread(
    args: Sequence[str], spreading: Iterable[str], valued: Iterable[str], for_arguments: Iterable[str] = ()
) -> list[str]:
    """`--triples a b` as `--triples a --triples b`.

    The values of a flag end at the next word that begins with `-`. If this leaves no positional argument,
    the last of several values becomes one (`--triples a b OUT`).

    Args:
        args: the words of the command line.
        spreading: flags that may take several values.
        valued: all flags that take a value.
        for_arguments: flags that stand for a positional argument.
    """
    spreading, valued, for_arguments = set(spreading), set(valued), set(for_arguments)
    words: list[tuple[str | None, str]] = []  # (flag, or None for a word that belongs to no spreading flag; word)
    positional, flag, index = False, None, 0
    while index < len(args):
        word = args[index]
        if word == "--":
            positional = positional or index + 1 < len(args)
            words += [(None, rest) for rest in args[index:]]
            break
        if word.startswith("-") and word != "-":
            positional = positional or word.partition("=")[0] in for_arguments
            flag = word if word in spreading else None
            following = args[index + 1 : index + 2]
            if flag is not None and (not following or following[0].startswith("--")):
                words.append((None, word))  # no value: the parser reports it
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
    """Make the last of several values of a flag positional."""
    for index in range(len(words) - 1, 0, -1):
        owner, word = words[index]
        if owner is not None and words[index - 1][0] == owner:
            return [*words[:index], (None, word), *words[index + 1 :]]
    return words
