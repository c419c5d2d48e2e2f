"""`ranked_paths` and `ranked_depth`: a trained ranker (`kg.ranker`) scores the paths of a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from triplecheck.kg import Direction
from triplecheck.kg.ranker import Hops, load_ranker
from triplecheck.language.question import Question
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.base import Sources
from triplecheck.programs.subgraph import Path

_BY_RANKER = ("ranked_paths", "ranked_depth", "suggested_paths", "stop_early")


class PathScores:
    """The ranker's scores of the paths of one question.

    Args:
        hops: the scores of hops from each topic; empty without a ranker, or if it does not know the graph's vectors.
        depth: how far to go from the topics.
    """

    def __init__(self, hops: Mapping[int, Hops], depth: int) -> None:
        self.hops = hops
        self.depth = depth
        self._best: dict[int, float] = {}  # of the paths offered at each hop

    def __bool__(self) -> bool:
        return bool(self.hops)

    def path(self, path: Path) -> float:
        """The score of a path: of one hop as a whole, of more as a beginning (`ahead`)."""
        return self.hops[path.topic].path(_steps(path)) if len(path.hops) == 1 else self.ahead(path)

    def ahead(self, path: Path) -> float:
        """The score of a path as the beginning of one of at most `depth` hops."""
        return self.hops[path.topic].ahead(_steps(path), self.depth)

    def best_of_shorter(self, offered: Sequence[Path]) -> float:
        """The highest score of a path that was offered at an earlier hop."""
        hop = len(offered[0].hops)
        self._best[hop] = max(map(self.path, offered))
        return max((score for earlier, score in self._best.items() if earlier < hop), default=-math.inf)


def path_scores(
    assists: Assists,
    sources: Sources,
    question: Question,
    topics: Mapping[int, str],
    depth: int,
    at_most: int | None,
) -> PathScores:
    """The scores of paths from some topics; without scores if no assist uses them.

    Args:
        topics: the name of each topic node in prompts.
        depth: how far to go by default.
        at_most: how far the user wants to go. None: as far as a ranker that was trained on the graph reads.
    """
    if sources.relations is None or assists.names.isdisjoint(_BY_RANKER):
        return PathScores({}, at_most or depth)
    ranker = load_ranker(sources.ranker)
    found = sources.relations.ranked([question.masked(name) for name in topics.values()], ranker)
    hops = dict(zip(topics, found, strict=True)) if found else {}
    if at_most is None and hops and not ranker.is_general and "ranked_depth" in assists:
        at_most = max(of_topic.longest(ranker.longest) for of_topic in hops.values())
    return PathScores(hops, at_most or depth)


def ranked_paths(assists: Assists, scores: PathScores, offers: list[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """The offered paths in the order that the ranker prefers; empty if no ranker scores them."""
    if not scores or "ranked_paths" not in assists:
        return []
    return sorted(offers, key=lambda offer: -scores.ahead(offer[0]))


def _steps(path: Path) -> list[tuple[int, bool]]:
    return [(hop.relation, hop.direction is Direction.IN) for hop in path.hops]
