"""Programs that optimizers return: with demonstrations chosen per question, and ensembles."""

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
from triplecheck.programs.steps import Trace, TraceEvent

# Demonstrations chosen per question, from the nearest training questions.
#
# DSPy's `KNNFewShot` bootstraps demonstrations again for every question, and its program cannot be saved. Here the
# runs are bootstrapped once and saved with the program.

Run = Mapping[str, Sequence[dspy.Example]]
"""The calls of one run, by step."""


class Neighbours:
    """Correct runs of a program, found by similarity of the question.

    Args:
        questions: the question of each run.
        runs: the calls of each run.
        k: number of runs to take demonstrations from.
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
        """Demonstrations of each step, nearest question first; the question itself is left out."""
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
    """A program whose demonstrations are the calls of the nearest of these runs."""
    return with_neighbours(program, Neighbours([e["question"] for e, _ in runs], [demos for _, demos in runs], k))


def with_neighbours(program: Any, neighbours: Neighbours) -> Any:
    """A copy of a program with demonstrations chosen per question."""
    kind: Any = type(program)
    of_kind = _nearest_of(kind)
    other = of_kind.__new__(of_kind)  # copied like `deepcopy` does, so that the options are kept
    other.__dict__.update(program.deepcopy().__dict__)
    other.neighbours = neighbours
    return other


@functools.cache
def _nearest_of(kind: type[Program]) -> Any:
    class Nearest(kind):  # type: ignore[misc, valid-type]
        """A program with demonstrations chosen per question."""

        neighbours: Neighbours

        def forward(self, question: str, on_step: Callable[[TraceEvent], None] | None = None) -> dspy.Prediction:
            """Answer one question."""
            asked = self.deepcopy()
            chosen = self.neighbours.of(question)
            for name, step in asked.named_predictors():
                step.demos = chosen.get(name, [])
            return kind.forward(asked, question, on_step)

    return Nearest


# Ensembles.


class Voting(Program):
    """Runs each member and returns the majority answer; ties: the first.

    Args:
        members: programs on the same graph.
    """

    name: ClassVar[str] = "ensemble"

    def __init__(self, members: Sequence[Program]) -> None:
        super().__init__(members[0].sources, grounded_only=members[0].options.grounded_only)
        self.members = list(members)

    def forward(self, question: str, on_step: Callable[[TraceEvent], None] | None = None) -> dspy.Prediction:
        """Answer one question; the steps are those of the first member with the majority answer."""
        from dspy.teleprompt import Ensemble

        with session() as ledger:
            chosen = Ensemble(reduce_fn=majority).compile(self.members)(question=question, on_step=on_step)
        chosen.usage = ledger.usage()
        return chosen

    def run(self, question: str, trace: Trace) -> Outcome:
        """Not used: `forward` runs the members."""
        raise NotImplementedError("an ensemble runs its members; it has no `run`")


def majority(predictions: Sequence[dspy.Prediction]) -> dspy.Prediction:
    """The first prediction with the most frequent answer; abstentions count only if all members abstain."""
    ballots = [_ballot(prediction) for prediction in predictions]
    counts = Counter(ballot for ballot in ballots if ballot) or Counter(ballots)
    winner = max(counts.values())
    return next(p for p, ballot in zip(predictions, ballots, strict=True) if counts.get(ballot) == winner)


def _ballot(prediction: dspy.Prediction) -> Any:
    if prediction.abstained:
        return None
    return frozenset(answer["id"] for answer in prediction.answers) or normalize(prediction.answer)
