"""`all_topics`: a small model often names one topic too few."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Words, normalize
from triplecheck.language.names import find_names
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
        if known.is_exact and not any(name in said for name in known.names) and _is_name(known.written, linker)
    ]
    assists.note(trace, "all_topics", "NameTopics", named, [*named, *left_out])
    return [*named, *left_out]


def _is_name(written: str, linker: TopicLinker) -> bool:
    """Whether a part of the question is a name rather than an ordinary word."""
    # The capital of the first word alone tells nothing.
    found = [name.text for name in find_names(linker.question, linker.language) if name.start > 0 or " " in name.text]
    if found and any(word[:1].islower() for word in linker.question.split()):
        return any(name in written or written in name for name in found)
    return len(set(normalize(written).split()) - stop_words(linker.language)) > 1
