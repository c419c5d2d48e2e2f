"""Kinds of models by their strings: language models, and the rule-based baseline and students, which write no words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

EXTRACTIVE = "extractive"
"""The rule-based baseline: the model of roles that name none."""
STUDENT = "student/"
"""Before the folder of a trained student, in a model string."""

BASELINE, LANGUAGE_MODEL = EXTRACTIVE, "language model"
"""The kinds of models that answer: the rule-based baseline alone, or a language model in one role or more."""


def is_extractive(model: str) -> bool:
    """Whether a model string names the rule-based baseline, with or without settings."""
    return model.strip().partition("?")[0] == EXTRACTIVE


def is_no_language_model(model: str) -> bool:
    """Whether a model string names the rule-based baseline or a student, which write no words of their own."""
    return is_extractive(model) or model.strip().startswith(STUDENT)


def folder_of_student(model: str) -> Path:
    """The folder that the model string of a student names."""
    return Path(model.strip().partition("?")[0].removeprefix(STUDENT)).expanduser()


def kind_of(models: Iterable[str]) -> str:
    """`BASELINE` or `LANGUAGE_MODEL`, by the names of the models whose replies led to an answer."""
    return BASELINE if all(map(is_no_language_model, models)) else LANGUAGE_MODEL
