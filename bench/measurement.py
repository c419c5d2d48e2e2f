"""Measurements, and the options of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_HIGHER_IS_BETTER = frozenset({"triples/s", "share"})


@dataclass(frozen=True)
class Measurement:
    """One line of the report.

    Attributes:
        figure: name of the measurement.
        ours: our value; None if it could not be measured (`note` says why).
        unit: unit of both values.
        peer: the compared library, measured in the same run.
        theirs: the peer's value.
        least_ratio: target for `ratio`.
        bound: target for `ours`: an upper bound, or a lower bound if higher is better.
        note: conditions of the measurement.
    """

    figure: str
    ours: float | None
    unit: str
    peer: str = ""
    theirs: float | None = None
    least_ratio: float | None = None
    bound: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer; below 1: worse."""
        if not self.ours or not self.theirs:
            return None
        return self.ours / self.theirs if self.unit in _HIGHER_IS_BETTER else self.theirs / self.ours

    @property
    def target(self) -> str:
        """The targets as text."""
        sign = ">=" if self.unit in _HIGHER_IS_BETTER else "<"
        parts = [] if self.bound is None else [f"{sign} {self.bound:,g} {self.unit}"]
        return ", ".join(parts if self.least_ratio is None else [*parts, f">= {self.least_ratio:.2g}x"])

    @property
    def met(self) -> bool | None:
        """Whether all targets are met; None without a target or a measurement."""
        if self.ours is None or not self.target:
            return None
        if self.least_ratio is not None and (self.ratio is None or self.ratio < self.least_ratio):
            return False
        if self.bound is None:
            return True
        return self.ours >= self.bound if self.unit in _HIGHER_IS_BETTER else self.ours < self.bound


@dataclass
class Options:
    """Options of a run.

    Attributes:
        work: an existing directory for synthetic data, removed after the run.
        sizes: names of graph sizes (`bench.synthetic.SIZES`) for lookups and opening.
        quick: small sizes and few rounds, to check that everything runs.
        made: shared files by name (see `bench.fixtures`).
    """

    work: Path
    sizes: tuple[str, ...]
    quick: bool = False
    made: dict[str, Path] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """How often each contestant runs."""
        return 3 if self.quick else 7
