"""What is compiled so far: a program, its models, and what is asked before them."""

from __future__ import annotations

from dataclasses import dataclass

from triplecheck.lms import Roles
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.tuning.cascades import asked_share
from triplecheck.optimize.tuning.cost import prompt_tokens
from triplecheck.optimize.tuning.recorded import Recorded
from triplecheck.programs import Cascade, Program


@dataclass(frozen=True)
class State:
    """A program and its models.

    Attributes:
        program: with the prompts, the ranker and the threshold that were chosen.
        first: models that are asked before them (`programs.cascade`); None: none are.
        sure: the confidence from which their answer stands; None: it does if it is proved.
    """

    program: Program
    roles: Roles
    first: Roles | None = None
    sure: float | None = None

    @property
    def whole(self) -> Program:
        """The program, or the cascade that ends with it."""
        return self._whole(self.program)

    def with_own_models(self) -> Program:
        """A copy that has the models of its roles, where they differ from the default, on its steps."""
        program: Program = self.program.deepcopy()
        for step in steps_of(program).values():
            if step.role in self.roles.by_role and step.lm is None:
                step.lm = language_model(self.roles.by_role[step.role])
        return self._whole(program)

    def _whole(self, program: Program) -> Program:
        if self.first is None:
            return program
        # What is asked first has the same prompts, and not the models that are set on steps.
        last = _copy(program)
        first = last
        if any(step.lm is not None for step in steps_of(last).values()):
            first = _copy(program)
            for step in steps_of(first).values():
                step.lm = None
        cascade = Cascade([(first, self.first), last], sure=self.sure)
        cascade.abstain_below = program.abstain_below
        return cascade

    def tokens(self, recorded: Recorded, measured: Measured) -> float:
        """Tokens of the prompts of one question, roughly.

        Args:
            recorded: calls to tell it from.
            measured: this state on some questions, which tells how many get to its models.
        """
        share = 1.0 if self.first is None else asked_share(measured, 2)
        return share * prompt_tokens(self.program, self.roles, recorded)


def _copy(program: Program) -> Program:
    """A copy without a threshold: that of the cascade holds for the answer that stands."""
    other: Program = program.deepcopy()
    other.abstain_below = None
    return other
