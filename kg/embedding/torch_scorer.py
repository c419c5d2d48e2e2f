"""The scorer of models that are more than arrays (ConvE, TuckER, ...): PyKEEN's own code on the stored weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from triplecheck.kg.embedding.interactions import FloatArray
from triplecheck.kg.embedding.models import make_model
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.graph import IntArray

_BATCH = 256


class TorchScorer:
    """Scores by a PyKEEN model. Slower than `ArrayScorer`, and its weights are in memory.

    Args:
        model: a `pykeen.models.Model` with inverse relations.
    """

    def __init__(self, model: Any) -> None:
        self._model = model.eval()

    @classmethod
    def from_state(
        cls, options: TrainingOptions, num_entities: int, num_relations: int, state: Mapping[str, Any]
    ) -> TorchScorer:
        """The model of the options with stored weights.

        Args:
            options: it was trained with these.
            num_entities, num_relations: of its graph.
            state: its `state_dict` as arrays.
        """
        import torch

        model = make_model(options, num_entities, num_relations)
        model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in state.items()})
        return cls(model)

    @property
    def num_entities(self) -> int:
        """See `kg.embedding.scorer.Scorer`."""
        return int(self._model.num_entities)

    @property
    def num_relations(self) -> int:
        """See `kg.embedding.scorer.Scorer`."""
        return int(self._model.num_relations) // 2

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        """See `kg.embedding.scorer.Scorer`."""
        return self._run(self._model.predict_hrt, np.stack([heads, relations, tails], axis=1))[:, 0]

    def all_tails(self, heads: IntArray, relations: IntArray) -> FloatArray:
        """See `kg.embedding.scorer.Scorer`."""
        return self._run(self._model.predict_t, np.stack([heads, relations], axis=1))

    def all_heads(self, relations: IntArray, tails: IntArray) -> FloatArray:
        """See `kg.embedding.scorer.Scorer`."""
        return self._run(self._model.predict_h, np.stack([relations, tails], axis=1))

    def _run(self, predict: Any, rows: IntArray) -> FloatArray:
        import torch

        batches = [torch.from_numpy(rows[at : at + _BATCH].astype(np.int64)) for at in range(0, len(rows), _BATCH)]
        with torch.inference_mode():
            scores = [predict(batch).cpu().numpy() for batch in batches]
        return np.concatenate(scores).astype(np.float32) if scores else np.empty((0, 1), np.float32)
