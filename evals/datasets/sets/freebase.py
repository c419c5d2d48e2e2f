"""Questions over Freebase: WebQSP."""

from __future__ import annotations

from triplecheck.evals.datasets.spec import (
    DataSet,
    Hub,
    Record,
    json_rows,
    named,
    question,
    records,
    required,
    text,
    texts,
)
from triplecheck.evals.questions import Question

# RoG's copy of WebQSP on the hub (Luo et al. 2024, arXiv 2310.01061), with names instead of ids.


def adapt_rog(row: Record, id: str) -> Question:
    """A question with names of topics and answers. An empty list of answers means that there is no answer."""
    return question(
        id=required(row, "id"),
        question=required(row, "question"),
        answers=texts(row.get("answer")),
        topic=texts(row.get("q_entity")),
    )


# WebQSP: Yih et al. 2016, "The Value of Semantic Parse Labeling for Knowledge Base Question Answering".


def adapt_webqsp(row: Record, id: str) -> Question:
    """A question with the distinct answers of all its parses; `extra` has the answers by parse."""
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


def _answer(answer: Record) -> tuple[str | None, str | None]:
    return text(answer.get("AnswerArgument")), text(answer.get("EntityName"))


WEBQSP = DataSet(
    name="webqsp",
    title="WebQSP",
    about="Freebase: search engine queries with one or two hops, some with constraints.",
    splits={"train": ("WebQSP.train.json",), "test": ("WebQSP.test.json",)},
    default_split="test",
    read=lambda path, split: json_rows(path, "Questions"),
    adapt=adapt_webqsp,
    get="Download WebQSP.zip from https://www.microsoft.com/en-us/download/details.aspx?id=52763 and unpack it.",
    url="https://www.microsoft.com/en-us/download/details.aspx?id=52763",
    paper="ACL 2016, https://aclanthology.org/P16-2033",
    licence="Microsoft Research Data License (in the archive); research only",
    hub=Hub(
        "rmanluo/RoG-webqsp",
        {"train": "train", "test": "test"},
        adapt=adapt_rog,
        unused=("graph", "choices"),
    ),
    sizes={"train": 3_098, "test": 1_639},
)
