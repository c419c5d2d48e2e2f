"""All attacks."""

from __future__ import annotations

from torture.attack import Attack
from torture.inputs import INPUTS
from torture.kills import KILLS

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (KILLS, INPUTS)}
"""Attacks by name."""
