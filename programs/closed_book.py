"""Answers from a model's own knowledge: ungrounded text, matched to the graph by name for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triplecheck.kg import Graph, Linker
from triplecheck.lms import RolePredict
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import AnswerFromMemory


def recall(program: Program, step: RolePredict, question: str, trace: Trace) -> Outcome:
    """The answer of `AnswerDirectly` or `AnswerFromMemory`, a step of the program, from the model's own knowledge."""
    reply = program.ask(trace, step, question=question)
    return from_memory(program.graph, program.sources.linker, reply.answers, trace)


class RecallingProgram(Program):
    """A program that answers from the model's own knowledge, by chain of thought, if the graph gave no answer."""

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        if not self.options.grounded_only:
            self.answer_from_memory = RolePredict(AnswerFromMemory, role="answer")

    def recall_instead(self, question: str, reason: str, detail: str, trace: Trace) -> Outcome:
        """The answer, not grounded; abstains for `reason` if only grounded answers are wanted."""
        nothing = abstention(reason, detail, trace)
        return nothing if self.options.grounded_only else recall(self, self.answer_from_memory, question, trace)


def from_memory(graph: Graph, linker: Linker, answers: Sequence[str], trace: Trace) -> Outcome:
    """The ungrounded outcome of answers from memory; an abstention if there are none.

    If an answer is exactly the name of an entity, the entity is in `answers` for comparison; of homonyms the best
    known. Nothing is checked, and there is no evidence. If the first answer names no entity, `answers` is empty: a
    later answer must not take its place.
    """
    written = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    if not written:
        return abstention("unknown", "the model does not know the answer", trace)
    named = {text: named_entity(graph, linker, text) for text in written}
    unnamed = [text for text, node in named.items() if node is None]
    if unnamed:
        trace.add(Checked("answer names", False, f"no entity is called {', '.join(unnamed)}"))
    nodes = () if named[written[0]] is None else tuple(dict.fromkeys(n for n in named.values() if n is not None))
    return Outcome(", ".join(written), nodes, grounded=False)


def named_entity(graph: Graph, linker: Linker, text: str) -> int | None:
    """The entity with exactly this name, of homonyms the best known; None if there is none."""
    exact = (c.node for c in linker.candidates(text) if c.is_named and graph.literal(c.node) is None)
    return next(exact, None)
