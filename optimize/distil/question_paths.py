"""The paths of questions with answers on a graph: what a ranker learns.

A question teaches the paths from its topics that lead to its answers: given with it, or those whose ends have the
highest F1 against the answers.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.gold import Names, linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import JsonLines, complete_lines
from triplecheck.kg import Direction, Graph, KnowledgeBase
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.ranker import GENERAL
from triplecheck.language.question import spelling
from triplecheck.lms import session
from triplecheck.optimize.distil.path_ranker import LEAST_QUESTIONS, HopNumbers, PathQuestion
from triplecheck.optimize.traces.gold_paths import GoldPath, follow, given_paths, near
from triplecheck.programs import KERAG, Sources
from triplecheck.programs.expansion import one_hop_paths
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Hop
from triplecheck.programs.subgraph import Path as GraphPath

_VOCABULARY = "graph"
_SHORT, _LONG = 2, 3  # hops: of all questions, and of those whose answers no shorter path leads to
_LEAST_F1 = 0.5
_FRONTIER = 300
_FURTHER = 12  # paths of two hops whose third hops are offered
_MOST_OFFERED = 400
_MOST_RIGHT = 50
_SEEN = 3  # questions that share a path of three hops
_TRIED, _WORTH = 40, 0.2  # questions first looked at for such paths, and the share with one that makes it worthwhile
_NO_PATH = "no path to the answers"


@dataclass(frozen=True)
class ReadPaths:
    """One topic of a question, with its paths."""

    id: str
    topics: int
    question: PathQuestion


def read_paths(
    kb: KnowledgeBase, questions: Sequence[Question], file: Path, until: float, progress: ProgressCallback
) -> tuple[list[ReadPaths], dict[str, int]]:
    """The paths of questions, appended to a file; what is there already is not read again."""
    program, names = KERAG(Sources(kb.graph, kb.linker, kb.relation_vectors, kb, GENERAL)), linker_names(kb.linker)
    rows = {(row["id"], row["longest"]): row for _, row in complete_lines(file) if row is not None}

    def read_one(question: Question, longest: int) -> None:
        if (question.id, longest) not in rows:
            row = _row(kb.graph, program, names, question, longest)
            rows[question.id, longest] = {"id": question.id, "longest": longest} | row
            out.append(rows[question.id, longest])

    def found(longest: int) -> list[ReadPaths]:
        return [
            ReadPaths(question.id, len(row["topics"]), _from_row(topic))
            for question in questions
            if (row := rows.get((question.id, longest))) is not None
            for topic in row.get("topics", ())
        ]

    with JsonLines(file) as out, session("extractive"):
        for done, question in enumerate(questions):
            if time.monotonic() > until and done >= LEAST_QUESTIONS:
                break
            progress("reading paths", done, len(questions))
            read_one(question, _SHORT)
        # Whether the graph's questions need longer paths at all shows in those that no shorter path answers.
        ready = [q for q in questions if "exact" in rows.get((q.id, _SHORT), {})]
        ready.sort(key=lambda q: rows[q.id, _SHORT]["exact"])
        for done, question in enumerate(ready):
            if rows[question.id, _SHORT]["exact"] and done < _TRIED:
                break
            worth = done != _TRIED or len(_without_chance(found(_LONG))) >= _WORTH * done
            if time.monotonic() > until or not worth:
                break
            progress("reading longer paths", done, len(ready))
            read_one(question, _LONG)
    longer = _without_chance(found(_LONG))
    ids = {one.id for one in longer}
    read = [one for one in found(_SHORT) if one.id not in ids] + longer
    taught = {one.id for one in read}
    reasons = Counter(
        rows.get((question.id, _SHORT), {"left_out": "not read within the time"}).get("left_out", _NO_PATH)
        for question in questions
        if question.id not in taught
    )
    return read, dict(reasons)


def _without_chance(read: Sequence[ReadPaths]) -> list[ReadPaths]:
    """Without the longest paths that few questions share: among so many, some lead to the answers by chance."""
    seen = Counter(path for one in read for path in one.question.paths)
    kept = []
    for one in read:
        paths = tuple(path for path in one.question.paths if len(path) < _LONG or seen[path] >= _SEEN)
        if paths:
            kept.append(replace(one, question=replace(one.question, paths=paths)))
    return kept


def _from_row(row: Mapping[str, Any]) -> PathQuestion:
    def paths(lists: Sequence[Sequence[Sequence[Any]]]) -> tuple[HopNumbers, ...]:
        return tuple(tuple((int(relation), bool(backward)) for relation, backward in path) for path in lists)

    return PathQuestion(row["text"], _VOCABULARY, paths(row["paths"]), paths(row["offered"]))


def _row(graph: Graph, program: KERAG, names: Names, question: Question, longest: int) -> dict[str, Any]:
    """What one question teaches: `topics`, or `left_out` with the reason; `exact`: whether no longer path is needed."""
    gold = resolve_gold(question, graph, names)
    answers = {node for answer in gold.answers for node in answer.nodes}
    if not answers:
        return {"left_out": "no answer in the graph"}
    plan = program.plan(question.question, Trace())
    right = frozenset().union(*gold.topics)
    topics = [node for node in plan.topics if not right or node in right]
    if not topics:
        return {"left_out": "no topic recognised"}
    spelled = {topic.name: spelling(topic) for topic in plan.question.topics}
    subjects: dict[str, list[int]] = {}
    for node in topics:
        subjects.setdefault(spelled.get(plan.topics[node], plan.topics[node]), []).append(node)
    given = given_paths(graph, question.gold)
    chance = random.Random(question.id)
    several = len(subjects) > 1
    found = [paths_of(graph, nodes, answers, given, several, longest, chance) for nodes in subjects.values()]
    rows = [
        {
            "text": plan.question.masked(plan.topics[best.topic]),
            "paths": [_numbers(path) for path in best.paths],
            "offered": [_numbers(path) for path in best.offered],
        }
        for best in found
        if best.paths
    ]
    exact = {"exact": all(best.exact for best in found)}
    return exact | ({"topics": rows} if rows else {"left_out": _NO_PATH})


def _numbers(path: Sequence[Hop]) -> list[list[int]]:
    return [[hop.relation, int(hop.direction is Direction.IN)] for hop in path]


@dataclass(frozen=True)
class FoundPaths:
    """The paths of a topic.

    Attributes:
        topic: the node that they start from.
        paths: those that lead to the answers best.
        offered: others, a sample.
        exact: whether the best lead to the answers and nothing else.
    """

    topic: int
    paths: Sequence[tuple[Hop, ...]] = ()
    offered: Sequence[tuple[Hop, ...]] = ()
    exact: bool = False


def paths_of(
    graph: Graph,
    topics: Sequence[int],
    answers: set[int],
    given: Sequence[GoldPath],
    one_of_several: bool,
    longest: int,
    chance: random.Random,
) -> FoundPaths:
    """The topic among homonyms that leads to the answers, its best paths, and the others that it has.

    Args:
        given: paths that are known to be right.
        one_of_several: whether the question has other topics, each of which is one condition.
        longest: most hops of a path.
        chance: draws the other paths.
    """
    best, result = (0.0, 0), FoundPaths(topics[0])
    known = {path.topic for path in given}
    for topic in [topic for topic in topics if topic in known] or topics:
        scored = dict(_explore(graph, topic, answers, longest, one_of_several, chance))
        right = [path.hops for path in given if path.topic == topic]
        score = 1.0 if right else max(scored.values(), default=0.0)
        if not right and score >= _LEAST_F1:
            right = sorted((path for path, value in scored.items() if value >= score - 1e-9), key=len)[:_MOST_RIGHT]
        if right and (score, -len(right[0])) > best:
            wrong = [path for path, value in scored.items() if value < score - 1e-9]
            best = score, -len(right[0])
            offered = chance.sample(wrong, min(len(wrong), _MOST_OFFERED))
            result = FoundPaths(topic, right, offered, exact=score == 1.0)
    return result


def _explore(
    graph: Graph, topic: int, answers: set[int], longest: int, one_of_several: bool, chance: random.Random
) -> Iterator[tuple[tuple[Hop, ...], float]]:
    """The paths of a topic up to a length, each with how well its ends are the answers."""
    distances = near(graph, answers, longest)
    frontier = [GraphPath(topic, (), np.array([topic], np.int64))]
    for left in range(longest - 1, -1, -1):
        reached = []
        for path, _ in one_hop_paths(graph, frontier):
            before = distances[left + 1] if left + 1 < len(distances) else None
            hopeful = before is None or not before.isdisjoint(path.ends.tolist())
            score = 0.0
            if hopeful or left:
                ends = follow(graph, path.ends, path.hops[-1])
                score = _fit(set(ends.tolist()), answers, one_of_several)
                if left:
                    reached.append(GraphPath(topic, path.hops, ends[:_FRONTIER]))
            yield path.hops, score
        if left == 1 and longest == _LONG:
            # Only these may lead to the answers; some others are followed for the wrong paths that they give.
            hopeful_ones = [p for p in reached if distances[1] is None or not distances[1].isdisjoint(p.ends.tolist())]
            others = [path for path in reached if path not in hopeful_ones]
            reached = hopeful_ones + chance.sample(others, min(len(others), _FURTHER))
        frontier = reached


def _fit(ends: set[int], answers: set[int], one_of_several: bool) -> float:
    """F1 of the ends; of a path that is one of several conditions, whether all answers are there, fewer ends better."""
    common = len(ends & answers)
    if not common:
        return 0.0
    if one_of_several:
        return 0.5 + 0.5 * common / len(ends) if common == len(answers) else 0.0
    return 2 * common / (len(ends) + len(answers))
