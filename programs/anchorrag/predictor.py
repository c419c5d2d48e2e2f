"""AnchorRAG's predictor (section 3.3): from a question to the entities that the agents start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz.fuzz import ratio

from triplecheck.kg import Candidate, Graph
from triplecheck.programs.steps import Checked, Linked, Trace, Truncated
from triplecheck.programs.subgraph import node_names
from triplecheck.programs.topics import TopicLinker, as_written

# Below this likeness (percent) the model answered or rewrote the question instead of proofreading it.
_LEAST_LIKENESS = 70.0


@dataclass(frozen=True)
class Anchor:
    """An entity that an agent starts from.

    Attributes:
        node: the entity.
        name: its name in prompts and in the trace, unique among the anchors.
        shown: the name with the question's spelling, if that differs.
    """

    node: int
    name: str
    shown: str


def proofread_question(question: str, proofread: str, trace: Trace) -> str:
    """The question with its spelling corrected by a model; unchanged if the model did something else."""
    corrected = " ".join(proofread.split())
    if corrected and ratio(question.casefold(), corrected.casefold()) >= _LEAST_LIKENESS:
        return corrected
    trace.add(Checked("proofread question", False, "it is another question; the one that was asked is kept"))
    return question


Rank = Callable[[Sequence[Sequence[Candidate]]], list[Candidate]]
"""Takes the candidates of each keyword and gives those that may be anchors, best first."""


def by_relations(of_keywords: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """As in the paper: all candidates by Score(e, q) (Eq. 2), how similar their relations are to the question."""
    return sorted((c for candidates in of_keywords for c in candidates), key=lambda c: -c.grounding)


def by_names(of_keywords: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The best candidate of each keyword, then the others by score: names first, relations among similar names."""
    firsts = [candidates[0] for candidates in of_keywords if candidates]
    rest = sorted((c for candidates in of_keywords for c in candidates[1:]), key=lambda c: -c.score)
    return [*firsts, *rest]


def choose_anchors(
    graph: Graph,
    linker: TopicLinker,
    keywords: Sequence[str],
    question: str,
    rank: Rank,
    margin: float | None,
    top_m: int,
    trace: Trace,
) -> list[Anchor]:
    """The best anchors among the candidates of all keywords (section 3.3).

    Homonyms are separate candidates: agents may start from several of them, and the facts decide.

    Args:
        graph: of the candidates.
        linker: gives candidates, scored by name and grounding.
        keywords: most important first.
        question: proofread; a keyword that it contains is spelt as there.
        rank: `by_relations` or `by_names`.
        margin: how much worse than the best of its keyword the name of a candidate may fit; None: any.
        top_m: m of the paper.
        trace: records all candidates and those that were chosen.
    """
    found: list[tuple[str, str, Sequence[Candidate]]] = []
    for keyword in dict.fromkeys(word for word in keywords if word.strip()):
        written, candidates = linker.candidates(keyword)
        found.append((keyword, written if written in question else keyword, candidates))
    suited = [_fitting(candidates, margin) for _, _, candidates in found]
    ranked = list(dict.fromkeys(candidate.node for candidate in rank(suited)))
    chosen = ranked[:top_m]
    for (keyword, _, candidates), kept in zip(found, suited, strict=True):
        ids = [c.id for c in kept if c.node in chosen]
        trace.add(Linked(keyword, [_row(candidate) for candidate in candidates], ids))
    if len(chosen) < len(ranked):
        trace.add(Truncated("anchors", len(chosen), len(ranked)))
    names = node_names(graph, chosen)
    spelt = {c.node: written for (_, written, _), kept in zip(found, suited, strict=True) for c in kept}
    return [Anchor(node, names[node], as_written(spelt[node], names[node])) for node in chosen]


def _fitting(candidates: Sequence[Candidate], margin: float | None) -> Sequence[Candidate]:
    if margin is None:
        return candidates
    best = max((c.lexical for c in candidates), default=0.0)
    return [c for c in candidates if c.lexical >= best - margin]


def _row(candidate: Candidate) -> dict[str, object]:
    return {
        "id": candidate.id,
        "label": candidate.label,
        "source": candidate.source,
        "score": round(candidate.score, 4),
        "grounding": round(candidate.grounding, 4),
    }
