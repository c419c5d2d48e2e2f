"""A trained ranker of relation paths: which relations a question follows from its topic, and how many.

A hop-factored bi-encoder. The sentence encoder turns a question, with its topic masked, into one vector; for each
length of a path and each hop of it, a small network turns this vector into a query vector. Another one turns the vector
of a relation's wording into one vector per direction. The score of a path of L hops is

    b_L(q) + s_L * (cos(q_L1, r_1) + ... + cos(q_LL, r_L))

so no path is ever encoded: after one question and each wording once, a path is looked up in tables. Inference is numpy
alone. The weights are trained by `triplecheck.optimize.distil.path_ranker`; those in the package know no graph.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import write_bytes
from triplecheck.kg.errors import UserError

LONGEST = 3
"""Hops of the longest path that has query vectors of its own; further hops are scored as the last of these."""

HEADS = tuple((length, hop) for length in range(1, LONGEST + 1) for hop in range(1, length + 1))
"""(length of the path, position of the hop), in the order of the query vectors."""

OWN_TOPIC, OTHER_TOPIC = "[X]", "[Y]"
"""What stands in a question for the topic at the start of a path, and for every other topic."""

FORMAT = "triplecheck-path-ranker-1"
GENERAL = Path(__file__).parent / "ranker.safetensors"
PART = "ranker"
"""The folder in a knowledge base of a ranker that was trained on it."""

_GENERAL_WEIGHT = 0.03  # fitted on path choice with graphs left out
_LIKELY_LENGTH = 0.05


@dataclass(frozen=True)
class Hops:
    """The scores of single hops for one question.

    Attributes:
        tables: by (length, position), the scaled cosine of each relation, shape (2, n): forward, then backward.
        lengths: what is added to a path of each length, shape (LONGEST,).
        starts: the same, if only the first hop of the path is known.
    """

    tables: Mapping[tuple[int, int], FloatArray]
    lengths: FloatArray
    starts: FloatArray

    def path(self, hops: Sequence[tuple[int, bool]]) -> float:
        """The score of a path: (relation, whether it is followed backwards) for each hop."""
        length = min(len(hops), LONGEST)
        score = float(self.lengths[length - 1])
        for position, (relation, backward) in enumerate(hops, 1):
            score += float(self.tables[length, min(position, length)][int(backward), relation])
        return score

    def ahead(self, hops: Sequence[tuple[int, bool]], longest: int) -> float:
        """The score of a path as the beginning of one of at most `longest` hops, with the best further hops."""
        if len(hops) == 1:
            return float(self.first[int(hops[0][1]), hops[0][0]])
        scores = self._continued(hops, longest)
        return float(np.logaddexp.reduce(scores)) if scores else self.path(hops)

    def whole(self, hops: Sequence[tuple[int, bool]], longest: int) -> float:
        """Log-probability that a path ends here rather than being the beginning of one of at most `longest` hops.

        The relations of further hops may be unknown: they are taken to fit at least as well as the known ones.
        """
        scores = self._continued(hops, longest, unknown=True)
        return scores[0] - float(np.logaddexp.reduce(scores)) if scores else 0.0

    def _continued(self, hops: Sequence[tuple[int, bool]], longest: int, *, unknown: bool = False) -> list[float]:
        """The score of a path, then with one best further hop, two, and so on."""
        given = len(hops)
        scores = []
        for length in range(given, min(max(given, longest), LONGEST) + 1):
            known = sum(float(self.tables[length, at][int(back), rel]) for at, (rel, back) in enumerate(hops, 1))
            least = known / given if unknown else -math.inf
            further = sum(max(self._greatest[length, at], least) for at in range(given + 1, length + 1))
            scores.append(float(self.lengths[length - 1]) + known + further)
        return scores

    def longest(self, most: int = LONGEST) -> int:
        """How many hops to go: further ones are unlikely.

        The probability of a length is that of its best path, whether or not the graph has it.
        """
        best = [
            bias + sum(self._greatest[length, hop] for hop in range(1, length + 1))
            for length, bias in enumerate(self.lengths[:most].tolist(), 1)
        ]
        likely = np.exp(np.array(best) - np.logaddexp.reduce(best)) >= _LIKELY_LENGTH
        return int(np.flatnonzero(likely)[-1]) + 1

    @functools.cached_property
    def _greatest(self) -> dict[tuple[int, int], float]:
        """The greatest score of a relation, by (length, position)."""
        return {place: float(table.max()) for place, table in self.tables.items()}

    @functools.cached_property
    def first(self) -> FloatArray:
        """The score of each relation as the first hop of a path of any length, shape (2, n)."""
        scores = np.stack([start + self.tables[length, 1] for length, start in enumerate(self.starts, 1)])
        summed: FloatArray = np.logaddexp.reduce(scores)
        return summed


class PathRanker:
    """Scores hops and paths.

    Args:
        weights: the tensors, as `load_ranker` reads them.
        encoder: fingerprint of the sentence encoder whose vectors the weights were trained on.
        fingerprint: hash of the weights.
        about: what it was trained on and how well it does. Trained on a graph, it has `graph`, a hash of it;
            trained on a graph or on traces, `weight` of its log-probabilities beside the hand-set score, `hops` of its
            longest path, and `several`, whether it was trained on questions with several topics.
    """

    def __init__(
        self, weights: Mapping[str, FloatArray], encoder: str, fingerprint: str, about: Mapping[str, object]
    ) -> None:
        self.weights = weights
        self.encoder = encoder
        self.fingerprint = fingerprint
        self.about = about
        self.graph = about.get("graph")
        self.weight = float(str(about.get("weight", _GENERAL_WEIGHT)))
        self.longest = int(str(about.get("hops", LONGEST)))
        self.several = bool(about.get("several", False))

    @property
    def is_general(self) -> bool:
        """Whether it was trained neither on a graph nor on traces."""
        return "weight" not in self.about

    @property
    def gains(self) -> bool:
        """Whether it raised the number of right answers to held-out questions when it was trained."""
        held_out = self.about.get("held_out")
        return isinstance(held_out, dict) and held_out.get("after", 0) > held_out.get("before", 0)

    def relations(self, vectors: FloatArray) -> FloatArray:
        """Vectors of the sentence encoder (n, d) as the ranker compares them, (2, n, d): followed forward, backward."""
        return np.stack([self._head(f"relation.{way}", vectors) for way in (0, 1)])

    def hops(self, question: FloatArray, relations: FloatArray, starts: npt.NDArray[np.int64] | None = None) -> Hops:
        """The scores of single hops.

        Args:
            question: the masked question's vector, shape (d,).
            relations: of `relations`, shape (2, w, d).
            starts: where the wordings of each relation start, ascending; a relation is scored by its best wording.
                None: one wording each.
        """
        weights = self.weights
        tables = {}
        for length, position in HEADS:
            query = self._head(f"question.{length}.{position}", question[None])[0]
            scores = weights["scale"][length - 1] * (relations @ query)
            tables[length, position] = scores if starts is None else np.maximum.reduceat(scores, starts, axis=1)
        lengths = weights["lengths.weight"] @ question + weights["lengths.bias"]
        first = weights["starts.weight"] @ question + weights["starts.bias"]
        return Hops(tables, lengths, first)

    def _head(self, name: str, x: FloatArray) -> FloatArray:
        """The vectors plus a low-rank change, each of length 1."""
        down, up, shift = (self.weights[f"{name}.{part}"] for part in ("down", "up", "shift"))
        moved = x + x @ down.T @ up.T + shift
        result: FloatArray = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        return result


def save_ranker(weights: Mapping[str, FloatArray], encoder: str, about: Mapping[str, object], out: Path) -> None:
    """Write a ranker, matrices in half precision.

    Raises:
        StorageError: the disk is full, read-only or broken.
    """
    from safetensors.numpy import save

    small = {name: np.ascontiguousarray(w, np.float16 if w.ndim > 1 else np.float32) for name, w in weights.items()}
    write_bytes(out, save(small, {"format": FORMAT, "encoder": encoder, "about": json.dumps(about, sort_keys=True)}))


@functools.cache
def load_ranker(path: Path = GENERAL) -> PathRanker:
    """The ranker in a file, read once per process and path.

    Raises:
        UserError: the file is missing, or holds no ranker of this version.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            weights = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
        if about.get("format") != FORMAT:
            raise UserError(f"{path}: is a path ranker of another version; train it again")
        check_weights(weights)
        parts = [json.dumps(about, sort_keys=True).encode()]
        parts += [part for name, array in sorted(weights.items()) for part in (name.encode(), array.tobytes())]
        fingerprint = hashlib.sha256(b"\0".join(parts)).hexdigest()
        return PathRanker(weights, about["encoder"], fingerprint, dict(json.loads(about.get("about", "{}"))))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as a path ranker ({error}); train it again") from error


def check_weights(weights: Mapping[str, FloatArray]) -> None:
    """Check that the tensors fit each other and all numbers are finite.

    Raises:
        ValueError: they do not.
        KeyError: one is missing.
    """
    size, rank = weights["lengths.weight"].shape[1], len(weights["relation.0.down"])
    shapes: dict[str, tuple[int, ...]] = {"scale": (LONGEST,)}
    for name in ("lengths", "starts"):
        shapes |= {f"{name}.weight": (LONGEST, size), f"{name}.bias": (LONGEST,)}
    for name in ("relation.0", "relation.1", *(f"question.{length}.{hop}" for length, hop in HEADS)):
        shapes |= {f"{name}.down": (rank, size), f"{name}.up": (size, rank), f"{name}.shift": (size,)}
    for name, shape in shapes.items():
        if weights[name].shape != shape:
            raise ValueError(f"{name} has the shape {weights[name].shape}, not {shape}")
        if not np.isfinite(weights[name]).all():
            raise ValueError(f"{name} has a number that is not finite")
