"""The assist `implied_classes`: the nouns of a question name kinds of things where the graph has no classes.

"Which is the third highest hut?" names no relation and no thing, and nothing says what a hut is. But some things have
beds and a warden, others a length and an end, and many names of the first end with "hut". A noun stands for the kind of
things (`kg.characteristic_sets`) whose names and relations are most similar to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from triplecheck.kg.characteristic_sets import Group, groups
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import Graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.names import normalize
from triplecheck.language.described import is_plural
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import is_unit
from triplecheck.language.question import Question
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace

_SAMPLED = 20
"""Names of a kind that are looked at."""
_WEIGHTS = np.array([4.0, 3.2, 4.7, 6.7, 5.0, 5.6])
"""Of `_Kind.features`, by logistic regression on 192 classes of 29 small graphs."""
_TOLD = 3
"""Names and relations of a kind in the trace."""
_SURELY = 0.7
"""Least probability at which a noun names a kind. With each graph left out, .42 of the nouns reach it, and .90 of these
name the right kind."""


def with_implied_classes(
    assists: Assists, graph: Graph, linker: Linker, read: Question, likeness: Likeness, trace: Trace
) -> Graph:
    """A graph without classes with those that the nouns of a question name; any other graph as it is.

    Args:
        linker: of the graph; a noun that is the name of a thing or value names that alone.
        likeness: of words and names.
        trace: records the classes.
    """
    if "implied_classes" not in assists or graph.has_types or not isinstance(graph, ColumnarGraph):
        return graph
    kinds, found, told = _kinds(graph, likeness), {}, []
    for noun in _nouns(graph, read, likeness) if kinds else ():
        if any(normalize(one.label) == normalize(noun) for one in linker.candidates(noun, limit=3)):
            continue
        logits = np.array([kind.features(noun, likeness) for kind in kinds]) @ _WEIGHTS
        chances = np.exp(logits - logits.max())
        if 1 / chances.sum() >= _SURELY:
            kind = kinds[int(chances.argmax())]
            found[noun] = kind.group.nodes
            told.append(f"{noun}: {', '.join(kind.names[:_TOLD])} and others with {', '.join(kind.labels[:_TOLD])}")
    assists.note(trace, "implied_classes", "WriteQuery", [], told)
    return graph.with_classes(found) if found else graph


def _nouns(graph: ColumnarGraph, read: Question, likeness: Likeness) -> Iterator[str]:
    """The nouns of a question that may name kinds, in the singular, with the nouns that modify them."""
    labels = (graph.relation(number).label for number in range(graph.num_relations))
    named = frozenset[str]().union(*map(likeness.bases, labels))
    parse = read.parse
    for at in range(len(parse)):
        if parse.pos(at) != "NOUN" or parse.is_topic(at) or parse.is_stop(at) or is_unit(parse.words[at]):
            continue
        if likeness.bases(parse.words[at]) & named or not _stands_for_things(read, at):
            continue
        before = [i for i in parse.dependents(at, "compound") if not parse.is_topic(i) and i < at]
        yield " ".join([*(parse.words[i] for i in before), parse.lemma(at)])


def _stands_for_things(read: Question, at: int) -> bool:
    """Whether a noun is what is asked for, is in the plural, or is described."""
    parse = read.parse
    return at == read.asked.at or is_plural(parse, at) or any(parse.dependents(at, "nmod", "acl", "amod"))


Vectors = npt.NDArray[np.floating]


@dataclass(frozen=True)
class _Kind:
    """A kind of things, and what is known of it.

    Attributes:
        names: of some of its things.
        labels: of the relations that they have, then of those that lead to them.
        leading: the latter.
        own, all: vectors of the relations that they have, and of all; shape (n, d).
        together: vector of all relations in one text, shape (d,).
        named: mean vector of the names, shape (d,).
    """

    group: Group
    names: list[str]
    labels: list[str]
    leading: list[str]
    own: Vectors
    all: Vectors
    together: Vectors
    named: Vectors

    @classmethod
    def of(cls, graph: ColumnarGraph, group: Group, likeness: Likeness) -> _Kind:
        shown = np.linspace(0, len(group.nodes) - 1, min(_SAMPLED, len(group.nodes))).astype(int)
        names = graph.labels(group.nodes[shown])
        own, leading = ([graph.relation(number).label for number in some] for some in (group.heads_of, group.tails_of))
        labels = [*own, *leading]
        vectors = likeness.vectors([*labels, ", ".join(labels), *names])
        end = len(labels)
        named = vectors[end + 1 :].mean(axis=0)
        return cls(group, names, labels, leading, vectors[: len(own)], vectors[:end], vectors[end], named)

    def features(self, noun: str, likeness: Likeness) -> list[float]:
        """How a noun is like its names and relations: as many as `_WEIGHTS`."""
        (vector,), bases = likeness.vectors([noun]), likeness.bases(noun)
        near = np.sort(self.own @ vector)[-3:]
        return [
            sum(not bases.isdisjoint(likeness.bases(name)) for name in self.names) / len(self.names),
            max((likeness.of_form(noun.split()[-1], [label]) for label in self.leading), default=0.0),
            float(self.together @ vector),
            float(near.mean()) if len(near) else 0.0,
            float((self.all @ vector).max()),
            float(self.named @ vector),
        ]


_known: WeakKeyDictionary[ColumnarGraph, dict[str, list[_Kind]]] = WeakKeyDictionary()


def _kinds(graph: ColumnarGraph, likeness: Likeness) -> list[_Kind]:
    known = _known.setdefault(graph, {})
    if likeness.language not in known:
        known[likeness.language] = [_Kind.of(graph, group, likeness) for group in groups(graph)]
    return known[likeness.language]
