"""Questions written by hand, each with the condition that decides its answers on the knowledge base at hand.

A line is an object of `id`, `question`, `condition` (see `Condition`) and, if you like, `kind` and `note`.
Answers are not stored: they depend on the release of the data, and are computed anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from triplecheck.evals.questions import Question
from triplecheck.evals.retrieval.conditions import Condition, answers
from triplecheck.kg import KnowledgeBase, ReadError, UserError

DEBIAN = "debian"
"""Name of the questions about Debian's packages that come with Triplecheck."""


@dataclass(frozen=True)
class Written:
    """A question, and what its answers satisfy."""

    id: str
    question: str
    condition: Condition
    kind: str | None = None
    note: str = ""


def bundled_path(name: str = DEBIAN) -> Path:
    """The file of a set of questions that comes with Triplecheck."""
    return Path(str(files("triplecheck.evals.retrieval") / "queries" / f"{name}.jsonl"))


def read_written(path: Path | str) -> list[Written]:
    """The questions of a JSON lines file.

    Raises:
        ReadError: the file or a line cannot be read; the message names the line.
    """
    path = Path(path)
    found: dict[str, Written] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(path, None, str(error)) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            one = Written(
                str(row["id"]),
                str(row["question"]),
                Condition.from_json(row["condition"]),
                row.get("kind"),
                str(row.get("note", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, UserError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise ReadError(path, number, reason) from error
        if one.id in found:
            raise ReadError(path, number, f"the id {one.id!r} stands twice")
        found[one.id] = one
    return list(found.values())


def materialise(kb: KnowledgeBase, written: Iterable[Written]) -> tuple[list[Question], dict[str, str]]:
    """The questions with their answers on a knowledge base.

    Returns:
        Those that have an answer there, and why each of the others has none, by id.
    """
    questions, without = [], {}
    for one in written:
        try:
            nodes = answers(kb, one.condition)
        except UserError as error:
            without[one.id] = str(error)
            continue
        if not len(nodes):
            without[one.id] = "no node satisfies its condition"
            continue
        questions.append(
            Question(
                id=one.id,
                question=one.question,
                answers=tuple(kb.graph.node_id(int(node)) for node in nodes),
                answer_labels=tuple(kb.graph.labels(nodes)),
                kind=one.kind,
                gold={"gold": one.condition.to_json()},
            )
        )
    return questions, without
