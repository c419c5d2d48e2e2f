"""PopQA: Mallen et al. 2023, "When Not to Trust Language Models"."""

from __future__ import annotations

import json
from typing import Any

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import table_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question about one fact of Wikidata: one answer, with every name that counts as it."""
    names = texts([row.get("obj"), *_list(row.get("possible_answers")), *_list(row.get("o_aliases"))])
    subject, object_ = _entity(row, "s", "subj"), _entity(row, "o", "obj")
    relation = text(row.get("prop"))
    return question(
        id=f"popqa-{required(row, 'id')}",
        question=required(row, "question"),
        answers=names[:1],
        answer_aliases=[names[1:]] if names[1:] else None,
        topic=texts([row.get("subj")]),
        hops=1,
        kind=relation,
        triples=[[subject, relation, object_]] if subject and relation and object_ else None,
        documents=texts([row.get("s_wiki_title")]),
        popularity=_number(row.get("s_pop")),
        o_pop=_number(row.get("o_pop")),
    )


def _list(value: Any) -> list[Any]:
    found = json.loads(value) if isinstance(value, str) and value.strip() else value
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{value!r} is not a list")
    return found or []


def _entity(row: Row, short: str, name: str) -> str | None:
    """Its Wikidata id, which ends the uri; else its name."""
    uri = text(row.get(f"{short}_uri"))
    return uri.rsplit("/", 1)[-1] if uri else text(row.get(name))


def _number(value: Any) -> int | None:
    number = text(value)
    return None if number is None else int(number)


DATA_SET = DataSet(
    name="popqa",
    title="PopQA",
    about="One fact of Wikidata a question, subjects from well known to hardly known (s_pop: monthly views).",
    splits={"test": ("*.tsv",)},
    default_split="test",
    read=lambda path, split: table_rows(path, "\t"),
    adapt=adapt,
    get="Download popQA.tsv from https://github.com/AlexTMallen/adaptive-retrieval (data/).",
    url="https://github.com/AlexTMallen/adaptive-retrieval",
    paper="arXiv 2212.10511",
    licence="MIT",
    hub=Hub("akariasai/PopQA", {"test": "test"}, revision="098765c79ea10a2cb19c828324e33281b8336ec0"),
    sizes={"test": 14_267},
)
