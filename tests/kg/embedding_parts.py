"""Small graphs to train on: those that come with PyKEEN."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.embedding import TrainingOptions
from triplecheck.kg.embedding.ranking import TripleSplit, split, triples_of
from triplecheck.kg.readers import read_graph

# PyKEEN's own loop takes half a second an epoch however small the graph: only tests of it use it.
QUICK = TrainingOptions(dimensions=8, epochs=4, loop="sampled", batch_size=256, negatives=10, evaluate_every=2)


def pykeen_graph(name: str, folder: Path) -> KnowledgeBase:
    """A knowledge base of `nations`, `umls` or `kinships`, all parts of it."""
    spec = find_spec("pykeen")
    assert spec is not None and spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]) / "datasets" / name
    files = [source / f"{part}.txt" for part in ("train", "valid", "test")]
    return build(read_graph(files), folder / name, encoder=None)


def split_of(kb: KnowledgeBase, held_out: float = 0.1) -> TripleSplit:
    """Its triples in three parts."""
    graph = kb.graph
    return split(triples_of(graph), graph.num_entities, graph.num_relations, held_out, 0)
