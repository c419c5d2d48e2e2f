"""WebQSP: Yih et al. 2016, "The Value of Semantic Parse Labeling for Knowledge Base Question Answering"."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import named, question, records, required, text
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.sets import rog
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question with the answers of all its parses, each once; the answers by parse stand in `extra`."""
    parses = records(row.get("Parses"))
    found = [[_answer(answer) for answer in records(parse.get("Answers"))] for parse in parses]
    answers, labels = named(pair for pairs in found for pair in pairs)
    topics, names = named((text(p.get("TopicEntityMid")), text(p.get("TopicEntityName"))) for p in parses)
    chains = [chain for parse in parses if (chain := parse.get("InferentialChain"))]
    return question(
        id=required(row, "QuestionId"),
        question=text(row.get("RawQuestion")) or required(row, "ProcessedQuestion"),
        answers=answers,
        answer_labels=labels,
        topic=topics,
        topic_labels=names,
        hops=len(chains[0]) if chains else None,
        relations=chains[0] if chains else None,
        gold_paths=chains if len(chains) > 1 else None,
        answers_by_parse=[[id or name for id, name in pairs] for pairs in found] if len(found) > 1 else None,
    )


def _answer(answer: Row) -> tuple[str | None, str | None]:
    return text(answer.get("AnswerArgument")), text(answer.get("EntityName"))


DATA_SET = DataSet(
    name="webqsp",
    title="WebQSP",
    about="Freebase: what people asked a search engine, one or two hops, some with constraints.",
    splits={"train": ("WebQSP.train.json",), "test": ("WebQSP.test.json",)},
    default_split="test",
    read=lambda path, split: json_rows(path, "Questions"),
    adapt=adapt,
    get="Download WebQSP.zip from https://www.microsoft.com/en-us/download/details.aspx?id=52763, and unpack it.",
    url="https://www.microsoft.com/en-us/download/details.aspx?id=52763",
    paper="ACL 2016, https://aclanthology.org/P16-2033",
    licence="Microsoft Research Data License (in the archive); research only",
    hub=Hub(
        "rmanluo/RoG-webqsp",
        {"train": "train", "test": "test"},
        adapt=rog.adapt,
        unused=("graph", "choices"),
    ),
    sizes={"train": 3_098, "test": 1_639},
)
