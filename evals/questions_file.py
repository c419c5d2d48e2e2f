"""Writing questions as JSON lines, so that `evals.read_questions` reads the same questions again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_bytes

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
