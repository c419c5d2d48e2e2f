"""Questions over text and semi-structured data: HotpotQA, 2WikiMultiHopQA, PopQA, CRAG, STaRK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.spec import (
    DataSet,
    Hub,
    Record,
    json_line_rows,
    json_rows,
    question,
    required,
    table_rows,
    text,
    texts,
)
from triplecheck.evals.questions import Question, text_lines
from triplecheck.kg import ReadError
from triplecheck.kg.values import parse_json

# HotpotQA: Yang et al. 2018, "HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering".


def adapt_hotpotqa(row: Record, id: str) -> Question:
    """A question that a text, or yes or no, answers; hidden test sets have no answers."""
    answer = text(row.get("answer"))
    return question(
        id=text(row.get("_id") or row.get("id")) or id,
        question=required(row, "question"),
        answers=[answer] if answer else [],
        answerable=True,
        kind=text(row.get("type")),
        documents=texts(titles(row.get("supporting_facts"))),
        level=text(row.get("level")),
    )


def titles(facts: Any) -> Iterable[Any]:
    """Titles of supporting facts: `[[title, sentence], ...]` in the official files, columns on the hub."""
    return facts["title"] if isinstance(facts, Mapping) else [fact[0] for fact in facts or ()]


HOTPOTQA = DataSet(
    name="hotpotqa",
    title="HotpotQA",
    about="Wikipedia passages: bridge questions over two passages, and comparisons, some with yes or no answers.",
    splits={
        "train": ("hotpot_train_v1*.json",),
        "dev": ("hotpot_dev_*_v1*.json",),
        "test": ("hotpot_test_fullwiki_v1*.json",),
    },
    default_split="dev",
    adapt=adapt_hotpotqa,
    get="Download the JSON files from https://hotpotqa.github.io.",
    url="https://hotpotqa.github.io",
    paper="arXiv 1809.09600",
    licence="CC BY-SA 4.0",
    hub=Hub(
        "hotpotqa/hotpot_qa",
        {"train": "train", "dev": "validation"},
        revision="refs/convert/parquet",
        files={"train": "distractor/train/*.parquet", "validation": "distractor/validation/*.parquet"},
        unused=("context",),
    ),
    sizes={"train": 90_447, "dev": 7_405, "test": 7_405},
)


# 2WikiMultiHopQA: Ho et al. 2020, "Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of
# Reasoning Steps".

_ALIASES = "id_aliases.json"


def adapt_two_wiki(row: Record, id: str) -> Question:
    """A question that a text, or yes or no, answers."""
    answer = text(row.get("answer"))
    aliases = [name for name in texts(row.get("answer_aliases")) if name != answer]
    return question(
        id=text(row.get("_id") or row.get("id")) or id,
        question=required(row, "question"),
        answers=[answer] if answer else [],
        answer_aliases=[aliases] if answer and aliases else None,
        answerable=True,
        kind=text(row.get("type")),
        documents=texts(titles(_plain(row.get("supporting_facts")))),
    )


def _plain(value: Any) -> Any:
    """Parse JSON text; some copies on the hub store fields that way."""
    return parse_json(value) if isinstance(value, str) else value


def read_two_wiki(path: Path, split: str) -> Iterator[tuple[None, Record]]:
    """The rows of a file, with aliases of the answers from `id_aliases.json` in the same folder, if it exists."""
    beside = path.parent / _ALIASES
    aliases = {str(row.get("Q_id")): row for _, row in json_line_rows(beside)} if beside.is_file() else {}
    for place, row in json_rows(path):
        known = aliases.get(str(row.get("answer_id")), {})
        other = [known.get(name) or [] for name in ("aliases", "demonyms")]
        if not all(isinstance(names, list) for names in other):
            raise ReadError(beside, None, f"the aliases of {row.get('answer_id')!r} are not a list of names")
        yield place, {**row, "answer_aliases": [*other[0], *other[1]]}


TWO_WIKI = DataSet(
    name="2wikimultihopqa",
    title="2WikiMultiHopQA",
    about="Wikipedia passages and Wikidata triples: composition, comparison, inference, and bridge-comparison.",
    splits={"train": ("train.json",), "dev": ("dev.json",), "test": ("test.json",)},
    default_split="dev",
    read=read_two_wiki,
    adapt=adapt_two_wiki,
    get="Download data_ids_april7.zip as https://github.com/Alab-NII/2wikimultihop describes, and unpack it.",
    url="https://github.com/Alab-NII/2wikimultihop",
    paper="arXiv 2011.01060",
    licence="Apache-2.0",
    hub=Hub(
        "ohjoonhee/2WikiMultihopQA",
        {"train": "train", "dev": "validation", "test": "test"},
        unused=("context",),
    ),
    sizes={"train": 167_454, "dev": 12_576, "test": 12_576},
)


# PopQA: Mallen et al. 2023, "When Not to Trust Language Models".


def adapt_popqa(row: Record, id: str) -> Question:
    """A question about one Wikidata fact: one answer, with all its accepted names."""
    names = texts([row.get("obj"), *_list(row.get("possible_answers")), *_list(row.get("o_aliases"))])
    return question(
        id=f"popqa-{required(row, 'id')}",
        question=required(row, "question"),
        answers=names[:1],
        answer_aliases=[names[1:]] if names[1:] else None,
        topic=texts([row.get("subj")]),
        hops=1,
        kind=text(row.get("prop")),
        documents=texts([row.get("s_wiki_title")]),
        popularity=_number(row.get("s_pop")),
        o_pop=_number(row.get("o_pop")),
    )


def _list(value: Any) -> list[Any]:
    found = parse_json(value) if isinstance(value, str) and value.strip() else value
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{value!r} is not a list")
    return found or []


def _number(value: Any) -> int | None:
    number = text(value)
    return None if number is None else int(number)


POPQA = DataSet(
    name="popqa",
    title="PopQA",
    about="One Wikidata fact per question, with subjects from popular to rare (s_pop: monthly page views).",
    splits={"test": ("*.tsv",)},
    default_split="test",
    read=lambda path, split: table_rows(path, "\t"),
    adapt=adapt_popqa,
    get="Download popQA.tsv from https://github.com/AlexTMallen/adaptive-retrieval (data/).",
    url="https://github.com/AlexTMallen/adaptive-retrieval",
    paper="arXiv 2212.10511",
    licence="MIT",
    hub=Hub("akariasai/PopQA", {"test": "test"}, revision="098765c79ea10a2cb19c828324e33281b8336ec0"),
    sizes={"test": 14_267},
)


# CRAG: Yang et al. 2024, "CRAG - Comprehensive RAG Benchmark".

_FALSE_PREMISE = "false_premise"
_INVALID = "invalid question"


def adapt_crag(row: Record, id: str) -> Question:
    """A question with one answer and its aliases; a question with a false premise has no answer."""
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


CRAG = DataSet(
    name="crag",
    title="CRAG",
    about="Five domains, eight question types, some with a false premise; changing facts, popular to rare entities.",
    splits={"dev": ("crag_task_1_and_2_dev_v4.jsonl",), "test": ("crag_task_1_and_2_dev_v4.jsonl",)},
    default_split="test",
    read=lambda path, split: json_line_rows(path),
    adapt=adapt_crag,
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
    keep=lambda row, split: row.get("split") == {"dev": 0, "test": 1}[split],
)


# STaRK: Wu et al. 2024, "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases".

_SYNTHESIZED, _HUMAN = "stark_qa.csv", "stark_qa_human_generated_eval.csv"
_SPLITS = ("train", "val", "test", "test-0.1")
"""`test-0.1` is the first tenth of the test queries; the paper uses it to compare methods with paid models."""


def adapt_stark(row: Record, id: str) -> Question:
    """A query; its answers are node numbers, used as ids."""
    nodes = row["answer_ids"]
    return question(
        id=f"{id.rsplit('-', 1)[0]}-{required(row, 'id')}",
        question=required(row, "query"),
        answers=texts(parse_json(nodes) if isinstance(nodes, str) else nodes),
    )


def read_stark(path: Path, split: str) -> Iterator[tuple[int, Record]]:
    """The rows of a split: those with an id in `../split/SPLIT.index`, relative to the table's folder."""
    wanted = None
    if path.name.startswith(_SYNTHESIZED):
        wanted = _in_split(path.parent.parent / "split", split)
    for number, row in table_rows(path, ","):
        if wanted is not None and row.get("id") is None:
            raise ReadError(path, number, "has no id")
        if wanted is None or row["id"] in wanted:
            yield number, row


def _in_split(folder: Path, split: str) -> set[str]:
    """Ids of the queries of a split."""
    index = folder / f"{split}.index"
    whole, _, share = split.partition("-")
    if share and not index.is_file():
        ids = [line.strip() for _, line in text_lines(folder / f"{whole}.index")]
        return set(ids[: int(len(ids) * float(share))])
    if not index.is_file():
        raise ReadError(index, None, "no such file; it lists the query ids of the split")
    return {line.strip() for _, line in text_lines(index)}


def _stark(base: str, about: str) -> DataSet:
    folder = f"qa/{base}"
    tables = {**dict.fromkeys(_SPLITS, _SYNTHESIZED), "human": _HUMAN}
    return DataSet(
        name=f"stark-{base}",
        title=f"STaRK {base.upper()}",
        about=about,
        splits={split: (f"{base}/stark_qa/{table}",) for split, table in tables.items()},
        default_split="test",
        read=read_stark,
        adapt=adapt_stark,
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
    )


STARK = (
    _stark("amazon", "A graph of products with reviews and questions: relations and descriptions."),
    _stark("mag", "A graph of papers, authors, institutions and fields, with abstracts."),
    _stark("prime", "A biomedical graph with ten node types (PrimeKG), with descriptions."),
)
