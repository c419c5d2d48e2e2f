"""`triplecheck programs` and `triplecheck optimizers`: what can run; and questions that the bundled graph answers."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import is_quiet, is_verbose, print_json, say, stderr, waiting
from triplecheck.app.options import JsonOption, argument

if TYPE_CHECKING:
    from triplecheck.programs import Program


EXAMPLES = (
    ("two hops", "What was the nationality of Bernhard Heiden's teacher?"),
    ("a misspelt name", "Where was Wolfgang Amadeus Mozzart born?"),
    ("a comparison", "Who was born earlier, Johannes Brahms or Pyotr Ilyich Tchaikovsky?"),
    ("a count", "How many pupils of Nadia Boulanger are listed?"),
    ("yes or no", "Do Rear Window and Vertigo have the same director?"),
    ("not in the graph", "Who were the siblings of Glenn Gould?"),
)
"""What each question of the demonstration shows, and the question."""


def list_programs(
    name: Annotated[str | None, argument("[PROGRAM]", "Only this program, with its options.")] = None,
    json: JsonOption = False,
) -> None:
    """List the programs that answer; with a name or -v also their options, with the defaults.

    With -q it prints the names alone.

    Examples:

        triplecheck programs
        triplecheck programs kerag
    """
    with waiting(stderr(), "loading"):
        from triplecheck.programs import program_names, resolve_program

        programs = [resolve_program(one) for one in ([name] if name is not None else program_names())]
    if json:
        print_json({program.name: {"summary": summary(program), "options": _options(program)} for program in programs})
        return
    for program in programs:
        if is_quiet():
            say(program.name)
            continue
        say(f"{program.name:15} {summary(program)}")
        if is_verbose() or name is not None:
            for option, value in _options(program).items():
                say(f"    {option}={value}")


def summary(program: type[Program]) -> str:
    """The first sentence of the docstring, without its full stop."""
    return inspect.cleandoc(program.__doc__ or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")


def _options(program: type[Program]) -> dict[str, Any]:
    """The options of a program with their defaults, as plain values; its presets first, if it has any."""
    plain = (bool, int, float, str, type(None))
    found = {
        name: value
        if isinstance(value, plain)
        else ", ".join(map(str, value))
        if isinstance(value, tuple)
        else str(value)
        for name, value in _named(program.Options())
        if name != "grounded_only"
    }
    return {"preset": "|".join(("default", *program.presets)), **found} if program.presets else found


def _named(options: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options by the names that `--option` takes: `limits.tokens`."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if dataclasses.is_dataclass(value):
            yield from _named(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value


def list_optimizers(json: JsonOption = False) -> None:
    """List the optimizers of `triplecheck compile`, with their settings.

    Examples:

        triplecheck optimizers
    """
    from triplecheck.optimize.registry import optimizer_specs

    if json:
        rows = {
            spec.name: {
                "summary": spec.summary,
                "writes": list(spec.writes),
                "needs": sorted(spec.needs),
                "settings": dict(spec.settings),
                "one_model": spec.one_model,
                "resumes": spec.resumes,
            }
            for spec in optimizer_specs()
        }
        print_json(rows)
        return
    for spec in optimizer_specs():
        given = ", ".join(f"{name}={value}" for name, value in spec.settings.items())
        say(f"{spec.name}: {spec.summary}{f' ({given})' if given else ''}")
