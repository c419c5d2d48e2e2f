"""Gold paths in the words of prompts: which of the lines that a model is shown lead on to the answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from triplecheck.evals.questions import Question
from triplecheck.kg import Direction, Graph, IntArray, normalize
from triplecheck.optimize.traces.gold_paths import follow, found_paths, given_paths
from triplecheck.programs.subgraph import ARROWS, Hop
from triplecheck.signatures.notation import WrittenHop, clean, is_relation

Hops = tuple[Hop, ...]


def gold_paths(
    graph: Graph, question: Question, topics: Sequence[Collection[int]], answers: Collection[int], furthest: int
) -> tuple[Hops, ...]:
    """The relations that lead from topics to answers: those that the data set names, else those that fit best.

    Args:
        graph: where they lie.
        question: may name the paths, or the relations along one (`Question.gold`).
        topics: per topic the nodes that it may be: where they begin.
        answers: where they end.
        furthest: hops at most, where they are looked for.
    """
    own = sorted({node for nodes in topics for node in nodes})
    if not own or not answers:
        return ()
    given = [path.hops for path in given_paths(graph, question.gold)]
    if not given:
        starts, ends = np.array(own, np.int64), set(answers)
        given = [hops for names in _named(question) for hops in _along(graph, names, starts, ends)]
    if not given:
        given = [path.hops for path in found_paths(graph, topics, answers, furthest)]
    return tuple(dict.fromkeys(given))


def leads_on(graph: Graph, written: Sequence[WrittenHop], path: Hops) -> bool:
    """Whether hops as a prompt shows them are the beginning of a path, or all of it."""
    return 0 < len(written) <= len(path) and all(
        is_written(graph, hop, one) for hop, one in zip(path, written, strict=False)
    )


def is_written(graph: Graph, hop: Hop, written: WrittenHop) -> bool:
    """Whether a hop is the one that a prompt shows: by its label, alone or before an alias."""
    label = clean(graph.relation(hop.relation).label)
    return written.arrow == ARROWS[hop.direction] and is_relation(written.label, label)


def _named(question: Question) -> list[list[str]]:
    """Relations that the data set names, by id or label, one list a path."""
    several = question.gold.get("gold_paths")
    one = question.gold.get("relations", question.gold.get("gold_path"))
    lists = several if isinstance(several, list) else [one]
    return [names for names in lists if isinstance(names, list) and names and all(isinstance(n, str) for n in names)]


def _along(graph: Graph, names: Sequence[str], nodes: IntArray, answers: set[int]) -> Iterator[Hops]:
    """The ways, forwards or backwards at each relation, along which some relations lead to an answer."""
    for relation in _relations(graph, names[0]):
        for direction in (Direction.OUT, Direction.IN):
            hop = Hop(relation, direction)
            ends = follow(graph, nodes, hop)
            if len(names) == 1:
                if not answers.isdisjoint(ends.tolist()):
                    yield (hop,)
            elif len(ends):
                yield from ((hop, *rest) for rest in _along(graph, names[1:], ends, answers))


def _relations(graph: Graph, name: str) -> list[int]:
    by_id = graph.find_relation(name)
    if by_id is not None:
        return [by_id]
    wanted = normalize(name)
    return [n for n in range(graph.num_relations) if normalize(graph.relation(n).label) == wanted]
