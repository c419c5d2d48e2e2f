"""`python -m triplecheck.kg.embedding`: trains the embeddings of the bundled graph and stores them in the package."""

from __future__ import annotations

import tempfile
from pathlib import Path

from triplecheck.kg.bundled_files import turtle_files
from triplecheck.kg.embedding import bundled
from triplecheck.kg.embedding.embeddings import PART, train_into
from triplecheck.kg.embedding.models import TrainingOptions
from triplecheck.kg.knowledge_base import build
from triplecheck.kg.readers import ReadOptions, read_graph

_OPTIONS = TrainingOptions(dimensions=64, epochs=60, loop="sampled", half=True)


def main() -> None:
    """Train and store them."""
    sources = turtle_files()
    target = sources[0].parent / PART
    with tempfile.TemporaryDirectory() as work:
        kb = build(read_graph(sources, how=ReadOptions(axioms=False)), Path(work) / "kb", encoder=None)
        trained = train_into(kb.columnar, kb.generation, _OPTIONS)
        bundled.store(kb.columnar, kb.path / PART, target)
    print(f"{target}: MRR {trained.quality.mrr:.3f} on {trained.quality.triples} held-out triples")


if __name__ == "__main__":
    main()
