"""The embeddings of the bundled graph: stored in the package, and put into the bundled knowledge base when it is built.

`python -m triplecheck.kg.embedding` trains them again, which takes a few minutes and the extra `train`.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from triplecheck.kg.embedding.embeddings import PART
from triplecheck.kg.manifest import Generation
from triplecheck.kg.types import Direction

if TYPE_CHECKING:
    from triplecheck.kg.columnar import ColumnarGraph

_KEY = "graph.sha256"

log = logging.getLogger(__name__)


def graph_key(graph: ColumnarGraph) -> str:
    """Hash of the entities and triples as the graph numbers them: equal keys, equal meaning of a row of vectors."""
    edges = graph.expand(np.arange(graph.num_entities), direction=Direction.OUT)
    triples = np.stack([edges.heads, edges.relations, edges.tails], axis=1)
    digest = hashlib.sha256(triples[triples[:, 2] < graph.num_entities].astype("<i8").tobytes())
    names = [graph.node_id(node) for node in range(graph.num_entities)]
    names += [graph.relation(number).id for number in range(graph.num_relations)]
    digest.update("\n".join(names).encode())
    return digest.hexdigest()


def add_embeddings(graph: ColumnarGraph, base: Generation, stored: Path) -> None:
    """Copy the stored embeddings into a newly built base, which must be opened again afterwards.

    Embeddings of another graph are not copied; a warning says so.
    """
    if not stored.is_dir():
        return
    key = stored / _KEY
    if not key.is_file() or key.read_bytes().strip() != graph_key(graph).encode("ascii"):
        log.warning(
            "%s: trained on another graph, and not used; train them again with `python -m %s`", stored, __name__
        )
        return
    with base.replaced_part(PART) as part:
        for path in stored.iterdir():
            if path.name != _KEY:
                shutil.copyfile(path, part / path.name)


def store(graph: ColumnarGraph, trained: Path, target: Path) -> None:
    """Copy the embeddings of a knowledge base into a folder, with the key of its graph."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(trained, target, copy_function=shutil.copyfile)
    (target / _KEY).write_text(graph_key(graph) + "\n", "ascii")
