"""Replies of models that explore, for the tests of the baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dspy.lm15 import Request
from program_parts import fields, items, numbers


def follow(*wanted: str, scores: Sequence[float] = ()) -> Callable[[Request], str]:
    """Chooses the relations of paths that contain one of these texts, with the score of that text."""
    return lambda request: _choice("relations", items(request, "paths"), wanted, scores)


def go_to(*wanted: str, scores: Sequence[float] = ()) -> Callable[[Request], str]:
    """Chooses the entities that contain one of these texts, with the score of that text."""
    return lambda request: _choice("entities", items(request, "reached"), wanted, scores)


def _choice(what: str, lines: Sequence[str], wanted: Sequence[str], scores: Sequence[float]) -> str:
    score_of = dict(zip(wanted, scores or [1.0] * len(wanted), strict=True))
    chosen = {n: score_of[w] for n, line in enumerate(lines, 1) for w in reversed(wanted) if w in line}
    return fields(**{what: "\n".join(f"{n}: {score}" for n, score in chosen.items()) or "none"})


def sufficient(verdict: bool) -> str:
    return fields(sufficient=str(verdict))


def goals(*names: str) -> str:
    return fields(goals="\n".join(names))


def findings(*found: str) -> str:
    return fields(findings="\n".join(found))


def go_back(*wanted: str) -> Callable[[Request], str]:
    """Goes back to the paths that contain one of these texts."""
    return lambda request: fields(revisit=numbers(items(request, "paths"), wanted))


def recall(*answers: str) -> str:
    """Replies of a model that answers from memory, step by step."""
    return fields(reasoning="as far as I remember", answers="\n".join(answers) or "none")
