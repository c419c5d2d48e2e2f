"""Know³-RAG: a knowledge graph supervises whether to retrieve, what to write, and what to keep.

Source: "Know³-RAG: A Knowledge-aware RAG Framework with Adaptive Retrieval, Generation, and Filtering"
(arXiv 2505.12662). The methods follow sections 4.2 to 4.4; `run` is the loop of section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from triplecheck.kg import UserError
from triplecheck.language.pipeline import pipeline, read_text
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.base import AnySources, Program, check_positive
from triplecheck.programs.know3rag.filter import ReferenceFilter, choose
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
    names_in,
    related_entities,
    relations_near,
)
from triplecheck.programs.know3rag.reliability import NO_EMBEDDINGS, Reliability, Supervisor, supported, threshold
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Consulted, Stopped, Trace, Truncated, Weighed
from triplecheck.programs.triple_lines import triples_of
from triplecheck.signatures import AnswerFromMemory, AnswerWithReferences, ExtractTriples, NextQuestion

Scoring = Literal["relative", "raw", "per_relation", "tail_rank"]
Aggregate = Literal["sum", "mean"]


@dataclass(frozen=True)
class Know3RAGOptions(ProgramOptions):
    """Options of `Know3RAG`, in the order of the paper.

    Attributes:
        turns: T, iterations at most (section 4.2).
        theta_0: of the threshold; None: so that the threshold of turn 0 separates held-out triples of the graph from
            corrupted ones best, or 1 if that cannot be measured. It depends on the model and the questions, too:
            `triplecheck fit` sets it.
        c: of the threshold.
        scoring: of triples, see `kg.plausibility.scores`; `relative` is Eq. 2.
        aggregate: how the scores of triples make up that of a text (Eq. 1): `sum`, which punishes long answers,
            or `mean`.
        adaptive: stop when an answer is reliable (off: always T turns).
        retrieve: off: the first answer is the last (w/o Reference).
        kg_query: also ask with the related entities (section 4.3; off: w/o KG query).
        raw_query: also ask the query by itself (off: w/o raw query).
        limits: how many related entities a query gets.
        knowledge_models: n, models that write passages, with the roles `knowledge.1` to `knowledge.n`.
        corpus: how the documents of the knowledge base are searched, as one more source.
        corpus_passages: documents for one query.
        filtering: check references at all (section 4.4; off: w/o Filter).
        relevance_check: check whether they help (off: w/o Rel-check).
        triple_check: check them against the graph (off: w/o Tri-check).
        references: k, at turn t the best k + t new references are kept.
        cap: references in all, the first ones; None for no limit.
        paper_calls: a call for each passage and for each check of each reference, as in the paper; off: one
            of each knowledge model, and one for all checks of a turn.
    """

    turns: int = 2
    theta_0: float | None = None
    c: float = 128.0
    scoring: Scoring = "relative"
    aggregate: Aggregate = "sum"
    adaptive: bool = True
    retrieve: bool = True
    kg_query: bool = True
    raw_query: bool = True
    limits: Know3RAGLimits = field(default_factory=Know3RAGLimits)
    knowledge_models: int = 1
    corpus: CorpusSearch = "bm25"
    corpus_passages: int = 5
    filtering: bool = True
    relevance_check: bool = True
    triple_check: bool = True
    references: int = 5
    cap: int | None = None
    paper_calls: bool = False


PAPER: Mapping[str, Any] = {
    "turns": 2,  # section 5.3, T
    "theta_0": 1.0,  # section 4.2; Table 6 has 0.01 to 13 by model and data set: fit it to yours
    "c": 128.0,  # section 5.3
    "scoring": "relative",  # Eq. 2
    "aggregate": "sum",  # Eq. 1
    "adaptive": True,  # section 4.2
    "limits": {"local": 1, "predicted": 1},  # Algorithm 1: one neighbour and one predicted tail of each entity
    "kg_query": True,  # section 4.3, q_KG
    "raw_query": True,  # section 4.3, q
    "knowledge_models": 6,  # section 5.3: three general models and three of Knowledge Card
    "corpus": "none",  # Eq. 4: passages come from knowledge models alone
    "filtering": True,  # section 4.4
    "relevance_check": True,  # Eq. 6
    "triple_check": True,  # section 4.4, triple factual check
    "references": 5,  # section 5.3, k + t documents at turn t
    "cap": None,  # Eq. 7: references accumulate
    "paper_calls": True,  # Eq. 4 to 6: a call for each passage, each check of each passage
}
"""The preset `paper`."""


@dataclass(frozen=True)
class Turn:
    """One answer, and how reliable the graph finds it.

    Attributes:
        answer: the short answer; empty if there is none.
        reliability: the reliability of its text.
    """

    answer: str
    reliability: Reliability


class Know3RAG(Program):
    """Knowledge-aware retrieval, generation and filtering, in a loop of at most T + 1 answers.

    Args:
        sources: a knowledge base, its directory, `bundled`, or `Sources`.
        preset: `default`, or `paper` (`PAPER`).
        options: fields of `Know3RAGOptions`; with `grounded_only` it abstains if no triple of the graph supports
            the answer.

    Raises:
        UserError: a number out of range, or a search that the documents do not allow.
    """

    name: ClassVar[str] = "know3rag"
    Options: ClassVar[type[ProgramOptions]] = Know3RAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    renamed: ClassVar[Mapping[str, str]] = {"related": "limits"}
    options: Know3RAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        how = self.options
        check_positive(references=how.references, corpus_passages=how.corpus_passages)
        if how.cap is not None:
            check_positive(cap=how.cap)
        if min(how.turns, how.knowledge_models) < 0:
            raise UserError(
                f"turns and knowledge_models must be at least 0, not {how.turns} and {how.knowledge_models}"
            )
        if how.limits.checked < 1:
            raise UserError(f"limits.checked must be at least 1, not {how.limits.checked}")
        if not how.kg_query and not how.raw_query:
            raise UserError("without the raw query and without the KG query there is nothing to ask; keep one")
        if how.theta_0 is not None:
            threshold(how.theta_0, 0, how.c)  # raises if theta_0 is negative
        self.turns = how.turns if how.retrieve else 0
        self.supervisor = Supervisor(self.sources, how.scoring, how.aggregate)
        self.passages = Corpus(self.sources, how.corpus, how.corpus_passages)
        self.knowledge = KnowledgeModels(how.knowledge_models, one_call=not how.paper_calls)
        self.filter = ReferenceFilter(
            self.supervisor,
            relevance=how.filtering and how.relevance_check,
            triples=how.filtering and how.triple_check,
            at_once=None if how.paper_calls else how.limits.checked,
        )
        self.answer_from_memory = RolePredict(AnswerFromMemory, role="answer")
        self.answer_with_references = RolePredict(AnswerWithReferences, role="answer")
        self.extract_triples = RolePredict(ExtractTriples, role="extract")
        self.next_question = RolePredict(NextQuestion, role="query")

    def run(self, question: str, trace: Trace) -> Outcome:
        """Section 4.1: answer, and until the answer is reliable generate references, filter them, answer again."""
        if not self.supervisor.scores:
            trace.add(Checked("embeddings", False, f"{NO_EMBEDDINGS}: no triple has a score, all turns are taken"))
        elif self.options.theta_0 is None:
            measured = self.supervisor.theta_0(self.options.c) is not None
            where = "from the scores of held-out and corrupted triples" if measured else "there are no held-out triples"
            trace.add(Checked("theta_0", measured, f"{self.theta_0:.3g}, {where}"))
        limit = self.options.limits.linked
        entities = linked_entities(self.sources, question, limit, trace)  # E_Q
        references: list[Reference] = []  # D_c
        turn = self.answer(question, references, trace)
        answered = turn  # the latest turn that has an answer
        t = 0
        while not self.stops(turn, t, trace):
            t += 1
            query = self.query(question, references, answered, t, trace)
            candidates = self.generate(query, trace)
            kept = self.keep(question, entities, candidates, references, t, trace)
            if kept != references:  # with the same references the answer would be the same
                references = kept
                turn = self.answer(question, references, trace)
            if turn.answer:
                answered = turn
        return self.conclude(answered, entities, trace)

    # --- 4.2 knowledge-aware adaptive retrieval --------------------------------------------------
    def answer(self, question: str, references: list[Reference], trace: Trace) -> Turn:
        """a_t, Tri(a_t) and s_t (Eq. 1): an answer by chain of thought, its triples, and their scores."""
        answer, text = self._ask(question, references, trace)
        if not answer:
            return Turn("", Reliability((), math.inf, "there is no answer"))
        try:
            names = names_in(self.graph, self.sources.linker, read_text(text, self.sources.language))
            relations = relations_near(self.sources, pipeline(self.sources.language).sentences(text))
            extracted = self.extract_triples(texts=[text], entities=names, relations=relations)
        except (ModelReplyError, PromptTooLongError) as error:
            trace.add(Checked("triples", False, str(error)))
            return Turn(answer, Reliability((), math.inf, "its triples could not be read"))
        self.wrote(trace, self.extract_triples, extracted)
        (triples,) = triples_of(extracted.triples, [text], trace, [question])
        return Turn(answer, self.supervisor.rate(triples, question))

    @property
    def theta_0(self) -> float:
        """The option, else what the embeddings say, else 1 as in the paper."""
        if self.options.theta_0 is not None:
            return self.options.theta_0
        found = self.supervisor.theta_0(self.options.c)
        return 1.0 if found is None else found

    def stops(self, turn: Turn, t: int, trace: Trace) -> bool:
        """Whether s_t < theta_t or t = T; the trace records both."""
        theta = threshold(self.theta_0, t, self.options.c)
        reliability = turn.reliability
        if self.options.adaptive and reliability.score < theta:
            decision = "sure"
        elif t < self.turns:
            decision = "go_on"
        else:
            decision = "last_turn" if self.options.retrieve else "no_references"
        triples = [rated.to_json() for rated in reliability.triples]
        score = reliability.score if math.isfinite(reliability.score) else None
        trace.add(Weighed(t, turn.answer, triples, score, reliability.reason, theta, decision))
        return decision != "go_on"

    def _ask(self, question: str, references: list[Reference], trace: Trace) -> tuple[str, str]:
        """LLM_ans: the short answer, and the text to extract triples from; both empty if the reply cannot be read."""
        step = self.answer_with_references if references else self.answer_from_memory
        inputs = {"references": [reference.text for reference in references]} if references else {}
        try:
            reply = step(question=question, **inputs)
        except (ModelReplyError, PromptTooLongError) as error:
            trace.add(Checked("answer", False, str(error)))
            return "", ""
        self.wrote(trace, step, reply)
        texts = [reply.answer] if references else reply.answers
        answer = ", ".join(cleaned for text in texts if (cleaned := clean_answer(text)))
        return answer, f"{reply.reasoning}\nThe answer is {answer}."

    # --- 4.3 knowledge-enhanced reference generation ---------------------------------------------
    def query(self, question: str, references: list[Reference], answered: Turn, t: int, trace: Trace) -> ReferenceQuery:
        """q_t (Eq. 3) with its related entities E_t. q_1 is the question; later queries ask for missing facts."""
        text = question
        if t > 1:
            try:
                asked = self.next_question(
                    question=question,
                    references=[reference.text for reference in references],
                    answer_so_far=answered.answer or "unknown",
                )
            except (ModelReplyError, PromptTooLongError) as error:
                trace.add(Checked("next question", False, str(error)))
            else:
                self.wrote(trace, self.next_question, asked)
                text = clean_answer(asked.next_question) or question
        if not self.options.kg_query:
            return ReferenceQuery(text)
        nodes = related_entities(self.sources, text, self.options.limits, trace).nodes
        described_nodes = tuple(described(self.graph, nodes))
        return ReferenceQuery(text, described_nodes, tuple(self.graph.labels(nodes)), self.options.raw_query)

    def generate(self, query: ReferenceQuery, trace: Trace) -> list[Reference]:
        """D_m (Eq. 4 and 5): what the knowledge models write, then what the corpus has."""
        return [*self.knowledge(query, trace, self.wrote), *self.passages.find(query)]

    # --- 4.4 knowledge-driven reference filter ---------------------------------------------------
    def keep(
        self,
        question: str,
        entities: tuple[int, ...],
        candidates: list[Reference],
        references: list[Reference],
        t: int,
        trace: Trace,
    ) -> list[Reference]:
        """The next D_c (Eq. 6 and 7): the references so far, and the best k + t of the relevant new ones."""
        fresh: dict[str, Reference] = {}
        known = {reference.key for reference in references}
        dropped = []
        for candidate in candidates:
            if candidate.text and candidate.key not in known | fresh.keys():
                fresh[candidate.key] = candidate
            else:
                dropped.append((candidate, "repeated" if candidate.text else "empty"))
        new = list(fresh.values())
        verdicts = self.filter(question, described(self.graph, entities), new, trace, self.wrote)
        best = choose(verdicts, self.options.references + t)
        for at, (candidate, verdict) in enumerate(zip(new, verdicts, strict=True)):
            fate = "kept" if at in best else "irrelevant" if verdict.relevant is False else "surplus"
            score = verdict.score if math.isfinite(verdict.score) else None
            trace.add(Consulted(t, candidate.origin, candidate.text, verdict.relevant, score, fate))
        for candidate, fate in dropped:
            trace.add(Consulted(t, candidate.origin, candidate.text, None, None, fate))
        together = references + [new[at] for at in best]
        cap = self.options.cap
        if cap is not None and len(together) > cap:
            trace.add(Truncated("references", cap, len(together)))
        return together[:cap]

    # --- the outcome -----------------------------------------------------------------------------
    def conclude(self, answered: Turn, entities: tuple[int, ...], trace: Trace) -> Outcome:
        """The answer with those of its triples that the graph has; grounded if they lead from the question to it."""
        if not answered.answer:
            trace.add(Stopped("unknown", "no turn gave an answer"))
            return Outcome(abstained="unknown")
        found = supported(self.sources, answered.answer, answered.reliability, entities, trace)
        if self.options.grounded_only and not found.grounded:
            trace.add(Stopped("not_grounded", "no triple of the graph supports the answer"))
            return Outcome(abstained="not_grounded")
        return replace(found, confidence=self.supervisor.confidence(answered.reliability))
