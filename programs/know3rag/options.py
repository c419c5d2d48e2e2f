"""The options of Know³-RAG, and the preset that does as the paper does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from triplecheck.kg import UserError
from triplecheck.programs.base import check_positive
from triplecheck.programs.know3rag.generation import CorpusSearch, Know3RAGLimits
from triplecheck.programs.know3rag.reliability import threshold
from triplecheck.programs.options import ProgramOptions

Scoring = Literal["relative", "raw", "per_relation", "tail_rank"]
Aggregate = Literal["sum", "mean"]


@dataclass(frozen=True)
class Know3RAGOptions(ProgramOptions):
    """Options of `Know3RAG`, in the order of the paper.

    Attributes:
        turns: T, iterations at most (section 4.2).
        theta_0: of the threshold; None: what the assist `measured_theta` measures, else 1. It depends on the model and
            the questions, too: `triplecheck fit` sets it.
        scoring: of triples, see `kg.plausibility.scores`; `relative` is Eq. 2.
        aggregate: how the scores of triples make up that of a text (Eq. 1): `sum`, which punishes long answers,
            or `mean`.
        adaptive: stop when an answer is reliable (off: always T turns).
        retrieve: off: the first answer is the last (w/o Reference).
        kg_query: also ask with the related entities (section 4.3; off: w/o KG query).
        raw_query: also ask the query by itself (off: w/o raw query).
        limits: how many related entities a query gets.
        knowledge_models: n, models that write passages, with the roles `knowledge.1` to `knowledge.n`. None: one where
            there are no documents to search, else none, because a small model's passages mislead more than they help.
        corpus: how the documents of the knowledge base are searched, as one more source.
        corpus_passages: documents for one query.
        filtering: check references at all (section 4.4; off: w/o Filter).
        relevance_check: check whether they help (off: w/o Rel-check). Off by default: a model of 1.5B parameters keeps
            .72 of the passages in which the answer stands and .74 of the others (docs/notes/learnt.md).
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
    knowledge_models: int | None = None
    corpus: CorpusSearch = "bm25"
    corpus_passages: int = 5
    filtering: bool = True
    relevance_check: bool = False
    triple_check: bool = True
    references: int = 5
    cap: int | None = None
    paper_calls: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_1 = {"references": self.references, "corpus_passages": self.corpus_passages}
        check_positive(**at_least_1, **({} if self.cap is None else {"cap": self.cap}))
        for name, value in (("turns", self.turns), ("knowledge_models", self.knowledge_models or 0)):
            if value < 0:
                raise UserError(f"{name} must be at least 0, not {value}")
        if self.limits.checked < 1:
            raise UserError(f"limits.checked must be at least 1, not {self.limits.checked}")
        if not self.kg_query and not self.raw_query:
            raise UserError("without the raw query and without the KG query there is nothing to ask; keep one")
        if self.theta_0 is not None:
            threshold(self.theta_0, 0, self.c)  # raises if theta_0 is negative


PAPER: Mapping[str, Any] = {
    "turns": 2,  # section 5.3, T
    "theta_0": 1.0,  # section 4.2; Table 6 has 0.01 to 13 by model and data set: fit it to yours
    "c": 128.0,  # section 5.3
    "scoring": "relative",  # Eq. 2
    "aggregate": "sum",  # Eq. 1
    "adaptive": True,  # section 4.2
    # Algorithm 1: all linked entities, one neighbour and one predicted tail of each
    "limits": {"linked": 1000, "compared": 1000, "local": 1, "predicted": 1},
    "kg_query": True,  # section 4.3, q_KG
    "raw_query": True,  # section 4.3, q
    "knowledge_models": 6,  # section 5.3: three general models and three of Knowledge Card
    "corpus": "none",  # Eq. 4: passages come from knowledge models alone
    "filtering": True,  # section 4.4
    "relevance_check": True,  # Eq. 6
    "triple_check": True,  # section 4.4, triple factual check
    "references": 5,  # section 5.3, k + t documents at turn t
    "cap": None,  # Eq. 7: references accumulate
    "assist": "none",
    "paper_calls": True,  # Eq. 4 to 6: a call for each passage, each check of each passage
}
