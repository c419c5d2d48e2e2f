"""MetaQA: Zhang et al. 2018, "Variational Reasoning for Question Answering with Knowledge Graph"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from triplecheck.evals.datasets.fields import question, required, text, texts
from triplecheck.evals.datasets.files import text_lines
from triplecheck.evals.datasets.spec import DataSet, Row
from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_FOLDER = re.compile(r"([1-9])-?hop")


def adapt(row: Row, id: str) -> Question:
    """A question whose topic stands in brackets, with a set of answers."""
    asked = required(row, "question")
    return question(
        id=text(row.get("id")) or id,
        question=_TOPIC.sub(r"\1", asked),
        answers=texts(required(row, "answers").split("|")),
        topic=texts(_TOPIC.findall(asked)),
        hops=row.get("hops"),
        kind=text(row.get("qtype")),
    )


def read(path: Path, split: str) -> Iterator[tuple[int, Row]]:
    """Lines of question and answers. Folders tell the hops; `qa_SPLIT_qtype.txt`, where it is there, the kinds."""
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
        raise ReadError(beside, None, f"names the kinds of {len(kinds)} questions, which is not as many as {path} has")


def _data_set(hops: tuple[int, ...], sizes: dict[str, int]) -> DataSet:
    one = f"-{hops[0]}hop" if len(hops) == 1 else ""
    return DataSet(
        name=f"metaqa{one}",
        title=f"MetaQA {hops[0]}-hop" if one else "MetaQA",
        about=f"A graph of films with nine relations; {f'{hops[0]}-hop questions' if one else '1 to 3 hops'}.",
        splits={split: tuple(f"{n}-hop/vanilla/qa_{split}.txt" for n in hops) for split in ("train", "dev", "test")},
        default_split="test",
        read=read,
        adapt=adapt,
        get="Download the folders 1-hop, 2-hop and 3-hop as https://github.com/yuyuz/MetaQA says.",
        url="https://github.com/yuyuz/MetaQA",
        paper="arXiv 1709.04071",
        licence="Creative Commons Public License (comes with the data)",
        sizes=sizes,
    )


DATA_SETS = (
    _data_set((1, 2, 3), {"train": 329_282, "dev": 39_138, "test": 39_093}),
    _data_set((1,), {"train": 96_106, "dev": 9_992, "test": 9_947}),
    _data_set((2,), {"train": 118_980, "dev": 14_872, "test": 14_872}),
    _data_set((3,), {"train": 114_196, "dev": 14_274, "test": 14_274}),
)
