"""AnchorRAG's predictor (section 3.3): from a question to the entities that the agents start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.kg import Candidate, Graph
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.anchorrag import names_first
from triplecheck.programs.steps import Linked, Trace
from triplecheck.programs.subgraph import node_names
from triplecheck.programs.topics import TopicLinker, as_written, by_relations


@dataclass(frozen=True)
class Anchor:
    """An entity that an agent starts from.

    Attributes:
        name: its name in prompts and in the trace, unique among the anchors.
        shown: the name with the question's spelling, if that differs.
    """

    node: int
    name: str
    shown: str


def choose_anchors(
    assists: Assists,
    graph: Graph,
    linker: TopicLinker,
    keywords: Sequence[str],
    question: str,
    top_m: int,
    trace: Trace,
) -> list[Anchor]:
    """The top m of the candidates of all keywords by Score(e, q) (Eq. 2).

    Homonyms are separate candidates: agents may start from several of them, and the facts decide.

    Args:
        linker: gives candidates, scored by name and grounding.
        keywords: most important first.
        question: proofread; a keyword that it contains is spelt as there.
    """
    found: list[tuple[str, str, Sequence[Candidate]]] = []
    for keyword in dict.fromkeys(word for word in keywords if word.strip()):
        written, candidates = linker.candidates(keyword)
        found.append((keyword, written if written in question else keyword, candidates))
    of_keywords = [candidates for _, _, candidates in found]
    ranked = sorted((c for candidates in of_keywords for c in candidates), key=by_relations)
    ranked = names_first(assists, ranked, of_keywords, top_m, trace)
    nodes = list(dict.fromkeys(candidate.node for candidate in ranked))
    chosen = nodes[:top_m]
    spelt: dict[int, str] = {}
    for keyword, written, candidates in found:
        kept = [c for c in candidates if c.node in chosen and c in ranked]
        spelt |= {c.node: written for c in kept}
        trace.add(Linked(keyword, [_row(candidate) for candidate in candidates], [c.id for c in kept]))
    trace.note_cut("anchors", len(chosen), len(nodes))
    names = node_names(graph, chosen)
    return [Anchor(node, names[node], as_written(spelt[node], names[node])) for node in chosen]


def _row(candidate: Candidate) -> dict[str, object]:
    return {
        "id": candidate.id,
        "label": candidate.label,
        "source": candidate.source,
        "score": round(candidate.score, 4),
        "grounding": round(candidate.grounding, 4),
    }
