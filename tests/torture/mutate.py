"""Damage to bytes, texts and JSON values: by bits, by pieces, and by tokens that readers have tripped over."""

from __future__ import annotations

import json
import random
from typing import Any

TOKENS: tuple[bytes, ...] = (
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b'"', b"'", b"\\", b"\\u0000",
    b"\\ud800", b"\\uD83D", b"-1", b"0", b"1e999", b"NaN", b"-Infinity", b"99999999999999999999", b"9" * 5000, b"null",
    b"true", b"[]", b"{}", b"[" * 3000, b'{"a":' * 3000, b"<", b"<!--", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;",
    b"<a xmlns='", b"@prefix", b"_:b", b"<http://", b'"^^<', b"@en", b"../../../etc/passwd", b"/dev/null", b"%00",
    b"%s", b"{0}", b"$(x)", b"[[ ## answer ## ]]", b"\xe2\x80\xa8", b"\x1b[2J", b"2024-13-45", b"0000-00-00",
    b"P1Y", b"1/0",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 1e308, -0.0, float("nan"), float("inf"), 0.5, "",
    "0", "x", "\0", "\ud800", "../..", "/etc/passwd", "a" * 70000, [], [[]], {}, [None], {"": None}, [1, "x", None],
    {"a": {"b": []}}, [{}], "2024-13-45", "NaN", "é" * 300, "\u202e", [0] * 3000,
)  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One to four kinds of damage, by bytes or, for JSON, by values."""
    if chance.random() < 0.4:
        found = _mutated_json(data, chance)
        if found is not None:
            return found
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = _once(data, chance)
    return data


def _once(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    to = min(len(data), at + chance.choice((1, 1, 2, 8, 100, 5000)))
    piece = data[at:to]
    kind = chance.randrange(8)
    if kind == 0 and piece:
        return data[:at] + bytes([piece[0] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    if kind == 1 and piece:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[to:]
    if kind == 3:
        return data[:to] + piece * chance.choice((1, 2, 50)) + data[to:]
    if kind == 4:
        return data[:at]
    if kind == 5:
        other = chance.randrange(len(data) + 1)
        return data[:other] + piece + data[other:]
    token = chance.choice(TOKENS)
    return data[:at] + token + (data[at:] if kind == 6 else data[at + len(token) :])


def _mutated_json(data: bytes, chance: random.Random) -> bytes | None:
    """JSON, or one line of JSON lines, with another value or another key somewhere; None if it is no JSON."""
    lines = data.split(b"\n")
    whole = len(lines) < 2 or not (lines[0].strip().startswith(b"{") and lines[0].strip().endswith(b"}"))
    at = chance.randrange(len(lines))
    try:
        value = json.loads(data if whole else lines[at])
    except (ValueError, RecursionError):
        return None
    for _ in range(chance.choice((1, 1, 2))):
        value = changed(value, chance)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    if whole:
        return text
    lines[at] = text
    return b"\n".join(lines)


def changed(value: Any, chance: random.Random) -> Any:
    """A JSON value with another value somewhere inside."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        kind = chance.randrange(8)
        if kind == 0:
            return {name: item for name, item in value.items() if name != key}
        if kind == 1:
            return {str(chance.choice(VALUES)) if name == key else name: item for name, item in value.items()}
        return {**value, key: changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        kind = chance.randrange(8)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            return value + value[at : at + 1]
        return [*value[:at], changed(value[at], chance), *value[at + 1 :]]
    return chance.choice(VALUES)
