"""Keeps credentials out of messages, logs and files: servers repeat them in their errors."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable

HIDDEN = "[key]"
"""What is written instead of a credential."""

_SHORTEST = 8  # characters; a shorter value, such as "none", is a placeholder
_NAMED_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer)\s++[\w.~+/=-]{4,}", re.IGNORECASE)
_NAMED = re.compile(r"""\b(api[-_]?key["'\\]*\s*+[:=]\s*+["'\\]*)[\w.~+/=-]{4,}""", re.IGNORECASE)
_OF_A_VENDOR = re.compile(r"\b(?:sk|pk|gsk|hf|xai|AIza)[-_][\w-]{16,}")


def redacted(text: str, secrets: Iterable[str | None] = ()) -> str:
    """The text without credentials: given ones, those of the environment, and what follows `Bearer` or `api_key=`."""
    of_environment = (value for name, value in os.environ.items() if _NAMED_SECRET.search(name))
    known = {secret for secret in (*secrets, *of_environment) if secret and len(secret) >= _SHORTEST}
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return _OF_A_VENDOR.sub(HIDDEN, _NAMED.sub(rf"\1{HIDDEN}", text))


class RedactingFormatter(logging.Formatter):
    """Writes log records, with their tracebacks, without credentials."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return redacted(super().format(record))
