"""Assists of KERAG: `all_topics`, and those that choose the hops by a trained ranker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from triplecheck.kg import Direction, Graph, Words, normalize
from triplecheck.kg.ranker import Hops, load_ranker
from triplecheck.language.names import find_names
from triplecheck.language.parse import stop_words
from triplecheck.language.question import Question
from triplecheck.programs.assists import Assists
from triplecheck.programs.base import Sources
from triplecheck.programs.steps import Pruned, Trace
from triplecheck.programs.subgraph import Path
from triplecheck.programs.topics import TopicLinker


# --- `all_topics`: a small model often names one topic too few.
def all_topics(assists: Assists, linker: TopicLinker, named: Sequence[str], trace: Trace) -> list[str]:
    """The names that the model gave, and the recognised ones that it left out and that are surely names.

    These are spelt as in the graph and have a capital. Where capitals tell nothing, they have several words.
    """
    if "all_topics" not in assists:
        return list(named)
    said = Words(*named)
    left_out = [
        known.written
        for known in linker.known
        if known.is_exact and not any(name in said for name in known.names) and _is_name(known.written, linker)
    ]
    assists.note(trace, "all_topics", "NameTopics", named, [*named, *left_out])
    return [*named, *left_out]


def _is_name(written: str, linker: TopicLinker) -> bool:
    """Whether a part of the question is a name rather than an ordinary word."""
    # The capital of the first word alone tells nothing.
    found = [name.text for name in find_names(linker.question, linker.language) if name.start > 0 or " " in name.text]
    if found and any(word[:1].islower() for word in linker.question.split()):
        return any(name in written or written in name for name in found)
    return len(set(normalize(written).split()) - stop_words(linker.language)) > 1


# --- `ranked_depth`: a trained ranker (`kg.ranker`) reads in a question how many hops it asks for.
_BY_RANKER = ("ranked_depth", "stop_early")


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
        """The score of a path: of one hop as a whole, of more as the beginning of a path of at most `depth` hops."""
        hops, steps = self.hops[path.topic], [(hop.relation, hop.direction is Direction.IN) for hop in path.hops]
        return hops.path(steps) if len(steps) == 1 else hops.ahead(steps, self.depth)

    def best_of_shorter(self, offered: Sequence[Path]) -> float:
        """The highest score of a path that was offered at an earlier hop."""
        hop = len(offered[0].hops)
        self._best[hop] = max(map(self.path, offered))
        return max((score for earlier, score in self._best.items() if earlier < hop), default=-math.inf)


def path_scores(
    assists: Assists, sources: Sources, question: Question, topics: Mapping[int, str], depth: int, at_most: int | None
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


# --- `stop_early`: retrieval ends where further paths are unlikely.
TOO_FAR = 8.5
"""Log odds: no further hop is offered if the ranker finds all of them this much less likely than a shorter path.

Measured with `extractive` on training questions of four graphs, with the stops where topics meet: 32% of 377 one-hop
questions are spared the second hop, and 5% of 364 two-hop questions lose it (MetaQA 5 of 150, PathQuestion 6 of 150,
the bundled graph 2 of 29, WebQSP 5 of 35). It was chosen on these graphs; none was left out.
"""


def stops_early(
    assists: Assists,
    graph: Graph,
    scores: PathScores,
    reached: Sequence[Path],
    offered: Sequence[Path],
    lines: Sequence[str],
    mentions: Mapping[int, str],
    trace: Trace,
) -> bool:
    """Whether to go no further than the hops so far.

    That is so if the ranker finds all further paths far less likely than a shorter one (`TOO_FAR`), or less likely at
    all where paths from different topics have met.

    Args:
        reached: the paths so far, with the nodes at their ends.
        offered: these paths with one further hop.
        lines: the offered paths in words.
        mentions: the question's spelling of each topic; homonyms share it.
    """
    if not scores or "stop_early" not in assists:
        return False
    margin = 0.0 if _meet(graph, reached, mentions) else TOO_FAR
    if max(map(scores.path, offered)) >= scores.best_of_shorter(offered) - margin:
        return False
    trace.add(Pruned(len(offered[0].hops), list(lines), [], "ranker"))
    assists.note(trace, "stop_early", "SelectPaths", lines, [])
    return True


def _meet(graph: Graph, paths: Sequence[Path], mentions: Mapping[int, str]) -> bool:
    """Whether paths from different topics lead to one entity, which may be the answer."""
    reached: dict[str, set[int]] = {}
    for path in paths:
        reached.setdefault(mentions.get(path.topic, ""), set()).update(path.ends.tolist())
    shared = set.intersection(*reached.values()) if len(reached) > 1 else set()
    return any(graph.literal(node) is None for node in shared)
