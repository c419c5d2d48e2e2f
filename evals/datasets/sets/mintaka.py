"""Mintaka: Sen et al. 2022, "Mintaka: A Complex, Natural, and Multilingual Dataset for End-to-End Question
Answering"."""

from __future__ import annotations

from typing import Any

from triplecheck.evals.datasets.fields import named, question, records, required, text
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.gold import is_number
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question with its entities; the answer of a count is its number, where one is given."""
    told = row.get("answer")
    answers, labels = _answers(told) if isinstance(told, dict) else _answers_of_hub(row)
    kind = text(row.get("complexityType"))
    number = text(told.get("answerNum") if isinstance(told, dict) else row.get("answerText"))
    if kind == "count" and number is not None and is_number(number):
        answers, labels = [number], [None]
    entities = [one for one in records(row.get("questionEntity")) if one.get("entityType") == "entity"]
    topics, names = named((text(one.get("name")), text(one.get("label"))) for one in entities)
    return question(
        id=required(row, "id"),
        question=required(row, "question"),
        answers=answers,
        answer_labels=labels if any(labels) else None,
        topic=topics,
        topic_labels=names,
        kind=kind,
        # What is counted may stand in place of the count.
        computed=not any(labels) and (kind == "count" or {one.casefold() for one in answers} in ({"yes"}, {"no"})),
        category=text(row.get("category")),
    )


def _answers(told: Row) -> tuple[list[str], list[str | None]]:
    """Of the official files: entities, or values in a list; null where nobody could find one."""
    values: list[Any] = told.get("answer") or []
    if any(isinstance(value, dict) for value in values):
        return named((text(one.get("name")), text(_english(one.get("label")))) for one in values)
    return named((_value(value), None) for value in values)


def _answers_of_hub(row: Row) -> tuple[list[str], list[str | None]]:
    """Of the hub: entities beside the text of the answer."""
    entities = [(text(one.get("name")), text(one.get("label"))) for one in records(row.get("answerEntity"))]
    return named(entities or [(_value(row.get("answerText")), None)])


def _english(label: Any) -> Any:
    return label.get("en") if isinstance(label, dict) else label


def _value(value: Any) -> str | None:
    return ("yes" if value else "no") if isinstance(value, bool) else text(value)


DATA_SET = DataSet(
    name="mintaka",
    title="Mintaka",
    about="Wikidata: eight kinds of hard questions that people wrote, counts, comparisons and yes or no among them.",
    splits={"train": ("mintaka_train.json",), "dev": ("mintaka_dev.json",), "test": ("mintaka_test.json",)},
    default_split="test",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Copy the folder data of https://github.com/amazon-science/mintaka.",
    url="https://github.com/amazon-science/mintaka",
    paper="COLING 2022, https://aclanthology.org/2022.coling-1.138",
    licence="CC BY 4.0",
    hub=Hub(
        "AmazonScience/mintaka",
        {"train": "train", "dev": "validation", "test": "test"},
        revision="refs/convert/parquet",
        files={
            "train": "en/train/*.parquet",
            "validation": "en/validation/*.parquet",
            "test": "en/test/*.parquet",
        },
    ),
    sizes={"train": 14_000, "dev": 2_000, "test": 4_000},
)
