"""The options of AnchorRAG, and the preset that does as the paper does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.kg import UserError
from triplecheck.programs.expansion import SCHEMA_RELATIONS
from triplecheck.programs.options import AnsweringOptions


@dataclass(frozen=True)
class AnchorRAGLimits:
    """Limits of AnchorRAG. The trace records what a limit cuts off.

    Attributes:
        offered: paths shown to the model at one hop, the most similar to the question first.
        values: edges fetched per (entity, relation).
        triples: triples that one agent fetches at one hop.
        path_tokens: estimated tokens of paths in a prompt that judges, the most similar to the question first.
        judge_tokens: estimated tokens of facts in a prompt that filters or judges.
        tokens: estimated tokens of facts in the prompt that answers, and of relations in one that asks for a query.
    """

    offered: int = 40
    values: int = 200
    triples: int = 2_000
    path_tokens: int = 600
    judge_tokens: int = 600
    tokens: int = 1_200


@dataclass(frozen=True)
class AnchorRAGOptions(AnsweringOptions):
    """Options of `AnchorRAG`.

    Attributes:
        grounding: score candidates by their relations (Eq. 2); off: w/o entity grounding.
        top_k: k of the paper, relations averaged by Eq. 2.
        agents: m of the paper, anchors with an agent each; 1 is the paper's "without parallel retrieval".
        depth: L of the paper, iterations at most.
        width: b of the paper, relations kept per path, and entities per relation if a model scores them.
        entities: N of the paper, entities per relation shown to a model, or followed without one.
        filter_triples: filter out irrelevant triples; an agent without any left stops.
        per_relation_calls: a call for each entity, each relation and each agent, as in the paper.
        prefilter: by how much cosine a relation must lead to be followed without a call; None: always call.
        schema_relations: regular expressions; relations whose id one of them matches are not followed.
        limits: how much to look at.
    """

    grounding: bool = True
    top_k: int = 5
    agents: int = 3
    depth: int = 3
    width: int = 3
    entities: int = 50
    filter_triples: bool = True
    per_relation_calls: bool = False
    prefilter: float | None = 0.3
    schema_relations: tuple[str, ...] = SCHEMA_RELATIONS
    limits: AnchorRAGLimits = AnchorRAGLimits()


PAPER: Mapping[str, Any] = {
    "grounding": True,  # section 3.3, relation-aware entity grounding
    "top_k": 5,  # section 4.2, k
    "agents": 3,  # section 4.2, m
    "depth": 3,  # section 4.2, L
    "width": 3,  # section 4.2, b
    "filter_triples": True,  # section 3.4, candidate triples filtering
    "per_relation_calls": True,  # section 3.4: a call per entity, per relation, per agent
    "prefilter": None,  # section 3.4: the LLM scores all relations
    "assist": "none",
}


def compiled(patterns: Sequence[str]) -> list[re.Pattern[str]]:
    """The regular expressions of `schema_relations`.

    Raises:
        UserError: one is none.
    """
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except re.error as error:
            raise UserError(f"schema_relations: {pattern!r} is not a regular expression: {error}") from error
    return found
