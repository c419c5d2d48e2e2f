"""Questions over Freebase: WebQSP, CWQ, GrailQA, WebQuestions."""

from __future__ import annotations

import re

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
from triplecheck.evals.questions import Question

# RoG's copies of WebQSP and CWQ on the hub (Luo et al. 2024, arXiv 2310.01061), with names instead of ids.


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


# ComplexWebQuestions: Talmor and Berant 2018, "The Web as a Knowledge-Base for Answering Complex Questions".

_ENTITY = r"\bns:([mg]\.[0-9a-z_]+)"


def adapt_cwq(row: Record, id: str) -> Question:
    """A question; the topics are the entities in its query."""
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
        # A hidden test set omits the field; an empty list means that there is no answer.
        answerable=bool(found) or row.get("answers") is None,
        topic=[one for one in ids_in(query, _ENTITY) if one not in found],
        kind=text(row.get("compositionality_type")),
        sparql=query,
        webqsp_id=text(row.get("webqsp_ID")),
    )


CWQ = DataSet(
    name="cwq",
    title="ComplexWebQuestions",
    about="Freebase: WebQSP extended by composition, conjunction, comparatives and superlatives.",
    splits={
        "train": ("ComplexWebQuestions_train*.json",),
        "dev": ("ComplexWebQuestions_dev*.json",),
        "test": ("ComplexWebQuestions_test*.json",),
    },
    default_split="test",
    adapt=adapt_cwq,
    get="Download the question files linked from https://www.tau-nlp.sites.tau.ac.il/compwebq.",
    url="https://www.tau-nlp.sites.tau.ac.il/compwebq",
    paper="arXiv 1803.06643",
    licence="none stated for the questions; the package is GPL v2+",
    hub=Hub(
        "rmanluo/RoG-cwq",
        {"train": "train", "dev": "validation", "test": "test"},
        revision="b0f6275586286312c4e99ef4b0adc65463c91f8e",
        adapt=adapt_rog,
        unused=("graph", "choices"),
    ),
    sizes={"train": 27_639, "dev": 3_519, "test": 3_531},
)


# GrailQA: Gu et al. 2021, "Beyond I.I.D.: Three Levels of Generalization for Question Answering on
# Knowledge Bases".


def adapt_grailqa(row: Record, id: str) -> Question:
    """A question with its level of generalization; counts are marked as computed."""
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


GRAILQA = DataSet(
    name="grailqa",
    title="GrailQA",
    about="Freebase: counts, superlatives and comparisons; i.i.d., compositional and zero-shot.",
    splits={
        "train": ("grailqa_v1.0_train.json",),
        "dev": ("grailqa_v1.0_dev.json",),
        "test": ("grailqa_v1.0_test_public.json",),
    },
    default_split="dev",
    adapt=adapt_grailqa,
    get="Download GrailQA_v1.0.zip from https://dki-lab.github.io/GrailQA and unpack it.",
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


# WebQuestions: Berant et al. 2013, "Semantic Parsing on Freebase from Question-Answer Pairs".

_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()]*))\)')


def adapt_webquestions(row: Record, id: str) -> Question:
    """A question with the names of its answers; the topic comes from the URL of its page."""
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


WEBQUESTIONS = DataSet(
    name="webquestions",
    title="WebQuestions",
    about="Freebase: search engine queries, answered from the page of one entity.",
    splits={"train": ("webquestions.examples.train*.json",), "test": ("webquestions.examples.test*.json",)},
    default_split="test",
    adapt=adapt_webquestions,
    get="Download the examples from https://nlp.stanford.edu/software/sempre.",
    url="https://nlp.stanford.edu/software/sempre",
    paper="EMNLP 2013, https://aclanthology.org/D13-1160",
    licence="CC BY 4.0",
    hub=Hub("stanfordnlp/web_questions", {"train": "train", "test": "test"}),
    sizes={"train": 3_778, "test": 2_032},
)
