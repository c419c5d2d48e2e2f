"""Assists of AnchorRAG, in the order in which a question meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triplecheck.kg import Candidate
from triplecheck.programs.assists import Assists
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Trace

# --- `names_first`: anchors are ranked by how well their names fit, and by their relations among similar names. Looser
# matches of a name (misspelt, partial, by meaning) are candidates only where no name fits exactly.
_MARGIN = 0.1
"""How much worse (0 to 1) than the best of its keyword the name of an anchor may fit."""


def names_first(
    assists: Assists, ranked: list[Candidate], of_keywords: Sequence[Sequence[Candidate]], top_m: int, trace: Trace
) -> list[Candidate]:
    """The best candidate of each keyword, then the others by their names and, where these are similar, relations.

    Args:
        top_m: how many become anchors.
    """
    if "names_first" not in assists:
        return ranked
    fitting = [[c for c in some if c.lexical >= max(o.lexical for o in some) - _MARGIN] for some in of_keywords]
    firsts = [some[0] for some in fitting if some]
    found = [*firsts, *sorted((c for some in fitting for c in some[1:]), key=lambda c: -c.score)]
    before, after = ([f"{c.label} <{c.id}>" for c in some[:top_m]] for some in (ranked, found))
    assists.note(trace, "names_first", "ExtractKeywords", before, after)
    return found


# --- `unjudged_facts`: facts that were not judged sufficient may hold the answer.
def unjudged_facts(
    assists: Assists, kept: int, read: int, answer: Callable[[], Outcome], trace: Trace
) -> Outcome | None:
    """The answer from all facts that were kept; None without one, or if the model has read all of them.

    Args:
        read: how many of them the model has answered from without success.
    """
    found = answer() if "unjudged_facts" in assists and kept > read else None
    if found is None or found.abstained is not None:
        return None
    assists.note(trace, "unjudged_facts", "JudgeSufficiency", [], [found.answer])
    return found
