"""Linking the topics that a model names in a question to nodes of the graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from triplecheck.kg import Candidate, Graph, Linker, normalize
from triplecheck.kg.mentions import Mention
from triplecheck.language.described import places
from triplecheck.language.pipeline import ENGLISH, read_text
from triplecheck.language.question import read_question
from triplecheck.programs.assists import EVERY, Assists
from triplecheck.programs.assists.shared import equally_written, homonyms
from triplecheck.programs.offers import is_deed
from triplecheck.programs.steps import Linked, Trace
from triplecheck.programs.subgraph import node_names
from triplecheck.signatures.notation import names_in, split_note, with_note, write_topic

_NAMES_SHOWN = 8
_CANDIDATES, _UNITED = 10, 100  # of a name; of the union of all kinds, which Score(e, q) ranks
_TYPES_SHOWN = 40
_CLASSES = 200  # whose names are looked at


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

    @property
    def is_exact(self) -> bool:
        """Whether the question writes a name of the graph exactly."""
        return self.candidates[0].is_named

    @property
    def names(self) -> set[str]:
        """Its spelling in the question and the labels of its candidates, normalised."""
        return {normalize(self.written), *(normalize(candidate.label) for candidate in self.candidates)}


@dataclass(frozen=True)
class Topic:
    """A node to start from, and the question's spelling of it."""

    node: int
    written: str


class TopicLinker:
    """Recognises names in one question and links the names that the model gives.

    Args:
        grounding: prefer candidates whose relations fit the question.
        top_k: relations averaged by grounding; None: 5.
        union: candidates of all kinds, not only of the most exact kind. Of too many those with the best
            Score(e, q) stay; without `union` those with the best `Candidate.score`.
        limit: candidates of one name without `union`.
        trace: where what a limit cuts off is recorded.
    """

    def __init__(
        self,
        graph: Graph,
        linker: Linker,
        question: str,
        language: str = ENGLISH,
        assists: Assists = EVERY,
        trace: Trace | None = None,
        *,
        grounding: bool = True,
        top_k: int | None = None,
        union: bool = False,
        limit: int = _CANDIDATES,
    ) -> None:
        self._graph = graph
        asked = question if grounding else None
        self._linked = partial(linker.candidates, question=asked, limit=sys.maxsize, top_k=top_k, union=union)
        self._union, self._most = union, _UNITED if union else limit
        self._trace = trace or Trace()
        self.question = question
        self.language = language
        mentions = linker.mentions(read_text(question, language))
        self._trace.note_cut("names in the question", _NAMES_SHOWN, len(mentions))
        found = [(mention.text, self._candidates(mention)) for mention in mentions[:_NAMES_SHOWN]]
        known = [Known(text, tuple(candidates)) for text, candidates in found if candidates]
        known = [one for one in known if not self._is_part(one, known)]
        meant, years = homonyms(assists, graph, question, {one.written: one.candidates for one in known}, self._trace)
        known = [replace(one, candidates=meant[one.written]) for one in known]
        # The name of a class says what is asked for; it is a topic only where nothing else is named.
        known = [one for one in known if not self._is_class(one)] or known
        known = [one for one in known if not self._is_word(one)]
        self.known = [one for one in known if one.written not in years] or known

    def _candidates(self, name: str | Mention) -> list[Candidate]:
        """What a name may mean, best first: at most as many as programs look at."""
        found = self._linked(name)
        text = name.text if isinstance(name, Mention) else name
        self._trace.note_cut(f"candidates of {text}", self._most, len(found))
        best = sorted(found, key=by_relations) if self._union else found
        kept = {candidate.node for candidate in best[: self._most]}
        return [candidate for candidate in found if candidate.node in kept]

    def _is_part(self, one: Known, known: Sequence[Known]) -> bool:
        """Whether a name stands in the question only as a part of a longer name that the graph has."""
        rest = f" {normalize(self.question)} "
        own = f" {normalize(one.written)} "
        for other in known:
            longer = f" {normalize(other.written)} "
            if own in longer and own != longer and other.is_exact:
                rest = rest.replace(longer, "  ")
        return own not in rest and f" {normalize(self.question)} " != rest

    def _is_class(self, known: Known) -> bool:
        types = self._graph.type_ids
        return known.written == known.written.lower() and all(c.id in types for c in known.candidates)

    def _is_word(self, known: Known) -> bool:
        """Whether a name in lower case is a verb after which a class is called, or, if it is misspelt, the name of a
        class: "breweries", near a "Brewers' Cup"."""
        if not known.written.islower():
            return False
        read = read_question(self.question, language=self.language)
        kinds = () if known.is_exact else self._graph.type_ids[:_CLASSES]
        called = places(read, [self._graph.type_label(kind) for kind in kinds])
        own = set(known.written.split())
        is_class = any(own <= set(read.parse.words[place.start : place.end]) for place in called)
        return is_class or is_deed(self._graph, read, known.written)

    def known_names(self) -> list[str]:
        """The recognised names for a prompt: "written = name (types)"."""
        return [with_note(as_written(k.written, k.label), self._kinds(k.candidates[0].node)) for k in self.known]

    def types_of_known(self) -> list[str]:
        """The types of everything that the recognised names may mean, for a prompt."""
        nodes = [candidate.node for known in self.known for candidate in known.candidates]
        types = dict.fromkeys(t for node in nodes for t in self._graph.types(node))
        self._trace.note_cut("types in the prompt", _TYPES_SHOWN, len(types))
        return [self._graph.type_label(t) for t in types][:_TYPES_SHOWN]

    def types(self, limit: int = _TYPES_SHOWN) -> list[str]:
        """The most frequent types of the graph, for a prompt."""
        ids = self._graph.type_ids
        self._trace.note_cut("types in the prompt", limit, len(ids))
        return [self._graph.type_label(t) for t in ids[:limit]]

    def link(self, name: str, domain: str, limit: int, trace: Trace) -> list[Topic]:
        """Nodes that a name may mean: of homonyms that fit equally well those of the domain, otherwise the best."""
        written, candidates = self.candidates(name)
        meant = self._choose(candidates, domain)
        chosen = meant[:limit]
        rows = [{"id": c.id, "label": c.label, "source": c.source, "score": round(c.score, 4)} for c in candidates]
        trace.add(Linked(name, rows, [c.id for c in chosen]))
        trace.note_cut(f"meanings of {name}", len(chosen), len(meant))
        return [Topic(c.node, written) for c in chosen]

    def _kinds(self, node: int) -> str:
        return ", ".join(self._graph.type_label(t) for t in self._graph.types(node)[:2])

    def candidates(self, name: str) -> tuple[str, Sequence[Candidate]]:
        """The question's spelling of a name, and what it may mean: a recognised name, or a new look-up.

        If nothing has a name that is not in the question, it is looked up without the types after it.
        """
        if (known := self.recognised(name)) is not None:
            return known
        plain = split_note(name)[0]
        found = self._candidates(name)
        return (name, found) if found or plain == name else (plain, self._candidates(plain))

    def recognised(self, name: str) -> tuple[str, Sequence[Candidate]] | None:
        """Find a name among those that the prompt shows, in any form in which a model may copy it.

        Returns:
            Its spelling in the question, and the candidates; None if the prompt does not show it.
        """
        wanted = {normalize(part) for part in names_in(name)}
        for known in self.known:
            noted = [(c, self._kinds(c.node)) for c in known.candidates]
            of_kind = [(c, kind) for c, kind in noted if normalize(with_note(c.label, kind)) in wanted]
            if of_kind and not any(kind for _, kind in of_kind):
                # A name without a note is also that of homonyms with types.
                of_kind = [(c, kind) for c, kind in noted if normalize(c.label) in wanted]
            if of_kind:
                return known.written, [c for c, _ in of_kind]
            if wanted & known.names:
                return known.written, known.candidates
        for plain, note in map(split_note, names_in(name)):
            kinds = {normalize(kind) for kind in note.split(", ")}
            for known in self.known:
                typed = [c for c in known.candidates if kinds & self._type_names(c.node)]
                if typed and normalize(plain) in known.names:
                    return known.written, typed
        return None

    def _type_names(self, node: int) -> set[str]:
        return {normalize(self._graph.type_label(kind)) for kind in self._graph.types(node)}

    def _choose(self, candidates: Sequence[Candidate], domain: str) -> list[Candidate]:
        if not candidates:
            return []
        equal = equally_written(candidates)
        wanted = normalize(domain)
        of_domain = [c for c in equal if wanted in self._type_names(c.node)]
        return of_domain or equal


def by_relations(candidate: Candidate) -> tuple[float, float]:
    """The order of AnchorRAG's candidates: by Score(e, q) (Eq. 2); names break ties, and decide without grounding."""
    return -candidate.grounding, -candidate.lexical


def named_topics(graph: Graph, topics: Sequence[Topic]) -> tuple[dict[int, str], list[str]]:
    """The name of each topic node in prompts, and each name with the question's spelling."""
    names = node_names(graph, [topic.node for topic in topics])
    written = {topic.node: topic.written for topic in topics}
    return names, [as_written(written[node], name) for node, name in names.items()]


def as_written(written: str, name: str) -> str:
    """A name for a prompt, with the question's spelling if that differs: "Satchmo = Louis Armstrong"."""
    return write_topic(name, "" if normalize(written) == normalize(name) else written)
