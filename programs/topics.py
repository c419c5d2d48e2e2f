"""From the names that a model gives to the topics of a question to nodes of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from triplecheck.kg import Candidate, Graph, Linker, normalize
from triplecheck.programs.steps import Linked, Trace, Truncated
from triplecheck.programs.subgraph import node_names
from triplecheck.signatures.notation import names_in, with_note, write_topic

_NAMES_SHOWN = 8
_TYPES_SHOWN = 40
# Homonyms whose names fit this much worse than the best are not meant.
_EQUAL = 0.05


@dataclass(frozen=True)
class Known:
    """A name of the graph that was recognised in a question.

    Attributes:
        written: as the question writes it.
        candidates: what it may mean, best first.
    """

    written: str
    candidates: tuple[Candidate, ...]

    @property
    def label(self) -> str:
        """Label of the likeliest candidate."""
        return self.candidates[0].label


@dataclass(frozen=True)
class Topic:
    """A node that a question starts from, and how the question writes it."""

    node: int
    written: str


class TopicLinker:
    """Recognises names in one question and links what the model makes of them.

    Args:
        graph: what the names are of.
        linker: finds them.
        question: the question.
        grounding: prefer candidates whose relations fit the question.
        top_k: relations averaged by grounding; None for the linker's own.
        union: candidates of all kinds, not only the tightest.
    """

    def __init__(
        self,
        graph: Graph,
        linker: Linker,
        question: str,
        *,
        grounding: bool = True,
        top_k: int | None = None,
        union: bool = False,
    ) -> None:
        self._graph = graph
        self._candidates = partial(
            linker.candidates, question=question if grounding else None, top_k=top_k, union=union
        )
        found = [(m.text, self._candidates(m)) for m in linker.mentions(question)[:_NAMES_SHOWN]]
        self.known = [Known(text, tuple(candidates)) for text, candidates in found if candidates]

    def known_names(self) -> list[str]:
        """The recognised names as they stand in a prompt: "written = name (types)"."""
        return [with_note(as_written(k.written, k.label), self._kinds(k.candidates[0].node)) for k in self.known]

    def types(self) -> list[str]:
        """The most frequent types of the graph, for a prompt."""
        ids = self._graph.type_ids[:_TYPES_SHOWN]
        return [self._graph.type_label(t) for t in ids]

    def link(self, name: str, domain: str, limit: int, trace: Trace) -> list[Topic]:
        """Nodes that a name means: of homonyms that fit equally well those of the domain, else the best few."""
        written, candidates = self.candidates(name)
        meant = self._choose(candidates, domain)
        chosen = meant[:limit]
        rows = [{"id": c.id, "label": c.label, "source": c.source, "score": round(c.score, 4)} for c in candidates]
        trace.add(Linked(name, rows, [c.id for c in chosen]))
        if len(chosen) < len(meant):
            trace.add(Truncated(f"meanings of {name}", len(chosen), len(meant)))
        return [Topic(c.node, written) for c in chosen]

    def _kinds(self, node: int) -> str:
        return ", ".join(self._graph.type_label(t) for t in self._graph.types(node)[:2])

    def candidates(self, name: str) -> tuple[str, Sequence[Candidate]]:
        """How the question writes a name, and what it may mean: one of the known names, or looked up anew."""
        wanted = {normalize(part) for part in names_in(name)}
        for known in self.known:
            of_kind = [c for c in known.candidates if normalize(with_note(c.label, self._kinds(c.node))) in wanted]
            if of_kind:
                return known.written, of_kind
            if wanted & {normalize(known.written), *(normalize(c.label) for c in known.candidates)}:
                return known.written, known.candidates
        return name, self._candidates(name)

    def _choose(self, candidates: Sequence[Candidate], domain: str) -> list[Candidate]:
        if not candidates:
            return []
        best = max(c.lexical for c in candidates)
        equal = [c for c in candidates if c.lexical >= best - _EQUAL]
        wanted = normalize(domain)
        of_domain = [
            c for c in equal if wanted in {normalize(self._graph.type_label(t)) for t in self._graph.types(c.node)}
        ]
        return of_domain or equal


def named_topics(graph: Graph, topics: Sequence[Topic]) -> tuple[dict[int, str], list[str]]:
    """By node the name that a topic goes by in prompts, and how each stands there with the question's spelling."""
    names = node_names(graph, [topic.node for topic in topics])
    written = {topic.node: topic.written for topic in topics}
    return names, [as_written(written[node], name) for node, name in names.items()]


def as_written(written: str, name: str) -> str:
    """A name for a prompt, with how the question writes it where that differs: "Satchmo = Louis Armstrong"."""
    if normalize(written) == normalize(name):
        return write_topic(name)
    return write_topic(name, written)
