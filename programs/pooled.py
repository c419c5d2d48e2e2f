"""The facts of several agents in one prompt: what is shown of them, and which ones a reply keeps."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from triplecheck.programs.subgraph import Fact, PathKey

_VALUES_SHOWN = 8  # of a fact that is to be judged, where nothing follows from them


def relevant_facts(
    facts: Sequence[Fact], relevant: Sequence[Fact], shown: Sequence[Fact], ways: Set[PathKey]
) -> list[Fact]:
    """The facts that were found relevant; of those that did not fit in or lead on, the ones on these ways."""
    named, offered = set(map(id, relevant)), set(map(id, shown))
    leads = ways - {fact.path for fact in relevant}
    return [f for f in facts if id(f) in named or f.path in leads or (id(f) not in offered and f.path in ways)]


def shortened(facts: Sequence[Fact]) -> list[Fact]:
    """Facts with some of their values, those first that others of the facts are about."""
    anchors = {fact.anchor for fact in facts}
    short = []
    for fact in facts:
        about = [value for value in fact.values if value in anchors]
        others = [value for value in fact.values if value not in anchors]
        values = (*about, *others[: max(0, _VALUES_SHOWN - len(about))])
        short.append(replace(fact, values=values))
    return short
