"""Programs that optimizers return: demonstrations chosen for each question, and several programs that vote."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import dspy
import numpy as np

from triplecheck.kg import normalize
from triplecheck.lms import session
from triplecheck.programs import Outcome, Program
from triplecheck.programs.steps import Step, Trace

# Demonstrations chosen for each question: those from the training questions that are nearest to it.
#
# DSPy's `KNNFewShot` bootstraps its demonstrations anew at every question, and what it makes cannot be
# written down. Here the runs are bootstrapped once and kept with the program.

Run = Mapping[str, Sequence[dspy.Example]]
"""The calls of one run, by step."""


class Neighbours:
    """Runs of a program that came out right, found by the question.

    Args:
        questions: what was asked.
        runs: the calls of each, one by one.
        k: how many are shown.
    """

    def __init__(self, questions: Sequence[str], runs: Sequence[Run], k: int) -> None:
        self.questions = list(questions)
        self.runs = list(runs)
        self.k = k

    @functools.cached_property
    def _vectors(self) -> Any:
        from triplecheck.kg.encode import load_encoder

        return load_encoder().encode(self.questions)

    def of(self, question: str) -> dict[str, list[dspy.Example]]:
        """Demonstrations of each step, from the nearest question down; a question is no example of itself."""
        from triplecheck.kg.encode import load_encoder

        if not self.questions:
            return {}
        cosines = self._vectors @ load_encoder().encode([question])[0]
        order = [at for at in np.argsort(-cosines, kind="stable") if self.questions[at] != question][: self.k]
        shown: dict[str, list[dspy.Example]] = {}
        for at in order:
            for name, calls in self.runs[at].items():
                shown.setdefault(name, []).append(calls[-1])
        return shown

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


def nearest(program: Any, runs: Sequence[tuple[dspy.Example, Run]], k: int) -> Any:
    """A program that shows its steps the calls of the nearest of some runs."""
    return with_neighbours(program, Neighbours([e["question"] for e, _ in runs], [demos for _, demos in runs], k))


def with_neighbours(program: Any, neighbours: Neighbours) -> Any:
    """The same program, its demonstrations chosen for each question."""
    kind: Any = type(program)
    of_kind = _nearest_of(kind)
    other = of_kind.__new__(of_kind)  # a copy, as `deepcopy` makes one: its options are those of the program
    other.__dict__.update(program.deepcopy().__dict__)
    other.neighbours = neighbours
    return other


@functools.cache
def _nearest_of(kind: type[Program]) -> Any:
    class Nearest(kind):  # type: ignore[misc, valid-type]
        """A copy of a program whose demonstrations are chosen for each question."""

        neighbours: Neighbours

        def forward(self, question: str, on_step: Callable[[Step], None] | None = None) -> dspy.Prediction:
            """Answer one question."""
            asked = self.deepcopy()
            chosen = self.neighbours.of(question)
            for name, step in asked.named_predictors():
                step.demos = chosen.get(name, [])
            return kind.forward(asked, question, on_step)

    return Nearest


# Several programs that answer together: what most of them say.


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
