"""Error analysis: at which stage the wrong answers of an evaluation were lost, with examples of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triplecheck.kg import ReadError

EXAMPLES = 2
_SHOWN = 3

MEANING = {
    "linking": "no gold topic was linked",
    "retrieval": "no gold answer lies within reach of the topics",
    "filtering": "a gold answer lies within reach, but the way to it was not kept or was cut off",
    "summarization": "a gold answer was retrieved, another one was given",
    "abstained": "nothing was answered although a gold answer was, or may have been, retrieved",
    "answered_unanswerable": "there was nothing to answer",
    "unreadable_reply": "a model's replies could not be read",
    "unplaced": "it cannot be told, because the answer is no node or nothing says what was retrieved",
}
"""What it means that a question was lost at a stage (`evals.stages`)."""


def read_rows(run: Path) -> Iterator[dict[str, Any]]:
    """The rows of an evaluation directory, in the order in which they were finished.

    Raises:
        ReadError: there are none, or a line is malformed.
    """
    path = run / "rows.jsonl"
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise ReadError(path, number, f"is not JSON ({error})") from error
    except FileNotFoundError:
        raise ReadError(path, None, "no such file: is this the directory of an evaluation?") from None


def error_analysis(run: Path, examples: int = EXAMPLES) -> str:
    """Markdown: how many questions were lost at each stage, and the first examples by id.

    Args:
        run: directory of an evaluation.
        examples: how many of each stage.

    Raises:
        ReadError: it holds no rows.
    """
    stages: dict[str, list[Mapping[str, Any]]] = {}
    count = right = 0
    for row in read_rows(run):
        count += 1
        right += row.get("crag") == "accurate"
        stage = "error" if row["status"] == "error" else row.get("lost")
        if stage:
            stages.setdefault(stage, []).append(row)
    lines = [f"{right} of {count} right.\n"]
    for stage, rows in sorted(stages.items(), key=lambda item: -len(item[1])):
        meaning = MEANING.get(stage, "the program did not come to its end")
        lines.append(f"**{stage}** {len(rows)} ({len(rows) / count:.0%}): {meaning}\n")
        lines += [_example(row) for row in sorted(rows, key=lambda row: str(row["id"]))[:examples]]
        lines.append("")
    return "\n".join(lines)


def _example(row: Mapping[str, Any]) -> str:
    gold = ", ".join(map(str, row["gold"][:_SHOWN])) + (" ..." if len(row["gold"]) > _SHOWN else "")
    if row["status"] == "error":
        came = f"{row['error']['kind']}: {row['error']['message']}"
    else:
        came = row["answer"] or f"abstained ({row['reason']})"
    return f"- `{row['id']}` {plain(row['question'])} Gold: {plain(gold) or 'none'}. Came: {plain(came)}"


def plain(text: str) -> str:
    """A text that cannot be taken for markdown or another line."""
    return " ".join(text.split()).replace("`", "'").replace("[", "\\[").replace("<", "&lt;").replace("*", "\\*")
