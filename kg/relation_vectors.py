"""Vectors of a graph's relations and types, encoded once, and the similarity of relations to a text."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray, load_array
from triplecheck.kg.encode import REMEMBERED_CALL, Encoder, TextEncoder
from triplecheck.kg.graph import Graph
from triplecheck.kg.ranker import Hops, PathRanker
from triplecheck.kg.types import Direction, Relation

_TYPE_TEXTS, _TYPE_VECTORS = "type_texts.json", "type_vectors.npy"


def relation_texts(relation: Relation) -> list[str]:
    """The texts that are compared for a relation: its label and its aliases."""
    return [relation.label, *relation.aliases]


class RelationVectors:
    """One or more vectors per relation.

    Args:
        vectors: shape (t, d), L2-normalised.
        owners: the relation of each vector, shape (t,), ascending.
        encoder: made the vectors, and encodes the texts to compare.
    """

    def __init__(self, vectors: FloatArray, owners: npt.NDArray[np.int64], encoder: Encoder) -> None:
        self._vectors, self._owners = vectors, owners
        self._starts = np.flatnonzero(np.diff(owners, prepend=-1))
        self._encoder = encoder
        self._ranked: tuple[PathRanker, FloatArray] | None = None  # the vectors as the latest ranker compares them

    def against(self, text: str) -> FloatArray:
        """Cosine of a text with the best text of each relation, shape (relations,)."""
        if len(self._vectors) == 0:
            return np.empty(0, np.float32)
        return np.maximum.reduceat(self._cosines(text), self._starts)

    def ranked(self, texts: Sequence[str], ranker: PathRanker) -> list[Hops]:
        """The scores of the relations as hops, by a trained ranker, for each question whose topics are masked; empty if
        it has another encoder.
        """
        if len(self._vectors) == 0 or not texts or ranker.encoder != self._encoder.fingerprint:
            return []
        if self._ranked is None or self._ranked[0] is not ranker:
            self._ranked = ranker, ranker.relations(np.asarray(self._vectors))
        relations = self._ranked[1]
        return [ranker.hops(vector, relations, self._starts) for vector in self._encoder.encode(texts)]

    def nearest_wordings(self, text: str) -> npt.NDArray[np.int64]:
        """Index into `relation_texts` of the text nearest to the given one, per relation; shape (relations,)."""
        if len(self._vectors) == 0:
            return np.empty(0, np.int64)
        cosines = self._cosines(text)
        stops = np.append(self._starts[1:], len(cosines))
        spans = zip(self._starts.tolist(), stops.tolist(), strict=True)
        return np.array([int(cosines[start:stop].argmax()) for start, stop in spans], np.int64)

    def extended(self, relations: Sequence[Relation]) -> RelationVectors:
        """The same with vectors of further relations, which are numbered after these."""
        first = len(self._starts)
        texts = [(first + at, text) for at, relation in enumerate(relations) for text in relation_texts(relation)]
        if not texts:
            return self
        owners = np.concatenate([self._owners, [owner for owner, _ in texts]])
        vectors = np.concatenate([self._vectors, self._encoder.encode([text for _, text in texts])])
        return RelationVectors(vectors, owners, self._encoder)

    def named(self, names: Mapping[int, Sequence[str]]) -> RelationVectors:
        """The same, with vectors of further names of relations. The names come right after the labels."""
        added = [(number, name) for number, own in names.items() for name in own]
        if not added or len(self._vectors) == 0:
            return self
        places = [int(self._starts[number]) + 1 for number, _ in added]
        vectors = np.insert(self._vectors, places, self._encoder.encode([name for _, name in added]), axis=0)
        owners = np.insert(self._owners, places, [number for number, _ in added])
        return RelationVectors(vectors, owners, self._encoder)

    def _cosines(self, text: str) -> FloatArray:
        cosines: FloatArray = self._vectors @ self._encoder.encode([text])[0]
        return cosines


def end_text(graph: Graph, relation: int, direction: Direction) -> str:
    """The two most frequent types at the end of a relation, as prompts write them; empty if there are none."""
    schema = graph.schema(relation)
    side = schema.range if direction is Direction.OUT else schema.domain
    return ", ".join(graph.type_label(kind) for kind, _ in side[:2])


def type_texts(graph: Graph) -> list[str]:
    """The labels of types, and the texts for the ends of relations; empty if an encoder does not remember so many."""
    if len(graph.type_ids) > REMEMBERED_CALL:
        return []
    labels = [graph.type_label(kind) for kind in graph.type_ids]
    ends = itertools.product(range(graph.num_relations), Direction)
    texts = [*labels, *(end_text(graph, relation, direction) for relation, direction in ends)]
    return [text for text in dict.fromkeys(texts) if text]


def build(relations: Sequence[Relation], encoder: Encoder, folder: Path, types: Sequence[str] = ()) -> None:
    """Write the vectors of all relations into a folder, and those of types if an encoder remembers so many texts."""
    texts = [(number, text) for number, relation in enumerate(relations) for text in relation_texts(relation)]
    vectors = encoder.encode([text for _, text in texts]) if texts else np.empty((0, encoder.dimensions), np.float32)
    np.save(folder / "relation_vectors.npy", vectors)
    np.save(folder / "relation_owners.npy", np.array([number for number, _ in texts], np.int64))
    if 0 < len(types) <= REMEMBERED_CALL:
        np.save(folder / _TYPE_VECTORS, encoder.encode(types))
        (folder / _TYPE_TEXTS).write_text(json.dumps(list(types), ensure_ascii=False), "utf-8")


def stored(folder: Path) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The vectors that `build` wrote, and the relation of each."""
    vectors = load_array(folder / "relation_vectors.npy", mmap_mode="r")
    return vectors, load_array(folder / "relation_owners.npy")


def stored_types(folder: Path) -> tuple[list[str], FloatArray]:
    """The texts for types that `build` wrote, and their vectors; empty if it wrote none."""
    if not (folder / _TYPE_TEXTS).exists():
        return [], np.empty((0, 0), np.float32)
    return json.loads((folder / _TYPE_TEXTS).read_text("utf-8")), load_array(folder / _TYPE_VECTORS)


def open_vectors(folder: Path, encoder: Encoder, relations: Iterable[Relation]) -> RelationVectors:
    """The vectors that `build` wrote of these relations, to be searched. The encoder remembers those of a few, and
    those of types."""
    vectors, owners = stored(folder)
    if isinstance(encoder, TextEncoder):
        encoder.remember(*stored_types(folder))
        if len(vectors) <= REMEMBERED_CALL:
            texts = [text for relation in relations for text in relation_texts(relation)]
            if len(texts) == len(vectors):
                encoder.remember(texts, vectors)
    return RelationVectors(vectors, owners, encoder)
