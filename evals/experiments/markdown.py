"""Tables of reports as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.evals.summary import Scores

TITLES = {
    "hits_at_1": "Hits@1",
    "hit": "Hit",
    "f1": "F1",
    "exact_match": "EM",
    "token_f1": "token F1",
    "accuracy": "accurate",
    "hallucination": "hallucinated",
    "retrieval_recall": "retrieval recall",
    "link_recall": "link recall",
    "hits_at_1_grounded": "Hits@1 where grounded",
    "hits_at_1_ungrounded": "Hits@1 where ungrounded",
    "lenient_match": "lenient",
    "hit_at_1_ranked": "Hit@1",
    "hit_at_5": "Hit@5",
    "recall_at_20": "Recall@20",
    "mrr": "MRR",
    "ece": "ECE",
    "aurc": "AURC",
    "proved_right": "of these right",
    "lm_calls": "calls of language models",
    "lm_tokens": "their tokens",
    "seconds": "s",
    "seconds_outside_lm": "s outside LM",
}
"""Headings of metrics; other metrics have their name as heading."""

_DIGITS = {"calls": 1, "tokens": 0, "lm_calls": 1, "lm_tokens": 0, "n": 0, "seconds": 3}


def title(metric: str) -> str:
    """The heading of a metric."""
    return TITLES.get(metric, metric.replace("_", " "))


def number(value: float | None, metric: str) -> str:
    """Format a figure for a table; None is a dash."""
    return "-" if value is None else f"{value:,.{_DIGITS.get(metric, 3)}f}"


def figures(scores: Scores, metrics: Sequence[str]) -> list[str]:
    """These figures of a summary, as a table has them."""
    return [number(getattr(scores, metric), metric) for metric in metrics]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub Markdown table; the first column is left-aligned, the others right-aligned."""
    lines = [_line(header), _line(["---", *["---:"] * (len(header) - 1)]), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def escaped(text: str) -> str:
    """Escape a text for one line of Markdown."""
    return " ".join(text.split()).replace("`", "'").replace("[", "\\[").replace("<", "&lt;").replace("*", "\\*")
