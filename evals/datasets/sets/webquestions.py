"""WebQuestions: Berant et al. 2013, "Semantic Parsing on Freebase from Question-Answer Pairs"."""

from __future__ import annotations

import re

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question

_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()]*))\)')


def adapt(row: Row, id: str) -> Question:
    """A question with the names of its answers; the page that it was asked about tells the topic."""
    target = row.get("targetValue")
    page = text(row.get("url"))
    return question(
        id=id,
        question=required(row, "question", "utterance"),
        answers=texts(described(target) if isinstance(target, str) else row.get("answers")),
        topic=texts([page and page.rstrip("/").rsplit("/", 1)[-1].replace("_", " ")]),
        url=page,
    )


def described(target: str) -> list[str]:
    """The names in an S-expression.

    >>> described('(list (description "Ann Lee") (description Oslo))')
    ['Ann Lee', 'Oslo']
    """
    return [re.sub(r"\\(.)", r"\1", quoted) or bare for quoted, bare in _DESCRIPTION.findall(target)]


DATA_SET = DataSet(
    name="webquestions",
    title="WebQuestions",
    about="Freebase: what people asked a search engine, answered from the page of one entity.",
    splits={"train": ("webquestions.examples.train*.json",), "test": ("webquestions.examples.test*.json",)},
    default_split="test",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Download the examples from https://nlp.stanford.edu/software/sempre.",
    url="https://nlp.stanford.edu/software/sempre",
    paper="EMNLP 2013, https://aclanthology.org/D13-1160",
    licence="CC BY 4.0",
    hub=Hub("stanfordnlp/web_questions", {"train": "train", "test": "test"}),
    sizes={"train": 3_778, "test": 2_032},
)
