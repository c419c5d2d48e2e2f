"""Training the embeddings of a knowledge base and adding them to its directory."""

from __future__ import annotations

import shutil
from pathlib import Path

from triplecheck.kg import manifest
from triplecheck.kg.embedding import embeddings
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.split import split, triples_of
from triplecheck.kg.embedding.training import Trained, train
from triplecheck.kg.knowledge_base import KnowledgeBase
from triplecheck.kg.progress import ProgressCallback


def train_into(kb: KnowledgeBase, options: TrainingOptions, progress: ProgressCallback | None = None) -> Trained:
    """Train on the graph of a knowledge base and put the embeddings in place of those it has.

    A training that was killed is gone on from when it is asked for again with the same options: its checkpoint lies
    beside the knowledge base until the end.

    Args:
        kb: opened before; open it again to see the embeddings.
        options: see `TrainingOptions`.
        progress: told the epochs.

    Raises:
        UserError: too few triples, no such model, or the training diverged.
        KnowledgeBaseError: a damaged checkpoint or knowledge base.
    """
    graph = kb.graph
    nodes = graph.num_nodes if options.values else graph.num_entities
    triples = triples_of(graph, values=options.values)
    parts = split(triples, nodes, graph.num_relations, options.held_out, options.seed)
    work = checkpoint_folder(kb.path)
    work.mkdir(exist_ok=True)
    trained = train(parts, options, work / "checkpoint.safetensors", progress)
    with manifest.replaced_part(kb.path, embeddings.PART) as folder:
        embeddings.save(trained, folder)
    shutil.rmtree(work, ignore_errors=True)
    return trained


def checkpoint_folder(path: Path) -> Path:
    """Where the training of a knowledge base keeps its checkpoint."""
    path = path.absolute()
    return path.parent / f".{path.name}.training"
