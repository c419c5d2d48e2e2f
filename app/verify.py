"""`triplecheck verify`: what a text states, and what the graph says of each statement."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout

if TYPE_CHECKING:
    from triplecheck.programs import Sources
    from triplecheck.programs.verify import Verified

_COLORS = {
    "in the graph": "bold green",
    "contradicted": "bold red",
    "plausible": "green",
    "implausible": "yellow",
    "unknown": "dim",
}


def verify(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Any text, in quotes; `-` reads standard input.")],
    kb: options.KbOption = None,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    plausible: Annotated[
        float,
        typer.Option(
            metavar="X", min=0.0, max=1.0, help="A tail is plausible up to this rank, a share of all entities."
        ),
    ] = 0.05,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Check a text against a knowledge graph, statement by statement.

    The role `extract` reads triples out of the text. Each is in the graph, contradicted (the graph has
    another value of a relation that has one nearly always), plausible or implausible (by the embeddings of
    the knowledge base, see `triplecheck kb embed`), or unknown. The evidence stands below it.

    Examples:

        triplecheck verify "Bernhard Heiden studied with Paul Hindemith. Hindemith was born in Paris."

        triplecheck verify - --kb kbs/films --lm openai/gpt-4o-mini --json < review.txt
    """
    from triplecheck.app import config

    settings = config.load_settings(
        kb=kb,
        lm=lm,
        roles=config.parse_pairs(role or (), "--role"),
        budget=options.budget_flags(
            calls=budget_calls, tokens=budget_tokens, seconds=budget_seconds, dollars=budget_dollars
        ),
    )
    written = sys.stdin.read() if text == "-" else text
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        sources, verified, usage = _verified(written, settings, plausible)
    if json:
        from triplecheck.programs.verify import to_json

        print_json(to_json(sources, verified) | {"usage": usage.to_json()})
        return
    from triplecheck.app import render

    for line in _lines(sources, verified):
        stdout().print(line, soft_wrap=True)
    stdout().print(render.usage_line(usage), soft_wrap=True)


def _verified(text: str, settings: Any, plausible: float) -> tuple[Sources, Verified, Any]:
    from triplecheck.app.progress import reporting, waiting

    with waiting(stderr(), "loading"):
        from triplecheck.app import opening
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.lms import session
        from triplecheck.programs import Sources
        from triplecheck.programs.verify import Verifier

        roles, budget = opening.roles(settings), opening.budget(settings)
    with reporting(stderr(), "opening the knowledge base") as tell:
        sources = Sources.of(open_knowledge_base(settings, tell))
    with session(roles, budget=budget) as ledger, waiting(stderr(), "reading"):
        return sources, Verifier(sources, plausible=plausible)(text=text), ledger.usage()


def _lines(sources: Sources, verified: Verified) -> list[Any]:
    from rich.text import Text

    from triplecheck.app import render
    from triplecheck.programs.outcome import evidence_rows

    lines = []
    for claim in verified.claims:
        head, relation, tail = (printable(part) for part in claim.grounded.text)
        verdict = str(claim.verdict)
        lines.append(
            Text.assemble((f"{verdict:<13}", _COLORS[verdict]), f"{head} ", (f"—{relation}→ ", "magenta"), tail)
        )
        if verdict != "in the graph":
            lines.append(Text(f"             {printable(claim.why)}", "dim"))
        lines += [
            Text.assemble("           ", render.proof_line(row)) for row in evidence_rows(sources.graph, claim.evidence)
        ]
    lines += [Text(printable(f"not read: {step.to_json()['reason']}"), "yellow") for step in verified.trace.steps]
    if not verified.claims:
        lines.append(Text("no statement was found in the text"))
    return lines
