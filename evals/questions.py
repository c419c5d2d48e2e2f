"""Questions with known answers, as JSON lines.

Each line is an object with `id`, `question` and `answers` (ids of the graph, or names; empty: the graph holds no
answer and a program should abstain; missing: the answer is not published, and the question is not scored). Optional
fields:

- `topic`: ids or names of the entities that the question is about; `topic_labels`: their names;
- `answer_labels`: names of the answers; `answer_aliases`: for each answer, a list of its other names;
- `one_answer`: true if all `answers` are spellings of one answer, as in PopQA;
- `computed`: true if the answer is computed from facts; default: true for kind `count` and for yes/no answers;
- `hops`, `kind` or `qtype`;
- `documents` (titles or ids): the evidence for the answer;
- `popularity`: a number, or head, torso or tail; default: the field `s_pop`;
- `answerable`: false: there is no answer; true with empty `answers`: the answer is not published;
- `plan`: the query that computes the answers (`kg.plans`), or none if the graph cannot tell; kept in `extra`;
- other fields of the proof (`GOLD_FIELDS`).

All remaining fields are kept in `extra`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import dspy

from triplecheck import kg
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import write_bytes

GOLD_FIELDS = ("gold_path", "gold_paths", "relations", "gold", "evidence")
"""Fields that describe the proof of the answer; kept unchanged in `Question.gold`."""

_FIELDS = {
    *("id", "question", "answers", "answer_labels", "answer_aliases", "answerable", "one_answer", "computed"),
    *("topic", "topic_labels", "hops", "kind", "qtype", "documents", "popularity"),
    *GOLD_FIELDS,
}
_YES_NO = {"yes", "no"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold fields."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Ids or names; empty: unanswerable from this graph, or not published (see `answerable`)."""
    topic: tuple[str, ...] = ()
    """Ids or names of the entities that the question is about; empty: unknown."""
    answer_labels: tuple[str, ...] = ()
    """Names of the answers; aligned with `answers` if both have the same length; "" for an unknown name."""
    one_answer: bool = False
    """Whether all `answers` are spellings of one answer."""
    computed: bool = False
    """Whether the answer is computed (a count, yes or no) and so never a node, even if a node has that name."""
    hops: int | str | None = None
    """Length of the path to the answer, or a name for its shape."""
    kind: str | None = None
    gold: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Fields of the proof (`GOLD_FIELDS`)."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """All other fields."""
    answer_aliases: tuple[tuple[str, ...], ...] = ()
    """Other names of each answer, aligned with `answers`; empty: unknown."""
    answers_known: bool = True
    """False if the answer exists but is not published, as in a hidden test set; such a question is not scored."""
    topic_labels: tuple[str, ...] = ()
    """Names of the topics, aligned with `topic`; empty: unknown; "" for an unknown name."""
    documents: tuple[str, ...] = ()
    """Gold evidence documents, by id or title."""
    popularity: float | str | None = None
    """Popularity of the topic: a number >= 0, or the name of its band (`evals.metrics.retrieval.bands`)."""

    @property
    def answerable(self) -> bool:
        """Whether the question has an answer."""
        return bool(self.answers) or not self.answers_known

    @property
    def group(self) -> str:
        """What all wordings of a question have in common: splits keep them together. Its id, if it has no others."""
        return str(self.extra.get("group", self.id))

    @property
    def part(self) -> Literal["train", "dev"]:
        """The half that it belongs to, by a hash of its group. Fit on one half, measure on the other."""
        value = hashlib.sha256(f"part\0{self.group}".encode("utf-8", "surrogatepass")).digest()
        return "train" if value[0] < 128 else "dev"

    @property
    def plan(self) -> str | None:
        """The query that computes the answers (`kg.plans`), or `none` if the graph cannot tell; None: not known."""
        plan = self.extra.get("plan")
        return plan.strip() if isinstance(plan, str) and plan.strip() else None


def read_questions(path: Path | str, limit: int | None = None, seed: int = 0) -> list[Question]:
    """Read questions from a `.jsonl` or `.jsonl.gz` file.

    Args:
        limit: size of a random sample; None: all. With the same seed, a larger sample starts with the smaller one.

    Returns:
        The questions, in file order, or in sample order if `limit` is given.

    Raises:
        ReadError: the file is missing or empty, a line is malformed, or an id is duplicate.
        UserError: `limit` is below 1.
    """
    check_limit(limit)
    path = Path(path)
    lines: dict[str, int] = {}
    questions = []
    for number, text in text_lines(path):
        try:
            question = parse_question(parse_row(text))
        except ValueError as error:
            raise ReadError(path, number, str(error)) from error
        if question.id in lines:
            raise ReadError(path, number, f"duplicate id {question.id!r}, first in line {lines[question.id]}")
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise ReadError(path, None, "holds no questions")
    return questions if limit is None else sampled(questions, limit, seed)


def sampled(questions: Iterable[Question], limit: int, seed: int = 0) -> list[Question]:
    """Return a random sample in random order. With the same seed, a larger sample starts with the smaller one."""
    return sorted(questions, key=lambda question: _sample_key(question.id, seed))[:limit]


def check_limit(limit: int | None) -> None:
    """Raise `UserError` if a sample size is below 1."""
    if limit is not None and limit < 1:
        raise UserError(f"the limit is {limit} questions; give 1 or more, or leave it out")


def _sample_key(id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{id}".encode("utf-8", "surrogatepass")).digest()


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of the lines of a file, plain or compressed, without blank lines."""
    number = 0
    try:
        from triplecheck.kg.readers.raw import open_packed  # the readers take long to import

        with open_packed(path) as source:
            for number, line in enumerate(source, 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
                    yield number, text
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, number, f"is not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(path, None, f"cannot be read ({error})") from error


def parse_row(line: str) -> dict[str, Any]:
    """Parse a line as a JSON object. A ValueError says what is wrong."""
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError(f"is a JSON {type(row).__name__}, not an object")
    return row


def parse_question(row: dict[str, Any]) -> Question:
    """Build a question from the object of a line.

    Raises:
        ValueError: a field is missing, empty or of the wrong type. The caller puts the place before the message.
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
        documents=tuple(dict.fromkeys(_texts(row, "documents"))),
        popularity=_popularity(row),
    )


def as_question(given: Question | Mapping[str, Any] | dspy.Example) -> Question:
    """A question given in code.

    Args:
        given: a `Question`, or a mapping or `dspy.Example` with `question`, `answers` (or `answer`) and any other field
            of a line. Without `id`, the question is its own id.

    Raises:
        UserError: it is nothing of these, or a field is missing or of the wrong type.
    """
    if isinstance(given, Question):
        return given
    if not isinstance(given, Mapping | dspy.Example):
        raise UserError(
            f"{given!r} is a {type(given).__name__}, not a question: give a mapping or a dspy.Example with question "
            "and answers, or read a file with read_questions"
        )
    row = {name: list(value) if isinstance(value, tuple | set) else value for name, value in given.items()}
    if "answers" not in row and "answer" in row:
        row["answers"] = row.pop("answer")
    if "answers" not in row:
        raise UserError(f"question {row!r}: has no answers; give a list, an empty one if the graph holds no answer")
    try:
        return parse_question({"id": str(row.get("question")), **row})
    except ValueError as error:
        raise UserError(f"question {row!r}: {error}") from error


def _text(row: dict[str, Any], name: str) -> str:
    if name not in row:
        raise ValueError(f"has no {name}")
    return _word(row[name], name)


def _texts(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return a field as a list of texts. A single text becomes a list of one; null or missing becomes empty."""
    value = row.get(name)
    if value is None:
        return ()
    return tuple(_word(item, name) for item in (value if isinstance(value, list) else [value]))


def _labels(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the names of answers or topics; "" for an unknown name, so that the lists stay aligned."""
    value = row.get(name)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple("" if item is None or item == "" else _word(item, name) for item in items)


def _topics(row: dict[str, Any]) -> dict[str, str]:
    """Return the names of the topics, aligned with `topic`."""
    topics, labels = _texts(row, "topic"), _labels(row, "topic_labels")
    if labels and len(labels) != len(topics):
        raise ValueError(
            f"topic_labels has {len(labels)} items and topic {len(topics)}; give one label per topic, null if unknown"
        )
    return dict(zip(topics, labels or [""] * len(topics), strict=True))


def _aliases(row: dict[str, Any], answers: int) -> tuple[tuple[str, ...], ...]:
    value = row.get("answer_aliases")
    if value is None or value == []:
        return ()
    if not isinstance(value, list) or len(value) != answers or not all(isinstance(names, list) for names in value):
        raise ValueError("answer_aliases must hold one list for each answer")
    return tuple(tuple(_word(name, "answer_aliases") for name in names) for names in value)


def _answers_known(row: dict[str, Any], answers: tuple[str, ...]) -> bool:
    answerable = _flag(row, "answerable", bool(answers) or row.get("answers") is None)
    if answers and not answerable:
        raise ValueError("answerable is false, but there are answers")
    return bool(answers) or not answerable


def _popularity(row: dict[str, Any]) -> float | str | None:
    value = row.get("popularity", row.get("s_pop"))
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError(f"popularity is {value!r}, not a number >= 0 or the name of a band")
    return value


def _word(value: Any, name: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, not text")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{name} holds an unpaired surrogate: {value!a}")
    return value.strip()


def _flag(row: dict[str, Any], name: str, default: bool) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, not true or false")
    return value


def _hops(row: dict[str, Any]) -> int | str | None:
    hops = row.get("hops")
    if hops is not None and (isinstance(hops, bool) or not isinstance(hops, int | str)):
        raise ValueError(f"hops is {hops!r}, not a number or a word")
    return hops


# The bundled questions, for the bundled knowledge base.

SPLITS = ("train", "dev", "test")


def bundled_questions(split: str) -> Path:
    """Return the path of the bundled questions of a split: `train`, `dev` or `test`.

    Raises:
        UserError: the split does not exist, or the installation lacks its file.
    """
    if split not in SPLITS:
        raise UserError(f"no bundled questions {split!r}; there are: {', '.join(SPLITS)}")
    path = Path(kg.__file__).parent / "bundled" / f"questions_{split}.jsonl"
    if not path.is_file():
        raise UserError(f"{path}: missing; install Triplecheck again")
    return path


# Writing questions as JSON lines; `read_questions` reads them back unchanged.

_APART = {"id", "question", "answers", "answers_known", "gold", "extra"}


def question_row(question: Question) -> dict[str, Any]:
    """Return a question as the object of a line, without unknown fields.

    `parse_question` restores the same question, provided that no key in `extra` is the name of another field.
    """
    row: dict[str, Any] = {"id": question.id, "question": question.question, "answers": list(question.answers)}
    if not question.answers:
        row["answerable"] = question.answerable
    for one in fields(Question):
        value = getattr(question, one.name)
        if one.name not in _APART and value != one.default:
            row[one.name] = value
    # Without the field, False would be inferred from the answers.
    row["computed"] = question.computed
    return row | dict(question.gold) | dict(question.extra)


def write_questions(questions: Iterable[Question], path: Path | str) -> int:
    """Write questions to a `.jsonl` or `.jsonl.gz` file atomically.

    Returns:
        The number of questions.

    Raises:
        UserError: there are no questions, or the path has another suffix.
    """
    path = Path(path)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise UserError(f"{path}: questions are written as JSON lines; the file name must end in .jsonl or .jsonl.gz")
    lines = [json.dumps(question_row(question), ensure_ascii=False) for question in questions]
    if not lines:
        raise UserError(f"{path}: there are no questions to write")
    # Half surrogate pairs are not UTF-8: they are written as JSON escapes.
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    path.parent.mkdir(parents=True, exist_ok=True)
    # No timestamp in the gzip header: the same questions give the same file.
    write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return len(lines)
