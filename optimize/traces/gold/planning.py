"""Planning: the topics of a question, its keywords, and the paths that lead on."""

from __future__ import annotations

from collections.abc import Collection

from triplecheck.kg import Graph, normalize
from triplecheck.lms.extractive.planning import known_names
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold.known import Known
from triplecheck.optimize.traces.gold.reply import GoldReply
from triplecheck.signatures.notation import without_note


def name_topics(known: Known, prompt: Prompt) -> GoldReply:
    """The known names that are those of the topics; a topic's label where it is none of them but stands there."""
    types = prompt.items("types")
    named = named_topics(known, prompt)
    domain = "unknown"
    for topic, _ in named:
        of = [known.graph.type_label(type) for type in known.graph.types(topic)]
        domain = next((kind for kind in of if kind in types), domain) if domain == "unknown" else domain
    return GoldReply({"topics": list(dict.fromkeys(name for _, name in named)), "domain": domain})


def extract_keywords(known: Known, prompt: Prompt) -> GoldReply:
    """The question with its topics spelt as in the graph, and their names."""
    names = [name for _, name in named_topics(known, prompt)]
    return GoldReply({"proofread": known.gold.mended, "keywords": list(dict.fromkeys(names))})


def select_paths(known: Known, prompt: Prompt) -> GoldReply:
    """The offered paths that a gold path begins with or is."""
    return GoldReply({"keep": leading(known, prompt)})


def leading(known: Known, prompt: Prompt, field: str = "paths", topics: Collection[int] | None = None) -> list[int]:
    """Numbers of the paths in a field that a gold path begins with or is.

    Args:
        known: the gold paths.
        prompt: with the field.
        field: a list of paths, with a note or without.
        topics: only paths from these count.
    """
    lines = prompt.items(field)
    found: list[int] = []
    for name, path in known.starts(prompt):
        for length in range(1, len(path.hops) + 1) if topics is None or path.topic in topics else ():
            text = known.path_text(name, path.hops[:length])
            found += [n for n, line in enumerate(lines, 1) if text in (line, without_note(line))]
    return list(dict.fromkeys(found))


def named_topics(known: Known, prompt: Prompt) -> list[tuple[int, str]]:
    """The topics that have a name in a prompt, with it: one of the known names, else the label in the question."""
    listed = [known.name for known in known_names(prompt)]
    question = f" {normalize(known.gold.mended)} "
    named = []
    for topic in known.gold.topics:
        entity = known.graph.entity(topic)
        wanted = {normalize(name) for name in (entity.label, *entity.aliases)}
        name = next((name for name in listed if normalize(name) in wanted), None)
        if name is None and f" {normalize(entity.label)} " in question:
            name = entity.label
        if name is not None:
            named.append((topic, name))
    return named


def mended(graph: Graph, question: str, topics: Collection[int]) -> str:
    """A question with the misspelt names of its topics spelt as in the graph; names by an alias stay as they are."""
    from rapidfuzz.fuzz import ratio

    words = question.split()
    for topic in topics:
        entity = graph.entity(topic)
        text = f" {normalize(' '.join(words))} "
        if any(f" {normalize(name)} " in text for name in (entity.label, *entity.aliases)):
            continue
        length = len(entity.label.split())
        spans = [(at, at + size) for size in (length, length + 1) for at in range(len(words) - size + 1)]
        alike = [(ratio(_bare(" ".join(words[a:b])).casefold(), entity.label.casefold()), a, b) for a, b in spans]
        best, start, end = max(alike, default=(0.0, 0, 0))
        if best >= _MISSPELT:
            written = " ".join(words[start:end])
            words[start:end] = [written.replace(_bare(written), entity.label)]
    return " ".join(words)


_MISSPELT = 78.0
"""Percent by which a misspelt name is like the one that is meant."""


def _bare(text: str) -> str:
    """A name without the punctuation of the sentence around it."""
    text = text.strip("\"'“”‘’«»,;:.?!()")
    return text.removesuffix("'s").removesuffix("’s")
