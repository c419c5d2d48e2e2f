"""What compiling takes, told from recorded calls: before any call of a model is made."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from statistics import mean

from triplecheck.kg import UserError
from triplecheck.lms import Budget
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.metering import price_of
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.examples import PILOTS, Split
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.state import state_of
from triplecheck.optimize.students import STUDENTS
from triplecheck.optimize.tuning.recorded import Recorded
from triplecheck.optimize.tuning.steps import MOST_CALLS, calls_of_rewriting
from triplecheck.programs import Program

_SETS = 4  # of demonstrations of a step, at most (`steps.demo_sets`)
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Cost:
    """Calls of the models, roughly.

    Attributes:
        per_question: calls of one question.
        tokens_per_call: tokens of one call, with its demonstrations.
        least: calls that are needed to measure the program as written and one choice.
        whole: calls of everything that is tried, at most.
        dollars_per_call: None: the price is not known.
        seconds_per_call: None: not measured yet.
    """

    per_question: float
    tokens_per_call: float
    least: int
    whole: int
    dollars_per_call: float | None = None
    seconds_per_call: float | None = None

    def of(self, questions: int) -> int:
        """Calls to answer some questions."""
        return round(self.per_question * questions)

    def takes(self, calls: float) -> dict[str, float]:
        """What some calls cost, by the name of the limit in a budget. What is not known is missing."""
        each = {"tokens": self.tokens_per_call, "dollars": self.dollars_per_call, "seconds": self.seconds_per_call}
        return {"calls": calls} | {name: calls * rate for name, rate in each.items() if rate is not None}


def cost_of(
    program: Program,
    recorded: Recorded,
    model: str,
    split: Split,
    bracketed: int,
    rewrites: bool,
    tested: int,
    asked: int = 0,
) -> Cost:
    """What compiling a program takes.

    Args:
        program: as written.
        recorded: calls of the training questions; without any, a question is taken to need one.
        model: whose price is taken.
        rewrites: whether instructions are rewritten.
        tested: programs that are measured on the test questions.
        asked: questions that are asked besides, to record their calls.
    """
    calls = [call for some in recorded.values() for call in some]
    per_question = len(calls) / len({call.id for call in calls}) if calls else 1.0
    shown = [len(json.dumps(row, ensure_ascii=False)) for row in state_of(program).values()]
    tokens = ((mean(call.size for call in calls) if calls else 0) + mean(shown)) / _CHARACTERS_PER_TOKEN
    price = price_of(language_model(model))
    steps, roles = len(recorded), len({step.role for step in program.predictors()})
    chosen = len(STUDENTS) + steps * (2 if rewrites else 1) + roles
    whole = asked + (1 + 2 * steps) * bracketed + (1 + chosen) * len(split.validation) + tested * len(split.held_out)
    alone = steps * ((_SETS + 1) * MOST_CALLS + (calls_of_rewriting(MOST_CALLS, MOST_CALLS) if rewrites else 0))
    least = asked + 2 * (len(split.validation) + len(split.held_out))
    beside = PILOTS * steps + len(split.validation)  # whether replies can be read, and what the rules ask on words
    return Cost(
        per_question,
        tokens,
        math.ceil(least * per_question) + beside,
        math.ceil(whole * per_question) + beside + alone,
        None if price is None else price.of(1, 0) * tokens,
    )


def check_budget(cost: Cost, budget: Budget) -> None:
    """Refuse a budget that cannot show a gain.

    Raises:
        UserError: the budget is too small for the program as written and one choice.
    """
    for name, least in cost.takes(cost.least).items():
        allowed = getattr(budget, name)
        if allowed is not None and least > allowed:
            raise UserError(
                f"a budget of {allowed:g} {name} is too small: to measure the program as written and one choice takes "
                f"about {least:,.4g} {name}; raise --budget-{name}, or give fewer questions with --limit"
            )


@dataclass(frozen=True)
class Purse:
    """What is left of a budget.

    Attributes:
        ledger: of the calls so far.
        reserved: questions that the program as written is asked at the end in any case.
        tested: questions that the result is asked at the end.
    """

    cost: Cost
    budget: Budget
    ledger: Ledger
    reserved: int
    tested: int

    def with_measured(self, written: Measured) -> Purse:
        """The purse by what questions took: more than was estimated, if a model is often asked to reply again."""
        if not written.calls:
            return replace(self, cost=replace(self.cost, per_question=0.0))
        dollars = None if self.cost.dollars_per_call is None else written.dollars
        cost = replace(
            self.cost,
            per_question=written.calls,
            tokens_per_call=written.tokens / written.calls,
            dollars_per_call=self.cost.dollars_per_call if dollars is None else dollars / written.calls,
            seconds_per_call=written.seconds / written.calls,
        )
        return replace(self, cost=cost)

    def allows(self, calls: float, result: float | None = None) -> bool:
        """Whether the budget is enough for some calls, besides the reserved questions.

        Args:
            result: calls of the result for a question; None: as many as of the program as written.
        """
        used, limits = self.ledger.charged(), vars(self.budget)
        calls += self.cost.of(self.reserved) + self.tested * (self.cost.per_question if result is None else result)
        needed = self.cost.takes(calls)
        return all(limits[name] is None or limits[name] - getattr(used, name) >= needed[name] for name in needed)

    def allows_questions(self, count: int) -> bool:
        """Whether the budget is enough for some questions to the program as written, besides the reserved ones."""
        return self.allows(self.cost.of(count))
