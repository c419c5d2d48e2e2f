"""`triplecheck programs` and `triplecheck optimizers`: lists of what can run."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from triplecheck.app.console import is_quiet, print_json, stderr, stdout, waiting
from triplecheck.app.options import JsonOption

if TYPE_CHECKING:
    from triplecheck.programs import Program


def list_programs(json: JsonOption = False) -> None:
    """List the programs of `ask` and `eval`, with the options for --option. With -q: the names alone.

    Examples:

        triplecheck programs
    """
    with waiting(stderr(), "loading"):
        from triplecheck.programs import program_names, resolve_program

        programs = [resolve_program(name) for name in program_names()]
    if json:
        print_json({program.name: {"summary": _summary(program), "options": _options(program)} for program in programs})
        return
    for program in programs:
        if is_quiet():
            stdout().print(program.name)
            continue
        given = ", ".join(f"{name}={value}" for name, value in _options(program).items())
        stdout().print(f"{program.name}: {_summary(program)}{f' ({given})' if given else ''}", soft_wrap=True)


def _summary(program: type[Program]) -> str:
    """The first sentence of the docstring, without its full stop."""
    return inspect.cleandoc(program.__doc__ or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")


def _options(program: type[Program]) -> dict[str, Any]:
    """The options of a program with their defaults, as plain values; its presets first, if it has any."""
    plain = (bool, int, float, str, type(None))
    defaults = {
        field.name: getattr(program.Options(), field.name)
        for field in dataclasses.fields(program.Options)
        if field.name != "grounded_only"
    }
    found = {name: value if isinstance(value, plain) else str(value) for name, value in defaults.items()}
    return {"preset": "|".join(("default", *program.presets)), **found} if program.presets else found


def list_optimizers(json: JsonOption = False) -> None:
    """List the optimizers of `triplecheck compile`, with their settings.

    Examples:

        triplecheck optimizers
    """
    from triplecheck.optimize import optimizer_specs

    if json:
        rows = {
            spec.name: {
                "summary": spec.summary,
                "writes": list(spec.writes),
                "needs": sorted(spec.needs),
                "settings": dict(spec.settings),
                "one_model": spec.one_model,
                "resumes": spec.resumes,
                "deterministic": spec.deterministic,
            }
            for spec in optimizer_specs()
        }
        print_json(rows)
        return
    for spec in optimizer_specs():
        given = ", ".join(f"{name}={value}" for name, value in spec.settings.items())
        stdout().print(f"{spec.name}: {spec.summary}{f' ({given})' if given else ''}", soft_wrap=True)
