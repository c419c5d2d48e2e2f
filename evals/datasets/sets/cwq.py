"""ComplexWebQuestions: Talmor and Berant 2018, "The Web as a Knowledge-Base for Answering Complex Questions"."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import ids_in, question, records, required, text, texts
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.sets import rog
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question

_ENTITY = r"\bns:([mg]\.[0-9a-z_]+)"


def adapt(row: Row, id: str) -> Question:
    """A question with the entities that its query names as topics."""
    found = {}
    for one in records(row.get("answers")):
        name = text(one.get("answer"))
        if key := text(one.get("answer_id")) or name:
            found[key] = (name, [alias for alias in texts(one.get("aliases")) if alias != name])
    query = text(row.get("sparql"))
    return question(
        id=required(row, "ID"),
        question=required(row, "question"),
        answers=list(found),
        answer_labels=[name for name, _ in found.values()],
        answer_aliases=[aliases for _, aliases in found.values()],
        # A hidden test set leaves the field out; a list that is there and empty is an answer, too.
        answerable=bool(found) or row.get("answers") is None,
        topic=[one for one in ids_in(query, _ENTITY) if one not in found],
        kind=text(row.get("compositionality_type")),
        sparql=query,
        webqsp_id=text(row.get("webqsp_ID")),
    )


DATA_SET = DataSet(
    name="cwq",
    title="ComplexWebQuestions",
    about="Freebase: WebQSP made harder by composition, conjunction, comparatives and superlatives.",
    splits={
        "train": ("ComplexWebQuestions_train*.json",),
        "dev": ("ComplexWebQuestions_dev*.json",),
        "test": ("ComplexWebQuestions_test*.json",),
    },
    default_split="test",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Download the question files linked from https://www.tau-nlp.sites.tau.ac.il/compwebq.",
    url="https://www.tau-nlp.sites.tau.ac.il/compwebq",
    paper="arXiv 1803.06643",
    licence="none stated for the questions; the package is GPL v2+",
    hub=Hub(
        "rmanluo/RoG-cwq",
        {"train": "train", "dev": "validation", "test": "test"},
        revision="b0f6275586286312c4e99ef4b0adc65463c91f8e",
        adapt=rog.adapt,
        unused=("graph", "choices"),
    ),
    sizes={"train": 27_639, "dev": 3_519, "test": 3_531},
)
