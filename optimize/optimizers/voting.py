"""Several programs that answer together: what most of them say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import dspy

from triplecheck.kg import normalize
from triplecheck.lms import session
from triplecheck.programs import Outcome, Program
from triplecheck.programs.steps import Step, Trace


class Voting(Program):
    """Asks each member and gives the answer of most; among equals, that of the first.

    Args:
        members: programs over one graph.
    """

    name: ClassVar[str] = "ensemble"

    def __init__(self, members: Sequence[Program]) -> None:
        super().__init__(members[0].sources, grounded_only=members[0].options.grounded_only)
        self.members = list(members)

    def forward(self, question: str, on_step: Callable[[Step], None] | None = None) -> dspy.Prediction:
        """Answer one question; the steps are those of the member whose answer it is."""
        from dspy.teleprompt import Ensemble

        with session() as ledger:
            chosen = Ensemble(reduce_fn=majority).compile(self.members)(question=question, on_step=on_step)
        chosen.usage = ledger.usage()
        return chosen

    def run(self, question: str, trace: Trace) -> Outcome:
        """Not called: members run."""
        raise NotImplementedError("an ensemble has no algorithm of its own")


def majority(predictions: Sequence[dspy.Prediction]) -> dspy.Prediction:
    """The first prediction of those that agree with most others; answers before abstentions."""
    ballots = [_ballot(prediction) for prediction in predictions]
    counts = Counter(ballot for ballot in ballots if ballot) or Counter(ballots)
    winner = max(counts.values())
    return next(p for p, ballot in zip(predictions, ballots, strict=True) if counts.get(ballot) == winner)


def _ballot(prediction: dspy.Prediction) -> Any:
    if prediction.abstained:
        return None
    return frozenset(answer["id"] for answer in prediction.answers) or normalize(prediction.answer)
