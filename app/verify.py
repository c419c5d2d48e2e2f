"""`triplecheck verify`: the statements of a text, each checked against the graph."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import is_quiet, print_json, printable, reporting, stderr, stdout, waiting
from triplecheck.app.options import ModelOptions, argument, flag, flattened

if TYPE_CHECKING:
    from triplecheck.app.config import Settings
    from triplecheck.lms import Usage
    from triplecheck.programs import Sources
    from triplecheck.programs.verify import Verified

_COLORS = {
    "in the graph": "bold green",
    "contradicted": "bold red",
    "plausible": "green",
    "implausible": "yellow",
    "unknown": "dim",
}


@flattened()
def verify(
    text: Annotated[str, argument("TEXT", "Any text, in quotes; `-` reads standard input.")],
    run: ModelOptions,
    plausible: Annotated[
        float, flag("--plausible X", "Maximum rank of a plausible tail, as a share of all entities.", min=0.0, max=1.0)
    ] = 0.05,
) -> None:
    """Check a text against a knowledge graph, statement by statement.

    The role `extract` reads triples from the text. Each is in the graph, contradicted (the graph has
    another value for a relation that nearly always has one), plausible or implausible (by the embeddings
    of the knowledge base, see `triplecheck kb embed`), or unknown. Its evidence is listed below it.

    Examples:

        triplecheck verify "Bernhard Heiden studied with Paul Hindemith. Hindemith was born in Paris."
        triplecheck verify - --kb kbs/films --lm openai/gpt-4o-mini --json < review.txt
    """
    settings = run.settings()
    written = sys.stdin.read() if text == "-" else text
    with contextlib.redirect_stdout(sys.stderr) if run.json else contextlib.nullcontext():
        sources, verified, usage = _verified(written, settings, plausible)
    if run.json:
        from triplecheck.programs.verify import to_json

        print_json(to_json(sources, verified) | {"usage": usage.to_json()})
        return
    from triplecheck.app import render

    for line in _lines(sources, verified):
        stdout().print(line, soft_wrap=True)
    if not is_quiet():
        stdout().print(render.usage_line(usage), soft_wrap=True)


def _verified(text: str, settings: Settings, plausible: float) -> tuple[Sources, Verified, Usage]:
    with waiting(stderr(), "loading"):
        from triplecheck.app import opening
        from triplecheck.lms import Budget, session
        from triplecheck.programs import Sources
        from triplecheck.programs.verify import Verifier

        roles, budget = opening.roles(settings), Budget(**settings.budget.model_dump())
    with reporting(stderr(), "opening the knowledge base") as tell:
        sources = Sources.of(opening.open_knowledge_base(settings, tell))
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
