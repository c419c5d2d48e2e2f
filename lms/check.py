"""Check a model: whether it is reachable, its speed and cost, and whether it follows the reply format."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from triplecheck.kg.errors import TriplecheckError
from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.metering import price_of
from triplecheck.lms.predict import explain, problem_of
from triplecheck.lms.resolve import language_model


class _Name(dspy.Signature):
    """Copy the name of the capital from the fact."""

    fact: str = dspy.InputField()
    capital: str = dspy.OutputField()


class _Keep(dspy.Signature):
    """Keep the relations that say where someone was born."""

    question: str = dspy.InputField()
    relations: list[str] = dspy.InputField()
    keep: list[int] = dspy.OutputField(desc="numbers of the relations")
    relevant: Literal["yes", "no"] = dspy.OutputField(desc="whether any relation fits")


class _List(dspy.Signature):
    """List the cities that the text names."""

    text: str = dspy.InputField()
    cities: list[str] = dspy.OutputField()


_TRIALS: tuple[tuple[str, type[dspy.Signature], dict[str, Any]], ...] = (
    ("one name", _Name, {"fact": "The capital of France is Paris."}),
    (
        "numbers and a choice",
        _Keep,
        {"question": "Where was Ada Lovelace born?", "relations": ["place of birth", "occupation"]},
    ),
    ("a list", _List, {"text": "The train goes from Berlin to Prague."}),
)


@dataclass(frozen=True)
class Trial:
    """The result of one small task."""

    name: str
    kept_format: bool
    outputs: dict[str, Any] = field(default_factory=dict)
    """The parsed reply, if it could be parsed."""
    problem: str = ""
    """Why the reply could not be parsed; empty if it could."""
    reply: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class CheckReport:
    """The result of `check`."""

    model: str
    model_id: str = ""
    """DSPy's model id; for an embedded model it includes the hash of the weights."""
    reachable: bool = False
    error: str = ""
    """Why the model is not reachable, and how to fix it."""
    seconds: float = 0.0
    """Median duration of a call; the first call of an embedded model also loads it."""
    prompt_tokens: float = 0.0
    """Mean per call."""
    completion_tokens: float = 0.0
    """Mean per call."""
    dollars_per_call: float | None = None
    """Mean; 0 for an embedded model, None if the price is unknown."""
    trials: tuple[Trial, ...] = ()

    @property
    def kept_format(self) -> int:
        """How many trials followed the format at the first try."""
        return sum(trial.kept_format for trial in self.trials)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "kept_format": self.kept_format, "trials": [asdict(trial) for trial in self.trials]}


def check(model: str, **options: Any) -> CheckReport:
    """Run three small tasks on a model, without cache and without retries.

    Args:
        **options: settings of `dspy.LM`, such as `api_base` and `max_tokens`.

    Problems of the model or the connection are reported, not raised.
    """
    try:
        lm = language_model(model, **options)
    except TriplecheckError as error:
        return CheckReport(model, error=str(error))
    ledger, trials = Ledger(), []
    with dspy.context(ledger=ledger, lm=lm, adapter=TolerantAdapter(), lm_role="check"):
        for name, signature, inputs in _TRIALS:
            try:
                trials.append(_try(name, signature, inputs))
            except LMError as error:
                return CheckReport(model, lm.model, error=str(explain(error, lm, "check")), trials=tuple(trials))
    usage, price = ledger.usage(), price_of(lm)
    prompt_tokens, completion_tokens = usage.prompt_tokens / usage.calls, usage.completion_tokens / usage.calls
    return CheckReport(
        model,
        lm.model,
        reachable=True,
        seconds=median(trial.seconds for trial in trials),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        dollars_per_call=price.prompt * prompt_tokens + price.completion * completion_tokens if price else None,
        trials=tuple(trials),
    )


def _try(name: str, signature: type[dspy.Signature], inputs: dict[str, Any]) -> Trial:
    started = time.perf_counter()
    try:
        prediction = dspy.Predict(signature)(**inputs, config={"cache": False})
    except AdapterParseError as error:
        seconds = time.perf_counter() - started
        return Trial(name, False, problem=problem_of(error), reply=str(error.lm_response), seconds=seconds)
    return Trial(name, True, outputs=dict(prediction.items()), seconds=time.perf_counter() - started)
