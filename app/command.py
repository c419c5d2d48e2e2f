"""What every command understands: `-q`, `-v`, flags for arguments, several values per flag."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from triplecheck.app import console

F = TypeVar("F", bound=Callable[..., Any])

COMMON = ("quiet", "verbose")
"""Options that every command has."""
FLAGS_FOR_ARGUMENTS = ("kb", "out", "questions")
"""Arguments that may be given as flags instead: `--kb DIR`."""
_SAME = "The same as the argument."


class Command(TyperCommand):
    """A command of Triplecheck. An option whose placeholder ends in `...` takes several values at once."""

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:
        self._arguments = [p.name for p in params if isinstance(p, TyperArgument) and p.name in FLAGS_FOR_ARGUMENTS]
        flags = common_options()
        names = [*(f"{argument}_flag" for argument in self._arguments), *COMMON]
        super().__init__(name, params=[*params, *(flags[flag] for flag in names)], **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the words into what the parser understands, then parse."""
        names = [param.name for param in self.params if isinstance(param, TyperArgument)]
        valued = {
            flag: (option.metavar or "").endswith("...")
            for option in self.params
            if isinstance(option, TyperOption) and not (option.is_flag or option.count)
            for flag in option.opts
        }
        return super().parse_args(ctx, rewritten(args, names, self._arguments, valued))

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


def rewritten(
    args: Sequence[str], names: Sequence[str], may_be_flags: Sequence[str], valued: Mapping[str, bool]
) -> list[str]:
    """A command line as the parser understands it: each value behind its flag, then `--`, then the arguments in order.

    `TEXT --kb KB` becomes `-- KB TEXT`, and `--triples a b OUT` becomes `--triples a --triples b -- OUT`. The values of
    a flag end at the next word that begins with `-`. If this leaves no argument, the last of several values is one.

    Args:
        args: the words of the command line.
        names: the arguments, in order.
        may_be_flags: those of them that may be given as `--name VALUE`.
        valued: all flags that take a value, and whether they take several at once.
    """
    options: list[list[str]] = []  # a flag and its values
    given: dict[str, list[str]] = {}
    positional: list[str] = []
    taking = positional
    words = iter(args)
    for word in words:
        flag, equals, value = word.partition("=")
        if word == "--":
            positional += words
        elif not word.startswith("-") or word == "-":
            taking.append(word)
        elif flag in valued:
            following = value if equals else next(words, None)
            if following is None:
                return list(args)  # no value: the parser reports it
            if flag[2:] in may_be_flags:
                given.setdefault(flag[2:], []).append(following)
            else:
                options.append([flag, following])
            taking = options[-1] if valued[flag] and not equals else positional
        else:
            options.append([word])
            taking = positional
    several = [option for option in options if len(option) > 2]
    if several and not positional and not given:
        positional.append(several[-1].pop())
    ordered = [one for name in names for one in given.get(name) or [positional.pop(0) for _ in positional[:1]]]
    flags = [part for flag, *values in options for part in _repeated(flag, values) or [flag]]
    return [*flags, "--", *ordered, *positional]


def _repeated(flag: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]
