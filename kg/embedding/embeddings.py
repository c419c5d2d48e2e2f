"""`Embeddings`: the trained vectors of a knowledge base, and how they are trained and stored in its directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import write_text
from triplecheck.kg.embedding import _files
from triplecheck.kg.embedding.models import TrainingOptions, arrays_of, norm_of
from triplecheck.kg.embedding.ranking import Quality, Triples, split, triples_of
from triplecheck.kg.embedding.scoring import ArrayScorer, Scorer, interaction_of
from triplecheck.kg.embedding.training import Trained, train
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.manifest import Generation
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json

if TYPE_CHECKING:
    from triplecheck.kg.columnar import ColumnarGraph

FORMAT, VERSION = "triplecheck-embeddings", 1
PART, ABOUT = "embeddings", "embeddings.json"
"""Their folder in a knowledge base, and the file that describes them."""
_WEIGHTS, _HELD_OUT = "weights.safetensors", "held_out.safetensors"


@dataclass(frozen=True)
class About:
    """The description of trained embeddings.

    Attributes:
        quality: link prediction on the test triples.
        num_entities: nodes 0 ... num_entities - 1 have a vector.
        scored_on: `arrays`, or `model` if PyKEEN has to compute scores.
        norm: norm of the distances of the model, None if it has no distances.
        looks: (epoch, MRR) of each validation.
        seconds: training time.
    """

    options: TrainingOptions
    quality: Quality
    num_entities: int
    num_relations: int
    scored_on: str
    norm: int | None
    loop: str
    epochs: int
    looks: tuple[tuple[int, float], ...]
    seconds: float


class Embeddings:
    """Embeddings that `save` wrote; opening reads one small file and maps the vectors into memory.

    Attributes:
        about: training options and quality.

    Raises:
        KnowledgeBaseError: missing, damaged or of another format version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.about = read_about(folder / ABOUT)
        self._arrays, _ = _files.open_mapped(folder / _WEIGHTS)
        self._held_out: dict[str, Any] = _files.open_mapped(folder / _HELD_OUT)[0]

    @cached_property
    def scorer(self) -> Scorer:
        """The scorer of the trained model."""
        arrays, about = self._arrays, self.about
        if about.scored_on == "model":
            from triplecheck.kg.embedding.models import TorchScorer

            return TorchScorer.from_state(about.options, about.num_entities, about.num_relations, arrays)
        interaction = interaction_of(about.options.model, about.norm or 2)
        entities, relations = (len(arrays.get(name, ())) for name in ("entities", "relations"))
        if interaction is None or entities != about.num_entities or relations < about.num_relations:
            raise KnowledgeBaseError(f"{self._folder}: {_WEIGHTS} does not match {ABOUT}; train the embeddings again")
        return ArrayScorer(interaction, arrays["entities"], arrays["relations"])

    @property
    def test(self) -> Triples:
        """Test triples, not used in training, shape (n, 3)."""
        return np.asarray(self._held_out["test"], np.int64)

    def knows(self, node: int) -> bool:
        """Whether a node has a vector. Values have one only if they were trained with `values`."""
        return 0 <= node < self.about.num_entities

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        """Scores of n triples of known nodes, shape (n,); higher is more plausible.

        Raises:
            IndexError: a node or relation has no vector.
        """
        for numbers, end in (
            (heads, self.about.num_entities),
            (relations, self.about.num_relations),
            (tails, self.about.num_entities),
        ):
            if len(numbers) and not 0 <= np.min(numbers) <= np.max(numbers) < end:
                raise IndexError(f"only 0 to {end - 1} have vectors, not {np.min(numbers)} to {np.max(numbers)}")
        return self.scorer.score(heads, relations, tails)

    def best_tails(self, head: int, relation: int, k: int, exclude: Iterable[int] = ()) -> list[tuple[int, float]]:
        """The best tails by the model, each with its score, best first; equal scores by node.

        Args:
            k: number of tails; fewer are returned if there are fewer.
            exclude: nodes to leave out, such as the head itself and known tails.

        Raises:
            IndexError: head or relation has no vector.
        """
        if not self.knows(head) or not 0 <= relation < self.about.num_relations:
            raise IndexError(f"({head}, {relation}): no vector of the head or the relation")
        scores = self.scorer.all_tails(np.array([head]), np.array([relation]))[0]
        left_out = np.unique(np.fromiter((node for node in exclude if self.knows(node)), np.int64))
        scores[left_out] = -np.inf
        k = min(k, len(scores) - len(left_out))
        if k <= 0:
            return []
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        likely = np.flatnonzero(scores >= least)
        order = likely[np.lexsort((likely, -scores[likely]))][:k]
        return [(int(node), float(scores[node])) for node in order]


def save(trained: Trained, folder: Path) -> None:
    """Write the embeddings of a trained model into an existing, empty directory."""
    arrays = arrays_of(trained.model)
    scored_on = "arrays" if arrays is not None else "model"
    stored: dict[str, Any] = arrays or {k: v.detach().cpu().numpy() for k, v in trained.model.state_dict().items()}
    if trained.options.half and arrays is not None:
        stored = {name: array.astype(np.float16) for name, array in arrays.items()}
        if not all(np.isfinite(array).all() for array in stored.values()):
            raise ValueError("a vector does not fit into half precision")
    _files.save(folder / _WEIGHTS, stored)
    parts = {"validation": trained.split.validation, "test": trained.split.test}
    _files.save(folder / _HELD_OUT, {name: part.astype(np.int32) for name, part in parts.items()})
    about = About(
        trained.options,
        trained.quality,
        trained.split.num_entities,
        trained.split.num_relations,
        scored_on,
        norm_of(trained.model),
        trained.loop,
        trained.course.epoch,
        tuple(trained.course.looks),
        round(trained.course.seconds, 1),
    )
    write_text(folder / ABOUT, json.dumps({"format": FORMAT, "version": VERSION} | asdict(about), indent=1))


def read_about(path: Path) -> About:
    """Read the description of trained embeddings.

    Raises:
        KnowledgeBaseError: missing, damaged or of another format version.
    """
    try:
        data: dict[str, Any] = parse_json(path.read_text("utf-8"))
        if data.pop("format") != FORMAT or data.pop("version") != VERSION:
            raise KnowledgeBaseError(f"{path}: embeddings of another format version; train them again")
        for name in ("num_entities", "num_relations"):
            if not isinstance(data[name], int):
                raise TypeError(f"{name} is {data[name]!r}")
        data["options"], data["quality"] = TrainingOptions(**data["options"]), Quality(**data["quality"])
        data["looks"] = tuple((int(epoch), float(mrr)) for epoch, mrr in data["looks"])
        return About(**data)
    except FileNotFoundError as error:
        raise KnowledgeBaseError(f"{path}: missing; train the embeddings again") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KnowledgeBaseError(f"{path}: damaged ({error}); train the embeddings again") from error


# --- training ------------------------------------------------------------------------------------
def train_into(
    graph: ColumnarGraph, base: Generation, options: TrainingOptions, progress: ProgressCallback = no_progress
) -> Trained:
    """Train on the graph of a knowledge base and replace its embeddings.

    An interrupted training is resumed by the next call with the same options: its checkpoint is kept beside the
    knowledge base until training ends.

    Args:
        base: `generation` of the knowledge base; open it again to use the embeddings.
        progress: called after each epoch.

    Raises:
        UserError: too few triples, no such model, or the training diverged.
        KnowledgeBaseError: a damaged checkpoint or knowledge base, or the knowledge base was replaced meanwhile.
    """
    nodes = graph.num_nodes if options.values else graph.num_entities
    triples = triples_of(graph, values=options.values)
    parts = split(triples, nodes, graph.num_relations, options.held_out, options.seed)
    work = checkpoint_folder(base.folder)
    work.mkdir(exist_ok=True)
    trained = train(parts, options, work / "checkpoint.safetensors", progress)
    with base.replaced_part(PART) as folder:
        save(trained, folder)
    shutil.rmtree(work, ignore_errors=True)
    return trained


def checkpoint_folder(path: Path) -> Path:
    """The checkpoint folder for a knowledge base."""
    path = path.absolute()
    return path.parent / f".{path.name}.training"
