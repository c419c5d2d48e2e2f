"""The LLM steps of Triplecheck, one `dspy.Signature` each: an instruction and typed fields, no logic.

All prompt text is here. Optimizers rewrite the signatures; programs compose them.

Common steps of graph retrieval and their classes:
- triple extraction: `ExtractTriples` (from texts), `TripletsFromQuery` (from a question)
- query generation: `WriteQuery` (over the graph), `NextQuestion` (to a search); query rewriting: `RewriteFollowUp`
- relevance check: `JudgePassage` (one passage), `SelectPassages` (all passages), `CheckPassages` (with the triples)
- relation pruning: `SelectPaths`, `ScoreRelations`; of entities `ScoreEntities`, of triples `FilterTriples`
- chain-of-thought summarization: `AnswerFromFacts`, `AnswerWithReferences`, `AnswerFromMemory`
"""

from triplecheck.signatures import (
    closed_book,
    conversation,
    exploration,
    patterns,
    planning,
    proof,
    queries,
    references,
    summarize,
    synthesis,
)
from triplecheck.signatures.closed_book import *
from triplecheck.signatures.conversation import *
from triplecheck.signatures.demonstrations import demonstrations
from triplecheck.signatures.exploration import *
from triplecheck.signatures.patterns import *
from triplecheck.signatures.planning import *
from triplecheck.signatures.proof import *
from triplecheck.signatures.queries import *
from triplecheck.signatures.references import *
from triplecheck.signatures.step import Step, step_of
from triplecheck.signatures.summarize import *
from triplecheck.signatures.synthesis import *

STEPS: tuple[type[Step], ...] = tuple(Step.__subclasses__())
"""Every step of this package."""

__all__ = ["STEPS", "Step", "demonstrations", "step_of"]
__all__ += closed_book.__all__
__all__ += conversation.__all__
__all__ += exploration.__all__
__all__ += patterns.__all__
__all__ += planning.__all__
__all__ += proof.__all__
__all__ += queries.__all__
__all__ += references.__all__
__all__ += summarize.__all__
__all__ += synthesis.__all__
