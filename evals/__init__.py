"""Evaluation: questions with known answers, strict metrics, and a runner that resumes."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.evals.asking import QuestionTimeoutError
    from triplecheck.evals.progress import Progress
    from triplecheck.evals.questions import Question, bundled_questions, read_questions, write_questions
    from triplecheck.evals.runner import evaluate
    from triplecheck.evals.summary import Scores, Summary, summarize

__all__ = [
    "Progress",
    "Question",
    "QuestionTimeoutError",
    "Scores",
    "Summary",
    "bundled_questions",
    "evaluate",
    "read_questions",
    "summarize",
    "write_questions",
]

__getattr__ = lazily(__name__)
