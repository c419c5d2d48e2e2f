"""Head-to-Tail: Sun et al. 2024, "Head-to-Tail: How Knowledgeable are Large Language Models (LLMs)?"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import json_object
from triplecheck.evals.datasets.spec import DataSet, Row
from triplecheck.evals.metrics import BANDS
from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError


def adapt(row: Row, id: str) -> Question:
    """A question about one fact; several answers are a set. What it is about may be a name, an id or a triple."""
    about, answer = row["entity"], row["answer"]
    triple = [_bare(part) for part in about] if isinstance(about, list) and len(about) == 3 else None
    return question(
        id=text(row.get("id")) or id,
        question=required(row, "question"),
        answers=texts(answer if isinstance(answer, list) else [answer]),
        topic=triple[:1] if triple else texts([_bare(about)]),
        hops=1,
        kind=text(row["template"]),
        triples=[triple] if triple else None,
        popularity=row["band"],
    )


def _bare(part: Any) -> str:
    return (text(part) or "").removeprefix("<").removesuffix(">")


def read(path: Path, split: str) -> Iterator[tuple[None, Row]]:
    """The questions of the three bands: each is a list of what it is about, template, question, answer."""
    content = json_object(path)
    if not set(content) <= set(BANDS):
        raise ReadError(path, None, f"is not an object of {', '.join(BANDS)}")
    for band, rows in content.items():
        for number, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != 4:
                raise ReadError(path, None, f"{band} {number} is not a list of entity, template, question, answer")
            entity, template, asked, answer = row
            id = f"{path.name.split('.')[0]}-{band}-{number}"
            yield (
                None,
                {"id": id, "band": band, "entity": entity, "template": template, "question": asked, "answer": answer},
            )


DATA_SET = DataSet(
    name="head-to-tail",
    title="Head-to-Tail",
    about="One fact a question about films, books, papers and what DBpedia holds, in three bands of popularity.",
    splits={base: (f"head_to_tail_{base}.json",) for base in ("imdb", "goodreads", "mag", "dblp", "dbpedia")},
    default_split="dbpedia",
    read=read,
    adapt=adapt,
    get="Its licences forbid to hand the questions on: make them with the scripts of "
    "https://github.com/facebookresearch/head-to-tail, head_to_tail_{imdb,goodreads,mag,dblp,dbpedia}.py.",
    url="https://github.com/facebookresearch/head-to-tail",
    paper="arXiv 2308.10168",
    licence="CC BY-NC 4.0 (the scripts)",
)
