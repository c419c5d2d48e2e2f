"""Evaluation: questions with known answers, strict metrics, and a runner that resumes."""

from triplecheck.evals.asking import QuestionTimeoutError
from triplecheck.evals.questions import Question, bundled_questions, read_questions, write_questions
from triplecheck.evals.runner import evaluate
from triplecheck.evals.summary import Scores, Summary, summarize
from triplecheck.evals.trackers import Progress

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
