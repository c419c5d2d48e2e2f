"""CRAG: Yang et al. 2024, "CRAG - Comprehensive RAG Benchmark"."""

from __future__ import annotations

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import json_line_rows
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question

_FALSE_PREMISE = "false_premise"
_INVALID = "invalid question"


def adapt(row: Row, id: str) -> Question:
    """A question with one answer and its other wordings; one with a false premise has none."""
    kind, answer = text(row.get("question_type")), text(row.get("answer"))
    unanswerable = kind == _FALSE_PREMISE or (answer or "").casefold().rstrip(".") == _INVALID
    others = [name for name in texts(row.get("alt_ans")) if name != answer]
    answers = [answer] if answer and not unanswerable else []
    return question(
        id=required(row, "interaction_id"),
        question=required(row, "query"),
        answers=answers,
        answer_aliases=[others] if answers and others else None,
        answerable=not unanswerable,
        kind=kind,
        popularity=text(row.get("popularity")),
        domain=text(row.get("domain")),
        static_or_dynamic=text(row.get("static_or_dynamic")),
        query_time=text(row.get("query_time")),
    )


def _keep(row: Row, split: str) -> bool:
    return row.get("split") == {"dev": 0, "test": 1}[split]


DATA_SET = DataSet(
    name="crag",
    title="CRAG",
    about="Five domains, eight kinds of questions, some with a false premise; facts that change, heads to tails.",
    splits={"dev": ("crag_task_1_and_2_dev_v4.jsonl",), "test": ("crag_task_1_and_2_dev_v4.jsonl",)},
    default_split="test",
    read=lambda path, split: json_line_rows(path),
    adapt=adapt,
    get="Download data/crag_task_1_and_2_dev_v4.jsonl.bz2 from https://github.com/facebookresearch/CRAG.",
    url="https://github.com/facebookresearch/CRAG",
    paper="arXiv 2406.04744",
    licence="CC BY-NC 4.0",
    hub=Hub(
        "Quivr/CRAG",
        {"dev": "train", "test": "train"},
        files={"train": "crag_task_1_and_2_dev_v4_subsample_*.jsonl.bz2"},
        unused=("search_results",),
    ),
    keep=_keep,
)
