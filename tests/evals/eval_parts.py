"""A small knowledge base and programs whose behaviour the question itself decides.

Run as a script (`python eval_parts.py KB OUT QUESTIONS`), it evaluates slowly, so that somebody can kill it.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import dspy
from dspy.lm15 import Request, Response

from triplecheck.evals import Question, Summary, evaluate, read_questions
from triplecheck.kg import Direction, GraphUnavailableError, KnowledgeBase, build
from triplecheck.kg.readers import read_graph
from triplecheck.lms import ModelReplyError, RolePredict, register_engine
from triplecheck.lms.engines import reply
from triplecheck.optimize.traces.gold.known import NoRightReplyError
from triplecheck.programs import Outcome, Program, ProgramOptions, Sources
from triplecheck.programs.steps import Expanded, Linked, Stopped, Trace

SILENT = "silent"

TRIPLES = """\
Q142\tcapital\tQ90
Q183\tcapital\tQ64
Q142\tborders\tQ183
Q142\tborders\tQ39
Q183\tborders\tQ39
Q90\tmayor\tHidalgo
Q64\tmayor\tWegner
Q16554\tcounty\tLamar
Q90\tinhabitants\t2100000
"""
ENTITIES = """\
id\tlabel\taliases
Q142\tFrance\tRépublique française
Q183\tGermany\tDeutschland|Federal Republic
Q39\tSwitzerland\tSuisse|Schweiz
Q90\tParis\tCity of Light
Q16554\tParis\t
Q64\tBerlin\t
"""


class SilentEngine:
    """An embedded engine that always gives the same reply."""

    fingerprint = "0"

    def complete(self, request: Request) -> Response:
        return reply(request, "[[ ## answer ## ]]\nnothing", prompt_tokens=5, completion_tokens=2)


def build_knowledge_base(folder: Path) -> KnowledgeBase:
    (folder / "triples.tsv").write_text(TRIPLES, "utf-8")
    (folder / "entities.tsv").write_text(ENTITIES, "utf-8")
    return build(read_graph([folder / "triples.tsv"], folder / "entities.tsv"), folder / "kb", encoder=None)


@dataclass(frozen=True)
class OneHopOptions(ProgramOptions):
    order: str = "first"
    pause: float = 0.0


class OneHop(Program):
    """Answers "RELATION of ENTITY" with what the graph says; a word before that makes it misbehave."""

    name: ClassVar[str] = "onehop"
    Options: ClassVar[type[ProgramOptions]] = OneHopOptions
    options: OneHopOptions

    def __init__(self, sources: Sources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.hops = 2
        self.asked: list[str] = []

    def forward(self, question: str, on_step: Any = None) -> dspy.Prediction:
        self.asked.append(question)
        prediction = super().forward(question, on_step)
        prediction.retrieved = self._retrieved(question)
        return prediction

    def _parse(self, question: str) -> tuple[list[str], int | None, int | None]:
        *words, relation, _of, entity = question.split()
        return words, self.graph.find_relation(relation), self.graph.find(entity)

    def _retrieved(self, question: str) -> list[int]:
        words, relation, topic = self._parse(question)
        if topic is None or relation is None or "unretrieved" in words:
            return []
        return [topic, *self.graph.neighbors(topic, relation, Direction.OUT).tolist()]

    def run(self, question: str, trace: Trace) -> Outcome:
        words, relation, topic = self._parse(question)
        if topic is not None and "unlinked" not in words:
            trace.add(Linked(question.split()[-1], [], [self.graph.node_id(topic)]))
        time.sleep(self.options.pause)
        if "crash" in words:
            raise ZeroDivisionError("it broke")
        if "uncomputable" in words:
            raise NoRightReplyError("nothing can be computed")
        if "unreadable" in words:
            raise ModelReplyError("two replies cannot be read")
        if "unavailable" in words:
            raise GraphUnavailableError("the graph does not answer")
        if "hang" in words:
            for _ in range(3000):
                time.sleep(0.02)
                trace.add(Expanded(1, "nowhere", 0, 0))
            raise AssertionError("nobody stopped it")
        if topic is None or relation is None or "abstain" in words:
            trace.add(Stopped("no_topic"))
            return Outcome(abstained="no_topic")
        found = self.graph.neighbors(topic, relation, Direction.OUT).tolist()
        if "odd" in words:
            return Outcome("half a pair: \ud83d \u2028 \x00")
        if "count" in words:
            return Outcome(f"{len(found)}.0", (), tuple((topic, relation, n) for n in found), grounded=True)
        if "wrong" in words:
            return Outcome(self.graph.label(topic), (topic,))
        if not found:
            return Outcome(abstained="no_facts")
        return Outcome(
            ", ".join(self.graph.labels(found)), tuple(found), tuple((topic, relation, n) for n in found), grounded=True
        )


@dataclass(frozen=True)
class AskingOptions(OneHopOptions):
    fails: frozenset[str] = frozenset()


class Asking(OneHop):
    """The same, with a call to a language model before each answer."""

    name: ClassVar[str] = "asking"
    Options: ClassVar[type[ProgramOptions]] = AskingOptions
    options: AskingOptions

    def __init__(self, sources: Sources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.step = RolePredict("question -> answer", role="answer")

    def run(self, question: str, trace: Trace) -> Outcome:
        self.step(question=question)
        if question in self.options.fails:
            raise ZeroDivisionError("it broke")
        return super().run(question, trace)


def sources(knowledge_base: KnowledgeBase) -> Sources:
    return Sources(knowledge_base.graph, knowledge_base.linker)


def run(
    knowledge_base: KnowledgeBase, questions: list[Question], out: Path, program: Program | None = None, **options: Any
) -> Summary:
    program = program or OneHop(sources(knowledge_base))
    return evaluate(program, questions, out, roles=SILENT, knowledge_base=knowledge_base, **options)


def main(kb: str, out: str, questions: str) -> None:
    register_engine(SILENT, SilentEngine())
    knowledge_base = KnowledgeBase.open(kb)
    run(knowledge_base, read_questions(questions), Path(out), OneHop(sources(knowledge_base), pause=0.05), workers=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
