"""What `triplecheck lm check` tells of the extractive engine, which knows the project's own steps and no others."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import dspy

from triplecheck.lms import CheckReport, language_model, session
from triplecheck.lms.check import Trial
from triplecheck.signatures import AnswerFromFacts, NameTopics, SelectPaths

_QUESTION = "Where was Ada Lovelace born?"
_STEPS: tuple[tuple[type[dspy.Signature], dict[str, Any]], ...] = (
    (NameTopics, {"known_names": ["Ada Lovelace (person)"], "types": ["person", "city"]}),
    (
        SelectPaths,
        {
            "topics": ["Ada Lovelace"],
            "paths": ["Ada Lovelace → place of birth (e.g. London)", "Ada Lovelace → occupation (e.g. writer)"],
        },
    ),
    (AnswerFromFacts, {"topics": ["Ada Lovelace"], "facts": ["Ada Lovelace → place of birth → London"]}),
)


def check_extractive() -> CheckReport:
    """Take the extractive engine through the steps of a program, each once and without cache."""
    trials = []
    with session("extractive") as ledger:
        for signature, inputs in _STEPS:
            started = time.perf_counter()
            reply = dspy.Predict(signature)(question=_QUESTION, **inputs, config={"cache": False})
            seconds = time.perf_counter() - started
            trials.append(Trial(signature.__name__, True, outputs=dict(reply.items()), seconds=seconds))
    usage = ledger.usage()
    return CheckReport(
        "extractive",
        str(language_model("extractive").model),
        reachable=True,
        seconds=median(trial.seconds for trial in trials),
        prompt_tokens=usage.prompt_tokens / usage.calls,
        completion_tokens=usage.completion_tokens / usage.calls,
        dollars_per_call=0.0,
        trials=tuple(trials),
    )
