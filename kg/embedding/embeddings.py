"""`Embeddings`: the trained vectors of a knowledge base, as they lie in its directory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.kg._atomic import write_text
from triplecheck.kg.embedding import _files
from triplecheck.kg.embedding.interactions import FloatArray, interaction_of
from triplecheck.kg.embedding.models import arrays_of, norm_of
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.ranking import Quality
from triplecheck.kg.embedding.scorer import ArrayScorer, Scorer
from triplecheck.kg.embedding.split import Triples
from triplecheck.kg.embedding.training import Trained
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.graph import IntArray

FORMAT, VERSION = "triplecheck-embeddings", 1
PART, ABOUT = "embeddings", "embeddings.json"
"""The part of a knowledge base's directory that they are, and the file that describes them."""
_WEIGHTS, _HELD_OUT = "weights.safetensors", "held_out.safetensors"


@dataclass(frozen=True)
class About:
    """What a directory of embeddings says of itself.

    Attributes:
        options: what the model was trained with.
        quality: link prediction on the test triples.
        num_entities: nodes 0 ... num_entities - 1 have a vector.
        num_relations: relations of the graph.
        scored_on: `arrays`, or `model` where PyKEEN has to score.
        norm: by which the model measures distances, None where it measures none.
        loop: that trained it.
        epochs: that were run.
        looks: (epoch, MRR on validation triples).
        seconds: that training took.
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


@dataclass(frozen=True, slots=True)
class RankedTail:
    """An entity and how plausible the model finds it as a tail."""

    node: int
    score: float


class Embeddings:
    """Embeddings that `save` wrote; opening reads one small file, vectors are memory-mapped.

    Attributes:
        about: how they were made and how good they are.

    Raises:
        KnowledgeBaseError: missing, damaged or of another format version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.about = _read_about(folder / ABOUT)

    @cached_property
    def scorer(self) -> Scorer:
        """Scores by the trained model."""
        arrays, _ = _files.open_mapped(self._folder / _WEIGHTS)
        about = self.about
        if about.scored_on == "model":
            from triplecheck.kg.embedding.torch_scorer import TorchScorer

            return TorchScorer.from_state(about.options, about.num_entities, about.num_relations, arrays)
        interaction = interaction_of(about.options.model, about.norm or 2)
        if interaction is None or len(arrays.get("entities", ())) != about.num_entities:
            raise KnowledgeBaseError(f"{self._folder}: {_WEIGHTS} is not of {ABOUT}; train the embeddings again")
        return ArrayScorer(interaction, arrays["entities"], arrays["relations"])

    @cached_property
    def _held_out(self) -> dict[str, Any]:
        return _files.open_mapped(self._folder / _HELD_OUT)[0]

    @property
    def validation(self) -> Triples:
        """Triples that training was stopped by, shape (n, 3)."""
        return np.asarray(self._held_out["validation"], np.int64)

    @property
    def test(self) -> Triples:
        """Triples that had no part in training, shape (n, 3)."""
        return np.asarray(self._held_out["test"], np.int64)

    def knows(self, node: int) -> bool:
        """Whether a node has a vector. Values have none unless they were trained with."""
        return 0 <= node < self.about.num_entities

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        """Scores of n triples of known nodes, shape (n,); greater is more plausible.

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

    def best_tails(self, head: int, relation: int, k: int, exclude: Iterable[int] = ()) -> list[RankedTail]:
        """The entities that the model ranks best as tails, best first; equal scores by node.

        Args:
            head: an entity with a vector.
            relation: of the graph.
            k: how many; fewer where there are no more.
            exclude: nodes to leave out, such as the head itself and the tails that are known already.

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
        return [RankedTail(int(node), float(scores[node])) for node in order]


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


def _read_about(path: Path) -> About:
    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if data.pop("format") != FORMAT or data.pop("version") != VERSION:
            raise KnowledgeBaseError(f"{path}: embeddings of another format version; train them again")
        data["options"], data["quality"] = TrainingOptions(**data["options"]), Quality(**data["quality"])
        data["looks"] = tuple((int(epoch), float(mrr)) for epoch, mrr in data["looks"])
        return About(**data)
    except FileNotFoundError as error:
        raise KnowledgeBaseError(f"{path}: missing; train the embeddings again") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KnowledgeBaseError(f"{path}: damaged ({error}); train the embeddings again") from error
