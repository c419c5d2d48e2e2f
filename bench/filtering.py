"""Whether Know³-RAG's triple check tells true passages from corrupted ones, where the graph covers what they say.

    python -m bench.filtering --kbs DIR [NAME ...] [--lm MODEL] [--limit 100]

For each entity drawn from a graph with embeddings there are two passages of two sentences. One sentence states a fact
that both share, the other a held-out fact that the embeddings were not trained on; in the corrupted passage its tail
is another one that the relation has. The filter reads both as it reads references, and the better half by its score is
kept. "facts given": the triples are those that the passages state, so that nothing is lost in reading them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from triplecheck.evals.metrics.statistics import auroc
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.plausibility import TextTriple
from triplecheck.kg.plausibility.calibration import corrupt
from triplecheck.lms import session
from triplecheck.programs import Sources
from triplecheck.programs.assists import Assists
from triplecheck.programs.know3rag.filter import ReferenceFilter
from triplecheck.programs.know3rag.generation import Reference
from triplecheck.programs.know3rag.reliability import Supervisor
from triplecheck.programs.steps import Trace

_SCORINGS = ("relative", "per_relation", "tail_rank")
_LOOKED_UP, _GIVEN = "looked up", "facts given"
_AT_ONCE = 4  # passages of one call


@dataclass(frozen=True)
class Passage:
    """A passage, what it states, and whether all of that is true."""

    text: str
    triples: tuple[TextTriple, ...]
    true: bool


def passages(base: KnowledgeBase, limit: int) -> list[Passage]:
    """A true passage and its corrupted form for each of at most `limit` held-out triples."""
    graph, embeddings = base.columnar, base.embeddings
    assert embeddings is not None
    rng = np.random.default_rng(0)
    held_out = rng.permutation(embeddings.test)[: 3 * limit]
    right, wrong = corrupt(graph, held_out, embeddings.about.num_entities, "consistent", rng)
    found = []
    for true, false in list(zip(right.tolist(), wrong.tolist(), strict=True))[:limit]:
        shared = _another(graph, true, rng)
        for edge in (true, false):
            triples = tuple(_worded(graph, one) for one in (shared, edge) if one is not None)
            text = " ".join(f"The {relation} of {head} is {tail}." for head, relation, tail in triples)
            found.append(Passage(text, triples, edge is true))
    return found


def _another(graph: ColumnarGraph, edge: Sequence[int], rng: np.random.Generator) -> tuple[int, int, int] | None:
    """Another fact with the same head, at random."""
    head = edge[0]
    others = [
        (head, count.relation, int(tail))
        for count in graph.relations_of(head)
        if count.direction.name == "OUT"
        for tail in graph.neighbors(head, count.relation, count.direction, 5)
        if [head, count.relation, int(tail)] != list(edge)
    ]
    return others[int(rng.integers(len(others)))] if others else None


def _worded(graph: ColumnarGraph, edge: Sequence[int]) -> TextTriple:
    head, relation, tail = edge
    return graph.label(head), graph.relation(relation).label, graph.label(tail)


def measured(some: Sequence[Passage], scores: Sequence[float]) -> str:
    """Scored passages, AUC, and precision and recall of the true ones among the better half of each pair."""
    of_pairs = list(zip(some[::2], scores[::2], scores[1::2], strict=True))
    kept = [right < wrong for _, right, wrong in of_pairs if right != wrong]
    finite = np.isfinite(scores)
    told = [(score, one.true) for one, score in zip(some, scores, strict=True) if np.isfinite(score)]
    least, most = min(score for score, _ in told), max(score for score, _ in told)
    area = auroc([(most - score) / max(most - least, 1e-9) for score, _ in told], [true for _, true in told])
    share = sum(kept) / len(kept) if kept else float("nan")
    recall = sum(kept) / len(of_pairs)
    return f"{finite.mean():.3f} scored | AUC {area:.3f} | precision {share:.3f} | recall {recall:.3f}"


def extracted(base: KnowledgeBase, some: Sequence[Passage], scoring: str, lm: str) -> list[float]:
    """The scores that the filter gives the passages, reading them with a model."""
    supervisor = Supervisor(Sources.of(base), scoring, "sum")
    check = ReferenceFilter(Assists(), supervisor, relevance=False, triples=True, at_once=_AT_ONCE)
    references = [Reference(one.text, "corpus") for one in some]
    with session(lm):
        verdicts = check("", [], references, Trace(), lambda _, step, **inputs: step(**inputs))
    return [verdict.score for verdict in verdicts]


def given(base: KnowledgeBase, some: Sequence[Passage], scoring: str) -> list[float]:
    """The scores of the facts that the passages state; `looked up`: how many of them the graph does not have."""
    looked_up = scoring == _LOOKED_UP
    supervisor = Supervisor(Sources.of(base), "relative" if looked_up else scoring, "sum")
    rated = [supervisor.rate(one.triples, "") for one in some]
    if looked_up:
        return [float(sum(not triple.in_graph for triple in one.triples)) for one in rated]
    return [one.score for one in rated]


def main() -> None:
    """Print a table for each graph."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kbs", type=Path, default=Path("kbs"))
    parser.add_argument("--lm", default="extractive")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("names", nargs="*", default=["bundled"])
    asked = parser.parse_args()
    for name in asked.names:
        base = KnowledgeBase.open(name if name == "bundled" else asked.kbs / name)
        some = passages(base, asked.limit)
        print(f"\n{name}: {len(some)} passages, half of them true; the other half has one false fact of two")
        for scoring in (*_SCORINGS, _LOOKED_UP):
            print(f"| {_GIVEN} | {scoring} | {measured(some, given(base, some, scoring))} |", flush=True)
        for scoring in _SCORINGS:
            scores = extracted(base, some, scoring, asked.lm)
            print(f"| read by {asked.lm} | {scoring} | {measured(some, scores)} |", flush=True)


if __name__ == "__main__":
    main()
