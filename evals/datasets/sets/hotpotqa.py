"""HotpotQA: Yang et al. 2018, "HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question answered by one text, or yes or no; hidden test sets have none."""
    answer = text(row.get("answer"))
    return question(
        id=text(row.get("_id") or row.get("id")) or id,
        question=required(row, "question"),
        answers=[answer] if answer else [],
        answerable=True,
        kind=text(row.get("type")),
        documents=texts(titles(row.get("supporting_facts"))),
        level=text(row.get("level")),
    )


def titles(facts: Any) -> Iterable[Any]:
    """Titles of supporting facts: `[[title, sentence], ...]` in the official files, columns on the hub."""
    return facts["title"] if isinstance(facts, Mapping) else [fact[0] for fact in facts or ()]


DATA_SET = DataSet(
    name="hotpotqa",
    title="HotpotQA",
    about="Wikipedia passages: bridges over two passages, and comparisons, a tenth of them yes or no.",
    splits={
        "train": ("hotpot_train_v1*.json",),
        "dev": ("hotpot_dev_*_v1*.json",),
        "test": ("hotpot_test_fullwiki_v1*.json",),
    },
    default_split="dev",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Download the JSON files from https://hotpotqa.github.io.",
    url="https://hotpotqa.github.io",
    paper="arXiv 1809.09600",
    licence="CC BY-SA 4.0",
    hub=Hub(
        "hotpotqa/hotpot_qa",
        {"train": "train", "dev": "validation"},
        revision="refs/convert/parquet",
        files={"train": "distractor/train/*.parquet", "validation": "distractor/validation/*.parquet"},
        unused=("context",),
    ),
    sizes={"train": 90_447, "dev": 7_405, "test": 7_405},
)
