"""Know³-RAG: a knowledge graph supervises whether to retrieve, what to write, and what to keep.

Source: "Know³-RAG: A Knowledge-aware RAG Framework with Adaptive Retrieval, Generation, and Filtering"
(arXiv 2505.12662). The three stages of the paper are the three methods that `run` calls in its loop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from triplecheck.kg import UserError
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.base import Program, Sources
from triplecheck.programs.know3rag.filter import ReferenceFilter, choose
from triplecheck.programs.know3rag.generation import (
    Corpus,
    CorpusSearch,
    KnowledgeModels,
    Query,
    Reference,
    RelatedSizes,
    described,
    linked_entities,
    names_in,
    related_entities,
    said,
)
from triplecheck.programs.know3rag.reliability import NO_EMBEDDINGS, Reliability, Supervisor, supported, threshold
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Consulted, Stopped, Trace, Truncated, Weighed
from triplecheck.programs.triple_lines import triples_of
from triplecheck.signatures import AnswerFromMemory, AnswerWithReferences, ExtractTriples, NextQuestion

Scoring = Literal["relative", "raw", "per_relation", "tail_rank"]
Aggregate = Literal["sum", "mean"]


@dataclass(frozen=True)
class Reply:
    """What the answering model said at one turn.

    Attributes:
        answer: the short answer; empty where it has none.
        text: all that it said, from which triples are extracted.
    """

    answer: str = ""
    text: str = ""


@dataclass(frozen=True)
class Turn:
    """One answer, and what the graph makes of it."""

    reply: Reply
    reliability: Reliability


class Know3RAG(Program):
    """Knowledge-aware retrieval, generation and filtering, in a loop of at most `turns` + 1 answers.

    Args:
        sources: the graph and how to find things in it; its embeddings, where there are some, and documents.
        turns: T: how often references may be made.
        theta_0: of the threshold; it depends on the model and the questions and should be fitted to them.
        c: of the threshold.
        references: k: at turn t the best k + t new references are kept.
        cap: references in all, the first ones; None for no limit.
        aggregate: how the scores of triples make up that of a text: `sum` (paper) punishes long answers.
        scoring: of triples, see `kg.plausibility.scores`.
        knowledge_models: n: models that write passages, as the roles `knowledge.1` to `knowledge.n`.
        corpus: how the documents of the knowledge base are searched, as one more source.
        corpus_passages: documents for one query.
        related: how many related entities a query gets.
        paper_calls: a call for each passage and for each check of each reference, as in the paper; else
            one of each knowledge model, and one for all checks of a turn.
        retrieve: off: the first answer is the last (w/o Reference).
        kg_query: also ask with the related entities (off: w/o KG query).
        raw_query: also ask the query by itself (off: w/o raw query).
        filtering: check references at all (off: w/o Filter).
        triple_check: check them against the graph (off: w/o Tri-check).
        relevance_check: check whether they help (off: w/o Rel-check).
        adaptive: stop when an answer is reliable (off: always `turns`).
        grounded_only: abstain rather than give an answer that no triple of the graph supports.

    Raises:
        UserError: a number that makes no sense, or a search that the documents do not allow.
    """

    name: ClassVar[str] = "know3rag"

    def __init__(
        self,
        sources: Sources,
        *,
        turns: int = 2,
        theta_0: float = 1.0,
        c: float = 128.0,
        references: int = 5,
        cap: int | None = None,
        aggregate: Aggregate = "sum",
        scoring: Scoring = "relative",
        knowledge_models: int = 1,
        corpus: CorpusSearch = "bm25",
        corpus_passages: int = 5,
        related: RelatedSizes | None = None,
        paper_calls: bool = False,
        retrieve: bool = True,
        kg_query: bool = True,
        raw_query: bool = True,
        filtering: bool = True,
        triple_check: bool = True,
        relevance_check: bool = True,
        adaptive: bool = True,
        grounded_only: bool = False,
    ) -> None:
        super().__init__(sources, grounded_only=grounded_only)
        if min(turns, knowledge_models) < 0 or min(references, corpus_passages) < 1 or (cap is not None and cap < 1):
            raise UserError(
                "turns and knowledge_models must be at least 0, references, corpus_passages and cap at least 1, "
                f"not {turns}, {knowledge_models}, {references}, {corpus_passages} and {cap}"
            )
        if not kg_query and not raw_query:
            raise UserError("without the raw query and without the KG query there is nothing to ask; keep one")
        threshold(theta_0, 0, c)  # refuses what is no theta_0
        self.turns = turns if retrieve else 0
        self.theta_0 = theta_0
        self.c = c
        self.references = references
        self.cap = cap
        self.sizes = related or RelatedSizes()
        self.retrieve = retrieve
        self.kg_query = kg_query
        self.raw_query = raw_query
        self.adaptive = adaptive
        self.supervisor = Supervisor(sources, scoring, aggregate)
        self.passages = Corpus(sources, corpus, corpus_passages)
        self.knowledge = KnowledgeModels(knowledge_models, one_call=not paper_calls)
        self.filter = ReferenceFilter(
            self.supervisor,
            relevance=filtering and relevance_check,
            triples=filtering and triple_check,
            one_call=not paper_calls,
        )
        self.answer_from_memory = RolePredict(AnswerFromMemory, role="answer")
        self.answer_with_references = RolePredict(AnswerWithReferences, role="answer")
        self.extract_triples = RolePredict(ExtractTriples, role="extract")
        self.next_question = RolePredict(NextQuestion, role="query")

    def run(self, question: str, trace: Trace) -> Outcome:
        """Answer, weigh, and as long as the answer is not reliable: make references, filter them, answer again."""
        if not self.supervisor.scores:
            trace.add(Checked("embeddings", False, f"{NO_EMBEDDINGS}: no triple has a score, all turns are taken"))
        entities = linked_entities(self.graph, self.sources.linker, question, self.sizes.linked, trace)
        kept: list[Reference] = []
        now = last = self.answer(question, kept, trace)
        turn = 0
        while self.decide(now, turn, trace) == "go_on":
            turn += 1
            query = self.query(question, kept, last, turn, trace)
            before = kept
            kept = self.keep(question, entities, self.generate(query, trace), kept, turn, trace)
            if kept != before:  # else the same was answered already
                now = self.answer(question, kept, trace)
            # A reply that says nothing takes nothing back.
            last = now if now.reply.answer else last
        return self.conclude(last, entities, trace)

    # --- knowledge-aware adaptive retrieval ------------------------------------------------------
    def answer(self, question: str, references: list[Reference], trace: Trace) -> Turn:
        """An answer by step-by-step reasoning, from the references if there are some, and its triples' scores."""
        reply = self._reply(question, references, trace)
        if not reply.answer:
            return Turn(reply, Reliability((), math.inf, "there is no answer"))
        try:
            names = names_in(self.graph, self.sources.linker, reply.text)
            extracted = self.extract_triples(texts=[reply.text], entities=names)
        except (ModelReplyError, PromptTooLongError) as error:
            trace.add(Checked("triples", False, str(error)))
            return Turn(reply, Reliability((), math.inf, "its triples could not be read"))
        self.wrote(trace, self.extract_triples, extracted)
        (triples,) = triples_of(extracted.triples, [reply.text], trace)
        return Turn(reply, self.supervisor.rate(triples, question))

    def decide(self, now: Turn, turn: int, trace: Trace) -> str:
        """Stop when s_t < theta_t, or at the last turn; all of it goes into the trace."""
        theta = threshold(self.theta_0, turn, self.c)
        reliability = now.reliability
        if self.adaptive and reliability.score < theta:
            decision = "sure"
        elif turn < self.turns:
            decision = "go_on"
        else:
            decision = "last_turn" if self.retrieve else "no_references"
        triples = [rated.to_json() for rated in reliability.triples]
        score = reliability.score if math.isfinite(reliability.score) else None
        trace.add(Weighed(turn, now.reply.answer, triples, score, reliability.reason, theta, decision))
        return decision

    def _reply(self, question: str, references: list[Reference], trace: Trace) -> Reply:
        """What the answering model says; nothing where its reply cannot be read."""
        step = self.answer_with_references if references else self.answer_from_memory
        inputs = {"references": [reference.text for reference in references]} if references else {}
        try:
            reply = step(question=question, **inputs)
        except (ModelReplyError, PromptTooLongError) as error:
            trace.add(Checked("answer", False, str(error)))
            return Reply()
        self.wrote(trace, step, reply)
        answer = said(reply.answer) if references else ", ".join(a for text in reply.answers if (a := said(text)))
        return Reply(answer, f"{reply.reasoning}\nThe answer is {answer}." if answer else "")

    # --- knowledge-enhanced reference generation -------------------------------------------------
    def query(self, question: str, kept: list[Reference], last: Turn, turn: int, trace: Trace) -> Query:
        """q_t with its related entities: the question itself at first, then what is most missing."""
        text = question
        if turn > 1:
            try:
                asked = self.next_question(
                    question=question,
                    references=[reference.text for reference in kept],
                    answer_so_far=last.reply.answer or "unknown",
                )
            except (ModelReplyError, PromptTooLongError) as error:
                trace.add(Checked("next question", False, str(error)))
            else:
                self.wrote(trace, self.next_question, asked)
                text = said(asked.next_question) or question
        if not self.kg_query:
            return Query(text)
        nodes = related_entities(self.sources, text, self.sizes, trace).nodes
        return Query(text, tuple(described(self.graph, nodes)), tuple(self.graph.labels(nodes)), self.raw_query)

    def generate(self, query: Query, trace: Trace) -> list[Reference]:
        """D^m: what the knowledge models write, then what the corpus has."""
        return [*self.knowledge(query, trace, self.wrote), *self.passages.find(query)]

    # --- knowledge-driven reference filter -------------------------------------------------------
    def keep(
        self,
        question: str,
        entities: tuple[int, ...],
        candidates: list[Reference],
        kept: list[Reference],
        turn: int,
        trace: Trace,
    ) -> list[Reference]:
        """The references so far, and of the new ones the best k + t of those that help."""
        fresh: dict[str, Reference] = {}
        known = {reference.key for reference in kept}
        dropped = []
        for candidate in candidates:
            if candidate.text and candidate.key not in known | fresh.keys():
                fresh[candidate.key] = candidate
            else:
                dropped.append((candidate, "repeated" if candidate.text else "empty"))
        new = list(fresh.values())
        verdicts = self.filter(question, described(self.graph, entities), new, trace, self.wrote)
        best = choose(verdicts, self.references + turn)
        for at, (candidate, verdict) in enumerate(zip(new, verdicts, strict=True)):
            became = "kept" if at in best else "irrelevant" if verdict.relevant is False else "surplus"
            score = verdict.score if math.isfinite(verdict.score) else None
            trace.add(Consulted(turn, candidate.origin, candidate.text, verdict.relevant, score, became))
        for candidate, became in dropped:
            trace.add(Consulted(turn, candidate.origin, candidate.text, None, None, became))
        together = kept + [new[at] for at in best]
        if self.cap is not None and len(together) > self.cap:
            trace.add(Truncated("references", self.cap, len(together)))
        return together[: self.cap]

    # --- the outcome -----------------------------------------------------------------------------
    def conclude(self, last: Turn, entities: tuple[int, ...], trace: Trace) -> Outcome:
        """The answer with the triples of it that the graph confirms, grounded where they lead to it."""
        if not last.reply.answer:
            trace.add(Stopped("unknown", "no turn gave an answer"))
            return Outcome(abstained="unknown")
        found = supported(self.sources, last.reply.answer, last.reliability, entities, trace)
        if self.grounded_only and not found.grounded:
            trace.add(Stopped("not_grounded", "no triple of the graph supports the answer"))
            return Outcome(abstained="not_grounded")
        return replace(found, confidence=self.supervisor.confidence(last.reliability))
