"""What compiling takes, told from recorded calls: before any call of a model is made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import mean

from triplecheck.kg import UserError
from triplecheck.lms import Budget, Roles
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.metering import price_of
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.examples import Split
from triplecheck.optimize.state import state_of, steps_of
from triplecheck.optimize.students import STUDENTS
from triplecheck.optimize.tuning.recorded import Recorded
from triplecheck.optimize.tuning.steps import MOST_CALLS, PILOT, calls_of_rewriting
from triplecheck.programs import Program

_SETS = 4
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Cost:
    """Calls of the models, roughly.

    Attributes:
        per_question: calls of one question.
        tokens_per_call: tokens of one call, with its demonstrations.
        least: calls that are needed to measure the program as written and one choice.
        whole: calls of everything that is tried, at most.
    """

    per_question: float
    tokens_per_call: float
    least: int
    whole: int

    def of(self, questions: int) -> int:
        """Calls to answer some questions."""
        return round(self.per_question * questions)


def cost_of(
    program: Program,
    recorded: Recorded,
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
        rewrites: whether instructions are rewritten.
        tested: programs that are measured on the test questions.
        asked: questions that are asked besides, to record their calls.
    """
    calls = [call for some in recorded.values() for call in some]
    per_question = len(calls) / len({call.id for call in calls}) if calls else 1.0
    shown = [len(json.dumps(row, ensure_ascii=False)) for row in state_of(program).values()]
    size = (mean(call.size for call in calls) if calls else 0) + mean(shown)
    steps, roles = len(recorded), len({step.role for step in program.predictors()})
    chosen = len(STUDENTS) + steps * (2 if rewrites else 1) + roles
    whole = asked + (1 + 2 * steps) * bracketed + (1 + chosen) * len(split.validation) + tested * len(split.held_out)
    alone = steps * ((_SETS + 1) * MOST_CALLS + (calls_of_rewriting(MOST_CALLS, MOST_CALLS) if rewrites else 0))
    least = asked + 2 * (len(split.validation) + len(split.held_out))
    beside = PILOT * steps + len(split.validation)  # whether replies can be read, and what the rules ask on words
    return Cost(
        per_question,
        size / _CHARACTERS_PER_TOKEN,
        math.ceil(least * per_question) + beside,
        math.ceil(whole * per_question) + beside + alone,
    )


def prompt_tokens(program: Program, roles: Roles, recorded: Recorded) -> float:
    """Tokens of the prompts of one question, by recorded calls; roles of the rule-based baseline take none.

    Replies from a cache have no tokens, so what choices take is told from their prompts.
    """
    shown = state_of(program)
    total, questions = 0, {call.id for calls in recorded.values() for call in calls}
    for name, calls in recorded.items():
        if not is_no_language_model(roles.model(steps_of(program)[name].role)):
            total += len(calls) * len(json.dumps(shown[name], ensure_ascii=False)) + sum(call.size for call in calls)
    return total / _CHARACTERS_PER_TOKEN / max(1, len(questions))


def check_budget(cost: Cost, budget: Budget, model: str) -> None:
    """Refuse a budget that cannot show a gain.

    Args:
        model: whose price is taken.

    Raises:
        UserError: the budget is too small for the program as written and one choice.
    """
    tokens = round(cost.least * cost.tokens_per_call)
    price = price_of(language_model(model))
    needed: Mapping[str, float | None] = {
        "calls": cost.least,
        "tokens": tokens,
        "dollars": None if price is None else price.of(tokens, 0),
    }
    for name, least in needed.items():
        allowed = getattr(budget, name)
        if allowed is not None and least is not None and least > allowed:
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

    def with_measured(self, calls: float) -> Purse:
        """The purse by the calls that a question took: more than were recorded, if a model is often asked to reply
        again."""
        return replace(self, cost=replace(self.cost, per_question=calls))

    def allows(self, calls: float, result: float | None = None) -> bool:
        """Whether so many calls can be made, and the reserved questions asked.

        Args:
            result: calls of the result for a question; None: as many as of the program as written.
        """
        used = self.ledger.charged()
        calls += self.cost.of(self.reserved) + self.tested * (self.cost.per_question if result is None else result)
        needed = {"calls": calls, "tokens": calls * self.cost.tokens_per_call}
        limits = {name: getattr(self.budget, name) for name in needed}
        return all(limit is None or limit - getattr(used, name) >= needed[name] for name, limit in limits.items())

    def allows_questions(self, count: int) -> bool:
        """Whether the program as written can be asked so many questions, and the reserved ones."""
        return self.allows(self.cost.of(count))
