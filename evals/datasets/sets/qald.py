"""QALD: Usbeck et al. 2023, "QALD-10"; Perevalov et al. 2022, "QALD-9-plus"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triplecheck.evals.datasets.fields import ids_in, question, records, text, texts
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Row
from triplecheck.evals.questions import Question

_LANGUAGE = "en"
_ENTITY = r"\bwd:(Q[1-9][0-9]*)|<?http://www\.wikidata\.org/entity/(Q[1-9][0-9]*)>?"
_DBPEDIA = "http://dbpedia.org/resource/"
_RESOURCE = r"<(http://dbpedia\.org/resource/[^>\s]+)>|\b(?:dbr|res):([^\s.;,})]+)"


def adapt(row: Row, id: str) -> Question:
    """A question in English, with what its query found: entities, values, or yes or no."""
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


def _values(answer: Row) -> Iterator[Any]:
    """The solutions of a reply in SPARQL's JSON."""
    if "boolean" in answer:
        yield "yes" if answer["boolean"] in (True, "true") else "no"
        return
    for solution in (answer.get("results") or {}).get("bindings") or ():
        yield from (term.get("value") for term in solution.values())


def _topics(query: str | None) -> list[str]:
    names = [name.removeprefix(_DBPEDIA) for name in ids_in(query, _RESOURCE)]
    return [*ids_in(query, _ENTITY), *dict.fromkeys(f"{_DBPEDIA}{name}" for name in names)]


def _data_set(name: str, title: str, about: str, paper: str, home: str, **more: Any) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        about=about,
        default_split="test",
        read=lambda path, split: json_rows(path, "questions"),
        adapt=adapt,
        get=f"Copy the folder data of {home}.",
        url=home,
        paper=paper,
        **more,
    )


DATA_SETS = (
    _data_set(
        "qald-10",
        "QALD-10",
        "Wikidata: hand-written questions, many with counts, comparisons and superlatives.",
        "Semantic Web 2023, https://doi.org/10.3233/SW-233471",
        "https://github.com/KGQA/QALD-10",
        splits={"test": ("qald_10.json",)},
        licence="MIT (repository)",
        sizes={"test": 394},
    ),
    _data_set(
        "qald-9-plus",
        "QALD-9-plus on Wikidata",
        "Wikidata: the hand-written questions of QALD-9, moved over from DBpedia.",
        "arXiv 2202.00120",
        "https://github.com/KGQA/QALD_9_plus",
        splits={"train": ("qald_9_plus_train_wikidata.json",), "test": ("qald_9_plus_test_wikidata.json",)},
        licence="CC BY 4.0",
        sizes={"train": 371, "test": 136},
    ),
    _data_set(
        "qald-9-plus-dbpedia",
        "QALD-9-plus on DBpedia",
        "DBpedia: the hand-written questions of QALD-9.",
        "arXiv 2202.00120",
        "https://github.com/KGQA/QALD_9_plus",
        splits={"train": ("qald_9_plus_train_dbpedia.json",), "test": ("qald_9_plus_test_dbpedia.json",)},
        licence="CC BY 4.0",
        sizes={"train": 408, "test": 150},
    ),
)
