"""Rows in little memory: what a summary needs of each, without its texts. The whole rows are in `rows.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from triplecheck.lms.kinds import is_no_language_model

_USAGE = (
    *("calls", "cached_calls", "prompt_tokens", "completion_tokens", "seconds", "dollars"),
    *("lm_calls", "lm_tokens"),
)
MEANS = (
    "hits_at_1",
    "hit",
    "precision",
    "recall",
    "f1",
    "exact_match",
    "token_f1",
    "lenient_match",
    "hit_at_1_ranked",
    "hit_at_5",
    "recall_at_20",
    "mrr",
    "retrieval_recall",
    "link_recall",
    "anchor_accuracy",
    "citation_precision",
    "seconds",
    "seconds_outside_lm",
)
"""Scores of which a summary has the mean over the questions that have one."""
_SCORES = (*MEANS, "confidence")
_LABELS = ("id", "kind", "hops", "popularity", "status", "crag", "lost")
_FLAGS = ("answerable", "abstained", "grounded")
_FIELDS = (*_LABELS, *_FLAGS, *_SCORES, "answer", "verdict", "usage", "error")
_AT = {name: place for place, name in enumerate(_FIELDS)}
_COMMON: Mapping[Any, float] = {value: value for value in (0.0, 1.0, 0.5)}
"""Scores that most rows have: one object for all of them."""


def parts_of_language_models(usage: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What each language model took of the usage of a question. The rule-based baseline and students are none."""
    return [part for name, part in usage.get("by_model", {}).items() if not is_no_language_model(name)]


def with_charged(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """The usage of a question, with the calls of language models alone (`lm_calls`) and their tokens (`lm_tokens`)."""
    if "lm_calls" in usage:  # of a `SlimRow`
        return usage
    parts = parts_of_language_models(usage)
    tokens = sum(part["prompt_tokens"] + part["completion_tokens"] for part in parts)
    return {**usage, "lm_calls": sum(part["calls"] for part in parts), "lm_tokens": tokens}


class SlimRow(Mapping[str, Any]):
    """What `summary.score` reads of a row, about 0.5 KiB. An answer is true if there is one; absent scores are None."""

    __slots__ = ("_values",)

    def __init__(self, row: Mapping[str, Any]) -> None:
        error = row.get("error")
        usage = with_charged(row["usage"])
        self._values = (
            *(row.get(name) for name in _LABELS + _FLAGS),
            *(_COMMON.get(value := row.get(name), value) for name in _SCORES),
            bool(row["answer"]),
            row.get("verdict", "unknown"),
            tuple(usage[name] for name in _USAGE),
            None if error is None else error["kind"],
        )

    def __getitem__(self, name: str) -> Any:
        value = self._values[_AT[name]]
        match name:
            case "usage":
                return dict(zip(_USAGE, value, strict=True))
            case "error" if value is not None:
                return {"kind": value}
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)
