"""`kept_question`: a model that is asked to proofread a question may answer it or ask another one."""

from __future__ import annotations

from rapidfuzz.fuzz import ratio

from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace

_LEAST_LIKENESS = 70.0  # percent of the characters


def kept_question(assists: Assists, question: str, proofread: str, trace: Trace) -> str:
    """The question with its spelling corrected by a model; as it was asked if the model wrote something else."""
    corrected = " ".join(proofread.split())
    if not corrected:
        return question
    if "kept_question" not in assists or ratio(question.casefold(), corrected.casefold()) >= _LEAST_LIKENESS:
        return corrected
    assists.note(trace, "kept_question", "ExtractKeywords", [corrected], [question])
    return question
