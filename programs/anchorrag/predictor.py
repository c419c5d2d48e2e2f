"""AnchorRAG's predictor: from a question, as people write it, to the entities that retrieval starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.fuzz import ratio

from triplecheck.kg import Candidate, Graph
from triplecheck.programs.steps import Checked, Linked, Trace, Truncated
from triplecheck.programs.subgraph import node_names
from triplecheck.programs.topics import TopicLinker, as_written

# A proofread question that is less like the question (percent) was answered or rewritten, not proofread.
_LEAST_LIKENESS = 70.0


@dataclass(frozen=True)
class Anchor:
    """An entity that an agent starts from.

    Attributes:
        node: the entity.
        name: by which it goes in prompts and in the trace; no other anchor has it.
        shown: with the spelling of the question where that differs.
    """

    node: int
    name: str
    shown: str


def proofread_question(question: str, proofread: str, trace: Trace) -> str:
    """The question as a model mended its spelling; as it was asked where the model did something else."""
    mended = " ".join(proofread.split())
    if mended and ratio(question.casefold(), mended.casefold()) >= _LEAST_LIKENESS:
        return mended
    trace.add(Checked("proofread question", False, "it is another question; the one that was asked is kept"))
    return question


def choose_anchors(
    graph: Graph, linker: TopicLinker, keywords: Sequence[str], question: str, most: int, margin: float, trace: Trace
) -> list[Anchor]:
    """The best anchors among the candidates of all keywords.

    Each keyword has its best candidate first; the places left go to the other candidates by score.
    Homonyms are candidates of their own, so that agents may start from several and the facts decide.

    Args:
        graph: of the candidates.
        linker: gives candidates, scored by name and grounding.
        keywords: most important first.
        question: proofread; a keyword that stands in it is spelt so.
        most: m of the paper.
        margin: how much worse than the best of its keyword a candidate's name may fit.
        trace: told all candidates and those that were chosen.
    """
    found: list[tuple[str, str, Sequence[Candidate]]] = []
    for keyword in dict.fromkeys(word for word in keywords if word.strip()):
        written, candidates = linker.candidates(keyword)
        found.append((keyword, written if written in question else keyword, candidates))
    fitting = [_fitting(candidates, margin) for _, _, candidates in found]
    firsts = [candidates[0] for candidates in fitting if candidates]
    rest = sorted((c for candidates in fitting for c in candidates[1:]), key=lambda c: -c.score)
    ranked = list(dict.fromkeys(candidate.node for candidate in (*firsts, *rest)))
    chosen = ranked[:most]
    for (keyword, _, candidates), kept in zip(found, fitting, strict=True):
        ids = [c.id for c in kept if c.node in chosen]
        trace.add(Linked(keyword, [_row(candidate) for candidate in candidates], ids))
    if len(chosen) < len(ranked):
        trace.add(Truncated("anchors", len(chosen), len(ranked)))
    names = node_names(graph, chosen)
    spelt = {c.node: written for (_, written, _), kept in zip(found, fitting, strict=True) for c in kept}
    return [Anchor(node, names[node], as_written(spelt[node], names[node])) for node in chosen]


def _fitting(candidates: Sequence[Candidate], margin: float) -> list[Candidate]:
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
