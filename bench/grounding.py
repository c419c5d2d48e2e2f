"""Grounding: the share of a graph's own triples, written in words, that are recognised as edges of the graph.

The note has the same share of corrupted triples: the graph has an edge of the same words only by a homonym.

`python -m bench.grounding KB...` measures other knowledge bases than the bundled one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from bench.measurement import Measurement, Options
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.embedding.ranking import triples_of
from triplecheck.kg.plausibility import Grounder
from triplecheck.kg.plausibility.calibration import corrupt

_SAMPLE = 500


def grounding(options: Options) -> Iterator[Measurement]:
    """Triples of the bundled knowledge base."""
    yield _recognised("bundled")


def _recognised(path: str) -> Measurement:
    """Of a sample of triples as (label, label of the relation, label): the share that becomes an edge of the graph."""
    kb = KnowledgeBase.open(path)
    graph, rng = kb.columnar, np.random.default_rng(0)
    triples = triples_of(graph, values=True)
    true, corrupted = corrupt(graph, rng.permutation(triples)[:_SAMPLE], graph.num_nodes, "consistent", rng)
    grounder = Grounder(graph, kb.linker, kb.relation_vectors)
    reasons: Counter[str] = Counter()
    shares = []
    for rows in (true, corrupted):
        words = [(graph.label(h), graph.relation(r).label, graph.label(t)) for h, r, t in rows.tolist()]
        grounded = grounder.ground(words)
        there = [one.edge is not None and graph.contains(*one.edge) for one in grounded]
        shares.append(sum(there) / len(there))
        if rows is true:
            others = "another edge, which the graph does not have"
            reasons.update(str(one.reason or others) for one, found in zip(grounded, there, strict=True) if not found)
    note = [f"with another tail: {shares[1]:.3f}", *(f"{reason}: {count}" for reason, count in reasons.most_common())]
    return Measurement(f"triples recognised, {path}", shares[0], "share", bound=0.99, note="; ".join(note))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measured = _recognised(name)
        print(f"{measured.figure}: {measured.ours:.3f} ({measured.note})")
