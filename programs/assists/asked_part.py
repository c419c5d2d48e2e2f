"""`asked_part`: people often talk before they ask, and no triple proves the talk."""

from __future__ import annotations

from triplecheck.kg import Graph, Linker
from triplecheck.language.described import places
from triplecheck.language.likeness import bases_of
from triplecheck.language.pipeline import read_text
from triplecheck.language.question import read_question
from triplecheck.language.talk import asked_and_talk
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace


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
