"""Verifying a text: the triples that it states, and the graph's verdict on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy

from triplecheck.kg import TriplecheckError, UserError
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.plausibility import Grounder, Plausibility, TextTriple
from triplecheck.kg.plausibility.verdicts import GraphJudge, JudgedTriple
from triplecheck.language.pipeline import read_text
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict
from triplecheck.programs.assists import EVERY
from triplecheck.programs.assists.know3rag import near_relations, triples_of
from triplecheck.programs.base import Sources
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.extract import in_parts
from triplecheck.programs.know3rag.generation import names_in
from triplecheck.programs.know3rag.reliability import NameLinker
from triplecheck.programs.outcome import evidence_rows
from triplecheck.programs.steps import Checked, Trace
from triplecheck.signatures import ExtractTriples

_LONGEST_TEXT = 200_000  # characters
_READ_AT_ONCE = 6_000  # characters in one prompt


@dataclass(frozen=True)
class Verified:
    """A text and the verdicts on its statements.

    Attributes:
        claims: each statement once, in order.
    """

    text: str
    claims: tuple[JudgedTriple, ...]
    trace: Trace

    @property
    def verdicts(self) -> dict[str, int]:
        """How many statements have each verdict."""
        return dict(Counter(str(claim.verdict) for claim in self.claims))


class Verifier(dspy.Module):
    """Extracts the triples that a text states and checks them against a graph.

    Args:
        sources: a knowledge base; with embeddings it can also say what is plausible.
        plausible: a tail is plausible up to this rank, a share of all entities.

    Raises:
        UserError: the graph is an endpoint.
    """

    def __init__(self, sources: Sources, *, plausible: float = 0.05) -> None:
        super().__init__()
        base = sources.knowledge_base
        if base is None or not isinstance(sources.graph, ColumnarGraph):
            raise UserError("texts are verified against a knowledge base, not an endpoint; build one of the graph")
        ranks = None if base.embeddings is None else Plausibility.of(base, "tail_rank")
        self.sources = sources
        self.judge = GraphJudge(sources.graph, ranks, plausible=plausible)
        self.extract_triples = RolePredict(ExtractTriples, role="extract")

    def forward(self, text: str) -> Verified:
        """Verify a text.

        Raises:
            UserError: it is empty or too long.
            TriplecheckError: a budget is spent or the model is not available.
        """
        paragraphs = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        if not paragraphs:
            raise UserError("the text is empty")
        if len(text) > _LONGEST_TEXT:
            raise UserError(f"the text has {len(text)} characters; at most {_LONGEST_TEXT} are read at a time")
        trace = Trace()
        grounder = Grounder(self.sources.graph, NameLinker(self.sources.linker), self.sources.relations)
        seen: dict[TextTriple, JudgedTriple] = {}
        for paragraph, triples in self._stated(paragraphs, trace):
            fresh = [triple for triple in triples if triple not in seen]
            for grounded in grounder.ground(fresh, paragraph):
                seen[grounded.text] = self.judge.judge(grounded)
        return Verified(text, tuple(seen.values()), trace)

    def _stated(self, paragraphs: Sequence[str], trace: Trace) -> list[tuple[str, list[TextTriple]]]:
        """Each paragraph with its triples. The trace records parts that cannot be read."""
        parts = list(in_parts(paragraphs, _READ_AT_ONCE))
        tasks: list[Callable[[Trace], list[list[TextTriple]]]] = [partial(self._extract, part) for part in parts]
        stated = []
        for part, result in zip(parts, concurrently(tasks, trace), strict=True):
            if isinstance(result, TriplecheckError):
                if not isinstance(result, ModelReplyError | PromptTooLongError):
                    raise result
                trace.add(Checked("text", False, str(result)))
            else:
                stated += list(zip(part, result, strict=True))
        return stated

    def _extract(self, texts: list[str], trace: Trace) -> list[list[TextTriple]]:
        names = [
            name
            for text in texts
            for name in names_in(self.sources.graph, self.sources.linker, read_text(text, self.sources.language))
        ]
        reply = self.extract_triples(
            texts=texts, entities=list(dict.fromkeys(names)), relations=near_relations(EVERY, self.sources, texts)
        )
        return triples_of(EVERY, reply.triples, texts, trace, self.sources.language)


def to_json(sources: Sources, verified: Verified) -> dict[str, Any]:
    """The result as one plain object: what `triplecheck verify --json` prints."""
    claims = []
    for claim in verified.claims:
        head, relation, tail = claim.grounded.text
        claims.append(
            {
                "head": head,
                "relation": relation,
                "tail": tail,
                "verdict": str(claim.verdict),
                "why": claim.why,
                "evidence": evidence_rows(sources.graph, claim.evidence),
                "tail_rank": claim.tail_rank,
                "swapped": claim.grounded.swapped,
            }
        )
    notes = [step.to_json() for step in verified.trace.steps]
    return {"text": verified.text, "claims": claims, "verdicts": verified.verdicts, "notes": notes}
