"""Questions with known answers, as JSON lines.

One object a line: `id`, `question`, `answers` (ids of the graph, or names; absent or empty: the graph
holds no answer and a program should abstain). Optional: `topic` (ids or names of the entities that the
question is about), `answer_labels` (names of the answers), `one_answer` (true where `answers` are all
spellings of one answer, as in PopQA, and not a set), `computed` (true where the answer is computed from
facts; without it, a question of kind `count` or whose answer is yes or no is), `hops`, `kind` or `qtype`,
and what is known of the proof (`GOLD_FIELDS`). Whatever else stands there is kept in `extra`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from kg import ReadError, UserError

GOLD_FIELDS = ("gold_path", "gold_paths", "relations", "gold", "evidence")
"""Fields that say how the answer is reached; kept in `Question.gold` as they are."""

_FIELDS = {
    *("id", "question", "answers", "topic", "answer_labels", "one_answer", "computed", "hops", "kind", "qtype"),
    *GOLD_FIELDS,
}
_YES_NO = {"yes", "no"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is known about its answer."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Ids or names; empty: unanswerable from this graph."""
    topic: tuple[str, ...] = ()
    """Ids or names of the entities that the question is about; empty: not known."""
    answer_labels: tuple[str, ...] = ()
    """Names of the answers; one by one those of `answers` where there are as many of them; "" for none."""
    one_answer: bool = False
    """Whether `answers` are spellings of one answer."""
    computed: bool = False
    """Whether the answer is computed (a count, yes or no): no node, even where the graph has one of that name."""
    hops: int | str | None = None
    """Length of the path to the answer, or a word for its shape."""
    kind: str | None = None
    gold: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What is known of the proof, by `GOLD_FIELDS`."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Every other field."""

    @property
    def answerable(self) -> bool:
        """Whether there is an answer to find."""
        return bool(self.answers)


def read_questions(path: Path | str, limit: int | None = None, seed: int = 0) -> list[Question]:
    """Read questions from a `.jsonl` or `.jsonl.gz` file.

    Args:
        path: the file.
        limit: take a random sample of this many. A larger one, same seed, begins with the same questions.
        seed: which sample.

    Returns:
        The questions, without `limit` in the order of the file, else in the order of the sample.

    Raises:
        ReadError: the file is missing or empty, a line is malformed, an id stands twice.
        UserError: `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"a limit of {limit} questions makes no sense: give 1 or more, or leave it out")
    path = Path(path)
    lines: dict[str, int] = {}
    questions = []
    for number, text in _lines(path):
        try:
            question = _question(text)
        except ValueError as error:
            raise ReadError(path, number, str(error)) from error
        if question.id in lines:
            raise ReadError(path, number, f"id {question.id!r} stands in line {lines[question.id]} already")
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise ReadError(path, None, "holds no questions")
    if limit is None:
        return questions
    return sorted(questions, key=lambda question: _lot(question.id, seed))[:limit]


def _lot(id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{id}".encode("utf-8", "surrogatepass")).digest()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with _open(path) as source:
            for number, line in enumerate(source, 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if text:
                    yield number, text
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, number, f"is not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(path, None, f"cannot be read ({error})") from error


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _question(line: str) -> Question:
    """The question of a line; ValueError says what is wrong with it."""
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError(f"is a JSON {type(row).__name__}, not an object")
    kind = row.get("kind", row.get("qtype"))
    answers = _texts(row, "answers")
    computed = kind == "count" or (bool(answers) and {answer.casefold() for answer in answers} <= _YES_NO)
    return Question(
        id=_text(row, "id"),
        question=_text(row, "question"),
        answers=answers,
        topic=tuple(dict.fromkeys(_texts(row, "topic"))),
        answer_labels=_labels(row),
        one_answer=_flag(row, "one_answer", False),
        computed=_flag(row, "computed", computed),
        hops=_hops(row),
        kind=None if kind is None else str(kind),
        gold={name: row[name] for name in GOLD_FIELDS if row.get(name) is not None},
        extra={name: value for name, value in row.items() if name not in _FIELDS},
    )


def _text(row: dict[str, Any], name: str) -> str:
    if name not in row:
        raise ValueError(f"has no {name}")
    return _word(row[name], name)


def _texts(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; one text stands for a list of one, null and absence for an empty one."""
    value = row.get(name)
    if value is None:
        return ()
    return tuple(_word(item, name) for item in (value if isinstance(value, list) else [value]))


def _labels(row: dict[str, Any]) -> tuple[str, ...]:
    """Names of the answers; empty where one is not known, so that they stay beside their answers."""
    value = row.get("answer_labels")
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple("" if item is None or item == "" else _word(item, "answer_labels") for item in items)


def _word(value: Any, name: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, not text")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{name} holds half a surrogate pair: {value!a}")
    return value.strip()


def _flag(row: dict[str, Any], name: str, default: bool) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, not true or false")
    return value


def _hops(row: dict[str, Any]) -> int | str | None:
    hops = row.get("hops")
    if hops is not None and (isinstance(hops, bool) or not isinstance(hops, int | str)):
        raise ValueError(f"hops is {hops!r}, neither a number nor a word")
    return hops
