"""`--flag A B` as `--flag A --flag B`."""

from __future__ import annotations

import pytest

from triplecheck.app.options import spread


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("OUT -t a b", "OUT -t a -t b"),
        ("OUT -t a -t b", "OUT -t a -t b"),
        ("OUT -t a b --flag", "OUT -t a -t b --flag"),
        ("-t a b OUT", "-t a -t b OUT"),
        ("-t a OUT", "-t a OUT"),
        ("-t a", "-t a"),
        ("-t a b --flag OUT", "-t a -t b --flag OUT"),
        ("-t a b --value x", "-t a b --value x"),
        ("-t a b --value x OUT", "-t a -t b --value x OUT"),
        ("-t a b -- OUT", "-t a -t b -- OUT"),
        ("OUT -t a b -- -c", "OUT -t a -t b -- -c"),
        ("OUT -t", "OUT -t"),
        ("OUT -t --flag", "OUT -t --flag"),
        ("OUT -t a b -m c=d e=f", "OUT -t a -t b -m c=d -m e=f"),
        ("OUT -t - b", "OUT -t - -t b"),
        ("", ""),
    ],
)
def test_each_value_gets_its_flag_and_the_positional_argument_is_kept(words: str, expected: str) -> None:
    assert spread(words.split(), {"-t", "-m"}, {"-t", "-m", "--value"}) == expected.split()
