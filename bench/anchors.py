"""AnchorRAG's anchors with and without grounding, as names are misspelt and homonyms are added. No language model.

    python -m bench.anchors --data DIR --kbs kbs

The keyword is the topic as the question writes it, as a model that copies it would give it. A figure is the share of
questions of which a gold topic is among the first anchors (m = 1; m = 3 as in the paper). `homonym` adds an entity of
the same name with the facts of another one (`triplecheck data vary`). Rows: the assist `names_first` (names that fit
about equally well, then Eq. 2), and the paper (all candidates by Eq. 2, names break ties).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from triplecheck.evals.datasets.folder import bundled_case, find_cases
from triplecheck.evals.linking import misspelt
from triplecheck.evals.questions import Question, sampled
from triplecheck.evals.variants.make import make_variant
from triplecheck.evals.variants.rewriting import TopicMention, topic_mentions
from triplecheck.kg import Graph, KnowledgeBase, Linker
from triplecheck.programs import Sources
from triplecheck.programs.anchorrag.predictor import choose_anchors
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.topics import TopicLinker

_AGENTS = (1, 3)
_TYPOS = (("as written", 0), ("1 typo", 1), ("2 typos", 2))
_CASES = ("bundled/dev", "fb15k237_freebaseqa/webqsp_train", "wc2014/dev")
_ROWS = (
    ("names, then relations (names_first)", "names_first", True),
    ("names_first, w/o grounding", "names_first", False),
    ("relations, then names (paper)", "none", True),
    ("paper, w/o grounding", "none", False),
)


def hits(asked: Sequence[TopicMention], sources: Sources, linker: Linker, assist: str, grounding: bool) -> list[int]:
    """How many mentions have a gold node among the first m anchors, for each m."""
    assists, found = Assists(assist), [0] * len(_AGENTS)
    for one in asked:
        union = "names_first" not in assists
        topics = TopicLinker(
            sources.graph, linker, one.question, sources.language, assists, grounding=grounding, union=union
        )
        for at, agents in enumerate(_AGENTS):
            args = (assists, sources.graph, topics, [one.mention], one.question, agents, Trace())
            found[at] += any(anchor.node in one.nodes for anchor in choose_anchors(*args))
    return found


def _conditions(
    base: KnowledgeBase, questions: Sequence[Question], place: Path
) -> Iterator[tuple[str, list[TopicMention], KnowledgeBase]]:
    """The mentions of each condition, and the knowledge base to link them to."""
    asked = topic_mentions(questions, base.graph, base.linker)
    for name, edits in _TYPOS:
        yield name, [misspelt(one, edits, 0) for one in asked], base
    _, other = make_variant("homonym", questions, base, place)
    there = [replace(one, nodes=_same(one.nodes, base.graph, other.graph)) for one in asked]
    for name, edits in _TYPOS:
        yield f"homonym added, {name}", [misspelt(one, edits, 0) for one in there], other


def _same(nodes: frozenset[int], graph: Graph, other: Graph) -> frozenset[int]:
    found = (other.find(graph.node_id(node)) for node in nodes)
    return frozenset(node for node in found if node is not None)


def main() -> None:
    """Print a table for each graph."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kbs", type=Path, default=Path("kbs"))
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("names", nargs="*", default=_CASES)
    given = parser.parse_args()
    for case in [bundled_case("dev"), *find_cases(given.data)]:
        if case.name not in given.names:
            continue
        base = case.knowledge_base(given.kbs / case.folder.name)
        dev = [q for q in case.sample(None) if case.name.startswith("bundled") or q.part == "dev"]
        questions = sampled(dev, given.limit, 0)
        print(f"\n{case.name}: share with a gold topic among the first {' / '.join(map(str, _AGENTS))} anchors")
        with tempfile.TemporaryDirectory() as place:
            for condition, asked, there in _conditions(base, questions, Path(place)):
                sources = Sources.of(there)
                for label, assist, grounding in _ROWS:
                    linker = there.linker if assist == "names_first" else there.dense_linker()
                    shares = [n / len(asked) for n in hits(asked, sources, linker, assist, grounding)]
                    figures = " / ".join(f"{share:.3f}" for share in shares)
                    print(f"| {condition} | {label} | {len(asked)} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
