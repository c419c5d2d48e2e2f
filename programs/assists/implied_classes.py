"""The assist `implied_classes`: the nouns of a question name kinds of things where the graph has no classes.

"Which is the third highest hut?" names no relation and no thing, and nothing says what a hut is. But some things have
beds, an elevation and a warden, others a length and an end, and many names of the first end with "hut". A noun stands
for the kind of things (`kg.characteristic_sets`) whose names and relations are most similar to it, and whose relations
are most similar to what else the question says: what is high has an elevation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from triplecheck.kg.characteristic_sets import Group, groups
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.linking import Linker
from triplecheck.kg.names import normalize
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import is_common_noun
from triplecheck.language.parse import Parse
from triplecheck.language.question import Question
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace

Vectors = npt.NDArray[np.floating]

_SAMPLED = 20
"""Names of a kind that are looked at."""
_WEIGHTS = np.array([1.84, 2.44, 7.3, 0.96, 5.28, 1.74, 5.6, 1.02, -1.72, 9.84])
"""Of `Kind.features`; the last is that of no kind. `python -m bench.implied_classes` fits them."""
_MOST_AROUND = 10_000
"""Edges of a topic that are looked at."""
_TOLD = 3
"""Names and relations of a kind in the trace."""
_SURELY, _RATHER = 0.3, 0.6
"""A noun names the likeliest kind if this has the first probability among the kinds and none, and the second among the
kinds alone."""
_DESCRIBING = frozenset({"NOUN", "VERB", "ADJ", "ADV"})


def with_implied_classes(
    assists: Assists,
    graph: Graph,
    linker: Linker,
    read: Question,
    topics: Collection[int],
    likeness: Likeness,
    trace: Trace,
) -> Graph:
    """A graph without classes with those that the nouns of a question name; any other graph as it is.

    Args:
        linker: of the graph; a noun that is the name of a thing or value names that alone.
        topics: nodes that the question is about.
        likeness: of words and names.
    """
    if "implied_classes" not in assists or graph.has_types or not isinstance(graph, ColumnarGraph):
        return graph
    found, told = {}, []
    for noun, kind in _named(graph, linker, read, topics, likeness):
        found[noun] = kind.group.nodes
        told.append(f"{noun}: {', '.join(kind.names[:_TOLD])} and others with {', '.join(kind.labels[:_TOLD])}")
    assists.note(trace, "implied_classes", "WriteQuery", [], told)
    return graph.with_classes(found) if found else graph


def _named(
    graph: ColumnarGraph, linker: Linker, read: Question, topics: Collection[int], likeness: Likeness
) -> Iterator[tuple[str, Kind]]:
    """The nouns that surely name kinds, with their kinds."""
    kinds = kinds_of(graph, likeness)
    for said in said_of(graph, read, topics, likeness) if kinds else ():
        if any(normalize(one.label) == normalize(said.noun) for one in linker.candidates(said.noun, limit=3)):
            continue
        best = chosen(np.array([kind.features(said, likeness) @ _WEIGHTS[:-1] for kind in kinds]), _WEIGHTS[-1])
        if best is not None:
            yield said.noun, kinds[best]


def chosen(scores: Vectors, none: float) -> int | None:
    """The number of the kind that a noun names; None if no kind is likely enough. The scores are logits."""
    best, any_kind = int(scores.argmax()), np.logaddexp.reduce(scores)
    of_any, of_all = np.exp(scores[best] - np.array([any_kind, np.logaddexp(any_kind, none)]))
    return best if of_any >= _RATHER and of_all >= _SURELY else None


@dataclass(frozen=True)
class Said:
    """A noun that may name a kind, and what the question says beside it.

    Attributes:
        noun: in the singular, with the nouns that modify it.
        beside: vectors of the other words that describe or name something, shape (n, d).
        whole: vector of the question, shape (d,).
        topics: nodes that the question is about.
        around: nodes with an edge to a topic.
    """

    noun: str
    beside: Vectors
    whole: Vectors
    topics: IntArray
    around: IntArray


def said_of(graph: ColumnarGraph, read: Question, topics: Collection[int], likeness: Likeness) -> Iterator[Said]:
    """The nouns of a question that may name kinds, with what is said beside them."""
    parse, own = read.parse, np.array(sorted(topics), np.int64)
    edges = graph.expand(own, limit_per_node=_MOST_AROUND)
    around = np.unique(np.concatenate([edges.heads, edges.tails]))
    telling = [
        at
        for at in range(len(parse))
        if parse.pos(at) in _DESCRIBING and not parse.is_topic(at) and not parse.is_stop(at)
    ]
    for noun in _nouns(graph, read, likeness):
        beside = [parse.words[at] for at in telling if parse.lemma(at) not in noun.split()]
        vectors = likeness.vectors([read.text, *beside])
        yield Said(noun, vectors[1:], vectors[0], own, around)


def _nouns(graph: ColumnarGraph, read: Question, likeness: Likeness) -> Iterator[str]:
    """The nouns of a question that may name kinds."""
    labels = (graph.relation(number).label for number in range(graph.num_relations))
    named = frozenset[str]().union(*map(likeness.bases, labels))
    parse = read.parse
    for at in range(len(parse)):
        if not is_common_noun(parse, at):
            continue
        if any(start <= at < end for start, end in (time.span for time in read.times)):
            continue
        if at != read.asked.at and (likeness.bases(parse.words[at]) & named or not _is_described(parse, at)):
            continue
        before = [i for i in parse.dependents(at, "compound") if not parse.is_topic(i) and i < at]
        yield " ".join([*(parse.words[i] for i in before), parse.lemma(at)])


def _is_described(parse: Parse, at: int) -> bool:
    """Whether a noun is plural or is modified by a noun, a clause or an adjective."""
    return parse.is_plural(at) or any(parse.dependents(at, "nmod", "acl", "amod"))


@dataclass(frozen=True)
class Kind:
    """A kind of things, and what is known of it.

    Attributes:
        names: of some of its things.
        labels: of the relations that they have, then of those that lead to them.
        leading: the latter.
        own, all: vectors of the relations that they have, and of all; shape (n, d).
        own_together, all_together: vectors of these relations in one text; shape (d,).
        named: mean vector of the names, shape (d,).
    """

    group: Group
    names: list[str]
    labels: list[str]
    leading: list[str]
    own: Vectors
    all: Vectors
    own_together: Vectors
    all_together: Vectors
    named: Vectors

    @classmethod
    def of(cls, graph: ColumnarGraph, group: Group, likeness: Likeness) -> Kind:
        """The kind of a group."""
        shown = np.linspace(0, len(group.nodes) - 1, min(_SAMPLED, len(group.nodes))).astype(int)
        names = graph.labels(group.nodes[shown])
        own, leading = ([graph.relation(number).label for number in some] for some in (group.heads_of, group.tails_of))
        labels = [*own, *leading]
        together = [", ".join(own) or ", ".join(labels), ", ".join(labels)]
        vectors = likeness.vectors([*labels, *together, *names])
        end = len(labels)
        named = vectors[end + 2 :].mean(axis=0)
        return cls(
            group, names, labels, leading, vectors[: len(own)], vectors[:end], vectors[end], vectors[end + 1], named
        )

    def features(self, said: Said, likeness: Likeness) -> Vectors:
        """How well the kind fits a noun and its question: shape (n,), one feature fewer than `_WEIGHTS`."""
        (vector,) = likeness.vectors([said.noun])
        near = (said.beside @ self.own.T).max(axis=1, initial=0)
        return np.array(
            [
                max((likeness.of_form(said.noun.split()[-1], [label]) for label in self.leading), default=0.0),
                self.own_together @ vector,
                self.named @ vector,
                np.log(len(self.group.nodes)),
                near.mean() if len(near) else 0.0,
                (self.all @ said.whole).max(),
                self.all_together @ said.whole,
                np.isin(said.around, self.group.nodes).any(),
                np.isin(said.topics, self.group.nodes).any(),
            ]
        )


_known: WeakKeyDictionary[ColumnarGraph, dict[str, list[Kind]]] = WeakKeyDictionary()


def kinds_of(graph: ColumnarGraph, likeness: Likeness) -> list[Kind]:
    """The kinds of things in a graph that have relations in common."""
    known = _known.setdefault(graph, {})
    if likeness.language not in known:
        known[likeness.language] = [
            Kind.of(graph, group, likeness) for group in groups(graph) if group.heads_of + group.tails_of
        ]
    return known[likeness.language]
