"""How likely a trained ranker finds the path of a proof.

The ranker compares it with the best path that could be made of the relations of the graph and of a vocabulary of common
relations. Where the relation that a question asks for is missing from the graph, the vocabulary most likely has it, and
the path of the proof falls behind.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import LONGEST, Hops, PathRanker
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.programs.judge.proof import Proof
from triplecheck.signatures.notation import BACKWARD, WrittenHop, split_kind, wordings

COMMON = Path(__file__).parent / "common_relations.safetensors"
"""Vectors of wordings of common relations, by the default encoder: a label and at most four aliases of each of 165
Wikidata properties (CC0), which its metadata lists."""

_NAMED = -2.1
"""Of a path whose relation the question names itself: a ranker that does not know the wording is not believed below
this, which is about the mean of the answers that the confidence is fitted on."""
_LEAST_HOP, _LEAST_SCHEMA = -15.0, -20.0


def ideal_hop(proof: Proof, ranker: PathRanker, relations: RelationVectors | None) -> float | None:
    """The difference of the log-probabilities of the weakest hop and of the best of all relations in its place.

    "All relations" are those of the graph and of the vocabulary. The path is the one of the proof that the ranker likes
    best; of several topics the one counts for which it is nearest to the best that the graph's relations could make.

    Args:
        relations: of the graph; None: not known.

    Returns:
        None for a proof without a topic or a path.
    """
    paths = [path for path in proof.paths if path]
    if not paths or not proof.topics:
        return None
    labels = list(dict.fromkeys(_label(hop) for path in (*paths, *proof.alternatives) for hop in path))
    texts = [wordings(label) for label in labels]
    starts = np.cumsum([0, *map(len, texts)])[:-1]
    own = ranker.relations(proof.encode([text for several in texts for text in several]))
    common = _common(ranker)
    hops = [[(labels.index(_label(hop)), hop.arrow == BACKWARD) for hop in path] for path in paths]
    schemas = [] if relations is None else relations.ranked(proof.masked, ranker)
    found = []
    for at, vector in enumerate(proof.encode(proof.masked)):
        here = ranker.hops(vector, own, starts)
        found.append(_compared(hops, here, schemas[at] if schemas else here, ranker.hops(vector, common)))
    _, weakest = max(found, key=lambda one: one[0])
    return max(weakest, _NAMED) if any(map(proof.relevance.names, paths)) else weakest


def _compared(
    paths: Sequence[Sequence[tuple[int, bool]]], own: Hops, schema: Hops, common: Hops
) -> tuple[float, float]:
    """The best path and its weakest hop, by the best path of the schema and the best hop of schema and vocabulary."""
    scores = [own.path(path) for path in paths]
    path = paths[int(np.argmax(scores))]
    length = min(len(path), LONGEST)
    of_schema = {place: max(float(own.tables[place].max()), float(schema.tables[place].max())) for place in own.tables}
    places = [(length, min(hop, length)) for hop in range(1, len(path) + 1)]
    hops = [
        float(own.tables[place][int(back), relation]) - max(of_schema[place], float(common.tables[place].max()))
        for place, (relation, back) in zip(places, path, strict=True)
    ]
    return float(np.clip(max(scores) - _ideal(own, of_schema), _LEAST_SCHEMA, 0)), max(_LEAST_HOP, min(hops))


def _ideal(own: Hops, best: Mapping[tuple[int, int], float]) -> float:
    """The score of the best path that relations with these scores could make.

    Args:
        best: the best score of a relation, by the number of hops and the hop.
    """
    return max(
        float(own.lengths[hops - 1]) + sum(best[hops, hop] for hop in range(1, hops + 1))
        for hops in range(1, LONGEST + 1)
    )


def _label(hop: WrittenHop) -> str:
    return split_kind(hop.label)[0]


@functools.lru_cache(maxsize=4)
def _common(ranker: PathRanker) -> FloatArray:
    """The common relations as the ranker compares them, shape (2, n, d)."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return ranker.relations(load_file(COMMON)["vectors"].astype(np.float32))
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise UserError(f"{COMMON}: damaged ({error}); install triplecheck again") from error
