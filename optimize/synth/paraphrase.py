"""Other words for made questions, by a language model; a wording that changes a name is not taken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from triplecheck.evals.executors.threads import spread
from triplecheck.kg import normalize
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.signatures.synthesis import ParaphraseQuestion

_LONGEST = 3.0
"""A wording that is so many times as long as the question says something else besides."""


def paraphrased(
    questions: Sequence[str],
    names: Sequence[Sequence[str]],
    count: int,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> list[list[str]]:
    """Other wordings of questions, by the model of the role `query`; none where it has none that are good.

    Args:
        questions: as templates word them.
        names: per question those that must stay as they are.
        count: wordings to ask for, per question.
        workers: questions under way at once.
        progress: told how many are done.
    """
    step = RolePredict(ParaphraseQuestion, role="query")
    found: list[list[str]] = [[] for _ in questions]

    def ask(at: int) -> tuple[int, list[str]]:
        try:
            reply = step(question=questions[at], names=list(names[at]), count=count)
        except ModelReplyError:
            return at, []
        return at, [text for text in reply.paraphrases if keeps(text, questions[at], names[at])][:count]

    for done, (at, texts) in enumerate(spread(ask, range(len(questions)), workers, threading.Event()), 1):
        found[at] = list(dict.fromkeys(texts))
        if progress is not None:
            progress(done)
    return found


def keeps(text: str, question: str, names: Sequence[str]) -> bool:
    """Whether a wording is another one, names everything that it must, and is not much longer."""
    plain = f" {normalize(text)} "
    named = all(f" {normalize(name)} " in plain for name in names)
    return named and plain.strip() not in ("", normalize(question)) and len(text) <= _LONGEST * len(question)
