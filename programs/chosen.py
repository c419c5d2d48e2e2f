"""What compiling chooses beside the steps of a program: thresholds, and a ranker that was trained for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triplecheck.kg import UserError

CHOSEN = "chosen"
"""The key in a saved file; below it are the names of the programs in the module, `self` for the module itself."""


def chosen_of(program: Any) -> dict[str, Any]:
    """What was chosen for a `Program`, as plain data: thresholds, and the path of the ranker."""
    ranker = program.sources.given_ranker
    return {
        "abstain_below": program.abstain_below,
        "sure": vars(program.options).get("sure"),  # of a cascade
        "ranker": None if ranker is None else str(ranker.absolute()),
    }


def choose(program: Any, chosen: Mapping[str, Any]) -> None:
    """Set on a `Program` what `chosen_of` returned for another one.

    Raises:
        UserError: the file of the ranker is not there.
    """
    ranker = None if chosen["ranker"] is None else Path(chosen["ranker"])
    if ranker is not None and not ranker.is_file():
        raise UserError(
            f"{ranker}: this ranker of paths, which the program was saved with, is not there; restore it, or keep the "
            "program with triplecheck.save_bundle, which copies it"
        )
    program.abstain_below = chosen["abstain_below"]
    if "sure" in vars(program.options):
        program.options = replace(program.options, sure=chosen["sure"])
    if ranker is not None:
        program.sources = program.sources.with_ranker(ranker)
