"""Assists of several programs, in the order in which a question meets them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from triplecheck.kg import Candidate, Direction, Graph, Linker, normalize
from triplecheck.language.described import places
from triplecheck.language.likeness import bases_of
from triplecheck.language.pipeline import read_text
from triplecheck.language.question import read_question
from triplecheck.language.talk import asked_and_talk
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace


# --- `asked_part`: people often talk before they ask, and no triple proves the talk.
def asked_part(assists: Assists, graph: Graph, linker: Linker, question: str, language: str, trace: Trace) -> str:
    """The question without the talk beside it, or the whole text if the talk names something of the graph."""
    if "asked_part" not in assists:
        return question
    asked, talk = asked_and_talk(question, language)
    if talk and _names_something(graph, linker, talk, asked, language):
        return question
    assists.note(trace, "asked_part", "question", [question], [asked])
    return asked


def _names_something(graph: Graph, linker: Linker, talk: str, asked: str, language: str) -> bool:
    """Whether talk names a thing or a class of the graph, or has a word of a relation that the question lacks."""
    classes = [graph.type_label(kind) for kind in graph.type_ids]
    if places(read_question(talk, language=language), classes):
        return True
    named = (linker.candidates(mention) for mention in linker.mentions(read_text(talk, language)))
    if any(found and found[0].is_named for found in named):
        return True
    more = bases_of(talk, language) - bases_of(asked, language)
    relations = (graph.relation(number) for number in range(graph.num_relations))
    return any(more & bases_of(text, language) for one in relations for text in (one.label, *one.aliases))


# --- `homonyms`: the words beside a name single out what it means: its type ("the play Macbeth") or a year that it has.
# So do its capitals, where names differ by these alone.
_EQUAL = 0.05  # candidates whose names fit worse than the best by more than this are not meant
_YEAR = re.compile(r"\b[12][0-9]{3}\b")
_YEARS_LOOKED_AT = 3  # values per relation

Candidates = tuple[Candidate, ...]


def homonyms(
    assists: Assists, graph: Graph, question: str, names: Mapping[str, Candidates], trace: Trace
) -> tuple[dict[str, Candidates], set[str]]:
    """What each name of a question means, and the years that single out one of several: these are no topics themselves.

    Args:
        names: as the question writes them, with their candidates.
    """
    meant, used = dict(names), set[str]()
    for written, candidates in names.items() if "homonyms" in assists else ():
        equal = equally_written(candidates)
        if len(equal) < 2:
            continue
        before, _, after = normalize(question).partition(normalize(written))
        spelt = _as_spelt(equal, written)
        typed = [c for c in equal if _has_type_beside(graph, c, f" {before.strip()}", f"{after.strip()} ")] or spelt
        years = {c: year for c in typed for year in _YEAR.findall(f"{before} {after}") if _has_year(graph, c, year)}
        found = list(years) or typed
        used |= set(years.values()) if len(years) < len(typed) else set()
        if len(found) < len(equal):
            meant[written] = tuple(found)
            assists.note(trace, "homonyms", "topics", [c.id for c in candidates], [c.id for c in found])
    return meant, used


def equally_written(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates whose names fit nearly as well as the best."""
    best = max(c.lexical for c in candidates)
    return [c for c in candidates if c.lexical >= best - _EQUAL]


def _as_spelt(candidates: Sequence[Candidate], written: str) -> list[Candidate]:
    """The candidates without those whose labels differ by capitals alone from the written name, if that is a label.

    A name in lower case tells nothing: people often write names so.
    """
    if written == written.lower() or all(c.label != written for c in candidates):
        return list(candidates)
    return [c for c in candidates if c.label == written or c.label.casefold() != written.casefold()]


def _has_type_beside(graph: Graph, candidate: Candidate, before: str, after: str) -> bool:
    kinds = (normalize(graph.type_label(t)) for t in graph.types(candidate.node))
    return any(
        before.endswith((f" {kind}", f" {kind} the")) or after.startswith((f"{kind} ", f"the {kind} "))
        for kind in kinds
        if kind
    )


def _has_year(graph: Graph, candidate: Candidate, year: str) -> bool:
    edges = graph.expand([candidate.node], None, Direction.OUT, limit_per_node=_YEARS_LOOKED_AT)
    values = (graph.literal(tail) for tail in edges.tails.tolist())
    return any(value is not None and _YEAR.match(value.lexical) and value.lexical[:4] == year for value in values)


# --- `without_topics`: an answer that has other things does not have the topic itself.
def without_topics(
    assists: Assists, nodes: Sequence[int], topics: Collection[int], graph: Graph, trace: Trace
) -> list[int]:
    """The nodes of an answer without the topics, unless there are no others.

    Args:
        topics: those that are no answer; empty where the question asks to choose one.
    """
    if "without_topics" not in assists:
        return list(nodes)
    kept = [node for node in nodes if node not in topics] or list(nodes)
    assists.note(trace, "without_topics", "AnswerFromFacts", graph.labels(list(nodes)), graph.labels(kept))
    return kept
