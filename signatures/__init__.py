"""The LLM steps of Triplecheck, one `dspy.Signature` each: an instruction and typed fields, no logic.

All prompt text is here. Optimizers rewrite the signatures; programs compose them.

Steps of the design card and the classes that do them:
- triple extraction: `ExtractTriples` (from texts), `TripletsFromQuery` and `ReviseTriplets` (from a question)
- query generation: `NextQuestion`
- relevance check: `JudgePassage` (one passage), `SelectPassages` (all passages), `CheckPassages` (with the triples)
- relation pruning: `SelectPaths`, `ScoreRelations`; of entities `ScoreEntities`, of triples `FilterTriples`
- chain-of-thought summarization: `AnswerFromFacts`, `AnswerWithReferences`, `AnswerFromMemory`
"""

from triplecheck.signatures.closed_book import AnswerDirectly, AnswerFromMemory
from triplecheck.signatures.exploration import (
    ExtractKeywords,
    FilterTriples,
    JudgeAndGoOn,
    JudgeSufficiency,
    NameSubGoals,
    Reflect,
    ScoreEntities,
    ScoreRelations,
    UpdateMemory,
)
from triplecheck.signatures.judging import JudgeAnswer
from triplecheck.signatures.patterns import ReviseTriplets, ScoreCandidate, ScoreCandidates, TripletsFromQuery
from triplecheck.signatures.planning import NameTopics, SelectPaths
from triplecheck.signatures.references import (
    AnswerFromReferences,
    AnswerWithReferences,
    AnswerWithTriples,
    CheckPassages,
    ExtractTriples,
    JudgeKnowledge,
    JudgePassage,
    NextQuestion,
    SelectPassages,
    WritePassage,
    WritePassages,
)
from triplecheck.signatures.step import Step, step_of
from triplecheck.signatures.summarize import AnswerFromFacts, Operation
from triplecheck.signatures.synthesis import ParaphraseQuestion

STEPS: tuple[type[Step], ...] = tuple(Step.__subclasses__())
"""Every step of this package."""

__all__ = [
    "STEPS",
    "AnswerDirectly",
    "AnswerFromFacts",
    "AnswerFromMemory",
    "AnswerFromReferences",
    "AnswerWithReferences",
    "AnswerWithTriples",
    "CheckPassages",
    "ExtractKeywords",
    "ExtractTriples",
    "FilterTriples",
    "JudgeAndGoOn",
    "JudgeAnswer",
    "JudgeKnowledge",
    "JudgePassage",
    "JudgeSufficiency",
    "NameSubGoals",
    "NameTopics",
    "NextQuestion",
    "Operation",
    "ParaphraseQuestion",
    "Reflect",
    "ReviseTriplets",
    "ScoreCandidate",
    "ScoreCandidates",
    "ScoreEntities",
    "ScoreRelations",
    "SelectPassages",
    "SelectPaths",
    "Step",
    "TripletsFromQuery",
    "UpdateMemory",
    "WritePassage",
    "WritePassages",
    "step_of",
]
