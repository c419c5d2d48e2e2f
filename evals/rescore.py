"""Rescore released predictions with the same metrics for every system: strict scores, and a lenient one for reference.

No graph is needed: answers are compared by name. Papers often name their metric ("exact match") without defining it.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from triplecheck.evals.gold import comparable
from triplecheck.evals.metrics import (
    GoldAnswer,
    Predicted,
    bootstrap_interval,
    exact_match,
    hits_at_1,
    lenient_match,
    set_scores,
    token_f1,
)
from triplecheck.evals.metrics.answers import ClosedRule
from triplecheck.evals.questions import Question
from triplecheck.kg import ReadError, UserError, normalize
from triplecheck.kg.values import parse_json

# Reading released predictions: JSON, JSON lines, CSV or TSV, with fields of any name.
#
# A field may be nested, with dots between the names (`output.answer`); a list on the path stands for all of its items
# (`Parses.Answers.EntityName`). A row that cannot be read is reported with the reason, and the other rows are read.


Format = Literal["json", "jsonl", "csv", "tsv"]
FORMATS: tuple[Format, ...] = ("json", "jsonl", "csv", "tsv")
_SUFFIXES: dict[str, Format] = {".ndjson": "jsonl", ".tab": "tsv", **{f".{one}": one for one in FORMATS}}


@dataclass(frozen=True)
class Fields:
    """The field names of a predictions file.

    Attributes:
        id: field of the question's id; optional if the question's text is there.
        question: field of the question's text.
        prediction: field of the prediction.
        gold: field of the gold answers; unused if gold answers come from another file.
        records: field of a JSON file that holds the rows; empty: the top level holds them.
        separator: separator of several answers in one text; `json`: the text is a JSON list; empty: the text is
            one answer.
    """

    id: str = "id"
    question: str = "question"
    prediction: str = "prediction"
    gold: str = "gold"
    records: str = ""
    separator: str = ""


@dataclass(frozen=True)
class Released:
    """One row of a predictions file.

    Attributes:
        place: position in the file, for messages.
        id: id of the question, if given.
        question: text of the question, if given.
        prediction: predicted answers, best first; empty: no answer.
        gold: gold answers, if given.
    """

    place: str
    id: str | None
    question: str | None
    prediction: tuple[str, ...]
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Unscored:
    """A row that was not scored, with the reason."""

    place: str
    reason: str


def read_released(path: Path, fields: Fields, form: Format | None = None) -> Iterator[Released | Unscored]:
    """Read the rows of a file, in order.

    Args:
        path: the file. A JSON file holds a list of objects, or an object that maps ids to objects or to answers.
        fields: the field names.
        form: format of the file; None: from the suffix.

    Raises:
        ReadError: the file as a whole cannot be read.
        UserError: the suffix is not that of a known format.
    """
    form = form or _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise UserError(f"{path}: unknown suffix; name one of {', '.join(FORMATS)} with --format")
    try:
        for place, row in _rows(path, form, fields):
            try:
                yield _released(place, row, fields) if isinstance(row, Mapping) else Unscored(place, _not_a_row(row))
            except ValueError as error:
                yield Unscored(place, str(error))
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, None, f"is not UTF-8 ({error.reason})") from error
    except csv.Error as error:
        raise ReadError(path, None, f"is not {form.upper()} ({error})") from error


def _rows(path: Path, form: Format, fields: Fields) -> Iterator[tuple[str, Any]]:
    if form == "json":
        yield from _json_rows(path, fields)
        return
    with path.open(encoding="utf-8-sig", newline="" if form != "jsonl" else None) as source:
        if form == "jsonl":
            for number, line in enumerate(source, 1):
                if line.strip():
                    yield f"line {number}", _json_line(line)
            return
        table = csv.DictReader(source, delimiter="\t" if form == "tsv" else ",", restkey="", strict=True)
        if fields.prediction not in (table.fieldnames or ()):
            columns = ", ".join(table.fieldnames or ()) or "none"
            raise ReadError(path, 1, f"has no column {fields.prediction!r}; there are: {columns}")
        for row in table:
            yield f"line {table.line_num}", {name: value for name, value in row.items() if name and value is not None}


def _json_rows(path: Path, fields: Fields) -> Iterator[tuple[str, Any]]:
    try:
        found = parse_json(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ReadError(path, None, f"is not JSON ({error}); for JSON lines say --format jsonl") from error
    if fields.records:
        try:
            found = _at(found, fields.records)
        except ValueError as error:
            raise ReadError(path, None, str(error)) from error
    if isinstance(found, Mapping):
        for id, value in found.items():
            row = dict(value) if isinstance(value, Mapping) else {fields.prediction: value}
            yield f"key {id!r}", {fields.id: id} | row
    elif isinstance(found, list):
        yield from ((f"item {number}", row) for number, row in enumerate(found, 1))
    else:
        raise ReadError(path, None, f"holds a {type(found).__name__}, neither a list nor an object of rows")


def _json_line(line: str) -> Any:
    try:
        return parse_json(line)
    except (ValueError, RecursionError) as error:
        return error


def _not_a_row(row: Any) -> str:
    return f"is not JSON ({row})" if isinstance(row, Exception) else f"is a {type(row).__name__}, not an object"


def _released(place: str, row: Mapping[str, Any], fields: Fields) -> Released:
    return Released(
        place,
        _one(row, fields.id),
        _one(row, fields.question),
        tuple(_texts(_at(row, fields.prediction), fields.prediction, fields.separator)),
        tuple(_texts(_at(row, fields.gold, None), fields.gold, fields.separator)),
    )


_REQUIRED = object()


def _at(value: Any, name: str, default: Any = _REQUIRED) -> Any:
    """Return the value of a field. ValueError if it is missing and there is no default."""
    if isinstance(value, Mapping) and name in value:
        return value[name]  # a field name may itself contain dots
    head, _, rest = name.partition(".")
    if isinstance(value, list) and name:
        return [_at(item, name, default) for item in value]
    if isinstance(value, Mapping) and head in value:
        return _at(value[head], rest, default)
    if default is _REQUIRED:
        there = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise ValueError(f"has no field {name!r}; there are: {there[:200]}")
    return default


def _one(row: Mapping[str, Any], name: str) -> str | None:
    texts = [*_texts(_at(row, name, None), name, "")]
    return texts[0] if len(texts) == 1 and texts[0] else None


def _texts(value: Any, name: str, separator: str) -> Iterator[str]:
    """Return all texts of a value, from nested lists too."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item, name, separator)
    elif isinstance(value, str):
        yield from _parts(value, name, separator)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif value is not None:
        raise ValueError(f"{name!r} is {json.dumps(value)[:80]}, not text, a number or a list of these")


def _parts(text: str, name: str, separator: str) -> Iterator[str]:
    if separator == "json" and text.lstrip().startswith("["):
        try:
            yield from _texts(parse_json(text), name, "")
        except ValueError as error:
            raise ValueError(f"{name!r} is not a JSON list ({error})") from error
    elif separator and separator != "json":
        yield from (part.strip() for part in text.split(separator) if part.strip())
    else:
        yield text.strip()


STRICT = ("exact_match", "token_f1", "hits_at_1", "f1")
LENIENT = "lenient_match"


@dataclass(frozen=True)
class MeanScore:
    """The mean over the scored rows with its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Rescored:
    """The scores of a predictions file.

    Attributes:
        path: the file.
        read: number of rows in the file.
        scored: number of scored rows.
        empty: number of scored rows whose prediction is empty.
        lenient_on_empty: number of empty predictions that the lenient score counts as correct.
        without_braces: number of scored rows without an answer in braces, if `braces` is set; their whole text is
            scored.
        unpredicted: number of gold questions without a row; in no score.
        scores: by metric: `exact_match`, `token_f1`, `hits_at_1`, `f1`, `lenient_match`.
        unscored: the rows that were not scored, with the reasons.
    """

    path: str
    read: int
    scored: int
    empty: int
    lenient_on_empty: int
    without_braces: int
    unpredicted: int
    scores: dict[str, MeanScore]
    unscored: tuple[Unscored, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the scores as JSON-serialisable values."""
        return asdict(self)


def rescore(
    path: Path,
    fields: Fields | None = None,
    *,
    form: Format | None = None,
    gold: Iterable[Question] | None = None,
    one_answer: bool = False,
    braces: bool = False,
    closed: ClosedRule = "gold",
) -> Rescored:
    """Score a file of predictions.

    Args:
        path: the file.
        fields: the field names in the file.
        form: format of the file; None: from the suffix.
        gold: questions with gold answers, joined by id or else by question text; None: gold answers in the file.
        one_answer: whether the gold answers of each question are spellings of one answer.
        braces: the answer is the text in the first pair of braces, or in the second if the first says yes
            (Think-on-Graph's `extract_content`).
        closed: HotpotQA's rule for yes, no and noanswer (`evals.metrics.token_f1`).

    Raises:
        ReadError: the file as a whole cannot be read.
        UserError: no row could be scored.
    """
    key = None if gold is None else _Key(gold)
    unscored: list[Unscored] = []
    rows: list[dict[str, float]] = []
    empty = lenient_on_empty = without = read = 0
    for row in read_released(path, fields or Fields(), form):
        read += 1
        if isinstance(row, Unscored):
            unscored.append(row)
            continue
        right = _right(row, key, one_answer=one_answer)
        if isinstance(right, Unscored):
            unscored.append(right)
            continue
        predictions = row.prediction
        if braces:
            found = [braced(text) for text in predictions]
            without += bool(predictions) and all(one is None for one in found)
            predictions = tuple(text if one is None else one for text, one in zip(predictions, found, strict=True))
        predictions = tuple(text.strip() for text in predictions if text.strip())
        scores = _scores(predictions, right, closed)
        rows.append(scores)
        empty += not predictions
        lenient_on_empty += not predictions and scores[LENIENT] == 1
    if not rows:
        why = "; ".join(f"{reason} ({n}x)" for reason, n in Counter(one.reason for one in unscored).most_common(3))
        raise UserError(f"{path}: no row could be scored: {why or 'the file has no rows'}")
    return Rescored(
        str(path),
        read,
        len(rows),
        empty,
        lenient_on_empty,
        without,
        0 if key is None else key.left,
        {name: _score([row[name] for row in rows]) for name in (*STRICT, LENIENT)},
        tuple(unscored),
    )


def braced(text: str) -> str | None:
    """Return the answer in braces; None if there are no braces."""
    found = [one.strip() for one in _in_braces(text)]
    if not found:
        return None
    return found[1] if len(found) > 1 and found[0].lower() == "yes" else found[0]


def _in_braces(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("{", at)) >= 0 and (end := text.find("}", start)) >= 0:
        yield text[start + 1 : end]
        at = end + 1


@dataclass(frozen=True)
class _Right:
    """Return the gold answers of a question, and their texts."""

    answers: list[GoldAnswer]
    texts: list[str]


class _Key:
    """Gold questions by id and by text; each is used once."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._by_id: dict[str, Question] = {}
        self._by_text: dict[str, list[str]] = {}
        for question in questions:
            self._by_id[question.id] = question
            self._by_text.setdefault(normalize(question.question), []).append(question.id)
        self._taken: dict[str, str] = {}

    @property
    def left(self) -> int:
        """Number of gold questions without a prediction."""
        return len(self._by_id) - len(self._taken)

    def question(self, row: Released) -> Question | Unscored:
        """Return the gold question of a row, or why there is none."""
        id = row.id if row.id in self._by_id else None
        if id is None:
            ids = self._by_text.get(normalize(row.question), []) if row.question else []
            if len(ids) != 1:
                what = f"{len(ids)} gold questions have its text" if ids else "no gold question has its id or its text"
                return Unscored(row.place, what)
            id = ids[0]
        if id in self._taken:
            return Unscored(row.place, f"same question as {self._taken[id]}")
        self._taken[id] = row.place
        return self._by_id[id]


def _right(row: Released, key: _Key | None, *, one_answer: bool) -> _Right | Unscored:
    if key is None:
        names: list[Sequence[str]] = [[text] for text in row.gold if text]
    else:
        question = key.question(row)
        if isinstance(question, Unscored):
            return question
        one_answer = one_answer or question.one_answer
        names = _names(question)
    if one_answer and names:
        names = [[name for one in names for name in one]]
    if not names:
        return Unscored(row.place, "has no gold answer")
    answers = [GoldAnswer(frozenset(), frozenset(filter(None, map(comparable, one)))) for one in names]
    return _Right(answers, [name for one in names for name in one])


def _names(question: Question) -> list[Sequence[str]]:
    """Return the names of each answer."""
    none: tuple[tuple[str, ...], ...] = ((),) * len(question.answers)
    labels = question.answer_labels
    parallel = [(label,) for label in labels] if len(labels) == len(question.answers) else none
    aliases = question.answer_aliases or none
    rows = zip(question.answers, parallel, aliases, strict=True)
    return [[answer, *filter(None, label), *others] for answer, label, others in rows]


def _scores(predictions: Sequence[str], right: _Right, closed: ClosedRule) -> dict[str, float]:
    text = ", ".join(predictions)
    predicted = [Predicted(None, frozenset([form])) for one in predictions if (form := comparable(one))]
    return {
        "exact_match": exact_match(text, right.texts),
        "token_f1": token_f1(text, right.texts, closed=closed),
        "hits_at_1": hits_at_1(predicted, right.answers),
        "f1": set_scores(predicted, right.answers).f1,
        LENIENT: lenient_match(text, right.texts),
    }


def _score(values: Sequence[float]) -> MeanScore:
    return MeanScore(sum(values) / len(values), *bootstrap_interval(values))


# Text report of `rescore`.

_NAMES = {
    "exact_match": "exact match (SQuAD)",
    "token_f1": "token F1 (SQuAD)",
    "hits_at_1": "Hits@1",
    "f1": "F1 of answers",
    LENIENT: "substring either way (ToG, PoG)",
}
_SHOWN = 5


def report(found: Rescored) -> str:
    """Yield the report: scores with intervals, strict ones first; empty predictions; unscored rows with reasons."""
    return "\n".join(_lines(found))


def _lines(found: Rescored) -> Iterator[str]:
    yield f"{found.path}: {found.read} rows, {found.scored} scored"
    yield ""
    width = max(map(len, _NAMES.values()))
    yield f"{'':8} {'':{width}}  {'mean':>6}  95% interval"
    for kind, names in (("strict", STRICT), ("lenient", (LENIENT,))):
        for name in names:
            score = found.scores[name]
            yield f"{kind:8} {_NAMES[name]:{width}}  {score.mean:6.3f}  {score.low:.3f} - {score.high:.3f}"
            kind = ""
    yield ""
    yield f"empty predictions: {found.empty} (correct by the lenient score: {found.lenient_on_empty})"
    if found.without_braces:
        yield f"without an answer in braces: {found.without_braces} (scored as a whole)"
    if found.unpredicted:
        yield f"gold questions without a prediction: {found.unpredicted} (not scored)"
    if found.unscored:
        yield f"rows not scored: {len(found.unscored)}"
        yield from _reasons(found.unscored)


def _reasons(unscored: tuple[Unscored, ...]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in unscored:
        by_reason.setdefault(one.reason, []).append(one.place)
    for reason, places in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"  {', '.join(places[:_SHOWN])}{more}: {reason}"
