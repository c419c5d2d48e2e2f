"""2WikiMultiHopQA: Ho et al. 2020, "Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of
Reasoning Steps"."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import json_line_rows, json_rows
from triplecheck.evals.datasets.sets.hotpotqa import titles
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question

_ALIASES = "id_aliases.json"


def adapt(row: Row, id: str) -> Question:
    """A question answered by one text, or yes or no, with the triples that the answer follows from."""
    answer = text(row.get("answer"))
    aliases = [name for name in texts(row.get("answer_aliases")) if name != answer]
    return question(
        id=text(row.get("_id") or row.get("id")) or id,
        question=required(row, "question"),
        answers=[answer] if answer else [],
        answer_aliases=[aliases] if answer and aliases else None,
        answerable=True,
        kind=text(row.get("type")),
        triples=_triples(_plain(row.get("evidences"))),
        documents=texts(titles(_plain(row.get("supporting_facts")))),
    )


def _plain(value: Any) -> Any:
    """What some copies on the hub hold as JSON in a text."""
    return json.loads(value) if isinstance(value, str) else value


def _triples(evidences: Any) -> list[list[str]]:
    if isinstance(evidences, Mapping):
        evidences = list(zip(evidences["fact"], evidences["relation"], evidences["entity"], strict=True))
    whole = ([text(part) for part in triple] for triple in evidences or ())
    return [[part for part in triple if part] for triple in whole if all(triple) and len(triple) == 3]


def read(path: Path, split: str) -> Iterator[tuple[None, Row]]:
    """The rows of a file, with the names of the answers from `id_aliases.json`, where it lies beside."""
    beside = path.parent / _ALIASES
    aliases = {row["Q_id"]: row for _, row in json_line_rows(beside)} if beside.is_file() else {}
    for place, row in json_rows(path):
        known = aliases.get(row.get("answer_id"), {})
        yield place, {**row, "answer_aliases": [*known.get("aliases", ()), *known.get("demonyms", ())]}


DATA_SET = DataSet(
    name="2wikimultihopqa",
    title="2WikiMultiHopQA",
    about="Wikipedia passages and Wikidata triples: composition, comparison, inference, and bridges to a comparison.",
    splits={"train": ("train.json",), "dev": ("dev.json",), "test": ("test.json",)},
    default_split="dev",
    read=read,
    adapt=adapt,
    get="Download data_ids_april7.zip as https://github.com/Alab-NII/2wikimultihop says, and unpack it.",
    url="https://github.com/Alab-NII/2wikimultihop",
    paper="arXiv 2011.01060",
    licence="Apache-2.0",
    hub=Hub(
        "ohjoonhee/2WikiMultihopQA",
        {"train": "train", "dev": "validation", "test": "test"},
        unused=("context",),
    ),
    sizes={"train": 167_454, "dev": 12_576, "test": 12_576},
)
