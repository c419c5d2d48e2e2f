"""`triplecheck demo`: a few questions of the bundled knowledge base, each with its proof and its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass

from triplecheck.app import options
from triplecheck.app.console import stderr, stdout
from triplecheck.app.progress import reporting, waiting


@dataclass(frozen=True)
class Example:
    """A question of the demonstration.

    Attributes:
        shows: what there is to see.
    """

    shows: str
    question: str


EXAMPLES = (
    Example("two hops", "What was the nationality of Bernhard Heiden's teacher?"),
    Example("a misspelt name", "Where was Wolfgang Amadeus Mozzart born?"),
    Example("a comparison", "Who was born earlier, Johannes Brahms or Pyotr Ilyich Tchaikovsky?"),
    Example("a count", "How many pupils of Nadia Boulanger are listed?"),
    Example("yes or no", "Do Rear Window and Vertigo have the same director?"),
    Example("not in the graph", "Who were the siblings of Glenn Gould?"),
)


def demo(lm: options.LmOption = None, role: options.RoleOption = None) -> None:
    """Show what this does: six questions of the bundled knowledge base, one of which it cannot answer.

    For each the steps as they happen, the answer, the triples that prove it, which model played,
    calls, tokens and seconds.

    Examples:

        triplecheck demo

        triplecheck demo --lm openai/gpt-4o-mini
    """
    started = time.perf_counter()
    from triplecheck.app import config

    settings = config.load_settings(lm=lm, roles=config.parse_pairs(role or (), "--role"))
    settings = settings.model_copy(update={"kb": None, "program": "kerag", "options": {}, "hops": None})
    out, err = stdout(), stderr()
    with waiting(err, "loading"):
        from rich.text import Text

        from triplecheck.app import opening, render
        from triplecheck.app.ask import thinking
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.lms import session
    with reporting(err, "opening the bundled knowledge base") as tell:
        kb = open_knowledge_base(settings, tell)
        program = opening.open_program(settings, kb)
    counts = kb.manifest.counts
    out.print(
        f"The bundled knowledge base: {counts['entities']:,} entities, {counts['relations']:,} relations, "
        f"{counts['triples']:,} triples."
    )
    with session(opening.roles(settings)) as ledger:
        for number, example in enumerate(EXAMPLES, 1):
            out.print()
            heading = Text.assemble(
                (f"{number}. {example.question}", "bold underline"), (f"  ({example.shows})", "dim")
            )
            out.print(heading, soft_wrap=True)
            begun = time.perf_counter()
            with session(budget=opening.budget(settings)), thinking(err, out) as on_step:
                result = program(question=example.question, on_step=on_step)
            for line in render.answer_lines(result):
                out.print(line, soft_wrap=True)
            usage = render.usage_line(result.usage, program.name, time.perf_counter() - begun)
            out.print(usage.append(f"  {len(result.steps)} steps"), soft_wrap=True)
    out.print()
    out.print(Text.assemble(("In all  ", "bold"), render.usage_line(ledger.usage(), program.name)), soft_wrap=True)
    out.print(f"{len(EXAMPLES)} questions, {time.perf_counter() - started:.1f} s with start-up.")
