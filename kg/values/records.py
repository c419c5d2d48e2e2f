"""Texts from outside: JSON, and characters that can be stored."""

from __future__ import annotations

import json
import re
from typing import Any

HALF_A_CHARACTER = "half a character (a lone surrogate)"
# How JSON spells the halves of a character, also those of whole ones; `json` decodes halves in UTF-8.
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_HALF_IN_BYTES = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def valid(text: str) -> str:
    """The text with lone surrogates replaced, which are not valid Unicode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_record(text: str | bytes) -> Any:
    """The value of a JSON text from outside, whose strings can be stored.

    Raises:
        ValueError: as `parse_json`, or a string holds half a character.
    """
    found = parse_json(text)
    if _HALF.search(text) if isinstance(text, str) else _HALF_IN_BYTES.search(text):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(HALF_A_CHARACTER) from None
    return found
