"""Questions with known answers, as JSON lines.

One object a line: `id`, `question`, `answers` (ids of the graph, or names; absent or empty: the graph
holds no answer and a program should abstain). Optional: `topic` (ids or names of the entities that the
question is about), `answer_labels` (names of the answers), `one_answer` (true where `answers` are all
spellings of one answer, as in PopQA, and not a set), `computed` (true where the answer is computed from
facts; without it, a question of kind `count` or whose answer is yes or no is), `hops`, `kind` or `qtype`,
`answer_aliases` (a list for each of `answers`: other names of that one answer), `topic_labels`,
`triples` ([head, relation, tail] each) and `documents` (titles or ids) that the answer rests on,
`popularity` (a number, or head, torso or tail; else `s_pop` is taken), `answerable` (false says that there
is no answer to find; true beside no answers, that there is one which is not published), and what else is
known of the proof (`GOLD_FIELDS`). Whatever else stands there is kept in `extra`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any, Literal, cast

from triplecheck import kg
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes

GOLD_FIELDS = ("gold_path", "gold_paths", "relations", "gold", "evidence")
"""Fields that say how the answer is reached; kept in `Question.gold` as they are."""

_FIELDS = {
    *("id", "question", "answers", "answer_labels", "answer_aliases", "answerable", "one_answer", "computed"),
    *("topic", "topic_labels", "hops", "kind", "qtype", "triples", "documents", "popularity"),
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
    answer_aliases: tuple[tuple[str, ...], ...] = ()
    """Other names of each answer, beside `answers`; empty: none are known."""
    answers_known: bool = True
    """False where there is an answer and it is not published, as in a hidden test set: it cannot be scored."""
    topic_labels: tuple[str, ...] = ()
    """Names of the topics, beside `topic`; empty: not known; "" for none."""
    triples: tuple[tuple[str, str, str], ...] = ()
    """Triples that the answer rests on: head, relation, tail, by id or name."""
    documents: tuple[str, ...] = ()
    """Documents that the answer rests on, by id or title."""
    popularity: float | str | None = None
    """How popular the topic is: a number from 0 up, or the name of its band (`evals.metrics.bands`)."""

    @property
    def num_topics(self) -> int:
        """How many entities the question is about, as far as that is known."""
        return len(self.topic)

    @property
    def answerable(self) -> bool:
        """Whether there is an answer to find."""
        return bool(self.answers) or not self.answers_known


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
    check_limit(limit)
    path = Path(path)
    lines: dict[str, int] = {}
    questions = []
    for number, text in _lines(path):
        try:
            question = parse_question(_row(text))
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
    return sampled(questions, limit, seed)


def sampled(questions: Iterable[Question], limit: int, seed: int = 0) -> list[Question]:
    """A random sample, in its own order. A larger one, same seed, begins with the same questions."""
    return sorted(questions, key=lambda question: _lot(question.id, seed))[:limit]


def check_limit(limit: int | None) -> None:
    """Raise `UserError` if a sample cannot be of this size."""
    if limit is not None and limit < 1:
        raise UserError(f"a limit of {limit} questions makes no sense: give 1 or more, or leave it out")


def part_of(id: str) -> Literal["train", "dev"]:
    """Which half a question belongs to, by a hash of its id: what one half is fitted to is measured on the other."""
    return "train" if hashlib.sha256(f"part\0{id}".encode("utf-8", "surrogatepass")).digest()[0] < 128 else "dev"


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


def _row(line: str) -> dict[str, Any]:
    """The object of a line; ValueError says what is wrong with it."""
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError(f"is a JSON {type(row).__name__}, not an object")
    return row


def parse_question(row: dict[str, Any]) -> Question:
    """The question of an object as it stands in a line.

    Raises:
        ValueError: a field is missing, empty or of the wrong type; the message is written to follow its place.
    """
    kind = row.get("kind", row.get("qtype"))
    answers = _texts(row, "answers")
    computed = kind == "count" or (bool(answers) and {answer.casefold() for answer in answers} <= _YES_NO)
    topics = _topics(row)
    return Question(
        id=_text(row, "id"),
        question=_text(row, "question"),
        answers=answers,
        topic=tuple(topics),
        answer_labels=_labels(row, "answer_labels"),
        one_answer=_flag(row, "one_answer", False),
        computed=_flag(row, "computed", computed),
        hops=_hops(row),
        kind=None if kind is None else str(kind),
        gold={name: row[name] for name in GOLD_FIELDS if row.get(name) is not None},
        extra={name: value for name, value in row.items() if name not in _FIELDS},
        answer_aliases=_aliases(row, len(answers)),
        answers_known=_answers_known(row, answers),
        topic_labels=tuple(topics.values()) if any(topics.values()) else (),
        triples=_triples(row),
        documents=tuple(dict.fromkeys(_texts(row, "documents"))),
        popularity=_popularity(row),
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


def _labels(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """Names of answers or topics; empty where one is not known, so that they stay beside what they name."""
    value = row.get(name)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple("" if item is None or item == "" else _word(item, name) for item in items)


def _topics(row: dict[str, Any]) -> dict[str, str]:
    """Names by topic."""
    topics, labels = _texts(row, "topic"), _labels(row, "topic_labels")
    if labels and len(labels) != len(topics):
        raise ValueError(f"topic_labels are {len(labels)} and topic {len(topics)}: give as many, null for none")
    return dict(zip(topics, labels or [""] * len(topics), strict=True))


def _aliases(row: dict[str, Any], answers: int) -> tuple[tuple[str, ...], ...]:
    value = row.get("answer_aliases")
    if value is None or value == []:
        return ()
    if not isinstance(value, list) or len(value) != answers or not all(isinstance(names, list) for names in value):
        raise ValueError("answer_aliases is not one list for each of answers")
    return tuple(tuple(_word(name, "answer_aliases") for name in names) for names in value)


def _answers_known(row: dict[str, Any], answers: tuple[str, ...]) -> bool:
    answerable = _flag(row, "answerable", bool(answers))
    if answers and not answerable:
        raise ValueError("answerable is false, and yet there are answers")
    return bool(answers) or not answerable


def _triples(row: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    value = row.get("triples")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(triple, list) and len(triple) == 3 for triple in value):
        raise ValueError("triples is not a list of [head, relation, tail]")
    found = (
        (_word(head, "triples"), _word(relation, "triples"), _word(tail, "triples")) for head, relation, tail in value
    )
    return tuple(dict.fromkeys(found))


def _popularity(row: dict[str, Any]) -> float | str | None:
    value = row.get("popularity", row.get("s_pop"))
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError(f"popularity is {value!r}, neither a number from 0 up nor the name of a band")
    return value


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


# The questions that come with Triplecheck, for its bundled knowledge base.

SPLITS = ("train", "dev", "test")


def bundled_questions(split: str) -> Path:
    """Where the bundled questions of a split lie: `train`, `dev` or `test`.

    Raises:
        UserError: there is no such split, or this installation lacks its file.
    """
    if split not in SPLITS:
        raise UserError(f"no bundled questions {split!r}; there are: {', '.join(SPLITS)}")
    folder = Path(kg.__file__).parent / "bundled"
    for name in (f"questions_{split}.jsonl", f"questions_{split}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"{folder / f'questions_{split}.jsonl'}: missing; install Triplecheck again")


# Writing questions as JSON lines, so that `evals.read_questions` reads the same questions again.

_APART = {"id", "question", "answers", "answers_known", "gold", "extra"}


def question_row(question: Question) -> dict[str, Any]:
    """The object of a question, as it stands in a line; what is not known is left out.

    `parse_question` makes the same question of it, as long as `extra` holds no name of another field.
    """
    row: dict[str, Any] = {"id": question.id, "question": question.question, "answers": list(question.answers)}
    if not question.answers:
        row["answerable"] = question.answerable
    for one in fields(Question):
        value = getattr(question, one.name)
        if one.name not in _APART and value != one.default:
            row[one.name] = value
    # It would be told from the answers otherwise, where it is false.
    row["computed"] = question.computed
    return row | dict(question.gold) | dict(question.extra)


def write_questions(questions: Iterable[Question], path: Path | str) -> int:
    """Write questions to a `.jsonl` or `.jsonl.gz` file, whole or not at all.

    Returns:
        How many they were.

    Raises:
        UserError: there are none, or the path ends otherwise.
    """
    path = Path(path)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise UserError(f"{path}: questions are written as JSON lines; name a file that ends in .jsonl or .jsonl.gz")
    lines = [json.dumps(question_row(question), ensure_ascii=False) for question in questions]
    if not lines:
        raise UserError(f"{path}: there are no questions to write")
    text = "".join(f"{line}\n" for line in lines).encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a time of writing: the same questions make the same file.
    write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return len(lines)
