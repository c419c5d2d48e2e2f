"""Embedded small models: weights on this machine, run inside this process."""

from triplecheck.lms.local.backend import LocalConfig
from triplecheck.lms.local.engine import LocalEngine
from triplecheck.lms.local.weights import SMOLLM2, SMOLLM2_INSTALL, find_weights

__all__ = ["SMOLLM2", "SMOLLM2_INSTALL", "LocalConfig", "LocalEngine", "find_weights"]
