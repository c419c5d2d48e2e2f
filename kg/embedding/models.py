"""Models of PyKEEN: made by name, with first weights and a regulariser that suit them, and read off as arrays."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg.embedding.interactions import interaction_of
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.errors import UserError

# PyKEEN starts ComplEx from a standard normal distribution, from which it hardly learns.
_FIRST_WEIGHTS_STD = 0.1


def make_model(options: TrainingOptions, num_entities: int, num_relations: int) -> Any:
    """A `pykeen.models.Model` with inverse relations and a softmax loss, its weights drawn from the options' seed.

    Raises:
        UserError: there is no such model, or it needs more than triples.
    """
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
            f"{found.__name__} cannot be made from triples and a number of dimensions alone ({error}); "
            "choose another model, such as ComplEx, DistMult, TransE or RotatE"
        ) from error


def _particulars(name: str, options: TrainingOptions) -> dict[str, Any]:
    """What is set otherwise than PyKEEN would: N3 of Lacroix et al. 2018 (eq. 5) and small first weights."""
    n3 = {"weight": options.regularization, "p": 3.0}
    if name == "ComplEx":
        return {
            "entity_initializer": _small_normal,
            "relation_initializer": _small_normal,
            "regularizer": "powersum",
            "regularizer_kwargs": n3,
        }
    if name == "DistMult":
        return {
            "entity_initializer": _small_normal,
            "relation_initializer": _small_normal,
            "entity_constrainer": None,
            "entity_representations_kwargs": {"regularizer": "powersum", "regularizer_kwargs": n3},
            "regularizer": "powersum",
            "regularizer_kwargs": n3,
        }
    return {}


def _small_normal(tensor: Any) -> Any:
    from torch.nn.init import normal_

    return normal_(tensor, std=_FIRST_WEIGHTS_STD)


def arrays_of(model: Any) -> dict[str, npt.NDArray[np.float32]] | None:
    """The vectors of a model as `ArrayScorer` takes them, None for a model that arrays do not score.

    Returns:
        `entities`, shape (entities, width), and `relations`, shape (2 * relations, width).
    """
    import torch

    if interaction_of(type(model).__name__, norm_of(model) or 2) is None:
        return None
    arrays = {}
    with torch.inference_mode():
        for name in ("entities", "relations"):
            (representation,) = model.entity_representations if name == "entities" else model.relation_representations
            vectors = representation(indices=None)
            if vectors.is_complex():
                vectors = torch.view_as_real(vectors).flatten(1)
            arrays[name] = np.array(vectors.detach().cpu().numpy(), np.float32)
    return arrays


def norm_of(model: Any) -> int | None:
    """The norm by which a model measures distances, None where it measures none."""
    norm = getattr(model.interaction, "p", None)
    return None if norm is None else int(norm)
