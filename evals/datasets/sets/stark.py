"""STaRK: Wu et al. 2024, "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from triplecheck.evals.datasets.fields import question, required, texts
from triplecheck.evals.datasets.files import table_rows, text_lines
from triplecheck.evals.datasets.spec import DataSet, Hub, Row
from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError

_SYNTHESIZED, _HUMAN = "stark_qa.csv", "stark_qa_human_generated_eval.csv"
_SPLITS = ("train", "val", "test", "test-0.1")
"""The last one is the first tenth of the test queries, on which methods with paid models are compared."""


def adapt(row: Row, id: str) -> Question:
    """A query with the numbers of the nodes that it asks for, as ids."""
    nodes = row["answer_ids"]
    return question(
        id=f"{id.rsplit('-', 1)[0]}-{required(row, 'id')}",
        question=required(row, "query"),
        answers=texts(json.loads(nodes) if isinstance(nodes, str) else nodes),
    )


def read(path: Path, split: str) -> Iterator[tuple[int, Row]]:
    """The rows of a split: those whose id stands in `split/SPLIT.index`, beside the folder of the table."""
    wanted = None
    if path.name.startswith(_SYNTHESIZED):
        wanted = _in_split(path.parent.parent / "split", split)
    for number, row in table_rows(path, ","):
        if wanted is None or required(row, "id") in wanted:
            yield number, row


def _in_split(folder: Path, split: str) -> set[str]:
    """Ids of the queries of a split."""
    index = folder / f"{split}.index"
    whole, _, share = split.partition("-")
    if share and not index.is_file():
        ids = [line.strip() for _, line in text_lines(folder / f"{whole}.index")]
        return set(ids[: int(len(ids) * float(share))])
    if not index.is_file():
        raise ReadError(index, None, "no such file; STaRK keeps there which queries of its table are a split")
    return {line.strip() for _, line in text_lines(index)}


def _data_set(base: str, about: str, sizes: dict[str, int]) -> DataSet:
    folder = f"qa/{base}"
    tables = {**dict.fromkeys(_SPLITS, _SYNTHESIZED), "human": _HUMAN}
    return DataSet(
        name=f"stark-{base}",
        title=f"STaRK {base.upper()}",
        about=about,
        splits={split: (f"{base}/stark_qa/{table}",) for split, table in tables.items()},
        default_split="test",
        read=read,
        adapt=adapt,
        get=f"Copy {folder} from https://huggingface.co/datasets/snap-stanford/stark, with its stark_qa/ and split/.",
        url="https://stark.stanford.edu",
        paper="arXiv 2404.13207",
        licence="CC BY 4.0",
        hub=Hub(
            "snap-stanford/stark",
            {split: split for split in tables},
            files={split: f"{folder}/stark_qa/{table}" for split, table in tables.items()},
            index={split: f"{folder}/split/{split}.index" for split in _SPLITS},
        ),
        sizes=sizes,
    )


DATA_SETS = (
    _data_set("amazon", "A graph of products with reviews and questions: relations and descriptions together.", {}),
    _data_set("mag", "A graph of papers, authors, institutions and fields, with abstracts.", {}),
    _data_set("prime", "A biomedical graph of ten kinds of nodes (PrimeKG), with descriptions.", {}),
)
