"""Questions over Wikidata and DBpedia: QALD, LC-QuAD 2.0, Mintaka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triplecheck.evals.datasets.spec import (
    DataSet,
    Hub,
    Record,
    ids_in,
    json_rows,
    named,
    question,
    records,
    required,
    text,
    texts,
)
from triplecheck.evals.gold import is_number
from triplecheck.evals.questions import Question

# QALD: Usbeck et al. 2023, "QALD-10"; Perevalov et al. 2022, "QALD-9-plus".

_LANGUAGE = "en"
_ENTITY = r"\bwd:(Q[1-9][0-9]*)|<?http://www\.wikidata\.org/entity/(Q[1-9][0-9]*)>?"
_DBPEDIA = "http://dbpedia.org/resource/"
_RESOURCE = r"<(http://dbpedia\.org/resource/[^>\s]+)>|\b(?:dbr|res):([^\s.;,})]+)"


def adapt_qald(row: Record, id: str) -> Question:
    """An English question with the results of its query: entities, values, or yes or no."""
    asked = next(
        (text(one.get("string")) for one in records(row["question"]) if one.get("language") == _LANGUAGE), None
    )
    if asked is None:
        raise ValueError(f"has no question in {_LANGUAGE!r}")
    found = row.get("answers")
    answers = texts(value for answer in found or () for value in _values(answer))
    query = text((row.get("query") or {}).get("sparql"))
    kind = "boolean" if any("boolean" in answer for answer in found or ()) else text(row.get("answertype"))
    return question(
        id=f"{id.rsplit('-', 1)[0]}-{row['id']}",
        question=asked,
        answers=answers,
        answerable=bool(answers) or found is None,
        topic=_topics(query),
        kind=kind,
        sparql=query,
        aggregation=row.get("aggregation"),
    )


def _values(answer: Record) -> Iterator[Any]:
    """The values in a SPARQL JSON result."""
    if "boolean" in answer:
        yield "yes" if answer["boolean"] in (True, "true") else "no"
        return
    for solution in (answer.get("results") or {}).get("bindings") or ():
        yield from (term.get("value") for term in solution.values())


def _topics(query: str | None) -> list[str]:
    names = [name.removeprefix(_DBPEDIA) for name in ids_in(query, _RESOURCE)]
    return [*ids_in(query, _ENTITY), *dict.fromkeys(f"{_DBPEDIA}{name}" for name in names)]


def _qald(name: str, title: str, about: str, paper: str, home: str, **more: Any) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        about=about,
        default_split="test",
        read=lambda path, split: json_rows(path, "questions"),
        adapt=adapt_qald,
        get=f"Copy the folder data of {home}.",
        url=home,
        paper=paper,
        **more,
    )


QALD = (
    _qald(
        "qald-10",
        "QALD-10",
        "Wikidata: handwritten questions, many with counts, comparisons and superlatives.",
        "Semantic Web 2023, https://doi.org/10.3233/SW-233471",
        "https://github.com/KGQA/QALD-10",
        splits={"test": ("qald_10.json",)},
        licence="MIT (repository)",
        sizes={"test": 394},
    ),
    _qald(
        "qald-9-plus",
        "QALD-9-plus on Wikidata",
        "Wikidata: the handwritten questions of QALD-9, transferred from DBpedia.",
        "arXiv 2202.00120",
        "https://github.com/KGQA/QALD_9_plus",
        splits={"train": ("qald_9_plus_train_wikidata.json",), "test": ("qald_9_plus_test_wikidata.json",)},
        licence="CC BY 4.0",
        sizes={"train": 371, "test": 136},
    ),
    _qald(
        "qald-9-plus-dbpedia",
        "QALD-9-plus on DBpedia",
        "DBpedia: the handwritten questions of QALD-9.",
        "arXiv 2202.00120",
        "https://github.com/KGQA/QALD_9_plus",
        splits={"train": ("qald_9_plus_train_dbpedia.json",), "test": ("qald_9_plus_test_dbpedia.json",)},
        licence="CC BY 4.0",
        sizes={"train": 408, "test": 150},
    ),
)


# LC-QuAD 2.0: Dubey et al. 2019, "LC-QuAD 2.0: A Large Dataset for Complex Question Answering over Wikidata and
# DBpedia".

_ENTITY_IN_QUERY = r"\bwd:(Q[1-9][0-9]*)"
_NOT_GIVEN = {"n/a", "na", "none"}


def adapt_lc_quad(row: Record, id: str) -> Question:
    """A question with its query. The files have no answers, so the questions can be asked but not scored."""
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
        topic=ids_in(query, _ENTITY_IN_QUERY),
        kind=text(kind) if isinstance(kind, str) else None,
        sparql=query,
        sparql_dbpedia=text(row.get("sparql_dbpedia18")),
    )


LC_QUAD = DataSet(
    name="lc-quad-2",
    title="LC-QuAD 2.0",
    about="Wikidata: 30,000 questions from 22 templates, some with qualifiers; with queries, without answers.",
    splits={"train": ("train.json",), "test": ("test.json",)},
    default_split="test",
    adapt=adapt_lc_quad,
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


# Mintaka: Sen et al. 2022, "Mintaka: A Complex, Natural, and Multilingual Dataset for End-to-End Question
# Answering".


def adapt_mintaka(row: Record, id: str) -> Question:
    """A question with its entities; the answer to a count question is its number, if given."""
    answer = row.get("answer")
    answers, labels = _answers(answer) if isinstance(answer, dict) else _answers_of_hub(row)
    kind = text(row.get("complexityType"))
    number = text(answer.get("answerNum") if isinstance(answer, dict) else row.get("answerText"))
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
        # Some count questions have the counted entities as answers.
        computed=not any(labels) and (kind == "count" or {one.casefold() for one in answers} in ({"yes"}, {"no"})),
        category=text(row.get("category")),
    )


def _answers(answer: Record) -> tuple[list[str], list[str | None]]:
    """Answers in the official files: a list of entities or values; null if annotators found none."""
    values: list[Any] = answer.get("answer") or []
    if any(isinstance(value, dict) for value in values):
        return named((text(one.get("name")), text(_english(one.get("label")))) for one in values)
    return named((_value(value), None) for value in values)


def _answers_of_hub(row: Record) -> tuple[list[str], list[str | None]]:
    """Answers on the hub: entities and a text."""
    entities = [(text(one.get("name")), text(one.get("label"))) for one in records(row.get("answerEntity"))]
    return named(entities or [(_value(row.get("answerText")), None)])


def _english(label: Any) -> Any:
    return label.get("en") if isinstance(label, dict) else label


def _value(value: Any) -> str | None:
    return ("yes" if value else "no") if isinstance(value, bool) else text(value)


MINTAKA = DataSet(
    name="mintaka",
    title="Mintaka",
    about="Wikidata: eight types of complex questions by crowd workers, such as counts, comparisons and yes or no.",
    splits={"train": ("mintaka_train.json",), "dev": ("mintaka_dev.json",), "test": ("mintaka_test.json",)},
    default_split="test",
    adapt=adapt_mintaka,
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
