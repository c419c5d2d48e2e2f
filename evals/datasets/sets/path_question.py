"""PathQuestion: Zhou et al. 2018, "An Interpretable Reasoning Network for Multi-Relation Question Answering"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import text_lines
from triplecheck.evals.datasets.spec import DataSet, Row
from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError

_END = "<end>"


def adapt(row: Row, id: str) -> Question:
    """A question with its path: `subject#relation#entity#relation#answer`, then perhaps `#<end>#answer`."""
    path = required(row, "path").split(f"#{_END}")[0].split("#")
    if len(path) < 3 or len(path) % 2 == 0:
        raise ValueError(f"the path {row['path']!r} is not one of entities and relations by turns")
    return question(
        id=text(row.get("id")) or id,
        question=required(row, "question"),
        answers=answers_of(required(row, "answers").strip()),
        topic=[path[0]],
        hops=len(path) // 2,
        relations=path[1::2],
        triples=[path[at : at + 3] for at in range(0, len(path) - 2, 2)],
    )


def answers_of(cell: str) -> list[str]:
    """The answer before the brackets and the others in them; a name may hold brackets and slashes itself.

    >>> answers_of("Ada(Bo/Ada/)")
    ['Ada', 'Bo']
    """
    for at in (match.start() for match in re.finditer(r"\(", cell)):
        first, listed = cell[:at], f"/{cell[at + 1 :].removesuffix(')')}/"
        if f"/{first}/" in listed:
            return texts([first, *listed.replace(f"/{first}/", "/", 1).split("/")])
    return texts([cell])


def read(path: Path, split: str) -> Iterator[tuple[int, Row]]:
    """Lines of question, answers and path."""
    for index, (number, line) in enumerate(text_lines(path)):
        cells = line.split("\t")
        if len(cells) != 3:
            raise ReadError(path, number, f"has {len(cells)} fields, not question, answers and path")
        yield number, {"id": f"{path.stem}-{index}", "question": cells[0], "answers": cells[1], "path": cells[2]}


DATA_SET = DataSet(
    name="pathquestion",
    title="PathQuestion",
    about="A part of Freebase (FB13, or for PQL the larger FB2M): 2 and 3 hops, with the path of each answer.",
    splits={
        "pq": ("PQ-2H.txt", "PQ-3H.txt"),
        "pq-2h": ("PQ-2H.txt",),
        "pq-3h": ("PQ-3H.txt",),
        "pql": ("PQL-2H.txt", "PQL-3H.txt"),
        "pql-2h": ("PQL-2H.txt",),
        "pql-3h": ("PQL-3H.txt",),
    },
    default_split="pq",
    read=read,
    adapt=adapt,
    get="Copy the folder PathQuestion of https://github.com/zmtkeke/IRN.",
    url="https://github.com/zmtkeke/IRN",
    paper="arXiv 1801.04726",
    licence="none stated",
    sizes={"pq": 7_106, "pq-2h": 1_908, "pq-3h": 5_198},
)
