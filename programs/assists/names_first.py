"""`names_first`: anchors are ranked by how well their names fit, and by their relations among similar names.

Looser matches of a name (misspelt, partial, by meaning) are candidates only where no name fits exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Candidate
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace

_MARGIN = 0.1
"""How much worse (0 to 1) than the best of its keyword the name of an anchor may fit."""


def names_first(
    assists: Assists, ranked: list[Candidate], of_keywords: Sequence[Sequence[Candidate]], top_m: int, trace: Trace
) -> list[Candidate]:
    """The best candidate of each keyword, then the others by their names and, where these are similar, relations.

    Args:
        top_m: how many become anchors.
        trace: records the anchors that change.
    """
    if "names_first" not in assists:
        return ranked
    fitting = [[c for c in some if c.lexical >= max(o.lexical for o in some) - _MARGIN] for some in of_keywords]
    firsts = [some[0] for some in fitting if some]
    found = [*firsts, *sorted((c for some in fitting for c in some[1:]), key=lambda c: -c.score)]
    before, after = ([f"{c.label} <{c.id}>" for c in some[:top_m]] for some in (ranked, found))
    assists.note(trace, "names_first", "ExtractKeywords", before, after)
    return found
