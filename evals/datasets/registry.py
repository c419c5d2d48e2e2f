"""The published data sets that are known by name."""

from __future__ import annotations

from difflib import get_close_matches

from triplecheck.evals.datasets.sets import (
    crag,
    cwq,
    grailqa,
    head_to_tail,
    hotpotqa,
    lc_quad,
    metaqa,
    mintaka,
    path_question,
    popqa,
    qald,
    stark,
    two_wiki,
    webqsp,
    webquestions,
)
from triplecheck.evals.datasets.spec import DataSet
from triplecheck.kg import UserError


def data_sets() -> dict[str, DataSet]:
    """All of them, by name."""
    found = (
        hotpotqa.DATA_SET,
        two_wiki.DATA_SET,
        popqa.DATA_SET,
        webqsp.DATA_SET,
        cwq.DATA_SET,
        grailqa.DATA_SET,
        webquestions.DATA_SET,
        *stark.DATA_SETS,
        crag.DATA_SET,
        head_to_tail.DATA_SET,
        *metaqa.DATA_SETS,
        path_question.DATA_SET,
        *qald.DATA_SETS,
        lc_quad.DATA_SET,
        mintaka.DATA_SET,
    )
    return {one.name: one for one in found}


def data_set(name: str) -> DataSet:
    """The data set of a name.

    Raises:
        UserError: there is none.
    """
    known = data_sets()
    if name in known:
        return known[name]
    close = get_close_matches(name.casefold(), known, 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise UserError(f"no data set {name!r}{meant} There are: {', '.join(known)}")
