"""Answering with references: the parts of the gold paths that passages state or leave open, and the answer.

Nothing is answered from memory. Passages are written from the graph, so that a program has something to check and
read; they do not follow from the prompt, so they are not for training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triplecheck.evals.configuration import digest
from triplecheck.evals.gold import Names
from triplecheck.kg import Direction, Graph, Words
from triplecheck.kg.types import Edge
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.synth.english import (
    End,
    EndKind,
    Wording,
    WordingKind,
    end_of,
    noun_phrase,
    predicate,
    questions,
    read_wording,
)
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.programs.subgraph import Hop
from triplecheck.signatures.notation import clean, write_triple

_THING = End(EndKind.UNKNOWN)
_SEARCHED = 200  # edges per (node, relation, direction) that are searched for a sentence


def sentence(graph: Graph, edge: Edge) -> str:
    """An edge as a sentence: "Alien was directed by Ridley Scott.", "The place of birth of Kant is Königsberg."."""
    head, relation, tail = edge
    subject, end = clean(graph.label(head)), clean(graph.label(tail))
    wording = _wording(graph, relation)
    clause = predicate(wording, Direction.IN, end) if wording.kind is not WordingKind.NOUN else None
    text = f"{subject} {clause}" if clause else f"{noun_phrase(wording, Direction.OUT, subject, _THING)} is {end}"
    return f"{text[0].upper()}{text[1:]}."


def triple(graph: Graph, edge: Edge) -> tuple[str, str, str]:
    """An edge as a triple extracted from its sentence."""
    head, relation, tail = edge
    return clean(graph.label(head)), clean(graph.relation(relation).label), clean(graph.label(tail))


def question_for(graph: Graph, node: int, hop: Hop, ends: Sequence[int]) -> str:
    """The question for the ends of a relation from a node."""
    name, wording = clean(graph.label(node)), _wording(graph, hop.relation)
    asked = questions(wording, hop.direction, name, end_of(graph, ends, hop.relation, hop.direction))
    return asked[0] if asked else f"What has {name} as {wording.text}?"


def stated(graph: Graph, text: str, edges: Iterable[Edge]) -> tuple[list[Edge], bool]:
    """The edges that a text states, in its order, and whether it states nothing else.

    Args:
        text: a passage, or a reply with its answer at the end.
    """
    found = {edge: at for edge in edges if (at := text.find(sentence(graph, edge))) >= 0}
    left = text
    for edge in sorted(found, key=lambda edge: -len(sentence(graph, edge))):
        left = left.replace(sentence(graph, edge), "")
    left, _, _ = left.partition("The answer is ")
    return sorted(found, key=lambda edge: (found[edge], edge)), not left.strip()


def edges_in(graph: Graph, text: str, nodes: Iterable[int]) -> list[Edge]:
    """The edges at some nodes whose other end a text names."""
    found: dict[Edge, None] = {}
    for node in nodes:
        edges = graph.expand([node], None, None, _SEARCHED)
        columns = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
        rows = [(head, relation, tail) for head, relation, tail in columns]
        others = graph.labels([tail if head == node else head for head, _, tail in rows]) if rows else []
        found |= {edge: None for edge, label in zip(rows, others, strict=True) if clean(label) in text}
    return list(found)


def named_nodes(lines: Iterable[str], names: Callable[[str], Iterable[int]]) -> list[int]:
    """The nodes that the lines of a prompt name: "label", or "label: description"."""
    nodes: dict[int, None] = {}
    for line in lines:
        ends = [at for at in range(len(line)) if line.startswith(": ", at)]
        texts = (line, *(line[:at] for at in ends))
        nodes |= dict.fromkeys(next((found for text in texts if (found := list(names(text)))), []))
    return list(nodes)


def _wording(graph: Graph, relation: int) -> Wording:
    label = clean(graph.relation(relation).label)
    return read_wording(label) or Wording(WordingKind.NOUN, label)


_NONE = "none"
_MAX_SENTENCES = 6  # sentences of a passage or explanation, so that replies are not truncated
_BESIDE = 3  # sentences of a passage that does not help
_FETCHED = 50  # edges per (node, relation, direction)


# --- answers -------------------------------------------------------------------------------------
def answer_from_memory(*_: object) -> GoldReply:
    """No answer: nothing is known beyond the prompt."""
    return GoldReply({"reasoning": "Without facts this cannot be told.", "answers": []})


def judge_knowledge(*_: object) -> GoldReply:
    """Not known: nothing is known beyond the prompt."""
    return GoldReply({"known": False})


def answer_with_references(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The sentences of the references on the gold paths, and the answer if they lead to it."""
    explanation = _explained(known, prompt)
    if explanation is None:
        return GoldReply({"reasoning": "The references do not tell.", "answer": _NONE})
    return GoldReply({"reasoning": explanation, "answer": _answer(known)})


def answer_from_references(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The answer without explanation."""
    return GoldReply({"answer": _NONE if _explained(known, prompt) is None else _answer(known)})


def next_question(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The question for the first hop of a gold path that no reference states; the given question if none is missing."""
    for path in known.paths:
        for hop, edges in zip(path.hops, known.edges(path), strict=True):
            missing = [edge for edge in edges if not _is_stated(known.graph, prompt.items("references"), edge)]
            if missing:
                near, ends = _asked_of(missing, hop)
                return GoldReply(
                    {"next_question": question_for(known.graph, near, hop, ends)}, taught=hop != path.hops[0]
                )
    return GoldReply({"next_question": known.mended}, taught=False)


# --- passages ------------------------------------------------------------------------------------
def write_passage(known: KnownGold, prompt: Prompt) -> GoldReply:
    """Sentences on the gold paths; if related entities are given, other sentences about the topics."""
    given = bool(prompt.items("entities"))
    return GoldReply({"passage": _beside(known) if given else _on_the_way(known)}, taught=False)


def write_passages(known: KnownGold, _: Prompt) -> GoldReply:
    """One passage that helps and one that does not, in pseudo-random order."""
    passages = [_on_the_way(known), _beside(known)]
    if digest(known.question)[0] in "01234567":
        passages.reverse()
    return GoldReply({"passage": passages[0], "passage_with_entities": passages[1]}, taught=False)


def passage_for(graph: Graph, prompt: Prompt, names: Names) -> str:
    """The answer to a question for one hop, as `next_question` writes it."""
    question = prompt.text("question")
    for node in named_nodes(prompt.items("entities"), names):
        for count in graph.relation_counts([node]):
            hop = Hop(count.relation, count.direction)
            edges = graph.expand([node], hop.relation, hop.direction, _FETCHED)
            found = [(h, hop.relation, t) for h, t in zip(edges.heads.tolist(), edges.tails.tolist(), strict=True)]
            if found and question_for(graph, node, hop, _asked_of(found, hop)[1]) == question:
                return " ".join(sentence(graph, edge) for edge in found[:_MAX_SENTENCES])
    return _NONE


# --- checks --------------------------------------------------------------------------------------
def judge_passage(known: KnownGold, prompt: Prompt) -> GoldReply:
    """Whether the passage helps."""
    return GoldReply({"helps": _helps(known, prompt.text("passage"))})


def select_passages(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The passages that help."""
    return GoldReply({"useful": _useful(known, prompt)})


def check_passages(known: KnownGold, prompt: Prompt) -> GoldReply:
    """The passages that help, and their triples; not for training if they state more than the gold paths."""
    useful, texts = _useful(known, prompt), prompt.items("passages")
    edges = _edges(known)
    found = {number: stated(known.graph, texts[number - 1], edges) for number in useful}
    lines = [write_triple(triple(known.graph, edge), number) for number, (of, _) in found.items() for edge in of]
    return GoldReply(
        {"useful": useful, "triples": list(dict.fromkeys(lines))}, taught=all(whole for _, whole in found.values())
    )


def extract_triples(graph: Graph, prompt: Prompt, names: Names) -> GoldReply:
    """The edges that texts were written from; of other texts, the edges between the names in them."""
    nodes = named_nodes(prompt.items("entities"), names)
    lines, taught = [], True
    for number, text in enumerate(prompt.items("texts"), 1):
        may_be = edges_in(graph, text, nodes)
        found, whole = stated(graph, text, may_be)
        taught &= whole
        lines += [write_triple(triple(graph, edge), number) for edge in (found if whole else may_be[:_MAX_SENTENCES])]
    return GoldReply({"triples": list(dict.fromkeys(lines))}, taught=taught)


def _useful(known: KnownGold, prompt: Prompt) -> list[int]:
    return [number for number, text in enumerate(prompt.items("passages"), 1) if _helps(known, text)]


def _helps(known: KnownGold, passage: str) -> bool:
    """Whether a passage states a part of a gold path, is a gold document, or names an answer."""
    if stated(known.graph, passage, _edges(known))[0]:
        return True
    words = Words(passage)
    names = known.documents or known.graph.labels(list(known.answers))
    return any(name in words for name in names)


# --- what there is to tell -----------------------------------------------------------------------
def _explained(known: KnownGold, prompt: Prompt) -> str | None:
    """The sentences that lead to the answer; None if the references do not state all of them."""
    edges = _edges(known)
    references = prompt.items("references")
    if not (known.answers or known.computed):
        return None
    if edges and len(edges) <= _MAX_SENTENCES and all(_is_stated(known.graph, references, edge) for edge in edges):
        return " ".join(sentence(known.graph, edge) for edge in edges)
    return None


def _answer(known: KnownGold) -> str:
    if known.computed is not None:
        return known.computed
    return ", ".join(clean(label) for label in known.graph.labels(sorted(known.answers)))


def _on_the_way(known: KnownGold) -> str:
    """Sentences for the hops of the gold paths, without the last hop of longer paths: that is looked up later.

    For comparisons all hops: one question cannot ask for several values.
    """
    later = 0 if known.measured else 1
    hops = [of for path in known.paths for of in known.edges(path)[: max(1, len(path.hops) - later)]]
    edges = [edge for of in hops for edge in of]
    return " ".join(sentence(known.graph, edge) for edge in dict.fromkeys(edges[:_MAX_SENTENCES])) or _NONE


def _beside(known: KnownGold) -> str:
    """Other sentences about the topics: one edge of each of the first relations that are on no gold path."""
    graph, sentences = known.graph, []
    on_paths = {hop.relation for path in known.paths for hop in path.hops}
    for node in known.topics:
        for count in graph.relation_counts([node]):
            if count.direction is Direction.OUT and count.relation not in on_paths:
                tail = int(graph.neighbors(node, count.relation, Direction.OUT, 1)[0])
                if tail not in known.answers:
                    sentences.append(sentence(graph, (node, count.relation, tail)))
    return " ".join(sentences[:_BESIDE]) or _NONE


def _edges(known: KnownGold) -> list[Edge]:
    """All edges on the gold paths that lead to an answer, those of earlier hops first."""
    levels = [known.edges(path) for path in known.paths]
    most = max((len(of) for of in levels), default=0)
    return list(dict.fromkeys(edge for at in range(most) for of in levels if at < len(of) for edge in of[at]))


def _is_stated(graph: Graph, references: Sequence[str], edge: Edge) -> bool:
    statement = sentence(graph, edge)
    return any(statement in reference for reference in references)


def _asked_of(edges: Sequence[Edge], hop: Hop) -> tuple[int, list[int]]:
    """The first start node of a hop among some edges, and its ends."""
    out = hop.direction is Direction.OUT
    near = edges[0][0] if out else edges[0][2]
    return near, [(t if out else h) for h, _, t in edges if (h if out else t) == near]
