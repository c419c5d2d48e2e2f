"""The models: training options, PyKEEN models by name, and the scorer for models that arrays cannot score."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.embedding.scoring import interaction_of
from triplecheck.kg.errors import UserError, extra
from triplecheck.kg.graph import IntArray

LOOPS = ("auto", "pykeen", "sampled")


@dataclass(frozen=True)
class TrainingOptions:
    """All options that affect the trained weights.

    Attributes:
        model: name of a PyKEEN model.
        dimensions: PyKEEN's `embedding_dim`; for a complex model, the number of complex numbers.
        epochs: maximum number of epochs.
        loop: `pykeen` (PyKEEN's own training loop), `sampled` (the same model, loss and regulariser, but a sampled
            softmax, see `kg.embedding.training`) or `auto`: by the size of the graph.
        batch_size: (head, relation) pairs, or triples, per step.
        negatives: random tails to compare with; None for 1,500 shared by a batch (`sampled`), or 64 per triple (in
            PyKEEN's loop over single triples, for graphs too large to compare with all tails).
        optimizer: name of a torch optimizer.
        regularization: weight of N3 (Lacroix et al. 2018) for ComplEx and DistMult; the
            others keep PyKEEN's regulariser.
        held_out: share of triples held out from training: half for validation, half for testing.
        evaluate_every: epochs between two validations.
        patience: validations without a better MRR before training stops.
        values: embed literal values, too. Default: only entities, since most values occur in a single triple.
        half: store vectors in half precision.
        seed: of the split, the initial weights and every epoch.
    """

    model: str = "ComplEx"
    dimensions: int = 128
    epochs: int = 100
    loop: str = "auto"
    batch_size: int = 1000
    negatives: int | None = None
    optimizer: str = "Adagrad"
    learning_rate: float = 0.1
    regularization: float = 0.05
    held_out: float = 0.1
    evaluate_every: int = 5
    patience: int = 3
    values: bool = False
    half: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "epochs", "batch_size", "negatives", "evaluate_every", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UserError(f"{name} must be at least 1, not {value}")
        if not 0 < self.held_out < 1:
            raise UserError(f"held_out must be a share of all triples between 0 and 1, not {self.held_out}")
        if self.learning_rate <= 0 or self.regularization < 0:
            raise UserError("learning_rate must be above 0, regularization at least 0")
        if self.loop not in LOOPS:
            raise UserError(f"no training loop {self.loop!r}; there are: {', '.join(LOOPS)}")


# PyKEEN's default for ComplEx, a standard normal distribution, hardly learns.
_FIRST_WEIGHTS_STD = 0.1


def make_model(options: TrainingOptions, num_entities: int, num_relations: int) -> Any:
    """A `pykeen.models.Model` with inverse relations and a softmax loss, initialised with the options' seed.

    Raises:
        UserError: there is no such model, or it needs more than triples.
    """
    with extra("train", "Training embeddings"):
        import torch
        from pykeen.losses import CrossEntropyLoss
        from pykeen.models import model_resolver
        from pykeen.triples import KGInfo

    try:
        found = model_resolver.lookup(options.model)
    except KeyError as error:
        names = sorted(cls.__name__ for cls in model_resolver.lookup_dict.values())
        near = difflib.get_close_matches(options.model, names, 3, 0.4) or names
        raise UserError(f"PyKEEN has no model {options.model!r}; it has {', '.join(near)}") from error
    torch.manual_seed(options.seed)
    info = KGInfo(num_entities, num_relations, create_inverse_triples=True)
    try:
        return found(
            triples_factory=info,
            embedding_dim=options.dimensions,
            loss=CrossEntropyLoss(),
            random_seed=options.seed,
            **_particulars(found.__name__, options),
        )
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise UserError(
            f"{found.__name__} cannot be built from triples and dimensions alone ({error}); "
            "choose another model, such as ComplEx, DistMult, TransE or RotatE"
        ) from error


def _particulars(name: str, options: TrainingOptions) -> dict[str, Any]:
    """Settings other than PyKEEN's defaults: N3 of Lacroix et al. 2018 (eq. 5) and small initial weights."""
    if name not in ("ComplEx", "DistMult"):
        return {}
    n3: dict[str, Any] = {
        "regularizer": "powersum",
        "regularizer_kwargs": {"weight": options.regularization, "p": 3.0},
    }
    found = {**n3, "entity_initializer": _small_normal, "relation_initializer": _small_normal}
    if name == "DistMult":
        found |= {"entity_constrainer": None, "entity_representations_kwargs": n3}
    return found


def _small_normal(tensor: Any) -> Any:
    from torch.nn.init import normal_

    return normal_(tensor, std=_FIRST_WEIGHTS_STD)


def arrays_of(model: Any) -> dict[str, npt.NDArray[np.float32]] | None:
    """The vectors of a model for `ArrayScorer`, None if arrays cannot score the model.

    Returns:
        `entities`, shape (entities, width), and `relations`, shape (2 * relations, width).
    """
    import torch

    if interaction_of(type(model).__name__, norm_of(model) or 2) is None:
        return None
    arrays = {}
    kinds = {"entities": model.entity_representations, "relations": model.relation_representations}
    with torch.inference_mode():
        for name, (representation,) in kinds.items():
            vectors = representation(indices=None)
            if vectors.is_complex():
                vectors = torch.view_as_real(vectors).flatten(1)
            arrays[name] = np.array(vectors.detach().cpu().numpy(), np.float32)
    return arrays


def norm_of(model: Any) -> int | None:
    """The norm of the distances of a model, None if it has no distances."""
    norm = getattr(model.interaction, "p", None)
    return None if norm is None else int(norm)


_BATCH = 256


class TorchScorer:
    """Scores triples with a PyKEEN model that has inverse relations.

    It is slower than `ArrayScorer` and holds the weights in memory.
    """

    def __init__(self, model: Any) -> None:
        self._model = model.eval()

    @classmethod
    def from_state(
        cls, options: TrainingOptions, num_entities: int, num_relations: int, state: Mapping[str, Any]
    ) -> TorchScorer:
        """A model with stored weights, its `state_dict` as arrays."""
        model = make_model(options, num_entities, num_relations)
        import torch

        model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in state.items()})
        return cls(model)

    @property
    def num_entities(self) -> int:
        return int(self._model.num_entities)

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        return self._run(self._model.predict_hrt, np.stack([heads, relations, tails], axis=1))[:, 0]

    def all_tails(self, heads: IntArray, relations: IntArray) -> FloatArray:
        return self._run(self._model.predict_t, np.stack([heads, relations], axis=1))

    def all_heads(self, relations: IntArray, tails: IntArray) -> FloatArray:
        return self._run(self._model.predict_h, np.stack([relations, tails], axis=1))

    def _run(self, predict: Any, rows: IntArray) -> FloatArray:
        import torch

        batches = [torch.from_numpy(rows[at : at + _BATCH].astype(np.int64)) for at in range(0, len(rows), _BATCH)]
        with torch.inference_mode():
            scores = [predict(batch).cpu().numpy() for batch in batches]
        return np.concatenate(scores).astype(np.float32) if scores else np.empty((0, 1), np.float32)
