"""Evaluation: questions with known answers, strict metrics, and a runner that resumes."""

from triplecheck.evals.asking import QuestionTimeoutError
from triplecheck.evals.bundled import bundled_questions
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question, read_questions
from triplecheck.evals.questions_file import write_questions
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
