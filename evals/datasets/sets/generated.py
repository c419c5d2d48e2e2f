"""Questions generated from templates over facts: MetaQA, PathQuestion, Head-to-Tail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triplecheck.evals.datasets.spec import DataSet, Record, json_object, question, required, text, texts
from triplecheck.evals.metrics.retrieval import BANDS
from triplecheck.evals.questions import Question, text_lines
from triplecheck.kg import ReadError

# MetaQA: Zhang et al. 2018, "Variational Reasoning for Question Answering with Knowledge Graph".

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_FOLDER = re.compile(r"([1-9])-?hop")


def adapt_metaqa(row: Record, id: str) -> Question:
    """A question with its topic in brackets and a set of answers."""
    asked = required(row, "question")
    return question(
        id=text(row.get("id")) or id,
        question=_TOPIC.sub(r"\1", asked),
        answers=texts(required(row, "answers").split("|")),
        topic=texts(_TOPIC.findall(asked)),
        hops=row.get("hops"),
        kind=text(row.get("qtype")),
    )


def read_metaqa(path: Path, split: str) -> Iterator[tuple[int, Record]]:
    """Lines of question and answers. The folder name gives the hops; `qa_SPLIT_qtype.txt`, if it exists, the kinds."""
    found = next((match for part in reversed(path.parts) if (match := _FOLDER.search(part))), None)
    hops = int(found[1]) if found else None
    beside = path.parent.parent / f"{path.name.split('.')[0]}_qtype.txt"
    kinds = [line.strip() for _, line in text_lines(beside)] if beside.is_file() else None
    place = f"metaqa-{hops}hop-{split}" if hops else f"metaqa-{split}"
    index = -1
    for index, (number, line) in enumerate(text_lines(path)):
        asked, tab, answers = line.partition("\t")
        if not tab:
            raise ReadError(path, number, "has no tab between question and answers")
        if kinds is not None and index >= len(kinds):
            break
        kind = kinds[index] if kinds else None
        yield (
            number,
            {"id": f"{place}-{index}", "question": asked, "answers": answers, "hops": hops, "qtype": kind},
        )
    if kinds is not None and index + 1 != len(kinds):
        raise ReadError(
            beside, None, f"has the kinds of {len(kinds)} questions, but {path} has another number of questions"
        )


def _metaqa(hops: tuple[int, ...], sizes: dict[str, int]) -> DataSet:
    one = f"-{hops[0]}hop" if len(hops) == 1 else ""
    return DataSet(
        name=f"metaqa{one}",
        title=f"MetaQA {hops[0]}-hop" if one else "MetaQA",
        about=f"A graph of films with nine relations; {f'{hops[0]}-hop questions' if one else '1 to 3 hops'}.",
        splits={split: tuple(f"{n}-hop/vanilla/qa_{split}.txt" for n in hops) for split in ("train", "dev", "test")},
        default_split="test",
        read=read_metaqa,
        adapt=adapt_metaqa,
        get="Download the folders 1-hop, 2-hop and 3-hop as https://github.com/yuyuz/MetaQA says.",
        url="https://github.com/yuyuz/MetaQA",
        paper="arXiv 1709.04071",
        licence="Creative Commons Public License (comes with the data)",
        sizes=sizes,
    )


METAQA = (
    _metaqa((1, 2, 3), {"train": 329_282, "dev": 39_138, "test": 39_093}),
    _metaqa((1,), {"train": 96_106, "dev": 9_992, "test": 9_947}),
    _metaqa((2,), {"train": 118_980, "dev": 14_872, "test": 14_872}),
    _metaqa((3,), {"train": 114_196, "dev": 14_274, "test": 14_274}),
)


# PathQuestion: Zhou et al. 2018, "An Interpretable Reasoning Network for Multi-Relation Question Answering".

_END = "<end>"


def adapt_path_question(row: Record, id: str) -> Question:
    """A question with its path `subject#relation#entity#relation#answer`, optionally followed by `#<end>#answer`."""
    path = required(row, "path").split(f"#{_END}")[0].split("#")
    if len(path) < 3 or len(path) % 2 == 0:
        raise ValueError(f"the path {row['path']!r} does not alternate entities and relations")
    return question(
        id=text(row.get("id")) or id,
        question=required(row, "question"),
        answers=answers_of(required(row, "answers").strip()),
        topic=[path[0]],
        hops=len(path) // 2,
        relations=path[1::2],
    )


def answers_of(cell: str) -> list[str]:
    """The answer before the brackets and the others in the brackets; names may contain brackets and slashes.

    >>> answers_of("Ada(Bo/Ada/)")
    ['Ada', 'Bo']
    """
    for at in (match.start() for match in re.finditer(r"\(", cell)):
        first, listed = cell[:at], f"/{cell[at + 1 :].removesuffix(')')}/"
        if f"/{first}/" in listed:
            return texts([first, *listed.replace(f"/{first}/", "/", 1).split("/")])
    return texts([cell])


def read_path_question(path: Path, split: str) -> Iterator[tuple[int, Record]]:
    """Lines of question, answers and path."""
    for index, (number, line) in enumerate(text_lines(path)):
        cells = line.split("\t")
        if len(cells) != 3:
            raise ReadError(path, number, f"has {len(cells)} fields, not question, answers and path")
        yield number, {"id": f"{path.stem}-{index}", "question": cells[0], "answers": cells[1], "path": cells[2]}


PATH_QUESTION = DataSet(
    name="pathquestion",
    title="PathQuestion",
    about="A subset of Freebase (FB13, or the larger FB2M for PQL): 2 and 3 hops, with the path of each answer.",
    splits={
        "pq": ("PQ-2H.txt", "PQ-3H.txt"),
        "pq-2h": ("PQ-2H.txt",),
        "pq-3h": ("PQ-3H.txt",),
        "pql": ("PQL-2H.txt", "PQL-3H.txt"),
        "pql-2h": ("PQL-2H.txt",),
        "pql-3h": ("PQL-3H.txt",),
    },
    default_split="pq",
    read=read_path_question,
    adapt=adapt_path_question,
    get="Copy the folder PathQuestion of https://github.com/zmtkeke/IRN.",
    url="https://github.com/zmtkeke/IRN",
    paper="arXiv 1801.04726",
    licence="none stated",
    sizes={"pq": 7_106, "pq-2h": 1_908, "pq-3h": 5_198},
)


# Head-to-Tail: Sun et al. 2024, "Head-to-Tail: How Knowledgeable are Large Language Models (LLMs)?".


def adapt_head_to_tail(row: Record, id: str) -> Question:
    """A question about one fact; several answers form a set. The topic may be a name, an id or a triple."""
    about, answer = row["entity"], row["answer"]
    triple = [_bare(part) for part in about] if isinstance(about, list) and len(about) == 3 else None
    return question(
        id=text(row.get("id")) or id,
        question=required(row, "question"),
        answers=texts(answer if isinstance(answer, list) else [answer]),
        topic=triple[:1] if triple else texts([_bare(about)]),
        hops=1,
        kind=text(row["template"]),
        triples=[triple] if triple else None,
        popularity=row["band"],
    )


def _bare(part: Any) -> str:
    return (text(part) or "").removeprefix("<").removesuffix(">")


def read_head_to_tail(path: Path, split: str) -> Iterator[tuple[None, Record]]:
    """The questions of the three popularity bands, each a list of entity, template, question and answer."""
    content = json_object(path)
    if not set(content) <= set(BANDS) or not all(isinstance(rows, list) for rows in content.values()):
        raise ReadError(path, None, f"is not an object of lists {', '.join(BANDS)}")
    for band, rows in content.items():
        for number, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != 4:
                raise ReadError(path, None, f"{band} {number} is not a list of entity, template, question, answer")
            entity, template, asked, answer = row
            id = f"{path.name.split('.')[0]}-{band}-{number}"
            yield (
                None,
                {"id": id, "band": band, "entity": entity, "template": template, "question": asked, "answer": answer},
            )


HEAD_TO_TAIL = DataSet(
    name="head-to-tail",
    title="Head-to-Tail",
    about="One-fact questions about films, books, papers and DBpedia entities, in three popularity bands.",
    splits={base: (f"head_to_tail_{base}.json",) for base in ("imdb", "goodreads", "mag", "dblp", "dbpedia")},
    default_split="dbpedia",
    read=read_head_to_tail,
    adapt=adapt_head_to_tail,
    get="The licences of the sources forbid redistribution: generate the questions with the scripts in "
    "https://github.com/facebookresearch/head-to-tail, head_to_tail_{imdb,goodreads,mag,dblp,dbpedia}.py.",
    url="https://github.com/facebookresearch/head-to-tail",
    paper="arXiv 2308.10168",
    licence="CC BY-NC 4.0 (the scripts)",
)
