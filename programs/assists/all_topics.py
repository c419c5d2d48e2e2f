"""`all_topics`: a small model often names one topic too few."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Words, normalize
from triplecheck.language.parse import stop_words
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.topics import TopicLinker


def all_topics(assists: Assists, linker: TopicLinker, named: Sequence[str], trace: Trace) -> list[str]:
    """The names that the model gave, and the recognised ones that it left out and that are surely names.

    These are spelt as in the graph and have a capital. Where capitals tell nothing, they have several words.
    """
    if "all_topics" not in assists:
        return list(named)
    said = Words(*named)
    left_out = [
        known.written
        for known in linker.known
        if known.is_exact and _is_name(known.written, linker) and not any(name in said for name in known.names)
    ]
    assists.note(trace, "all_topics", "NameTopics", named, [*named, *left_out])
    return [*named, *left_out]


def _is_name(written: str, linker: TopicLinker) -> bool:
    """Whether a part of the question is a name rather than an ordinary word."""
    question = linker.question
    inner = question.split()[1:]
    if any(word[:1].isupper() for word in inner) and any(word[:1].islower() for word in inner):
        return any(map(str.isupper, written[1:] if question.lstrip().startswith(written) else written))
    return len(set(normalize(written).split()) - stop_words(linker.language)) > 1
