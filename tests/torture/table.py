"""All attacks."""

from __future__ import annotations

from torture.attack import Attack
from torture.bounds import BOUNDS, DISKS
from torture.inputs import INPUTS
from torture.kills import KILLS
from torture.replies import REPLIES
from torture.servers import SERVERS

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (KILLS, INPUTS, REPLIES, SERVERS, DISKS, BOUNDS)}
"""Attacks by name."""
