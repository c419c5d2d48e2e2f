"""How a model is distilled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from triplecheck.kg import UserError

Schedule = Literal["cosine", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class DistilOptions:
    """Settings of a training run. All of them are part of the address of what it makes.

    Raises:
        UserError: one of them is out of its range.
    """

    rank: int = 16
    """Rank of the adapter, which sits on every linear layer but the head."""
    alpha: int = 32
    """The adapter counts `alpha / rank` times."""
    batch: int = 8
    """Rows per step of the optimizer."""
    learning_rate: float = 2e-4
    """At its highest."""
    schedule: Schedule = "cosine"
    """How the learning rate goes on after the warm-up: down to 0, or not at all."""
    warmup: float = 0.03
    """Share of the steps in which the learning rate rises."""
    epochs: int = 2
    max_steps: int | None = None
    """Steps after which training ends in any case."""
    max_length: int = 2048
    """Tokens of a row, prompt and reply together; longer rows are left out and counted."""
    dev_share: float = 0.05
    """Share of the questions held out where the rows come without a held-out part."""
    dev_rows: int = 64
    """Held-out rows that the loss is measured on, at most: measuring takes time from training."""
    evaluations: int = 2
    """How often in an epoch the held-out loss is measured."""
    patience: int = 3
    """Measurements without a better held-out loss after which training ends; the best weights are kept."""
    precision: Precision = "auto"
    """Of the base model's weights and of products; the adapter itself is trained in float32. `auto` takes
    bfloat16 where the processor multiplies in it."""
    empty_share: float = 0.2
    """Rows of a step, as a share, that may reply that there is nothing to list; more of them are left out. A small
    model wavers between many items and one `none`, which then is the likeliest reply wherever it was frequent."""
    side_by_side: int = 8
    """Rows of one step that follow each other in the data, so that the beginning of their prompts is read once."""
    piece_length: int = 768
    """Tokens behind such a beginning that are read at once, except for a longer row. It bounds the memory; and
    what fits the caches of a processor is read faster."""
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "rank": 1,
            "alpha": 1,
            "batch": 1,
            "epochs": 1,
            "max_length": 16,
            "dev_rows": 0,
            "evaluations": 1,
            "patience": 1,
            "side_by_side": 1,
            "piece_length": 16,
        }
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise UserError(f"{name} is {getattr(self, name)}: give {bound} or more")
        if self.max_steps is not None and self.max_steps < 1:
            raise UserError(f"max_steps is {self.max_steps}: give 1 or more")
        if not 0 < self.learning_rate < 1:
            raise UserError(f"a learning rate of {self.learning_rate} is none: give a number between 0 and 1")
        for name in ("warmup", "dev_share", "empty_share"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}: give a share from 0 to below 1")
        for name, kind in (("schedule", Schedule), ("precision", Precision)):
            if getattr(self, name) not in get_args(kind):
                raise UserError(f"no {name} {getattr(self, name)!r}; there are: {', '.join(get_args(kind))}")

    def to_json(self) -> dict[str, Any]:
        """As they are written."""
        return asdict(self)
