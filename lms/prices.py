"""Prices per token, from the table that DSPy ships (LiteLLM's)."""

from __future__ import annotations

from dataclasses import dataclass

from dspy.clients.model_metadata import model_info


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars for so many tokens."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens


FREE = Price(0.0, 0.0)
"""An embedded engine runs on one's own machine: no money per token."""


def price(model: str) -> Price | None:
    """The price of a LiteLLM model string; None where the table does not know it.

    The table's current version is fetched once per process where the network allows; set
    `LITELLM_LOCAL_MODEL_COST_MAP=True` for the one that came with the installation.
    """
    provider, separator, name = model.partition("/")
    info = model_info(provider, name) if separator else model_info("openai", model)
    prompt, completion = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    return Price(float(prompt), float(completion))
