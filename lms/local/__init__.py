"""Embedded small models: weights on this machine, run inside this process."""

from lms.local.config import LocalConfig
from lms.local.engine import LocalEngine
from lms.local.weights import SMOLLM2, SMOLLM2_INSTALL, find_weights

__all__ = ["SMOLLM2", "SMOLLM2_INSTALL", "LocalConfig", "LocalEngine", "find_weights"]
