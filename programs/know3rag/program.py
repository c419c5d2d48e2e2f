"""Know³-RAG: a knowledge graph supervises whether to retrieve, what to write, and what to keep.

Source: "Know³-RAG: A Knowledge-aware RAG Framework with Adaptive Retrieval, Generation, and Filtering"
(arXiv 2505.12662). The methods follow sections 4.2 to 4.4; `run` is the loop of section 4.1.
What the paper does not have is in `programs.assists`, by the names in the table there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from triplecheck.language.pipeline import pipeline, read_text
from triplecheck.lms import RolePredict
from triplecheck.programs.assists.know3rag import measured_theta, near_relations, triples_of
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.know3rag.filter import ReferenceFilter, choose
from triplecheck.programs.know3rag.generation import (
    Corpus,
    KnowledgeModels,
    Reference,
    ReferenceQuery,
    clean_answer,
    described,
    linked_entities,
    names_in,
    related_entities,
)
from triplecheck.programs.know3rag.options import PAPER, Know3RAGOptions
from triplecheck.programs.know3rag.reliability import NO_EMBEDDINGS, Reliability, Supervisor, supported, threshold
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Checked, Consulted, Trace, Weighed
from triplecheck.signatures import AnswerFromMemory, AnswerWithReferences, ExtractTriples, NextQuestion


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

    With `grounded_only` it abstains if no triple of the graph supports the answer. It has `Know3RAGOptions` and the
    presets `default` and `paper` (`PAPER`).

    Raises:
        UserError: a number out of range, or a search that the documents do not allow.
    """

    name: ClassVar[str] = "know3rag"
    Options: ClassVar[type[ProgramOptions]] = Know3RAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    options: Know3RAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        how = self.options
        self.turns = how.turns if how.retrieve else 0
        self.supervisor = Supervisor(self.sources, how.scoring, how.aggregate)
        self.passages = Corpus(self.sources, how.corpus, how.corpus_passages)
        both = how.kg_query and how.raw_query
        models = (0 if self.passages.exists else 1) if how.knowledge_models is None else how.knowledge_models
        self.knowledge = KnowledgeModels(models if self.turns else 0, one_call=both and not how.paper_calls)
        filtering = how.filtering and self.turns > 0
        self.filter = ReferenceFilter(
            self.assists,
            self.supervisor,
            relevance=filtering and how.relevance_check,
            triples=filtering and how.triple_check,
            at_once=None if how.paper_calls else how.limits.checked,
        )
        self.answer_from_memory = RolePredict(AnswerFromMemory, role="answer")
        self.extract_triples = RolePredict(ExtractTriples, role="extract")
        if self.turns > 0:
            self.answer_with_references = RolePredict(AnswerWithReferences, role="answer")
        if self.turns > 1:
            self.next_question = RolePredict(NextQuestion, role="query")

    @property
    def thresholds(self) -> Mapping[str, float]:
        """theta_0 as given, as measured or as in the paper; none without embeddings, where it has no effect."""
        return {"theta_0": self.theta_0(Trace())} if self.supervisor.scores else {}

    def run(self, question: str, trace: Trace) -> Outcome:
        """Section 4.1: answer, and until the answer is reliable generate references, filter them, answer again."""
        if not self.supervisor.scores:
            trace.add(Checked("embeddings", False, f"{NO_EMBEDDINGS}: no triple has a score, all turns are taken"))
        theta_0 = self.theta_0(trace)
        limit = self.options.limits.linked
        entities = linked_entities(self.sources, question, limit, trace)  # E_Q
        references: list[Reference] = []  # D_c
        turn = self.answer(question, references, trace)
        answered = turn  # the latest turn that has an answer
        t = 0
        while not self.stops(turn, t, theta_0, trace):
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
        names = names_in(self.graph, self.sources.linker, read_text(text, self.sources.language))
        relations = near_relations(self.assists, self.sources, pipeline(self.sources.language).sentences(text))
        inputs = {"texts": [text], "entities": names, "relations": relations}
        extracted = self.ask_or_note(trace, "triples", self.extract_triples, **inputs)
        if extracted is None:
            return Turn(answer, Reliability((), math.inf, "its triples could not be read"))
        (triples,) = triples_of(self.assists, extracted.triples, [text], trace, self.sources.language, [question])
        return Turn(answer, self.supervisor.rate(triples, question))

    def theta_0(self, trace: Trace) -> float:
        """theta_0 of the threshold: the option, else as measured, else 1 as in the paper."""
        given, c = self.options.theta_0, self.options.c
        return measured_theta(self.assists, given, 1.0, lambda: self.supervisor.theta_0(c), trace)

    def stops(self, turn: Turn, t: int, theta_0: float, trace: Trace) -> bool:
        """Whether s_t < theta_t or t = T; the trace records both."""
        theta = threshold(theta_0, t, self.options.c)
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
        reply = self.ask_or_note(trace, "answer", step, question=question, **inputs)
        if reply is None:
            return "", ""
        texts = [reply.answer] if references else reply.answers
        answer = ", ".join(cleaned for text in texts if (cleaned := clean_answer(text)))
        return answer, f"{reply.reasoning}\nThe answer is {answer}."

    # --- 4.3 knowledge-enhanced reference generation ---------------------------------------------
    def query(self, question: str, references: list[Reference], answered: Turn, t: int, trace: Trace) -> ReferenceQuery:
        """q_t (Eq. 3) with its related entities E_t. q_1 is the question; later queries ask for missing facts."""
        text = question
        if t > 1:
            texts, so_far = [reference.text for reference in references], answered.answer or "unknown"
            inputs = {"question": question, "references": texts, "answer_so_far": so_far}
            asked = self.ask_or_note(trace, "next question", self.next_question, **inputs)
            text = question if asked is None else clean_answer(asked.next_question) or question
        if not self.options.kg_query:
            return ReferenceQuery(text)
        nodes = related_entities(self.sources, text, self.options.limits, trace).nodes
        described_nodes = tuple(described(self.graph, nodes))
        return ReferenceQuery(text, described_nodes, tuple(self.graph.labels(nodes)), self.options.raw_query)

    def generate(self, query: ReferenceQuery, trace: Trace) -> list[Reference]:
        """D_m (Eq. 4 and 5): what the knowledge models write, then what the corpus has."""
        return [*self.knowledge(query, trace, self.ask), *self.passages.find(query)]

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
        verdicts = self.filter(question, described(self.graph, entities), new, trace, self.ask)
        best = choose(verdicts, self.options.references + t)
        for at, (candidate, verdict) in enumerate(zip(new, verdicts, strict=True)):
            fate = "kept" if at in best else "irrelevant" if verdict.relevant is False else "surplus"
            score = verdict.score if math.isfinite(verdict.score) else None
            trace.add(Consulted(t, candidate.origin, candidate.text, verdict.relevant, score, fate))
        for candidate, fate in dropped:
            trace.add(Consulted(t, candidate.origin, candidate.text, None, None, fate))
        together = references + [new[at] for at in best]
        kept = together[: self.options.cap]
        trace.note_cut("references", len(kept), len(together))
        return kept

    # --- the outcome -----------------------------------------------------------------------------
    def conclude(self, answered: Turn, entities: tuple[int, ...], trace: Trace) -> Outcome:
        """The answer with those of its triples that the graph has; grounded if they lead from the question to it."""
        if not answered.answer:
            return abstention("unknown", "no turn gave an answer", trace)
        found = supported(self.assists, self.sources, answered.answer, answered.reliability, entities, trace)
        if self.options.grounded_only and not found.grounded:
            return abstention("not_grounded", "no triple of the graph supports the answer", trace)
        return replace(found, confidence=self.supervisor.confidence(answered.reliability))
