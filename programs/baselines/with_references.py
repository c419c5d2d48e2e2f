"""The text baselines that Know³-RAG is compared with (its Table 2), over the same steps and the same corpus.

Their answers come from texts and a model's own knowledge, not from triples of the graph: with `grounded_only` they
abstain without a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from triplecheck.lms import RolePredict
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.baselines.closed_book import ClosedBook
from triplecheck.programs.closed_book import from_memory
from triplecheck.programs.know3rag.filter import ReferenceFilter
from triplecheck.programs.know3rag.generation import (
    Corpus,
    CorpusSearch,
    Know3RAGLimits,
    KnowledgeModels,
    Reference,
    ReferenceQuery,
    clean_answer,
    described,
    linked_entities,
)
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Consulted, Trace
from triplecheck.signatures import (
    AnswerFromMemory,
    AnswerFromReferences,
    AnswerWithReferences,
    AnswerWithTriples,
    JudgeKnowledge,
    WritePassage,
)

_LINKED = 3


@dataclass(frozen=True)
class CorpusOptions(ProgramOptions):
    """Options of a baseline that searches the documents of the knowledge base.

    Attributes:
        corpus: how they are searched.
        references: passages for one query.
    """

    corpus: CorpusSearch = "bm25"
    references: int = 5


class WithReferences(ClosedBook):
    """A program that answers from passages."""

    def make_steps(self) -> None:
        """Make the steps of `reason`."""
        self.with_reasoning = RolePredict(AnswerWithReferences, role="answer")
        self.from_memory = RolePredict(AnswerFromMemory, role="answer")

    def conclude(self, answers: Sequence[str], trace: Trace) -> Outcome:
        """The outcome of answers in words; an abstention if all are empty."""
        return from_memory(self.graph, self.sources.linker, [clean_answer(answer) for answer in answers], trace)

    def reason(self, question: str, references: Sequence[Reference], trace: Trace) -> Outcome:
        """Answer by chain of thought, from references if there are any."""
        if not references:
            return self.remember(question, trace)
        return self.conclude([self.read_passages(self.with_reasoning, question, references, trace).answer], trace)

    def read_passages(
        self, step: RolePredict, question: str, references: Sequence[Reference], trace: Trace
    ) -> dspy.Prediction:
        """What the model of a step replies to a question with passages."""
        return self.ask(trace, step, question=question, references=[reference.text for reference in references])

    def remember(self, question: str, trace: Trace) -> Outcome:
        """Answer by chain of thought, from memory."""
        reply = self.ask(trace, self.from_memory, question=question)
        return self.conclude(reply.answers, trace)


class WithCorpus(WithReferences):
    """A program that answers from passages of the corpus.

    Raises:
        UserError: search by meaning, and the documents have no vectors.
    """

    Options: ClassVar[type[ProgramOptions]] = CorpusOptions
    options: CorpusOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.passages = Corpus(self.sources, self.options.corpus, self.options.references)

    def retrieve(self, question: str, trace: Trace) -> list[Reference]:
        """The passages that fit a question best; the trace records each."""
        found = self.passages.search(question)
        _note(found, trace)
        return found


class RAGDirect(WithCorpus):
    """Retrieval, then the answer alone (Brown et al., arXiv 2005.14165, with retrieval)."""

    name: ClassVar[str] = "ragdirect"

    def make_steps(self) -> None:
        """Make the step that answers."""
        self.directly = RolePredict(AnswerFromReferences, role="answer")

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Retrieve and answer."""
        found = self.retrieve(question, trace)
        return self.conclude([self.read_passages(self.directly, question, found, trace).answer], trace)


class RAGChainOfThought(WithCorpus):
    """Retrieval, then reasoning (Wei et al., arXiv 2201.11903, with retrieval)."""

    name: ClassVar[str] = "ragcot"

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Retrieve, and answer by chain of thought."""
        return self.reason(question, self.retrieve(question, trace), trace)


class Recite(WithReferences):
    """Recitation: the model writes down what it knows, then answers from it (Sun et al., arXiv 2210.01296)."""

    name: ClassVar[str] = "recite"

    def make_steps(self) -> None:
        """Make the step that recites, and those of `reason`."""
        super().make_steps()
        self.write = RolePredict(WritePassage, role="answer")

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Recite, and answer by chain of thought."""
        reply = self.ask(trace, self.write, question=question, entities=[])
        found = [Reference(clean_answer(reply.passage), "answer")]
        _note(found, trace)
        return self.reason(question, [reference for reference in found if reference.text], trace)


class SKR(WithCorpus):
    """Self-knowledge guided retrieval: retrieve only if the model says it does not know (arXiv 2310.05002)."""

    name: ClassVar[str] = "skr"

    def make_steps(self) -> None:
        """Make the step that judges, and those of `reason`."""
        super().make_steps()
        self.judge = RolePredict(JudgeKnowledge, role="judge")

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Ask whether the model knows; answer from memory, or retrieve. An unreadable reply counts as not knowing."""
        reply = self.ask_or_note(trace, "self-knowledge", self.judge, question=question)
        if reply is not None and reply.known:
            return self.remember(question, trace)
        return self.reason(question, self.retrieve(question, trace), trace)


@dataclass(frozen=True)
class KnowledgeCardOptions(ProgramOptions):
    """Options of `KnowledgeCard`.

    Attributes:
        knowledge_models: how many there are; their roles are `knowledge.1` to `knowledge.n`.
    """

    knowledge_models: int = 3


class KnowledgeCard(WithReferences):
    """Passages of knowledge models, those that help kept (Feng et al., arXiv 2305.09955)."""

    name: ClassVar[str] = "knowledgecard"
    Options: ClassVar[type[ProgramOptions]] = KnowledgeCardOptions
    options: KnowledgeCardOptions

    def make_steps(self) -> None:
        """Make the steps that write passages and filter them, and those of `reason`."""
        super().make_steps()
        self.knowledge = KnowledgeModels(self.options.knowledge_models)
        self.filter = _relevance(self)

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Generate passages, keep the relevant ones, and answer by chain of thought."""
        written = [r for r in self.knowledge(ReferenceQuery(question), trace, self.ask) if r.text]
        kept = _helpful(self, question, list({r.key: r for r in written}.values()), trace)
        return self.reason(question, kept, trace)


class ChainOfKnowledge(WithReferences):
    """The model writes triples, then an explanation, then the answer (Wang et al., arXiv 2306.06427)."""

    name: ClassVar[str] = "chainofknowledge"

    def make_steps(self) -> None:
        """Make the step that answers."""
        self.by_triples = RolePredict(AnswerWithTriples, role="answer")

    def recall(self, question: str, trace: Trace) -> Outcome:
        """One call."""
        reply = self.ask(trace, self.by_triples, question=question)
        return self.conclude([reply.answer], trace)


class BlendFilter(WithCorpus):
    """Three queries, the passages of each filtered: the question, it with a first answer, it with a recited passage.

    Source: Wang et al., "BlendFilter" (arXiv 2402.11129).
    """

    name: ClassVar[str] = "blendfilter"

    def make_steps(self) -> None:
        """Make the steps that recite and filter, and those of `reason`."""
        super().make_steps()
        self.write = RolePredict(WritePassage, role="answer")
        self.filter = _relevance(self)

    def recall(self, question: str, trace: Trace) -> Outcome:
        """Search with three queries, filter the passages of each, answer by chain of thought from the rest."""
        plain = self.passages.search(question)
        kept = {r.key: r for r in _helpful(self, question, plain, trace)}
        for more in (self._first_answer(question, plain, trace), self._recited(question, trace)):
            if more:
                found = [r for r in self.passages.search(f"{question} {more}") if r.key not in kept]
                kept |= {r.key: r for r in _helpful(self, question, found, trace)}
        return self.reason(question, list(kept.values()), trace)

    def _first_answer(self, question: str, references: Sequence[Reference], trace: Trace) -> str:
        """External knowledge: a first answer from unfiltered passages."""
        if not references:
            return ""
        reply = self.read_passages(self.with_reasoning, question, references, trace)
        return f"{reply.reasoning} {clean_answer(reply.answer)}"

    def _recited(self, question: str, trace: Trace) -> str:
        """Internal knowledge: a passage from the model's memory."""
        reply = self.ask(trace, self.write, question=question, entities=[])
        return clean_answer(reply.passage)


def _relevance(program: Program) -> ReferenceFilter:
    supervisor = Supervisor(program.sources, "relative", "sum")
    return ReferenceFilter(program.assists, supervisor, relevance=True, triples=False, at_once=Know3RAGLimits.checked)


def _helpful(
    program: KnowledgeCard | BlendFilter, question: str, references: Sequence[Reference], trace: Trace
) -> list[Reference]:
    """The references that a model finds relevant; the trace records each."""
    nodes = linked_entities(program.sources, question, _LINKED, trace)
    entities = described(program.graph, nodes)
    verdicts = program.filter(question, entities, references, trace, program.ask)
    for reference, verdict in zip(references, verdicts, strict=True):
        fate = "kept" if verdict.relevant else "irrelevant"
        trace.add(Consulted(1, reference.origin, reference.text, verdict.relevant, None, fate))
    return [reference for reference, verdict in zip(references, verdicts, strict=True) if verdict.relevant]


def _note(references: Sequence[Reference], trace: Trace) -> None:
    for reference in references:
        fate = "kept" if reference.text else "empty"
        trace.add(Consulted(1, reference.origin, reference.text, None, None, fate))
