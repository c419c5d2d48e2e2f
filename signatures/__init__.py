"""The LLM steps of Triplecheck, one `dspy.Signature` each: an instruction and typed fields, no logic.

All prompt text is here. Optimizers rewrite the signatures; programs compose them.

Common steps of graph retrieval and their classes:
- triple extraction: `ExtractTriples` (from texts), `TripletsFromQuery` (from a question)
- query generation: `WriteQuery` (over the graph), `NextQuestion` (to a search); query rewriting: `RewriteFollowUp`
- schema linking: `MatchWords`
- relevance check: `JudgePassage` (one passage), `SelectPassages` (all passages), `CheckPassages` (with the triples)
- relation pruning: `SelectPaths`, `ScoreRelations`; of entities `ScoreEntities`, of triples `FilterTriples`
- chain-of-thought summarization: `AnswerFromFacts`, `AnswerWithReferences`, `AnswerFromMemory`
"""

from triplecheck.signatures.closed_book import *
from triplecheck.signatures.conversation import *
from triplecheck.signatures.demonstrations import demonstrations as demonstrations
from triplecheck.signatures.exploration import *
from triplecheck.signatures.matching import *
from triplecheck.signatures.patterns import *
from triplecheck.signatures.planning import *
from triplecheck.signatures.proof import *
from triplecheck.signatures.queries import *
from triplecheck.signatures.references import *
from triplecheck.signatures.step import Step as Step
from triplecheck.signatures.step import step_of as step_of
from triplecheck.signatures.summarize import *
from triplecheck.signatures.synthesis import *

STEPS: tuple[type[Step], ...] = tuple(Step.__subclasses__())
"""Every step of this package."""
