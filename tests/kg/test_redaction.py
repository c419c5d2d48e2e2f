"""Credentials stay out of messages and logs."""

from __future__ import annotations

import logging

import pytest

from triplecheck.kg.errors import KnowledgeBaseError, ReadError
from triplecheck.kg.redaction import RedactingFormatter, redacted

KEY = "prod-9f2c4e6a8b0d1f3e"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef", "Authorization: Bearer [key]"),
        ('{"authorization": "bearer abc.def-1="}', '{"authorization": "bearer [key]"}'),
        ("x-api-key: 12345678", "x-api-key: [key]"),
        ("https://host/v1?api_key=12345678&x=1", "https://host/v1?api_key=[key]&x=1"),
        ("Incorrect API key provided: sk-abcdefghijklmnop1234.", "Incorrect API key provided: [key]."),
        ("set OPENAI_API_KEY (any word will do)", "set OPENAI_API_KEY (any word will do)"),
        ("the key of the bearer", "the key of the bearer"),
    ],
)
def test_what_looks_like_a_credential_is_hidden(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_given_credentials_and_those_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", KEY)
    assert redacted(f"{KEY} and other-secret", ["other-secret", None, "and"]) == "[key] and [key]"


def test_every_error_hides_them_as_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    assert KEY not in str(KnowledgeBaseError(f"no {KEY}")) + str(ReadError("f", 1, f"no {KEY}"))


def test_logs_and_their_tracebacks_hide_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    record = logging.LogRecord("n", logging.INFO, "f", 1, "key %s", (KEY,), (ValueError, ValueError(KEY), None))
    assert RedactingFormatter("%(message)s").format(record) == "key [key]\nValueError: [key]"
