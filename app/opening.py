"""From a configuration to what answers: a program on a knowledge base, models for its roles, a budget."""

from __future__ import annotations

from typing import Any

from triplecheck.app.config import Settings
from triplecheck.app.console import printable, stderr
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, Roles
from triplecheck.optimize.bundle import load_bundle
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.options import make_program


def open_program(settings: Settings, kb: KnowledgeBase) -> Program:
    """The program that is configured, on a knowledge base: compiled, where a bundle is named.

    Raises:
        UserError: there is no such program, it takes no such argument, or the bundle does not fit it.
    """
    if settings.bundle is not None:
        bundle = load_bundle(settings.bundle)
        if "program" in settings.model_fields_set and resolve_program(settings.program).name != bundle.program_name:
            raise UserError(f"{settings.bundle}: holds {bundle.program_name!r}, and {settings.program!r} is asked for")
        sources = Sources.of(kb)
        for note in bundle.notes(sources, roles(settings)):
            stderr().print(f"note: {printable(note)}", soft_wrap=True)
        return bundle.program(sources, arguments(settings))
    return make_program(resolve_program(settings.program), Sources.of(kb), arguments(settings))


def arguments(settings: Settings) -> dict[str, Any]:
    """Options of the program, as far as they are configured."""
    given = {} if settings.hops is None else {"hops": settings.hops}
    if settings.bundle is None or "grounded_only" in settings.model_fields_set:
        given["grounded_only"] = settings.grounded_only
    return given | settings.options


def roles(settings: Settings) -> Roles:
    """Which model plays which role.

    Raises:
        UserError: there is no such role.
    """
    if settings.bundle is not None and settings.lm is None and not settings.roles:
        return load_bundle(settings.bundle).roles
    return Roles(by_role=settings.roles) if settings.lm is None else Roles(settings.lm, settings.roles)


def budget(settings: Settings) -> Budget:
    """What may be spent."""
    return Budget(**settings.budget.model_dump())
