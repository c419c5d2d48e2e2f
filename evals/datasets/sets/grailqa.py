"""GrailQA: Gu et al. 2021, "Beyond I.I.D.: Three Levels of Generalization for Question Answering on
Knowledge Bases"."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import named, question, records, required, text
from triplecheck.evals.datasets.files import json_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question


def adapt(row: Row, id: str) -> Question:
    """A question of one level of generalization; counts are computed."""
    answers, labels = named(
        (text(one.get("answer_argument")), text(one.get("entity_name"))) for one in records(row.get("answer"))
    )
    graph = row.get("graph_query") or {}
    entities = [node for node in records(graph.get("nodes")) if node.get("node_type") == "entity"]
    topics, names = named((text(node.get("id")), text(node.get("friendly_name"))) for node in entities)
    relations = [relation for edge in records(graph.get("edges")) if (relation := text(edge.get("relation")))]
    function = text(row.get("function"))
    edges = row.get("num_edge")
    return question(
        id=f"grailqa-{required(row, 'qid')}",
        question=required(row, "question"),
        answers=answers,
        answer_labels=labels,
        answerable=True,
        computed=function == "count",
        topic=topics,
        topic_labels=names,
        hops=edges if isinstance(edges, int) and edges > 0 else None,
        kind=text(row.get("level")),
        relations=relations or None,
        function=function,
        sparql=text(row.get("sparql_query")),
    )


DATA_SET = DataSet(
    name="grailqa",
    title="GrailQA",
    about="Freebase: counts, superlatives and comparisons; i.i.d., compositional, or of relations never seen.",
    splits={
        "train": ("grailqa_v1.0_train.json",),
        "dev": ("grailqa_v1.0_dev.json",),
        "test": ("grailqa_v1.0_test_public.json",),
    },
    default_split="dev",
    read=lambda path, split: json_rows(path),
    adapt=adapt,
    get="Download GrailQA_v1.0.zip from https://dki-lab.github.io/GrailQA, and unpack it.",
    url="https://dki-lab.github.io/GrailQA",
    paper="arXiv 2011.07743",
    licence="CC BY-SA 4.0",
    hub=Hub(
        "dki-lab/grail_qa",
        {"train": "train", "dev": "validation", "test": "test"},
        revision="refs/convert/parquet",
        files={
            "train": "*/train/*.parquet",
            "validation": "*/validation/*.parquet",
            "test": "*/test/*.parquet",
        },
    ),
    sizes={"train": 44_337, "dev": 6_763, "test": 13_231},
)
