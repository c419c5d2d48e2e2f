"""The retrieval baselines of STaRK (arXiv 2404.13207): BM25, VSS, Multi-VSS, and VSS with an LLM reranker.

Each ranks the nodes of a knowledge base by their documents, which hold a node's text and its triples. No pattern is
matched, so their answers have no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from triplecheck.kg import IntArray, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.skb import NodeSearch, NodeSearches, Ranking
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.fourstepfocus.rerank import Reranker, Reranking, cut_texts, with_places
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Scored, Trace

_IN_TRACE = 20  # nodes whose score the trace shows


@dataclass(frozen=True)
class RankingOptions(ProgramOptions):
    """Options of a ranking baseline. With `grounded_only` it abstains and gives the ranking alone.

    Attributes:
        candidate_types: types that an answer can have; none: every node that has a document.
    """

    limit: int = 100
    candidate_types: tuple[str, ...] = ()


class RankingBaseline(Program):
    """A program that ranks the nodes of a knowledge base without matching patterns."""

    cites_graph: ClassVar[bool] = False
    Options: ClassVar[type[ProgramOptions]] = RankingOptions
    options: RankingOptions

    search: ClassVar[str]
    """What ranks: the name of a search of `kg.skb.NodeSearches`."""

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Make the vectors of nodes, if the search uses them and they are not too many."""
        self._searcher.prepare(progress)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Rank, and answer with the first."""
        return self.conclude(self.ranked(question, trace), trace)

    def ranked(self, question: str, trace: Trace) -> tuple[int, ...]:
        """The nodes whose documents have something in common with the question, best first."""
        found = self._searcher.rank(question, self._candidates, self.options.limit)
        self._note(found, trace)
        # A word index scores 0 if no word is shared; cosines below 0 still rank.
        alike = np.isfinite(found.scores) & (found.scores != 0)
        return tuple(found.nodes[alike].tolist())

    def conclude(self, ranking: tuple[int, ...], trace: Trace) -> Outcome:
        """The first of the ranking as the answer."""
        retrieved = frozenset(ranking)
        if not ranking:
            return abstention("no_candidates", "no document has anything in common with the question", trace)
        if self.options.grounded_only:
            nothing = abstention("not_grounded", "a ranking by likeness rests on no fact", trace)
            return replace(nothing, ranking=ranking, retrieved=retrieved)
        return Outcome(self.graph.label(ranking[0]), ranking[:1], ranking=ranking, retrieved=retrieved)

    @property
    def _searcher(self) -> NodeSearch:
        found: NodeSearch = getattr(self.searches, self.search)
        return found

    @property
    def searches(self) -> NodeSearches:
        """The searches of the knowledge base.

        Raises:
            UserError: the sources are a graph alone.
        """
        base = self.sources.knowledge_base
        if base is None:
            raise UserError(f"{self.name} ranks documents, and a graph alone has none; give it a knowledge base")
        return base.node_search

    @cached_property
    def _candidates(self) -> IntArray | None:
        """Nodes that can be answers; None: all with a document.

        Raises:
            UserError: a type is not in the graph.
        """
        if not self.options.candidate_types:
            return None
        graph, found = self.graph, []
        for name in self.options.candidate_types:
            kind = self.sources.schema_names.type_id(name)
            if kind is None:
                raise UserError(f"no type {name!r} in the graph; there are {', '.join(graph.type_ids[:_IN_TRACE])}")
            found.append(graph.nodes_of_type(kind))
        return np.unique(np.concatenate(found))

    def _note(self, found: Ranking, trace: Trace) -> None:
        trace.note_cut("candidates compared with the question", found.compared, found.total)
        first = found.nodes[:_IN_TRACE]
        pairs = zip(self.graph.labels(first), found.scores[:_IN_TRACE].tolist(), strict=True)
        trace.add(Scored(f"nodes by {self.name}", [(label, round(s, 4)) for label, s in pairs if np.isfinite(s)]))


class BM25(RankingBaseline):
    """By the words of their documents."""

    name: ClassVar[str] = "bm25"
    search: ClassVar[str] = "bm25"


class VSS(RankingBaseline):
    """Vector similarity search: the cosine of question and document."""

    name: ClassVar[str] = "vss"
    search: ClassVar[str] = "dense"


class MultiVSS(RankingBaseline):
    """Vector similarity search with a vector of a node's text and one of its relations."""

    name: ClassVar[str] = "multivss"
    search: ClassVar[str] = "multi"


@dataclass(frozen=True)
class VSSRerankerOptions(RankingOptions):
    """Options of `VSSReranker`.

    Attributes:
        k_max: nodes that are reranked.
        rerank: `listwise`: many in one prompt; `each`: a call per node; `none`: the order of VSS.
        batches: prompts that a listwise ranking takes at most.
        rank_weight: weight of the rank in VSS, added to the score (STaRK: 0.1).
        characters: maximum number of characters of a document in a prompt.
    """

    k_max: int = 20
    rerank: Reranking = "listwise"
    batches: int = 5
    rank_weight: float = 0.1
    characters: int = 600


class VSSReranker(VSS):
    """VSS, whose first `k_max` nodes a language model reranks by their documents."""

    name: ClassVar[str] = "vssreranker"
    Options: ClassVar[type[ProgramOptions]] = VSSRerankerOptions
    options: VSSRerankerOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.reranker = Reranker(self.options.rerank)

    def ranked(self, question: str, trace: Trace) -> tuple[int, ...]:
        """The ranking of VSS, its head put in order."""
        found = super().ranked(question, trace)
        return (*self._reranked(question, found[: self.options.k_max], trace), *found[self.options.k_max :])

    def _reranked(self, question: str, nodes: Sequence[int], trace: Trace) -> list[int]:
        texts = self._texts(nodes, trace)
        scores = self.reranker(
            question=question, candidates=texts, trace=trace, ask=self.ask, batches=self.options.batches
        )
        final = dict(zip(nodes, with_places(scores, self.options.rank_weight), strict=True))
        order = sorted(nodes, key=lambda node: -final[node])
        trace.add(Scored("nodes reranked", [(self.graph.label(node), round(final[node], 4)) for node in order]))
        return order

    def _texts(self, nodes: Sequence[int], trace: Trace) -> list[str]:
        documents = self.searches.documents
        whole = [" ".join(documents.whole(int(row)).split()) for row in documents.rows_of(nodes)]
        return cut_texts(whole, self.options.characters, trace)
