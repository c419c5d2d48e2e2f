"""The options of 4StepFocus, and the preset that does as the paper does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from triplecheck.programs.fourstepfocus.rerank import Reranking
from triplecheck.programs.fourstepfocus.substitution import Matching
from triplecheck.programs.options import ProgramOptions

Searching = Literal["auto", "fused", "dense", "multi", "bm25", "none"]


@dataclass(frozen=True)
class FourStepFocusLimits:
    """How much 4StepFocus shows to the model. The trace records what a limit cuts off.

    Attributes:
        types: types of the graph, the most frequent first.
        offered: relations of the graph, the most similar to the question first.
        characters: of a candidate's text.
        per_pattern: supporting triples of one pattern, for one candidate.
    """

    types: int = 40
    offered: int = 60
    characters: int = 500
    per_pattern: int = 3


@dataclass(frozen=True)
class FourStepFocusOptions(ProgramOptions):
    """Options of `FourStepFocus`.

    Attributes:
        k_max: candidates that are reranked.
        limit: nodes of the whole ranking; those after the first `k_max` keep the order of the search.
        candidate_types: types, by label or id, of nodes that may be an answer (C of the paper); none: the kinds
            of nodes that have documents (`kg.skb.described`), or any node if documents are the exception.
        matching: how patterns are matched.
        search: `dense` (VSS), `multi` (separate vectors for text and for relations), `bm25`, `fused` (dense and bm25),
            `none`; `auto`: fused where nodes have documents or descriptions, else bm25. Vectors of at most
            `kg.skb.search.ENCODED_AT_FIRST` nodes are made at first use; of more, by `triplecheck kb encode` or
            `kb build --node-vectors`, and until then of the `kg.skb.search.ENCODED_AT_ONCE` that fit best by words.
        rerank: `listwise`, `each` candidate in a call of its own as in the paper, or `none`.
        rank_weight: weight of the rank in the search, added to the rerank score (STaRK: 0.1).
        share: for the assist `likely_answers`: nodes that satisfy the patterns are answers if their rerank score is at
            least this share of the best.
        least: for the same: rerank score that a node needs to be an answer without satisfying the patterns.
        limits: how much to show to the model.
    """

    k_max: int = 20
    limit: int = 100
    candidate_types: tuple[str, ...] = ()
    matching: Matching = field(default_factory=Matching)
    search: Searching = "auto"
    rerank: Reranking = "listwise"
    rank_weight: float = 0.1
    share: float = 0.5
    least: float = 0.5
    limits: FourStepFocusLimits = FourStepFocusLimits()


PAPER: Mapping[str, Any] = {
    "k_max": 20,  # section 4
    "matching": {
        "enforce_relation": False,  # section 4: the edge type is ignored, because restricting it is error-prone
        "enforce_direction": True,  # Algorithm 2, lines 4 and 7: neighbors(v, e, +) and neighbors(v, e, -)
        "exact": False,  # Algorithm 2: propagation to a fixpoint, no join
        "by_vector": False,  # Algorithm 3, lines 8 and 12: a constant (almost) matches an alias
        "loose": False,  # the same
        "relax": False,  # Algorithm 2 returns the remaining nodes, even if there are none
    },
    "limits": {"types": 1000, "offered": 1000},  # section 2: the prompt has all types of nodes and edges
    "search": "dense",  # Algorithm 1, line 3: VSS
    "rerank": "each",  # section 2: the reranker asks for a score of each candidate
    "assist": "none",
}
