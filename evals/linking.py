"""Measure entity linking: recall on verbatim and misspelt names, and accuracy on names that several nodes share.

`triplecheck report linking` runs it on the benchmarks of a folder and on the bundled test questions.
The targets are the topics that a question mentions by one of their names. For `1 typo` and `2 typos` the mention is
misspelt (`evals.variants.rewriting`); the same seed gives the same errors. Recall@k is the share of targets whose
node is among the first k candidates, either of the mention's text or of any mention found in the whole question.
The second table covers the topics that share their name with other nodes. No language model is used.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from triplecheck.evals.datasets.folder import DataFolder
from triplecheck.evals.gold import linker_names
from triplecheck.evals.questions import read_questions
from triplecheck.evals.variants.rewriting import TopicMention, misspell, topic_mentions
from triplecheck.kg import Candidate, Graph, Linker
from triplecheck.kg._atomic import write_text
from triplecheck.language.pipeline import ENGLISH, read_text

_KS = (1, 3, 10)
_HOMONYMS = 1_000
_EQUAL = 1e-9


@dataclass(frozen=True)
class Recall:
    """Recall and latency over mentions.

    Attributes:
        n: number of mentions.
        alone: recall@k by k, for the candidates of the mention's text.
        within: recall@k by k, for the mentions found in the whole question.
        wall: milliseconds to find and link all mentions of a question, median and 95th percentile.
        processor: the same in CPU time, which other load on the machine affects less.
    """

    n: int
    alone: dict[int, float]
    within: dict[int, float]
    wall: tuple[float, float]
    processor: tuple[float, float]


def misspelt(one: TopicMention, edits: int, seed: int) -> TopicMention:
    """Return the mentions with this many typing errors in the topic's name."""
    rng = random.Random(f"{seed}\0{edits}\0{one.question}\0{one.start}")
    return one.rewritten(misspell(one.mention, edits, rng).text)


def recall(asked: Sequence[TopicMention], linker: Linker, language: str = ENGLISH) -> Recall:
    """Link every mention, on its own and within its question."""
    alone, within, wall, processor = [], [], [], []
    for one in asked:
        started = time.perf_counter(), time.process_time()
        found = [
            linker.candidates(mention, one.question) for mention in linker.mentions(read_text(one.question, language))
        ]
        wall.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
        alone.append(_rank(linker.candidates(one.mention, one.question), one.nodes))
        within.append(min((_rank(candidates, one.nodes) for candidates in found), default=_HOMONYMS))
    return Recall(len(asked), _at(alone), _at(within), _milliseconds(wall), _milliseconds(processor))


def _milliseconds(seconds: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    ordered = sorted(1e3 * second for second in seconds)
    return statistics.median(ordered), ordered[math.ceil(0.95 * len(ordered)) - 1]


def ambiguous(asked: Sequence[TopicMention], graph: Graph, linker: Linker) -> list[TopicMention]:
    """Return the mentions whose name is also a label or alias of other nodes."""
    names = linker_names(linker)

    def is_one(one: TopicMention) -> bool:
        nodes = {node for node in names(one.mention) if graph.literal(node) is None}
        return not nodes.isdisjoint(one.nodes) and not nodes <= one.nodes

    return [one for one in asked if is_one(one)]


def first_by_ranking(asked: Sequence[TopicMention], linker: Linker) -> dict[str, float]:
    """Return the share of mentions whose gold node ranks first, for each ranking in `RANKINGS`.

    If n nodes tie for first place, a gold node among them counts 1/n.
    """
    hits: dict[str, list[float]] = {name: [] for name in RANKINGS}
    for one in asked:
        for name, (grounded, score) in RANKINGS.items():
            candidates = linker.candidates(one.mention, one.question if grounded else None, _HOMONYMS)
            best = max(map(score, candidates))
            first = [c.node in one.nodes for c in candidates if score(c) >= best - _EQUAL]
            hits[name].append(sum(first) / len(first))
    return {name: statistics.mean(found) for name, found in hits.items() if found}


RANKINGS: dict[str, tuple[bool, Callable[[Candidate], float]]] = {
    "name": (False, lambda c: c.lexical),
    "name, popularity": (False, lambda c: c.score),
    "name, popularity, relations": (True, lambda c: c.score),
    "relations": (True, lambda c: c.grounding),
}
"""By name: whether candidates are grounded in the question, and the ranking function."""


def _rank(candidates: Sequence[Candidate], nodes: frozenset[int]) -> int:
    """Return the rank of the first gold candidate, from 0."""
    return next((place for place, candidate in enumerate(candidates) if candidate.node in nodes), _HOMONYMS)


def _at(ranks: Sequence[int]) -> dict[int, float]:
    return {k: sum(rank < k for rank in ranks) / len(ranks) for k in _KS}


_HEAD = """\
# {title}

Names as the questions write them, and with one and two typing errors (neighbouring key, swapped, omitted, doubled; \
seed {seed}), on at most {limit} questions per set. Target: recall@3 of at least 97% on verbatim names and 90% on \
names with one error. Command: `{command}`.
"""
_HOMONYMS_HEAD = """
All topics of each set that share their name with other nodes: how often the gold node ranks first, ranked by name \
alone, by name and degree, by name, degree and relations (AnchorRAG's grounding: mean cosine between the question and \
the five nearest relations), and by relations alone. If n nodes tie for first place, the gold node counts 1/n.
"""


TITLE = "Linking: recall on names in questions"
LIMIT = 500
"""Questions per data set."""
_SEED = 0  # of the sample and of the typing errors


def write_linking_report(
    cases: Sequence[DataFolder], kbs: Path, out: Path, *, limit: int = LIMIT, command: str
) -> Iterator[str]:
    """Yield the report line by line as it is measured, and write it to `report.md` at the end.

    Args:
        kbs: directory of knowledge bases; missing ones are built.
        limit: size of a random sample of questions per data set, for the first table.
    """
    lines = []
    head = _HEAD.format(title=TITLE, seed=_SEED, limit=limit, command=command)
    for line in chain([head], _tables(cases, kbs, limit)):
        lines.append(line)
        yield line
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "report.md", "\n".join(lines) + "\n")


def _tables(cases: Sequence[DataFolder], kbs: Path, limit: int) -> Iterator[str]:
    """Yield both tables as markdown, line by line as they are measured."""
    ks = "/".join(map(str, _KS))
    head = f"| questions | mention | n | recall@{ks} of the mention | recall@{ks} in the question "
    yield f"{head}| ms, median / 95% | CPU ms, median / 95% |"
    yield "|---|---|---|---|---|---|---|"
    homonyms = [
        f"| questions | ambiguous topics | first by {' | by '.join(RANKINGS)} |",
        "|---|---|" + "---|" * len(RANKINGS),
    ]
    for case in cases:
        base = case.knowledge_base(kbs / case.folder.absolute().name)
        graph, linker = base.graph, base.linker
        linker.candidates("warm up", "Is it warm?")
        asked = topic_mentions(case.sample(limit, _SEED), graph, linker)
        for mention, edits in (("verbatim", 0), ("1 typo", 1), ("2 typos", 2)) if asked else ():
            found = recall([misspelt(one, edits, _SEED) for one in asked], linker, base.language)
            times = ["{:.1f} / {:.1f}".format(*times) for times in (found.wall, found.processor)]
            cells = [_slashed(found.alone), _slashed(found.within), *times]
            yield f"| {case.name} | {mention} | {found.n} | {' | '.join(cells)} |"
        every = ambiguous(topic_mentions(read_questions(case.questions), graph, linker), graph, linker)
        if every:
            shares = " | ".join(f"{share:.3f}" for share in first_by_ranking(every, linker).values())
            homonyms.append(f"| {case.name} | {len(every)} | {shares} |")
    yield _HOMONYMS_HEAD
    yield from homonyms


def _slashed(shares: dict[int, float]) -> str:
    return " / ".join(f"{share:.3f}" for share in shares.values())
