"""LC-QuAD 2.0: Dubey et al. 2019, "LC-QuAD 2.0: A Large Dataset for Complex Question Answering over Wikidata and
DBpedia"."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import ids_in, question, text, texts
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question

_ENTITY = r"\bwd:(Q[1-9][0-9]*)"
_NOT_GIVEN = {"n/a", "na", "none"}


def adapt(row: Row, id: str) -> Question:
    """A question with its query. The files hold no answers: without them it can be asked and not scored."""
    asked = [
        value
        for name in ("question", "paraphrased_question", "NNQT_question")
        if isinstance(row.get(name), str) and (value := text(row[name])) and value.casefold() not in _NOT_GIVEN
    ]
    if not asked:
        raise ValueError("has no question")
    query = text(row.get("sparql_wikidata"))
    kind = row.get("subgraph")
    return question(
        id=f"lc-quad-2-{row['uid']}",
        question=asked[0],
        answers=texts(row.get("answer")),
        answerable=True,
        topic=ids_in(query, _ENTITY),
        kind=text(kind) if isinstance(kind, str) else None,
        sparql=query,
        sparql_dbpedia=text(row.get("sparql_dbpedia18")),
    )


DATA_SET = DataSet(
    name="lc-quad-2",
    title="LC-QuAD 2.0",
    about="Wikidata: 30,000 questions of 22 templates, qualifiers among them; queries are given, answers are not.",
    splits={"train": ("train.json",), "test": ("test.json",)},
    default_split="test",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Copy the folder dataset of https://github.com/AskNowQA/LC-QuAD2.0.",
    url="https://github.com/AskNowQA/LC-QuAD2.0",
    paper="ISWC 2019, https://doi.org/10.1007/978-3-030-30796-7_5",
    licence="CC BY 4.0",
    hub=Hub(
        "mohnish/lc_quad",
        {"train": "train", "test": "test"},
        revision="refs/convert/parquet",
        files={"train": "*/train/*.parquet", "test": "*/test/*.parquet"},
    ),
    sizes={"train": 24_180, "test": 6_046},
)
