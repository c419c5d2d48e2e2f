"""How likely a trained ranker finds the path of a proof.

The ranker compares it with the other paths around the topics, and with the best path that could be made of the
relations of the graph and of a vocabulary of common relations. Where the relation that a question asks for is missing
from the graph, the vocabulary most likely has it, and the path of the proof falls behind.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import write_bytes
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import LONGEST, Hops, PathRanker
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.programs.judge.proof import Proof, WrittenHops
from triplecheck.signatures.notation import BACKWARD, split_kind, wordings

COMMON = Path(__file__).parent / "common_relations.safetensors"
"""Vectors of wordings of common relations, by the default encoder: a label and at most four aliases of each of 165
Wikidata properties (CC0), which `write_common_relations` encoded."""

# Of a path whose relation the question names itself: a ranker that does not know the wording is not believed below
# these, which are about the means of the answers that the confidence is fitted on.
_NAMED = {"ranked": -1.5, "ranked_schema": -3.2, "ranked_length": -1.8, "ideal_hop": -2.1}
_LEAST_SHARE, _LEAST_LENGTH, _LEAST_HOP, _LEAST_SCHEMA = -8.0, -10.0, -15.0, -20.0


def ranked_features(proof: Proof, ranker: PathRanker, relations: RelationVectors | None) -> dict[str, float]:
    """Features of the path of a proof that the ranker likes best, as differences of log-probabilities.

    - `ranked`: of the path and all paths around the topics together;
    - `ranked_schema`: and the best path that could be made of the relations of the graph, whether or not there is one;
    - `ranked_length`: of the best path of its length, and of any length, that could be made of these relations and of
      a vocabulary of common relations;
    - `ideal_hop`: of the weakest hop, and the best of all these relations in its place.

    Args:
        relations: of the graph; None: not known.

    Returns:
        No features for a proof without a topic.
    """
    paths = [path for path in proof.paths if path]
    if not paths or not proof.topics:
        return {}
    every = [*paths, *proof.alternatives]
    labels = list(dict.fromkeys(_label(path, at) for path in every for at in range(len(path))))
    texts = [wordings(label) for label in labels]
    starts = np.cumsum([0, *map(len, texts)])[:-1]
    own = ranker.relations(proof.encode([text for several in texts for text in several]))
    common = _common(ranker)
    numbers = {label: number for number, label in enumerate(labels)}
    hops = [[(numbers[_label(path, at)], hop.arrow == BACKWARD) for at, hop in enumerate(path)] for path in every]
    schemas = [] if relations is None else relations.ranked(proof.masked, ranker)
    found = []
    for at, vector in enumerate(proof.encode(proof.masked)):
        here = ranker.hops(vector, own, starts)
        found.append(_compared(hops, len(paths), here, schemas[at] if schemas else here, ranker.hops(vector, common)))
    features = max(found, key=lambda one: one["ranked_schema"])
    if any(map(proof.relevance.names, paths)):
        return {name: max(value, _NAMED[name]) for name, value in features.items()}
    return features


def _compared(
    paths: Sequence[Sequence[tuple[int, bool]]], given: int, own: Hops, schema: Hops, common: Hops
) -> dict[str, float]:
    """The best of the first `given` paths, compared with all others, the schema and the vocabulary."""
    scores = np.array([own.path(path) for path in paths])
    at = int(scores[:given].argmax())
    path = paths[at]
    length = min(len(path), LONGEST)
    of_schema = {place: max(float(own.tables[place].max()), float(schema.tables[place].max())) for place in own.tables}
    of_any = {place: max(best, float(common.tables[place].max())) for place, best in of_schema.items()}
    places = [(length, min(hop, length)) for hop in range(1, len(path) + 1)]
    hops = [(place, float(own.tables[place][int(back), rel])) for place, (rel, back) in zip(places, path, strict=True)]
    ideal = _ideal(own, of_any)
    return {
        "ranked": max(_LEAST_SHARE, float(scores[at] - np.logaddexp.reduce(scores))),
        "ranked_schema": float(np.clip(scores[at] - max(_ideal(own, of_schema)), _LEAST_SCHEMA, 0)),
        "ranked_length": max(_LEAST_LENGTH, ideal[length - 1] - max(ideal)),
        "ideal_hop": max(_LEAST_HOP, min(score - of_any[place] for place, score in hops)),
    }


def _ideal(own: Hops, best: Mapping[tuple[int, int], float]) -> list[float]:
    """The score of the best path of each length, given the best score of a relation in each place."""
    return [
        float(own.lengths[hops - 1]) + sum(best[hops, hop] for hop in range(1, hops + 1))
        for hops in range(1, LONGEST + 1)
    ]


def _label(path: WrittenHops, at: int) -> str:
    return split_kind(path[at].label)[0]


@functools.lru_cache(maxsize=4)
def _common(ranker: PathRanker) -> FloatArray:
    """The common relations as the ranker compares them, shape (2, n, d)."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return ranker.relations(load_file(COMMON)["vectors"].astype(np.float32))
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise UserError(f"{COMMON}: damaged ({error}); install triplecheck again") from error


def write_common_relations(texts: Sequence[str], encoder: Encoder, out: Path) -> None:
    """Write the vectors of the wordings of common relations, in half precision, with the wordings beside them."""
    from safetensors.numpy import save

    vectors = np.asarray(encoder.encode(texts), np.float16)
    write_bytes(out, save({"vectors": vectors}, {"texts": json.dumps(list(texts)), "encoder": encoder.fingerprint}))
